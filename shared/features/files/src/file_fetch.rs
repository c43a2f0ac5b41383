//! Fetches the files of messages from their providers and stores their bytes. Files are fetched between the timer of a turn
//! and the model, or later, and never while a webhook or an event is processed.

mod measured;

use crate::file_fetch::measured::{Measured, lock_unpoisoned};
use crate::file_record::{ChangedFile, LEASE_MARGIN, change_file_record, work_within};
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::content::{Media, MediaKind};
use recado_domain::instance::InstanceChange;
use recado_domain::media_type::MediaType;
use recado_domain::message::{FileLoss, FileState, Message, MessageFile, StoredFile};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_pipeline::deps::capabilities;
use recado_pipeline::steps::enabled_instance::change_unread_state;
use recado_pipeline::steps::queue_message::format_error_chain;
use recado_pipeline::steps::webhook_file::{delete_used_webhook_file, open_webhook_file};
use recado_ports::ports::{FileBytes, FileError, FileRequest, PortResult};
use std::sync::Arc;

/// The MIME type of bytes of an unknown kind.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Fetches the files of `messages` that wait, for at most `within`. Returns the messages that changed. What takes longer is
/// fetched later, apart from the messages; failures are recorded and do not end the work of the caller.
pub async fn fetch_files_within(
    deps: &Deps,
    bound: &InstanceConfig,
    messages: Vec<Message>,
    within: SignedDuration,
) -> Vec<Message> {
    let fetch = |message| fetch_begun_file(deps, bound, message, MessageFile::begin_next_fetch);
    work_within(deps, messages, within, fetch).await
}

/// Fetches the files of `messages` once more, whose fetch failed a moment ago, for at most `within`. Returns the messages that changed.
pub async fn fetch_again_within(
    deps: &Deps,
    bound: &InstanceConfig,
    messages: Vec<Message>,
    within: SignedDuration,
) -> Vec<Message> {
    let fetch = |message| {
        fetch_begun_file(deps, bound, message, |file, _, until| {
            file.begin_fetch_again(until)
        })
    };
    work_within(deps, messages, within, fetch).await
}

/// Returns the messages whose fetch failed a moment ago and may succeed at once. A provider that refuses downloads after many that
/// failed is not asked again.
pub fn list_failed_fetches(deps: &Deps, bound: &InstanceConfig, messages: &[Message]) -> Vec<Message> {
    if capabilities(deps, bound).blocks_downloads {
        return Vec::new();
    }
    let failed = |message: &&Message| {
        let file = message.file.as_ref();
        file.is_some_and(|file| file.next_fetch_time().is_some() && !file.is_under_way && !file.is_blocked)
    };
    messages.iter().filter(failed).cloned().collect()
}

/// Returns the messages whose files may be fetched now.
pub fn list_waiting_files<'a>(messages: impl Iterator<Item = &'a Message>, now: Timestamp) -> Vec<Message> {
    let waits = |message: &&Message| {
        let file = message.file.as_ref();
        file.is_some_and(|file| file.may_be_fetched(now))
    };
    messages.filter(waits).cloned().collect()
}

/// The same, where `begin` notes the attempt at a time, with the end of its lease.
async fn fetch_begun_file(
    deps: &Deps,
    bound: &InstanceConfig,
    message: Message,
    begin: impl Fn(&mut MessageFile, Timestamp, Timestamp) -> bool,
) -> PortResult<Option<Message>> {
    let now = deps.system().now();
    let was_sent = message.out.is_some();
    if !was_sent && let Some(end) = find_download_block(deps, bound).await? {
        let waits = change_file_record(deps, message, |file| file.wait_for_downloads(end)).await?;
        return Ok(waits.into_written());
    }
    let until = add_duration(now, deps.settings().file_timeout + LEASE_MARGIN);
    let begins = |file: &mut MessageFile| begin(file, now, until);
    let (ChangedFile::Written(message), Some(key)) = (
        change_file_record(deps, message.clone(), begins).await?,
        message.file_key(),
    ) else {
        return Ok(None);
    };
    if message
        .file
        .as_ref()
        .is_none_or(|file| file.next_fetch_time().is_none())
    {
        return Ok(Some(message));
    }
    let fetched = fetch_and_store(deps, bound, &message, &key).await;
    log_fetch_result(&message, &fetched);
    let failed_at = deps.system().now();
    let not_before = if was_sent {
        None
    } else {
        count_failed_download(deps, bound, &fetched, failed_at).await?
    };
    let kind = message.content.media_file().map(|media| media.media);
    let kept_until = bound.tenant.retention.file_end(message.stored_at);
    let settles = |file: &mut MessageFile| {
        let settled = settle_file_fetch(file, kind, &fetched, (failed_at, not_before));
        if settled && file.stored().is_some() {
            file.kept_until = kept_until;
            if was_sent {
                // No text is read of what the business sent.
                file.text = None;
            }
        }
        settled
    };
    match change_file_record(deps, message, settles).await? {
        ChangedFile::Written(message) | ChangedFile::Same(message) => {
            delete_used_webhook_file(deps, &message).await;
            Ok(Some(message))
        }
        ChangedFile::Gone => {
            // The message was erased meanwhile, or its content was removed: nothing of it may stay. Whoever did that deleted
            // the file of the webhook.
            deps.queues().delete_file(&key).await?;
            Ok(None)
        }
    }
}

/// Returns the time until which the provider refuses downloads of the instance; `None` if it does not.
async fn find_download_block(deps: &Deps, bound: &InstanceConfig) -> PortResult<Option<Timestamp>> {
    if !capabilities(deps, bound).blocks_downloads {
        return Ok(None);
    }
    let state = deps.store().read_instance_state(&bound.instance.id).await?;
    Ok(state.downloads.blocked_until(deps.system().now()))
}

/// Counts a download that failed, where the provider blocks downloads for that. Returns the end of the block that it began.
async fn count_failed_download(
    deps: &Deps,
    bound: &InstanceConfig,
    fetched: &Result<StoredFile, FileError>,
    now: Timestamp,
) -> PortResult<Option<Timestamp>> {
    // A provider that was not reached has counted nothing: one failure too many is counted then, and none too few.
    let is_failure = matches!(
        fetched,
        Err(FileError::Unavailable { .. } | FileError::Credentials | FileError::Lost(FileLoss::Gone))
    );
    if !is_failure || !capabilities(deps, bound).blocks_downloads {
        return Ok(None);
    }
    let instance = &bound.instance.id;
    let changed = change_unread_state(deps, instance, &InstanceChange::DownloadFailed(now)).await?;
    if changed.done {
        tracing::warn!(instance_id = %instance, "too many downloads failed: the provider refuses others for half an hour");
    }
    Ok(changed.state.downloads.blocked_until(now))
}

/// Records the result of a fetch. Returns `false` if another worker stored the file meanwhile.
fn settle_file_fetch(
    file: &mut MessageFile,
    kind: Option<MediaKind>,
    fetched: &Result<StoredFile, FileError>,
    (now, not_before): (Timestamp, Option<Timestamp>),
) -> bool {
    if file.stored().is_some() {
        return false;
    }
    file.is_under_way = false;
    match fetched {
        Ok(stored) => file.record_stored(kind.unwrap_or(MediaKind::Document), stored.clone(), now),
        Err(FileError::Lost(reason)) => file.state = FileState::Lost { reason: *reason },
        Err(FileError::Unavailable { .. } | FileError::Credentials | FileError::Store(_)) => {
            file.postpone_fetch(now, not_before);
        }
    }
    true
}

fn log_fetch_result(message: &Message, fetched: &Result<StoredFile, FileError>) {
    let id = message.message_id();
    match fetched {
        Ok(stored) => {
            tracing::info!(message_id = %id, bytes = stored.bytes, "stored the file of a message");
        }
        Err(FileError::Store(error)) => {
            let error = format_error_chain(error);
            tracing::warn!(message_id = %id, %error, "the file of a message was not stored");
        }
        Err(error) => tracing::warn!(message_id = %id, %error, "the file of a message was not fetched"),
    }
}

async fn fetch_and_store(
    deps: &Deps,
    bound: &InstanceConfig,
    message: &Message,
    key: &str,
) -> Result<StoredFile, FileError> {
    let media = message.content.media_file();
    let media = media.ok_or(FileError::Lost(FileLoss::Gone))?;
    let settings = deps.settings();
    let request = FileRequest {
        media,
        provider_message_id: message.provider_message_id.as_deref(),
        bytes_max: settings.file_bytes_max,
        within: settings.file_timeout.unsigned_abs(),
        was_sent: message.out.is_some(),
        private_hosts: settings.private_media,
    };
    let fetched = match open_webhook_file(deps, message).await {
        Some(fetched) => fetched,
        None => deps.providers().fetch_file(bound, &request).await?,
    };
    let mut measured = Measured::new(fetched.bytes, settings.file_bytes_max, fetched.sha256);
    let found = MediaType::from_file(measured.read_beginning().await?, media.file_name.as_deref());
    let mime_type = found.map_or_else(
        || choose_mime_type(fetched.mime_type.as_deref(), media),
        |found| found.mime_type().to_owned(),
    );
    let result = Arc::clone(&measured.result);
    let bytes = FileBytes::from_stream(measured.into_stream());
    deps.queues().put_file(key, &mime_type, bytes).await?;
    let measured = lock_unpoisoned(&result).take();
    let (bytes, sha256) = measured.ok_or(FileError::Unavailable {
        why: "its bytes ended early",
    })?;
    Ok(StoredFile {
        mime_type,
        bytes,
        sha256,
        refused: None,
    })
}

/// Returns the MIME type of a file whose bytes tell none: the one that the provider names, with the file or with the message, without parameters.
fn choose_mime_type(told: Option<&str>, media: &Media) -> String {
    let named = [told, media.mime_type.as_deref()];
    let mut named = named.into_iter().flatten().filter_map(parse_mime_type);
    named.next().unwrap_or_else(|| UNKNOWN_TYPE.to_owned())
}

/// Returns a MIME type in lower case and without parameters; `None` if `text` is no such type.
fn parse_mime_type(text: &str) -> Option<String> {
    let essence = text.split(';').next()?.trim().to_ascii_lowercase();
    let (kind, name) = essence.split_once('/')?;
    let fine = |part: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        (1..=127).contains(&part.len()) && part.bytes().all(known)
    };
    (fine(kind) && fine(name)).then_some(essence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_taken_from_the_provider_and_only_if_it_is_one() {
        let media = |mime_type: &str| Media {
            mime_type: Some(mime_type.to_owned()),
            ..Media::from_kind(MediaKind::Voice)
        };
        for (told, named, chosen) in [
            (Some("Audio/OGG; codecs=opus"), "audio/mp4", "audio/ogg"),
            (Some("nothing"), "audio/mp4", "audio/mp4"),
            (None, "text/html\r\nset-cookie: a", UNKNOWN_TYPE),
            (Some(""), "/", UNKNOWN_TYPE),
        ] {
            assert_eq!(choose_mime_type(told, &media(named)), chosen);
        }
    }
}
