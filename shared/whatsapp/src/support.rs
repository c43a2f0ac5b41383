//! What each provider can send, and what becomes of what it cannot: one table per provider, which the code goes by and
//! `docs/providers/outbound.md` is written from.

use crate::catalogue::Module;
use crate::{evolution, meta};
use recado_domain::content::Content;
use recado_domain::outgoing::OutgoingKind;
use recado_domain::provider::Provider;

/// What a provider makes of a kind of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    /// It has such a thing: how it is sent, and within which limits.
    Native(&'static str),
    /// It is sent as something else.
    Degraded(&'static str),
    /// It cannot be sent, and why.
    Refused(&'static str),
}

/// What `provider` makes of `kind`.
pub(crate) fn support(provider: Provider, kind: OutgoingKind) -> Support {
    match Module::of(provider) {
        Some(Module::Evolution) => evolution::support(kind),
        // All of them take Meta's bodies.
        Some(Module::Meta | Module::Dialog360 | Module::AwsSocial) => meta::support(kind),
        None => Support::Refused("there is no such provider"),
    }
}

/// Why `provider` can never send this, in words for who asks; `None` if it can, as it is or as something else.
pub fn refuses(provider: Provider, content: &Content) -> Option<&'static str> {
    let Some(kind) = content.outgoing_kind() else {
        return Some("it only comes in");
    };
    match support(provider, kind) {
        Support::Refused(why) => Some(why),
        Support::Native(_) | Support::Degraded(_) => None,
    }
}
