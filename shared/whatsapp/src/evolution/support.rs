//! Lists the content kinds that Evolution can send.

use crate::wire::content_support::ContentSupport::{self, Degraded, Native, Refused};
use recado_domain::outgoing::OutgoingKind;

pub(crate) fn content_support(kind: OutgoingKind) -> ContentSupport {
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
        OutgoingKind::ReplyButtons | OutgoingKind::List => Degraded(
            "numbered text; with `native_menus` of the instance `sendButtons` and `sendList` (version 2), which reach few phones",
        ),
        OutgoingKind::UrlButton | OutgoingKind::OtherButton => Degraded(
            "text with the address, number or code behind the title; with `native_menus` `sendButtons`",
        ),
        OutgoingKind::Poll => Native("`sendPoll`, to 10 options; more as numbered text"),
        OutgoingKind::Template => {
            Refused("Evolution has no templates: inside WhatsApp Web there is no window to leave")
        }
    }
}
