//! Lists for each provider the content kinds that can be sent, and the treatment of the others. There is one table per
//! provider; the code uses it, and `docs/providers/outbound.md` is written from it.

use crate::registry::ProviderModule;
use crate::{evolution, meta};
use recado_domain::content::Content;
use recado_domain::outgoing::OutgoingKind;
use recado_domain::provider::Provider;

/// A provider's support for a kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentSupport {
    /// Sent as the same kind; the text gives the call and its limits.
    Native(&'static str),
    /// Sent as another kind; the text names it.
    Degraded(&'static str),
    /// Never sent; the text gives the reason.
    Refused(&'static str),
}

/// Returns the support of `provider` for `kind`.
pub(crate) fn content_support(provider: Provider, kind: OutgoingKind) -> ContentSupport {
    match ProviderModule::from_provider(provider) {
        Some(ProviderModule::Evolution) => evolution::support_for_kind(kind),
        // All three accept Meta's bodies.
        Some(ProviderModule::Meta | ProviderModule::Dialog360 | ProviderModule::AwsSocial) => {
            meta::content_support(kind)
        }
        None => ContentSupport::Refused("there is no such provider"),
    }
}

/// Returns the reason why `provider` can never send this content, in words for the caller. `None` if it can be sent, as
/// the same kind or as another.
pub fn explain_refusal(provider: Provider, content: &Content) -> Option<&'static str> {
    let Some(kind) = content.outgoing_kind() else {
        return Some("it only comes in");
    };
    match content_support(provider, kind) {
        ContentSupport::Refused(why) => Some(why),
        ContentSupport::Native(_) | ContentSupport::Degraded(_) => None,
    }
}
