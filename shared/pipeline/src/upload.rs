//! Files that a client puts here to send them: kept for a day at least, and for as long as a message or a dead letter names
//! them, beside the bodies that are too large for a queue.

use crate::Deps;
use crate::ports::{PortError, PortResult, Queues, System};
use crate::random_id::generate_nonce;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use recado_domain::content::{Content, Media};
use recado_domain::ids::InstanceId;
use recado_domain::message::Message;
use recado_domain::millis::{self, add_millis};
use recado_domain::outgoing::UPLOAD_PREFIX;
use serde::{Deserialize, Serialize};

/// How long an upload is there for certain, in milliseconds.
const KEPT_MS: i64 = 24 * 3_600_000;

/// A file as it is kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredUpload {
    mime_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file_name: Option<String>,
    base64: String,
    #[serde(with = "millis")]
    stored_at: Timestamp,
}

impl StoredUpload {
    /// Until when it is there for certain.
    pub(crate) fn kept_until(&self) -> Timestamp {
        add_millis(self.stored_at, KEPT_MS)
    }
}

/// Keeps a file for messages of this instance, and returns its source. `mime_type` and `file_name` are as the client
/// says.
pub async fn store_upload<W: Deps>(
    deps: &W,
    instance: &InstanceId,
    mime_type: String,
    file_name: Option<String>,
    bytes: &[u8],
) -> PortResult<String> {
    let id = generate_nonce(deps.system()).to_string();
    let upload = StoredUpload {
        mime_type,
        file_name,
        base64: STANDARD.encode(bytes),
        stored_at: deps.system().now(),
    };
    let kept = serde_json::to_value(&upload).map_err(|error| PortError::invalid("upload", error))?;
    deps.queues()
        .put_payload(&payload_key(instance.as_str(), &id), &kept)
        .await?;
    tracing::info!(%instance, bytes = bytes.len(), "took an upload");
    Ok(format!("{UPLOAD_PREFIX}{id}"))
}

/// The upload that `content` sends, if it is one and is there. `Some(None)`: it is one, and is not.
pub(crate) async fn find_upload<W: Deps>(
    deps: &W,
    instance: &InstanceId,
    content: &Content,
) -> PortResult<Option<Option<StoredUpload>>> {
    let Some(id) = upload_id(content) else {
        return Ok(None);
    };
    let Some(kept) = deps
        .queues()
        .find_payload(&payload_key(instance.as_str(), id))
        .await?
    else {
        return Ok(Some(None));
    };
    let upload = serde_json::from_value(kept).map_err(|error| PortError::invalid("upload", error))?;
    Ok(Some(Some(upload)))
}

fn upload_id(content: &Content) -> Option<&str> {
    content
        .media_file()?
        .source
        .as_deref()?
        .strip_prefix(UPLOAD_PREFIX)
}

/// Under what the upload is kept that a message of `instance` with this source sends; `None` if that is none.
pub fn upload_payload_key(instance: &str, source: &str) -> Option<String> {
    Some(payload_key(instance, source.strip_prefix(UPLOAD_PREFIX)?))
}

/// The instance is part of it: nobody sends what was uploaded for another.
fn payload_key(instance: &str, id: &str) -> String {
    format!("upload.{instance}.{id}")
}

/// How often a message that waits has its upload kept longer: once a day, in the hour in which it was stored.
const RENEWED_EVERY_MS: i64 = 24 * 3_600_000;
const RENEWED_WITHIN_MS: i64 = 2 * 3_600_000;

/// Keeps the upload of a message that waits, if it names one and it is time for that. Whoever puts off what waits asks
/// for it, at most an hour apart.
pub(crate) async fn renew_waiting_upload<W: Deps>(deps: &W, message: &Message) -> PortResult<()> {
    let waited = deps.system().now().duration_since(message.stored_at).as_millis();
    let waited = i64::try_from(waited).unwrap_or_default();
    if waited < RENEWED_EVERY_MS || waited % RENEWED_EVERY_MS >= RENEWED_WITHIN_MS {
        return Ok(());
    }
    renew_upload(deps, message).await?;
    Ok(())
}

/// Keeps the upload of a message. `false` if it names none, or one that is gone.
pub(crate) async fn renew_upload<W: Deps>(deps: &W, message: &Message) -> PortResult<bool> {
    match upload_id(&message.content) {
        Some(id) => {
            let key = payload_key(message.instance.as_str(), id);
            deps.queues().renew_payload(&key).await
        }
        None => Ok(false),
    }
}

/// The content with the bytes in the place of the upload's id, for a provider to send.
pub(crate) fn inline_upload(content: Content, upload: StoredUpload) -> Content {
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
