//! What the records keep of a message that is sent. The bytes of an upload leave in place of its id, and are stored as the file of the
//! message, too. A reaction, an edit or a deletion is recorded with the message that it is about.

use crate::hooks::after_commit::AfterCommit;
use crate::hooks::send_form::{MessageForm, SendForm};
use crate::steps::message_changes::record_change;
use crate::steps::sending::{SendContext, StepResult};
use crate::steps::upload::{self, FoundUpload, StoredUpload};
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use recado_domain::media_type::MediaType;
use recado_domain::message::{FileState, MessageFile, Outgoing, StoredFile};
use recado_domain::retention::RetentionPolicy;
use recado_ports::Deps;
use recado_ports::ports::{FileBytes, FileError, PortResult};
use sha2::{Digest, Sha256};
use std::error::Error;

/// Promise: what is sent from an upload reaches the provider with its bytes, and is shown, exported and erased as any other file.
///
/// Tests: `tests/kit/tests/use_cases/uploads.rs#the_bytes_are_given_to_the_provider_and_are_the_file_of_the_message`,
/// `tests/kit/tests/use_cases/uploads.rs#what_was_sent_by_its_url_is_fetched_once_it_was_sent_and_goes_with_its_contact`.
pub(crate) struct SentFile;

#[async_trait]
impl SendForm for SentFile {
    async fn shape(
        &self,
        deps: &Deps,
        context: SendContext<'_>,
        message: &mut Outgoing,
        form: &mut MessageForm,
    ) -> StepResult {
        if message.content.media_file().is_none() {
            return Ok(());
        }
        // Read before the attempt begins: a failure of the store costs no attempt. If the upload is gone, the provider's adapter gives
        // the message up.
        let found = upload::find_upload(deps, &message.instance, &message.content).await?;
        let FoundUpload::Stored(upload) = found else {
            return Ok(());
        };
        if form.instead.is_none() {
            let retention = &context.bound.tenant.retention;
            keep_sent_file(deps, retention, message, &upload).await;
            let own = message.content_as_sent().into_owned();
            form.with_bytes = Some(upload::inline_upload(own, upload));
        }
        Ok(())
    }
}

#[async_trait]
impl AfterCommit for SentFile {
    async fn complete_sent_message(&self, deps: &Deps, message: &mut Outgoing) -> PortResult<()> {
        expect_sent_file(message, deps.system().now());
        Ok(())
    }
}

/// Promise: a change that the business sends is shown with its message.
///
/// Test: `tests/kit/tests/use_cases/reactions.rs#a_reaction_of_the_business_is_shown_whether_it_was_ordered_or_made_on_the_phone`.
pub(crate) struct SentChange;

#[async_trait]
impl AfterCommit for SentChange {
    async fn complete_sent_message(&self, deps: &Deps, message: &mut Outgoing) -> PortResult<()> {
        if message.content.changes_target() {
            Box::pin(record_change(deps, &message.to_record())).await?;
        }
        Ok(())
    }
}

/// Stores the upload that the message sends as the file of the message, which the claim then writes. It is done once; a failure
/// leaves the message without a file to show, and the next attempt tries again.
async fn keep_sent_file(
    deps: &Deps,
    retention: &RetentionPolicy,
    message: &mut Outgoing,
    upload: &StoredUpload,
) {
    let (None, Some(key)) = (&message.file, message.file_key()) else {
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
fn expect_sent_file(message: &mut Outgoing, now: Timestamp) {
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
