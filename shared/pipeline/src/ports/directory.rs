use super::PortResult;
use recado_domain::config::{Bound, Document};
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::provider::Provider;
use std::future::Future;

/// What is configured.
pub trait Directory: Send + Sync {
    /// All of it.
    fn configuration(&self) -> impl Future<Output = PortResult<Document>> + Send;

    /// Creates and replaces what `change` names (two instances may swap their provider's names). The caller has checked it.
    fn apply(&self, change: &Document) -> impl Future<Output = PortResult<()>> + Send;

    /// The instance that `provider` calls `external`, with its tenant and agent. May be as old as
    /// [`crate::settings::Settings::config_ttl`].
    fn bound(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> impl Future<Output = PortResult<Option<Bound>>> + Send;

    /// The instance of this id, with its tenant and agent; as old as [`Self::bound`] may be.
    fn bound_by_id(&self, id: &InstanceId) -> impl Future<Output = PortResult<Option<Bound>>> + Send;
}
