//! What each provider can send, and what becomes of what it cannot: one table per provider, which the code goes by and
//! `docs/providers/outbound.md` is written from.

use crate::registry::ProviderModule;
use crate::{evolution, meta};
use recado_domain::content::Content;
use recado_domain::outgoing::OutgoingKind;
use recado_domain::provider::Provider;

/// What a provider makes of a kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentSupport {
    /// It has such a thing: how it is sent, and within which limits.
    Native(&'static str),
    /// It is sent as something else.
    Degraded(&'static str),
    /// It cannot be sent, and why.
    Refused(&'static str),
}

/// What `provider` makes of `kind`.
pub(crate) fn content_support(provider: Provider, kind: OutgoingKind) -> ContentSupport {
    match ProviderModule::from_provider(provider) {
        Some(ProviderModule::Evolution) => evolution::support_for_kind(kind),
        // All of them take Meta's bodies.
        Some(ProviderModule::Meta | ProviderModule::Dialog360 | ProviderModule::AwsSocial) => {
            meta::content_support(kind)
        }
        None => ContentSupport::Refused("there is no such provider"),
    }
}

/// Why `provider` can never send this, in words for who asks; `None` if it can, as it is or as something else.
pub fn explain_refusal(provider: Provider, content: &Content) -> Option<&'static str> {
    let Some(kind) = content.outgoing_kind() else {
        return Some("it only comes in");
    };
    match content_support(provider, kind) {
        ContentSupport::Refused(why) => Some(why),
        ContentSupport::Native(_) | ContentSupport::Degraded(_) => None,
    }
}
