//! Lists the content kinds that Evolution can send.

use crate::support::ContentSupport::{self, Degraded, Native, Refused};
use recado_domain::outgoing::OutgoingKind;

/// Longest text, in characters. Evolution has no limit of its own, and phones accept longer texts. But WhatsApp hides
/// the rest of a longer text behind "read more", where nobody reads it.
pub(crate) const TEXT_MAX: usize = recado_domain::outgoing::TEXT_MAX;

pub(crate) fn support_for_kind(kind: OutgoingKind) -> ContentSupport {
    match kind {
        OutgoingKind::Text => {
            Native("`sendText`, to 4,096 characters; `linkPreview` and `mentioned` as asked for")
        }
        OutgoingKind::Image | OutgoingKind::Video | OutgoingKind::Audio => Native("`sendMedia`"),
        OutgoingKind::Voice => Native("`sendWhatsAppAudio`"),
        OutgoingKind::Document => Native("`sendMedia` with its file name"),
        OutgoingKind::Sticker => Native("`sendSticker`"),
        OutgoingKind::Location => Native(
            "`sendLocation`; a name or address that is missing is filled with the other, or the degrees",
        ),
        OutgoingKind::Contacts => Native("`sendContact`: a card per phone number"),
        OutgoingKind::Reaction => Native("`sendReaction`; an empty one takes it back"),
        OutgoingKind::ReplyButtons | OutgoingKind::List => {
            Degraded("numbered text: Baileys' own reach few phones")
        }
        OutgoingKind::UrlButton | OutgoingKind::OtherButton => {
            Degraded("text with the address, number or code behind the title")
        }
        OutgoingKind::Poll => Native("`sendPoll`, to 10 options; more as numbered text"),
        OutgoingKind::Template => {
            Refused("Evolution has no templates: inside WhatsApp Web there is no window to leave")
        }
    }
}
