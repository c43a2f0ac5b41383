//! Jobs of files: the bytes are fetched and the text is read, apart from the turns of their conversation.

use crate::file_fetch::{fetch_files_within, list_waiting_files};
use crate::file_reading::{list_unread_files, read_texts_within};
use crate::file_record::change_file_record;
use futures::future::BoxFuture;
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::MessageId;
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::wake_up::{FileJob, TurnsJob};
use recado_pipeline::Deps;
use recado_pipeline::hooks::job_handler::JobHandler;
use recado_pipeline::steps::enabled_instance::find_instance_of;
use recado_pipeline::steps::file_deletion::delete_files_of;
use recado_pipeline::steps::invited_tenant::find_tenant;
use recado_pipeline::steps::message_changes::write_changed_message;
use recado_pipeline::steps::trace_span::find_parent_span;
use recado_pipeline::steps::verdict::Verdict;
use recado_ports::ports::{PortResult, WriteOutcome};
use std::time::Duration;

/// Time until a file is looked at again whose instance is disabled or no longer configured.
const NO_INSTANCE: SignedDuration = SignedDuration::from_hours(1);

/// Deletes a message's file that is kept no longer, or enqueues a job that fetches it or reads its text. Returns `false` if nothing
/// was to be done.
pub(crate) async fn handle_due_file(deps: &Deps, id: &MessageId) -> PortResult<bool> {
    let Some(message) = deps.store().find_message(id).await? else {
        return Ok(false);
    };
    // A message that is still to be sent is no file's yet.
    if message.file_due_at().is_none() || message.is_open() {
        return Ok(false);
    }
    let now = deps.system().now();
    if message.file.as_ref().is_some_and(|file| file.is_expired(now)) {
        return remove_expired_file(deps, message).await;
    }
    let job = TurnsJob::File(FileJob {
        conversation: message.conversation,
        tenant: message.tenant,
        ordinal: message.ordinal,
        parent: find_parent_span(&message.correlation),
        correlation: message.correlation,
    });
    deps.queues().enqueue_turns_job(&job, Duration::ZERO).await?;
    Ok(true)
}

/// The jobs of files.
#[derive(Debug)]
pub struct FileJobs;

impl JobHandler for FileJobs {
    fn handle_turns_job<'a>(
        &self,
        deps: &'a Deps,
        job: &'a TurnsJob,
        _receives: u32,
    ) -> Option<BoxFuture<'a, PortResult<Verdict>>> {
        match job {
            TurnsJob::File(job) => Some(Box::pin(handle_file_job(deps, job))),
            TurnsJob::Turn(_) | TurnsJob::AgentReturn(_) | TurnsJob::Batch(_) => None,
        }
    }
}

/// Handles the job of a file: fetches it, apart from the turns of its conversation.
async fn handle_file_job(deps: &Deps, job: &FileJob) -> PortResult<Verdict> {
    let Some(message) = deps.store().find_message(&job.message_id()).await? else {
        return Ok(Verdict::Done);
    };
    let Some(bound) = find_instance_of(deps, &message.instance, &message.tenant).await? else {
        let next_at = add_duration(deps.system().now(), NO_INSTANCE);
        change_file_record(deps, message, |file| file.put_off(next_at)).await?;
        return Ok(Verdict::Done);
    };
    let is_done = complete_files(deps, &bound, vec![message]).await;
    Ok(if is_done {
        Verdict::Done
    } else {
        Verdict::RETRY_SOON
    })
}

/// Fetches files and reads their texts, apart from the answers to their messages. `false`: turns hold the memory for files,
/// so some texts are not read yet.
pub(crate) async fn complete_files(deps: &Deps, bound: &InstanceConfig, messages: Vec<Message>) -> bool {
    let settings = deps.settings();
    let until = add_duration(
        deps.system().now(),
        settings.file_timeout + settings.file_work_wait,
    );
    let waiting = list_waiting_files(messages.iter(), deps.system().now());
    let mut present = messages;
    if !waiting.is_empty() {
        let fetched = fetch_files_within(deps, bound, waiting, settings.file_timeout).await;
        present.retain(|message| fetched.iter().all(|known| known.ordinal != message.ordinal));
        present.extend(fetched);
    }
    let now = deps.system().now();
    let unread = list_unread_files(present.iter(), now);
    if unread.is_empty() {
        return true;
    }
    let turns = &deps.exclusive_turns;
    let Some(_exclusive_turn) = turns
        .begin_exclusive_turn(deps.system(), settings.file_work_wait)
        .await
    else {
        return false;
    };
    read_texts_within(deps, bound, unread, until.duration_since(now)).await;
    true
}

/// Deletes the bytes of a message's file that were to be kept until now, and records that. If the tenant keeps files for another time
/// by now, that counts. Returns `false` if nothing was changed: another worker wrote the message.
///
/// The bytes go first: after a crash in between, the record still leads to them.
async fn remove_expired_file(deps: &Deps, mut message: Message) -> PortResult<bool> {
    let Some(tenant) = find_tenant(deps, &message.tenant).await? else {
        return Ok(false);
    };
    let end = tenant.retention.file_end(message.stored_at);
    let is_over = end.is_some_and(|end| end <= deps.system().now());
    if is_over {
        delete_files_of(deps, std::slice::from_ref(&message)).await?;
    }
    let Some(file) = &mut message.file else {
        return Ok(false);
    };
    if is_over {
        file.record_expired();
    } else {
        file.kept_until = end;
    }
    Ok(write_changed_message(deps, &mut message, None).await? == WriteOutcome::Written)
}
