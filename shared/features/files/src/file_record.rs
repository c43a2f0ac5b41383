//! Changes the records of messages' files, and works on several files side by side for a bounded time.

use futures::stream::{self, StreamExt};
use jiff::SignedDuration;
use recado_domain::message::{Message, MessageFile};
use recado_domain::usage::usage_of_transcript;
use recado_pipeline::Deps;
use recado_pipeline::steps::message_changes::write_changed_message;
use recado_pipeline::steps::queue_message::format_error_chain;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::time_limit::run_within;
use std::sync::{Mutex, PoisonError};

/// Time that is added to the longest work on a file before another worker may repeat it.
pub(crate) const LEASE_MARGIN: SignedDuration = SignedDuration::from_secs(30);

/// Number of files that are worked on side by side for one turn. Some are in memory as a whole.
const SIDE_BY_SIDE: usize = 2;

/// Works on the files of `messages` for at most `within`. Returns the messages that changed. What takes longer is done
/// later, apart from the messages; failures are recorded and do not end the work of the caller.
pub(crate) async fn work_within<W>(
    deps: &Deps,
    messages: Vec<Message>,
    within: SignedDuration,
    work: impl Fn(Message) -> W + Send + Sync,
) -> Vec<Message>
where
    W: Future<Output = PortResult<Option<Message>>> + Send,
{
    let changed = Mutex::new(Vec::new());
    let works = stream::iter(messages)
        .map(|message| async {
            let id = message.message_id();
            match work(message).await {
                Ok(Some(message)) => changed.lock().unwrap_or_else(PoisonError::into_inner).push(message),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(message_id = %id, error = %format_error_chain(&error), "a file has to wait");
                }
            }
        })
        .buffer_unordered(SIDE_BY_SIDE)
        .collect::<()>();
    let done = run_within(deps.system(), within.unsigned_abs(), works).await;
    if done.is_none() {
        tracing::info!("files took too long: the work goes on without them");
    }
    changed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// The result of changing the record of a file.
pub(crate) enum ChangedFile {
    /// The changed message is stored.
    Written(Message),
    /// Nothing was to be changed.
    Same(Message),
    /// The message does not exist any more, or has no file any more.
    Gone,
}

impl ChangedFile {
    /// Returns the message, if it was changed.
    pub(crate) fn into_written(self) -> Option<Message> {
        match self {
            Self::Written(message) => Some(message),
            Self::Same(_) | Self::Gone => None,
        }
    }
}

/// Changes the record of a message's file by `change`, which returns `false` if nothing is to be written. What a transcription used
/// is summed up in the write that stores its words.
pub(crate) async fn change_file_record(
    deps: &Deps,
    message: Message,
    change: impl Fn(&mut MessageFile) -> bool,
) -> PortResult<ChangedFile> {
    let change = &change;
    retry_lost_write(PortError::contended("message"), message, |message| async move {
        let mut changed = message.clone();
        let Some(file) = &mut changed.file else {
            return Ok(WriteAttempt::Done(ChangedFile::Gone));
        };
        if !change(file) {
            return Ok(WriteAttempt::Done(ChangedFile::Same(message)));
        }
        let is_read = message
            .file
            .as_ref()
            .is_some_and(|file| file.found_text().is_some());
        let used = usage_of_transcript(&changed).filter(|_| !is_read);
        if write_changed_message(deps, &mut changed, used.as_ref()).await? == WriteOutcome::Written {
            return Ok(WriteAttempt::Done(ChangedFile::Written(changed)));
        }
        let found = deps.store().find_message(&message.message_id()).await?;
        Ok(found.map_or(WriteAttempt::Done(ChangedFile::Gone), WriteAttempt::Lost))
    })
    .await
}
