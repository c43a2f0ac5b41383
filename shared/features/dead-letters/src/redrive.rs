use crate::selection::{DeadLetterSelection, OrderedLetters, select_letters};
use crate::{SIDE_BY_SIDE, audit_letter, require_dead_letter};
use futures::stream::{self, StreamExt};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName, RedrivenLetter};
use recado_domain::invitations::{Batch, BatchState};
use recado_domain::wake_up::{BatchJob, Redrive, TurnsJob};
use recado_invitation_emails::email_outbox::{find_email_failure, requeue_dead_email};
use recado_operators::OperateError;
use recado_pipeline::Deps;
use recado_pipeline::steps::outgoing::{find_outgoing, requeue_dead_message};
use recado_pipeline::steps::queue_message::format_error_chain;
use recado_ports::ports::{EventChange, PortError, PortResult};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::batches::find_batch;
use recado_ports::records::dead_letters::{find_dead_letter, remove_dead_letter};
use std::collections::{BTreeMap, BTreeSet};

/// The result of redriving several dead letters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedriveSummary {
    /// Number of dead letters that were selected.
    pub selected: usize,
    /// Number of dead letters that were redriven.
    pub redriven: usize,
    /// Number of dead letters that were only removed. Their record was no longer dead, or had failed again later, or their job had
    /// nothing left to do.
    pub no_longer_dead: usize,
    /// Number of dead letters that could not be redriven now, and of those behind them in the same conversation.
    pub failed: usize,
    /// `true` if more dead letters match than the limit allows.
    pub more: bool,
}

/// Maximum number of batches of one dead-letter queue that are read to find copies.
const BATCHES_MAX: usize = 200;

/// Dead letters that were removed from the store, by queue. Their copies in the dead-letter queues are to be removed
/// too.
pub(super) type RemovedLetters = BTreeMap<QueueName, BTreeSet<RedrivenLetter>>;

pub(super) fn record_removed_letter(gone: &mut RemovedLetters, dead_letter: &DeadLetter) {
    gone.entry(dead_letter.queue).or_default().insert(RedrivenLetter {
        dead_letter: dead_letter.id.clone(),
        failed_at: dead_letter.at,
    });
}

/// Removes the copies of removed dead letters from the dead-letter queues. Copies that remain after a failure are
/// removed by `reconcile`.
pub(super) async fn clear_queue_copies(deps: &Deps, gone: &RemovedLetters) {
    for (queue, dead_letters) in gone {
        if let Err(error) = remove_dead_copies(deps, *queue, dead_letters).await {
            tracing::warn!(queue = queue.as_str(), error = %format_error_chain(&error), "copies of dead letters were left");
        }
    }
}

/// Removes the copies of the dead letters `gone`, which were removed. `reconcile` removes copies that are not found
/// now.
async fn remove_dead_copies(
    deps: &Deps,
    queue: QueueName,
    gone: &BTreeSet<RedrivenLetter>,
) -> PortResult<()> {
    let mut left = gone.clone();
    for _ in 0..BATCHES_MAX {
        let batch = deps.queues().receive_dead_messages(queue).await?;
        if batch.is_empty() {
            break;
        }
        for copy in batch {
            if copy
                .copy_of
                .as_ref()
                .is_some_and(|dead_letter| gone.contains(dead_letter))
            {
                deps.queues().remove_dead_message(&copy).await?;
                if let Some(dead_letter) = &copy.copy_of {
                    left.remove(dead_letter);
                }
            }
        }
        if left.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Redrives one dead letter. Returns `false` if its record is no longer dead, or failed again later, or if nothing is left to do: then
/// only the dead letter was removed.
pub async fn redrive_dead_letter(deps: &Deps, caller: &Caller, id: &str) -> Result<bool, OperateError> {
    let dead_letter = require_dead_letter(deps, caller, id).await?;
    if matches!(dead_letter.what, DeadLetterContent::Damaged { .. }) {
        return Err(OperateError::DamagedLetter);
    }
    let revived = Box::pin(redrive_if_dead(deps, caller, &dead_letter)).await?;
    let mut gone = RemovedLetters::new();
    record_removed_letter(&mut gone, &dead_letter);
    clear_queue_copies(deps, &gone).await;
    Ok(revived)
}

/// Redrives several dead letters, those of each conversation in order. A second call changes nothing: a record that is
/// no longer dead is left unchanged.
pub async fn redrive_dead_letters(
    deps: &Deps,
    caller: &Caller,
    selection: &DeadLetterSelection,
) -> Result<RedriveSummary, OperateError> {
    let selected = select_letters(deps, caller, selection).await?;
    let mut done = RedriveSummary {
        selected: selected.count,
        more: selected.more,
        ..RedriveSummary::default()
    };
    let mut gone = RemovedLetters::new();
    let mut lines = stream::iter(selected.lines)
        .map(|line| redrive_in_order(deps, caller, line))
        .buffer_unordered(SIDE_BY_SIDE);
    while let Some((part, dead_letters)) = lines.next().await {
        done.redriven += part.redriven;
        done.no_longer_dead += part.no_longer_dead;
        done.failed += part.failed;
        for dead_letter in &dead_letters {
            record_removed_letter(&mut gone, dead_letter);
        }
    }
    clear_queue_copies(deps, &gone).await;
    Ok(done)
}

async fn redrive_in_order(
    deps: &Deps,
    caller: &Caller,
    line: OrderedLetters,
) -> (RedriveSummary, Vec<DeadLetter>) {
    let (mut done, mut gone) = (RedriveSummary::default(), Vec::new());
    for id in line.into_letter_ids() {
        if done.failed > 0 {
            // The order must be kept: after a failure, the dead letters behind it are not redriven.
            done.failed += 1;
            continue;
        }
        let redrives = async {
            let Some(dead_letter) = find_dead_letter(deps.store(), &id).await? else {
                return Ok(None);
            };
            let revived = redrive_if_dead(deps, caller, &dead_letter).await?;
            PortResult::Ok(Some((dead_letter, revived)))
        };
        match redrives.await {
            Ok(Some((dead_letter, revived))) => {
                done.redriven += usize::from(revived);
                done.no_longer_dead += usize::from(!revived);
                gone.push(dead_letter);
            }
            Ok(None) => done.no_longer_dead += 1,
            Err(error) => {
                tracing::warn!(dead_letter = id, error = %format_error_chain(&error), "not redriven");
                done.failed += 1;
            }
        }
    }
    (done, gone)
}

/// Redrives a dead letter if its record is still dead with the same failure. The queue message is enqueued first. It
/// names the failure, so its worker revives the record and removes the dead letter if this request crashes. Then the
/// record is revived here too, so that it is alive when the client gets its answer, and the dead letter is removed. No
/// queue message is enqueued for a record that is alive or failed again. Returns whether the record was dead with that
/// failure.
async fn redrive_if_dead(deps: &Deps, caller: &Caller, dead_letter: &DeadLetter) -> PortResult<bool> {
    audit_letter(deps, caller, AuditAction::DeadLetterRedriven, dead_letter).await?;
    let dead = is_still_dead(deps, dead_letter).await?;
    if dead {
        deps.queues()
            .enqueue_redrive(dead_letter, &caller.name, generate_nonce(deps.system()).as_str())
            .await?;
        revive_record(deps, caller, dead_letter).await?;
        tracing::info!(dead_letter = %dead_letter.id, correlation_id = %dead_letter.correlation, by = %caller.name, "redriven by an operator");
    }
    remove_dead_letter(deps.store(), &dead_letter.id, dead_letter.at).await?;
    Ok(dead)
}

/// Returns `true` if the newest failure of the record is the failure of the dead letter. A job has no record that could be dead: it
/// counts as dead while its work is to be done.
pub(super) async fn is_still_dead(deps: &Deps, dead_letter: &DeadLetter) -> PortResult<bool> {
    let failed_at = match &dead_letter.what {
        DeadLetterContent::Event(job) => {
            let record = deps.store().find_event(&job.event).await?;
            record.and_then(|record| record.failed_at())
        }
        DeadLetterContent::Message { message } => {
            let message = find_outgoing(deps, message).await?;
            message.and_then(|message| message.out.failed_at())
        }
        DeadLetterContent::Email { tenant, invitation } => {
            find_email_failure(deps, tenant, invitation).await?
        }
        DeadLetterContent::Turns(job) => return is_job_open(deps, job).await,
        // It is sent unchanged, whatever its event's state.
        DeadLetterContent::Unreadable { .. } => return Ok(true),
        DeadLetterContent::Damaged { .. } => {
            return Err(PortError::invalid(
                "redriving a dead letter",
                "its record cannot be read",
            ));
        }
    };
    Ok(failed_at == Some(dead_letter.at))
}

/// Revives the record of a dead letter. Nothing changes if the worker of the queue message did so before.
async fn revive_record(deps: &Deps, caller: &Caller, dead_letter: &DeadLetter) -> PortResult<()> {
    let failed_at = dead_letter.at;
    match &dead_letter.what {
        DeadLetterContent::Event(job) => {
            let revive = EventChange::Revive { failed_at };
            deps.store().change_event(&job.event, revive).await?;
        }
        DeadLetterContent::Message { message } => {
            let redrive = Redrive {
                message: message.clone(),
                failed_at,
                by: Some(caller.name.clone()),
            };
            requeue_dead_message(deps, &redrive).await?;
        }
        DeadLetterContent::Email { tenant, invitation } => {
            requeue_dead_email(deps, (tenant, invitation), dead_letter.at).await?;
        }
        // Its event was given up when the dead letter was made. Another version may be able to read the message.
        DeadLetterContent::Unreadable { .. } => {
            if let Some(event) = dead_letter.unread_event() {
                let revive = EventChange::Revive { failed_at };
                deps.store().change_event(&event, revive).await?;
            }
        }
        DeadLetterContent::Turns(_) | DeadLetterContent::Damaged { .. } => {}
    }
    Ok(())
}

/// Returns `true` if a job's work is still to be done. A turn sees for itself whether anything is owed.
pub(super) async fn is_job_open(deps: &Deps, job: &TurnsJob) -> PortResult<bool> {
    Ok(match job {
        TurnsJob::Turn(_) => true,
        TurnsJob::AgentReturn(job) => {
            let conversation = deps.store().find_conversation(&job.conversation).await?;
            conversation.is_some_and(|conversation| conversation.return_due_at().is_some())
        }
        TurnsJob::File(job) => {
            let message = deps.store().find_message(&job.message_id()).await?;
            let file = message.and_then(|message| message.file);
            file.is_some_and(|file| file.next_fetch_time().or(file.next_reading_time()).is_some())
        }
        TurnsJob::Batch(job) => find_open_batch(deps, job).await?.is_some(),
    })
}

/// Finds the batch that a job goes on with. `None`: it does not run, is gone, or another job went on with it.
pub(super) async fn find_open_batch(deps: &Deps, job: &BatchJob) -> PortResult<Option<Batch>> {
    let found = find_batch(deps.store(), &job.tenant, &job.batch).await?;
    let found = found.map(|found| found.record);
    Ok(found.filter(|batch| batch.state == BatchState::Running && batch.expanded == job.from))
}
