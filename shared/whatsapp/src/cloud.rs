//! What the providers that take Meta's bodies have in common: a file that is here, and not on the web, is uploaded first.

use crate::error_class::ErrorClass;
use crate::http_exchange::{HttpExchange, HttpResponse, send_request};
use crate::json::get_text;
use crate::media_file::{MediaSource, decode_base64, media_file_name, parse_media_source, permanent_failure};
use crate::meta::body::with_media_id;
use recado_domain::content::{Content, Media};
use recado_pipeline::ports::{OutgoingMessage, SendOutcome};
use reqwest::RequestBuilder;
use reqwest::multipart::{Form, Part};
use std::time::Duration;

/// A file that a message carries in itself.
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

/// How a provider takes files.
pub(crate) struct MediaUpload {
    /// A `POST` to where they go, with what proves who asks.
    pub(crate) request: RequestBuilder,
    /// What its refusals mean; given the attempt.
    pub(crate) classify: fn(&HttpResponse, u32) -> SendOutcome,
    pub(crate) timeout: Duration,
}

/// The file that `message` carries; `None` if it carries none, or only says where one is.
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

/// Puts the file where the provider finds it; the message with its id there. Nothing of the message has left when it
/// fails: what is not known of an upload is as good as nothing.
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
        HttpExchange::Response(answer) => {
            Err(unknown_as_retryable((upload.classify)(&answer, message.attempt)))
        }
        HttpExchange::NotSent(why) => {
            Err(ErrorClass::Unreached.into_send_outcome(why.to_owned(), None, message.attempt))
        }
        HttpExchange::ResponseLost { why, .. } => Err(retryable_outcome(why)),
    }
}

/// What the failure of an upload means for its message, of which nothing has left.
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
