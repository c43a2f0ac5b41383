//! The hook for work that runs beside the request of an attempt and never delays it.

use crate::Deps;
use futures::future::BoxFuture;
use recado_domain::config::InstanceConfig;
use recado_domain::message::Outgoing;

/// Shows something to the contact while a message is sent.
pub trait BesideSend: Send + Sync {
    /// Returns the work beside the request for `message`, which is claimed; `None` if there is none. Its failures have no effect.
    fn begin<'a>(
        &self,
        deps: &'a Deps,
        bound: &'a InstanceConfig,
        message: &Outgoing,
    ) -> Option<BoxFuture<'a, ()>>;
}
