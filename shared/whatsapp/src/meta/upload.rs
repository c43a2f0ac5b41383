//! Code shared by the providers that take Meta's message bodies: uploads a file that the message carries as bytes and
//! not as a link.

use crate::meta::body::with_media_id;
use crate::wire::error_class::ErrorClass;
use crate::wire::http_exchange::{HttpExchange, HttpResponse, send_request};
use crate::wire::json::get_text;
use crate::wire::media_file::{
    MediaSource, decode_base64, media_file_name, parse_media_source, permanent_failure,
};
use recado_domain::content::{Content, Media};
use recado_ports::ports::{OutgoingMessage, SendOutcome};
use reqwest::RequestBuilder;
use reqwest::multipart::{Form, Part};
use std::time::Duration;

/// A file that a message carries as base64.
pub(crate) struct InlineFile<'a> {
    pub(crate) media: &'a Media,
    pub(crate) mime_type: &'a str,
    base64: &'a str,
}

impl InlineFile<'_> {
    pub(crate) fn decode_bytes(&self) -> Result<Vec<u8>, SendOutcome> {
        decode_base64(self.base64)
    }
}

/// The upload request of a provider that takes files.
pub(crate) struct MediaUpload {
    /// `POST` request to the provider's upload URL, with the key or token.
    pub(crate) request: RequestBuilder,
    /// Classifies an error answer to the upload; the second argument is the number of the send attempt.
    pub(crate) classify_answer: fn(&HttpResponse, u32) -> SendOutcome,
    pub(crate) timeout: Duration,
}

/// Returns the file that `message` carries as bytes. `None` if there is no file, or only a link or id of the file.
pub(crate) fn find_inline_file(message: &OutgoingMessage) -> Result<Option<InlineFile<'_>>, SendOutcome> {
    let Content::Media(media) = &message.content else {
        return Ok(None);
    };
    Ok(match parse_media_source(media)? {
        MediaSource::Bytes { mime_type, base64 } => Some(InlineFile {
            media,
            mime_type,
            base64,
        }),
        MediaSource::Link(_) | MediaSource::Id(_) => None,
    })
}

/// Uploads the file and returns the message with the provider's id of the file. On failure nothing of the message was
/// sent, so an unknown outcome of the upload counts as a failure that may be retried.
pub(crate) async fn upload_inline_file(
    message: &OutgoingMessage,
    file: &InlineFile<'_>,
    upload: MediaUpload,
) -> Result<OutgoingMessage, SendOutcome> {
    let part = Part::bytes(file.decode_bytes()?)
        .file_name(media_file_name(file.media))
        .mime_str(file.mime_type)
        .map_err(|_| permanent_failure("the file has no MIME type"))?;
    let form = Form::new()
        .text("messaging_product", "whatsapp")
        .text("type", file.mime_type.to_owned())
        .part("file", part);
    match send_request(upload.request.multipart(form), upload.timeout).await {
        HttpExchange::Response(answer) if answer.is_success() => get_text(&answer.body, "id")
            .map(|id| with_media_id(message, file.media, id))
            .ok_or_else(|| retryable_outcome("an upload's answer without an id")),
        HttpExchange::Response(answer) => Err(unknown_as_retryable((upload.classify_answer)(
            &answer,
            message.attempt,
        ))),
        HttpExchange::NotSent(why) => {
            Err(ErrorClass::Unreached.into_send_outcome(why.to_owned(), None, message.attempt))
        }
        HttpExchange::ResponseLost { why, .. } => Err(retryable_outcome(why)),
    }
}

/// Turns an unknown outcome of an upload into a retryable failure of its message. Nothing of that message was sent, so
/// it can be repeated.
pub(crate) fn unknown_as_retryable(outcome: SendOutcome) -> SendOutcome {
    match outcome {
        SendOutcome::Unknown { why, .. } => retryable_outcome(&why),
        outcome => outcome,
    }
}

fn retryable_outcome(why: &str) -> SendOutcome {
    SendOutcome::Retryable {
        why: why.to_owned(),
        after: None,
    }
}
