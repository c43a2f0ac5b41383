//! Stores files that a client uploads in order to send them. A file is kept for at least a day, and for as long as a
//! message or a dead letter names it. Files are stored beside the bodies that are too large for a queue.

use crate::Deps;
use crate::steps::enabled_instance::find_instance_within;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::content::{Content, Media};
use recado_domain::ids::InstanceId;
use recado_domain::media_type::MediaType;
use recado_domain::message::{Message, OutgoingSide};
use recado_domain::millis::{self, add_duration};
use recado_domain::outgoing::{UPLOAD_PREFIX, build_upload_key};
use recado_ports::ports::{PortError, PortResult};
use recado_ports::random_id::generate_nonce;
use serde::{Deserialize, Serialize};

/// Minimum time for which an upload is kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24);

/// An uploaded file as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredUpload {
    pub mime_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_name: Option<String>,
    pub base64: String,
    #[serde(with = "millis")]
    stored_at: Timestamp,
}

impl StoredUpload {
    /// Returns the time until which the upload is certainly kept.
    pub fn kept_until(&self) -> Timestamp {
        add_duration(self.stored_at, KEPT)
    }
}

/// Stores a file for messages of this instance, and returns the source to name in them. `None`: the instance is unknown or
/// outside the caller's scope. `mime_type` and `file_name` are as the client gave them.
pub async fn store_upload(
    deps: &Deps,
    caller: &Caller,
    instance: &InstanceId,
    mime_type: String,
    file_name: Option<String>,
    bytes: &[u8],
) -> PortResult<Option<String>> {
    if find_instance_within(deps, caller, instance).await?.is_none() {
        return Ok(None);
    }
    let id = generate_nonce(deps.system()).to_string();
    let upload = StoredUpload {
        mime_type: choose_exact_type(mime_type, file_name.as_deref(), bytes),
        file_name,
        base64: STANDARD.encode(bytes),
        stored_at: deps.system().now(),
    };
    let kept = serde_json::to_value(&upload).map_err(|error| PortError::invalid("upload", error))?;
    deps.queues()
        .put_payload(&build_upload_key(instance.as_str(), &id), &kept)
        .await?;
    tracing::info!(%instance, bytes = bytes.len(), "took an upload");
    Ok(Some(format!("{UPLOAD_PREFIX}{id}")))
}

/// Returns the type under which a file is sent: the one that its bytes tell, as WhatsApp refuses files under another. The client's type
/// stays where the bytes tell none, or no other; then its parameters stay, too.
fn choose_exact_type(told: String, file_name: Option<&str>, bytes: &[u8]) -> String {
    let essence = told.split(';').next().unwrap_or_default().trim();
    let found = MediaType::from_file(bytes, file_name).map(MediaType::mime_type);
    // Plain text holds many types that its bytes do not tell.
    let is_vague = |found: &str| found.starts_with("text/") && essence != UNKNOWN_TYPE && !essence.is_empty();
    match found {
        Some(found) if !essence.eq_ignore_ascii_case(found) && !is_vague(found) => found.to_owned(),
        _ => told,
    }
}

/// The type of a file of which the client says nothing.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// The result of looking for the upload that a content sends.
#[derive(Debug)]
pub enum FoundUpload {
    /// The content sends no upload.
    NotNamed,
    /// The upload does not exist, or no longer.
    Missing,
    /// The upload is stored.
    Stored(StoredUpload),
}

/// Finds the upload that `content` sends.
pub async fn find_upload(deps: &Deps, instance: &InstanceId, content: &Content) -> PortResult<FoundUpload> {
    let Some(id) = upload_id(content) else {
        return Ok(FoundUpload::NotNamed);
    };
    let Some(kept) = deps
        .queues()
        .find_payload(&build_upload_key(instance.as_str(), id))
        .await?
    else {
        return Ok(FoundUpload::Missing);
    };
    let upload = serde_json::from_value(kept).map_err(|error| PortError::invalid("upload", error))?;
    Ok(FoundUpload::Stored(upload))
}

fn upload_id(content: &Content) -> Option<&str> {
    content
        .media_file()?
        .source
        .as_deref()?
        .strip_prefix(UPLOAD_PREFIX)
}

/// Returns the key of the payload that holds the file of `content`. `None` if the content names no uploaded file.
pub fn upload_key(instance: &InstanceId, content: &Content) -> Option<String> {
    Some(build_upload_key(instance.as_str(), upload_id(content)?))
}

/// Interval between two renewals of a waiting message's upload, in hours. An upload is renewed during the first two hours
/// of each interval.
const RENEWED_EVERY_HOURS: i64 = 24;
const RENEWED_WITHIN_HOURS: i64 = 2;

/// Renews the upload of a waiting message once in 24 hours, counted from the storing of the message. Code that
/// postpones waiting messages calls this at most an hour apart, so no renewal is missed. Nothing happens if the message
/// names no upload or no renewal is due.
pub async fn renew_waiting_upload(deps: &Deps, message: &Message<impl OutgoingSide>) -> PortResult<()> {
    let waited = deps.system().now().duration_since(message.stored_at).as_hours();
    if waited < RENEWED_EVERY_HOURS || waited % RENEWED_EVERY_HOURS >= RENEWED_WITHIN_HOURS {
        return Ok(());
    }
    renew_upload(deps, message).await?;
    Ok(())
}

/// Renews the upload of a message. Returns `false` if the message names no upload, or the upload is gone.
pub async fn renew_upload(deps: &Deps, message: &Message<impl OutgoingSide>) -> PortResult<bool> {
    match upload_id(&message.content) {
        Some(id) => {
            let key = build_upload_key(message.instance.as_str(), id);
            deps.queues().renew_payload(&key).await
        }
        None => Ok(false),
    }
}

/// Replaces the upload's id in the content by the upload's bytes, for a provider to send.
pub fn inline_upload(content: Content, upload: StoredUpload) -> Content {
    match content {
        Content::Media(media) => Content::Media(Media {
            file_name: media.file_name.or(upload.file_name),
            source: Some(format!("data:{};base64,{}", upload.mime_type, upload.base64)),
            mime_type: Some(upload.mime_type),
            ..media
        }),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_sent_under_the_type_that_its_bytes_tell() {
        let png = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR".as_slice();
        let ogg = b"OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00OpusHead".as_slice();
        for (told, bytes, sent) in [
            ("application/octet-stream", png, "image/png"),
            ("image/jpg", png, "image/png"),
            ("Image/PNG", png, "Image/PNG"),
            ("audio/ogg; codecs=opus", ogg, "audio/ogg; codecs=opus"),
            ("text/calendar", b"BEGIN:VCALENDAR".as_slice(), "text/calendar"),
            (
                "application/octet-stream",
                b"plain words".as_slice(),
                "text/plain",
            ),
            ("application/x-other", &[0, 1, 2, 3], "application/x-other"),
        ] {
            assert_eq!(choose_exact_type(told.to_owned(), None, bytes), sent, "{told}");
        }
    }
}
