//! Builds what a provider is given of a message, with the bytes of an upload in place of its id. They are stored as the file of the message,
//! too.

use crate::Deps;
use crate::steps::upload::{self, FoundUpload, StoredUpload};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use recado_domain::media_type::MediaType;
use recado_domain::message::{FileState, MessageFile, Outgoing, StoredFile};
use recado_domain::retention::RetentionPolicy;
use recado_ports::ports::{FileBytes, FileError, OutgoingMessage, PortResult};
use sha2::{Digest, Sha256};
use std::error::Error;

/// Reads the upload that the message sends. This happens before the attempt begins, so that a failure of the store does
/// not cost an attempt. Returns `None` if the message sends no upload, or if the upload is gone: then the provider's
/// adapter gives the message up.
pub(super) async fn read_upload(deps: &Deps, message: &Outgoing) -> PortResult<Option<StoredUpload>> {
    match upload::find_upload(deps, &message.instance, &message.content).await? {
        FoundUpload::Stored(upload) => Ok(Some(upload)),
        FoundUpload::NotNamed | FoundUpload::Missing => Ok(None),
    }
}

/// Replaces the id of an upload in `outgoing` by the bytes of `file`, if there is a file.
pub(super) fn insert_upload(outgoing: OutgoingMessage, file: Option<StoredUpload>) -> OutgoingMessage {
    match file {
        None => outgoing,
        Some(file) => OutgoingMessage {
            content: upload::inline_upload(outgoing.content, file),
            ..outgoing
        },
    }
}

/// Stores the upload that the message sends as the file of the message, which the claim then writes. It is done once; a failure
/// leaves the message without a file to show, and the next attempt tries again.
pub(super) async fn keep_sent_file(
    deps: &Deps,
    retention: &RetentionPolicy,
    message: &mut Outgoing,
    upload: Option<&StoredUpload>,
) {
    let (Some(upload), None, Some(key)) = (upload, &message.file, message.file_key()) else {
        return;
    };
    let kept_until = retention.file_end(message.stored_at);
    match store_sent_file(deps, &key, upload).await {
        Ok(stored) => {
            message.file = stored.map(|stored| MessageFile {
                state: FileState::Stored(stored),
                attempts: 0,
                is_under_way: false,
                from_webhook: false,
                is_blocked: false,
                kept_until,
                text: None,
            });
        }
        Err(error) => {
            let (id, error): (_, &dyn Error) = (message.message_id(), &error);
            tracing::warn!(message_id = %id, error, "the file of a message that is sent was not stored");
        }
    }
}

/// Has the file that a message was sent with by its https URL fetched from there later. So it is shown as any other. Nobody got
/// the messages of a simulation.
pub(super) fn expect_sent_file(message: &mut Outgoing, now: Timestamp) {
    if message.file.is_none() && !message.out.simulated {
        message.file = MessageFile::expect_from_url(&message.content_as_sent(), now);
    }
}

/// Stores the bytes of an upload under `key`. `None`: it holds no bytes.
async fn store_sent_file(
    deps: &Deps,
    key: &str,
    upload: &StoredUpload,
) -> Result<Option<StoredFile>, FileError> {
    let Ok(bytes) = STANDARD.decode(&upload.base64) else {
        return Ok(None);
    };
    let found = MediaType::from_file(&bytes, upload.file_name.as_deref());
    let told = upload.mime_type.split(';').next().unwrap_or_default().trim();
    let stored = StoredFile {
        mime_type: found.map_or(told, |found| found.mime_type()).to_owned(),
        bytes: bytes.len() as u64,
        sha256: hex::encode(Sha256::digest(&bytes)),
        refused: None,
    };
    let bytes = FileBytes::from_bytes(bytes);
    deps.queues().put_file(key, &stored.mime_type, bytes).await?;
    Ok(Some(stored))
}

/// Builds the message that the provider is given.
pub(super) fn to_outgoing_message(message: &Outgoing) -> OutgoingMessage {
    let out = &message.out;
    OutgoingMessage {
        id: message.message_id(),
        to: out.attempt_address().clone(),
        content: message.content_as_sent().into_owned(),
        options: out.options.clone(),
        attempt: out.attempts.max(1),
        model: message.model_kind(),
    }
}
