//! Fetches the files of messages from their providers and stores their bytes. Files are fetched between the timer of a turn
//! and the model, or later, and never while a webhook or an event is processed.

mod measured;

use crate::Deps;
use crate::ports::{
    Conversations, FileBytes, FileError, FileRequest, Files, PortError, PortResult, Providers, Queues,
    RetainedRecords, System, WRITE_TRIES, WriteOutcome,
};
use crate::steps::enabled_instance::find_enabled_instance;
use crate::steps::queue_message::format_error_chain;
use futures::future::{Either, select, try_join_all};
use futures::stream::{self, StreamExt};
use jiff::{SignedDuration, Timestamp};
use measured::{Measured, lock_unpoisoned};
use recado_domain::config::InstanceConfig;
use recado_domain::content::Media;
use recado_domain::ids::MessageId;
use recado_domain::media_type::MediaType;
use recado_domain::message::{FileLoss, FileState, Message, MessageFile, StoredFile};
use recado_domain::millis::add_duration;
use recado_domain::wake_up::TurnJob;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Time that is added to the longest fetch before another worker may repeat it.
const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(30);

/// Number of files that are fetched side by side for one turn. A file in Base64 is in memory as a whole.
const SIDE_BY_SIDE: usize = 2;

/// The MIME type of bytes of an unknown kind.
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Fetches the files of `messages` that wait, for at most `within`. Returns the messages that changed. What takes longer is
/// fetched later, apart from the messages; failures are recorded and do not end the work of the caller.
pub(crate) async fn fetch_files_within(
    deps: &impl Deps,
    bound: &InstanceConfig,
    messages: Vec<Message>,
    within: SignedDuration,
) -> Vec<Message> {
    let changed = Mutex::new(Vec::new());
    let fetches = stream::iter(messages)
        .map(|message| async {
            let id = message.message_id();
            match fetch_message_file(deps, bound, message).await {
                Ok(Some(message)) => lock_unpoisoned(&changed).push(message),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(message_id = %id, error = %format_error_chain(&error), "a file has to wait");
                }
            }
        })
        .buffer_unordered(SIDE_BY_SIDE)
        .collect::<()>();
    let sleep = deps.system().sleep(within.unsigned_abs());
    if let Either::Right(_) = select(pin!(fetches), pin!(sleep)).await {
        tracing::info!("files took too long: the model is asked without them");
    }
    changed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the messages whose files may be fetched now.
pub(crate) fn list_waiting_files<'a>(
    messages: impl Iterator<Item = &'a Message>,
    now: Timestamp,
) -> Vec<Message> {
    let waits = |message: &&Message| {
        let file = message.file.as_ref();
        file.is_some_and(|file| file.may_be_fetched(now))
    };
    messages.filter(waits).cloned().collect()
}

/// Time until a file is looked at again whose instance is disabled or no longer configured.
const NO_INSTANCE: SignedDuration = SignedDuration::from_hours(1);

/// Enqueues a job that fetches the file of a message. Returns `false` if nothing is to be fetched.
pub(crate) async fn enqueue_file_fetch(deps: &impl Deps, id: &MessageId) -> PortResult<bool> {
    let Some(message) = deps.store().find_message(id).await? else {
        return Ok(false);
    };
    if message.file_due_at().is_none() {
        return Ok(false);
    }
    let job = TurnJob {
        conversation: message.conversation,
        tenant: message.tenant,
        ordinal: message.ordinal,
        correlation: message.correlation,
        due: None,
        file: Some(message.ordinal),
    };
    deps.queues().enqueue_turn_job(&job, Duration::ZERO).await?;
    Ok(true)
}

/// Handles a job that names a file: fetches it, apart from the turns of its conversation. `false`: the job asks for a turn.
pub(crate) async fn handle_file_job(deps: &impl Deps, job: &TurnJob) -> PortResult<bool> {
    let Some(ordinal) = job.file else {
        return Ok(false);
    };
    let Some(message) = deps
        .store()
        .find_message(&job.conversation.message_id(ordinal))
        .await?
    else {
        return Ok(true);
    };
    let within = deps.settings().file_timeout;
    let Some(bound) = find_enabled_instance(deps, &message.instance).await? else {
        let next_at = add_duration(deps.system().now(), NO_INSTANCE);
        change_file_record(deps, message, |file| file.put_off(next_at)).await?;
        return Ok(true);
    };
    fetch_files_within(deps, &bound, vec![message], within).await;
    Ok(true)
}

/// Deletes the stored bytes of the files of `messages`, if there are any.
pub(crate) async fn delete_files_of(deps: &impl Deps, messages: &[Message]) -> PortResult<()> {
    let keys = messages.iter().filter_map(Message::file_key);
    let deletions: Vec<_> = keys
        .map(|key| async move { deps.queues().delete_file(&key).await })
        .collect();
    try_join_all(deletions).await.map(|_| ())
}

/// Fetches the file of a message, stores its bytes, and records the result. The attempt is counted before the provider is
/// asked. Returns the changed message; `None` if nothing was to be fetched, or the message is gone.
pub(crate) async fn fetch_message_file(
    deps: &impl Deps,
    bound: &InstanceConfig,
    message: Message,
) -> PortResult<Option<Message>> {
    let now = deps.system().now();
    let until = add_duration(now, deps.settings().file_timeout + LEASE_MARGIN);
    let begins = |file: &mut MessageFile| file.begin_next_fetch(now, until);
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
    let settles = |file: &mut MessageFile| settle_file_fetch(file, &fetched, failed_at);
    match change_file_record(deps, message, settles).await? {
        ChangedFile::Written(message) | ChangedFile::Same(message) => Ok(Some(message)),
        ChangedFile::Gone => {
            // The message was erased meanwhile, or its content was removed: nothing of it may stay.
            deps.queues().delete_file(&key).await?;
            Ok(None)
        }
    }
}

/// Records the result of a fetch. Returns `false` if another worker stored the file meanwhile.
fn settle_file_fetch(
    file: &mut MessageFile,
    fetched: &Result<StoredFile, FileError>,
    now: Timestamp,
) -> bool {
    if file.stored().is_some() {
        return false;
    }
    match fetched {
        Ok(stored) => file.state = FileState::Stored(stored.clone()),
        Err(FileError::Lost(reason)) => file.state = FileState::Lost { reason: *reason },
        Err(FileError::Unavailable { .. } | FileError::Credentials | FileError::Store(_)) => {
            file.postpone_fetch(now, None);
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

/// The result of changing the record of a file.
enum ChangedFile {
    /// The changed message is stored.
    Written(Message),
    /// Nothing was to be changed.
    Same(Message),
    /// The message does not exist any more, or has no file any more.
    Gone,
}

/// Changes the record of a message's file by `change`, which returns `false` if nothing is to be written.
async fn change_file_record(
    deps: &impl Deps,
    mut message: Message,
    change: impl Fn(&mut MessageFile) -> bool,
) -> PortResult<ChangedFile> {
    for _ in 0..WRITE_TRIES {
        let mut changed = message.clone();
        let Some(file) = &mut changed.file else {
            return Ok(ChangedFile::Gone);
        };
        if !change(file) {
            return Ok(ChangedFile::Same(message));
        }
        changed.rev += 1;
        if deps.store().replace_message(&changed).await? == WriteOutcome::Written {
            return Ok(ChangedFile::Written(changed));
        }
        let Some(again) = deps.store().find_message(&message.message_id()).await? else {
            return Ok(ChangedFile::Gone);
        };
        message = again;
    }
    Err(PortError::contended("message"))
}

async fn fetch_and_store(
    deps: &impl Deps,
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
        private_hosts: settings.private_media,
    };
    let fetched = deps.providers().fetch_file(bound, &request).await?;
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
    use recado_domain::content::MediaKind;

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
