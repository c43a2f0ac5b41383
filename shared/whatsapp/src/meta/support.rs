//! Lists the content kinds that Meta can send.

use crate::wire::content_support::ContentSupport::{self, Degraded, Native};
use recado_domain::outgoing::OutgoingKind;

pub(crate) fn content_support(kind: OutgoingKind) -> ContentSupport {
    match kind {
        OutgoingKind::Text => {
            Native("`text`, to 4,096 characters; `preview_url` as `link_preview` says, off by default")
        }
        OutgoingKind::Image => Native("`image`, jpeg or png to 5 MB"),
        OutgoingKind::Video => Native("`video`, H.264 and AAC to 16 MB"),
        OutgoingKind::Audio => Native("`audio`, to 16 MB"),
        OutgoingKind::Voice => Native("`audio` with `voice`, Ogg with Opus"),
        OutgoingKind::Document => Native("`document` with its file name, to 100 MB"),
        OutgoingKind::Sticker => Native("`sticker`, webp to 100 KB, 500 KB if it moves"),
        OutgoingKind::Location => Native("`location`"),
        OutgoingKind::Contacts => Native("`contacts`"),
        OutgoingKind::Reaction => Native("`reaction`; an empty emoji takes it back"),
        OutgoingKind::ReplyButtons => Native(
            "`interactive`, `button`: body to 1,024 characters, titles to 20; larger ones as numbered text",
        ),
        OutgoingKind::UrlButton => {
            Native("`interactive`, `cta_url`: body to 1,024 characters, title to 20; larger ones as text")
        }
        OutgoingKind::OtherButton => Degraded("text with the number or code behind the title"),
        OutgoingKind::List => Native(
            "`interactive`, `list`: 10 rows in all, titles to 24 characters, descriptions to 72, button to 20; larger ones as numbered text",
        ),
        OutgoingKind::Poll => Degraded("numbered text"),
        OutgoingKind::Template => Native("`template` with its components"),
    }
}
