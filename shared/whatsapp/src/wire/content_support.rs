//! Lists for each provider the content kinds that can be sent, and the treatment of the others. There is one table per
//! provider; the code uses it, and `docs/providers/outbound.md` is written from it.

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
