//! What the providers that take Meta's bodies have in common: a file that is here, and not on the web, is uploaded first.

use crate::class::Class;
use crate::exchange::{Answer, Exchange, exchange};
use crate::file::{Source, decoded, name, permanent, source};
use crate::json::text;
use crate::meta::body::with_media_id;
use recado_domain::content::{Content, Media};
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use reqwest::RequestBuilder;
use reqwest::multipart::{Form, Part};
use std::time::Duration;

/// A file that a message carries in itself.
pub(crate) struct File<'a> {
    pub(crate) media: &'a Media,
    pub(crate) mime_type: &'a str,
    base64: &'a str,
}

impl File<'_> {
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, SendOutcome> {
        decoded(self.base64)
    }
}

/// How a provider takes files.
pub(crate) struct Upload {
    /// A `POST` to where they go, with what proves who asks.
    pub(crate) request: RequestBuilder,
    /// What its refusals mean; given the attempt.
    pub(crate) classify: fn(&Answer, u32) -> SendOutcome,
    pub(crate) timeout: Duration,
}

/// The file that `message` carries; `None` if it carries none, or only says where one is.
pub(crate) fn file_of(message: &OutgoingMessage) -> Result<Option<File<'_>>, SendOutcome> {
    let Content::Media(media) = &message.content else {
        return Ok(None);
    };
    Ok(match source(media)? {
        Source::Bytes { mime_type, base64 } => Some(File {
            media,
            mime_type,
            base64,
        }),
        Source::Link(_) | Source::Id(_) => None,
    })
}

/// Puts the file where the provider finds it; the message with its id there. Nothing of the message has left when it
/// fails: what is not known of an upload is as good as nothing.
pub(crate) async fn uploaded(
    message: &OutgoingMessage,
    file: &File<'_>,
    upload: Upload,
) -> Result<OutgoingMessage, SendOutcome> {
    let part = Part::bytes(file.bytes()?)
        .file_name(name(file.media))
        .mime_str(file.mime_type)
        .map_err(|_| permanent("the file has no MIME type"))?;
    let form = Form::new()
        .text("messaging_product", "whatsapp")
        .text("type", file.mime_type.to_owned())
        .part("file", part);
    match exchange(upload.request.multipart(form), upload.timeout).await {
        Exchange::Answer(answer) if answer.is_success() => text(&answer.body, "id")
            .map(|id| with_media_id(message, file.media, id))
            .ok_or_else(|| retryable("an upload's answer without an id")),
        Exchange::Answer(answer) => Err(nothing_left((upload.classify)(&answer, message.attempt))),
        Exchange::NeverLeft(why) => Err(Class::Unreached.outcome(why.to_owned(), None, message.attempt)),
        Exchange::Lost { why, .. } => Err(retryable(why)),
    }
}

/// What the failure of an upload means for its message, of which nothing has left.
pub(crate) fn nothing_left(outcome: SendOutcome) -> SendOutcome {
    match outcome {
        SendOutcome::Unknown { why, .. } => retryable(&why),
        outcome => outcome,
    }
}

fn retryable(why: &str) -> SendOutcome {
    SendOutcome::Retryable {
        why: why.to_owned(),
        after: None,
    }
}
