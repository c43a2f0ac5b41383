use super::selection::{DeadLetterSelection, OrderedLetters, select_letters};
use super::{SIDE_BY_SIDE, require_dead_letter};
use crate::Deps;
use crate::dead_queue_collection::remove_dead_copies;
use crate::operate::OperateError;
use crate::ports::{Conversations, DeadLetterQueues, DeadLetters, Inbox, PortResult};
use crate::queue_message::format_error_chain;
use crate::random_id::generate_nonce;
use crate::send::requeue_dead_message;
use futures::stream::{self, StreamExt};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName, RedrivenLetter};
use recado_domain::wake_up::Redrive;
use std::collections::{BTreeMap, BTreeSet};

/// What a redrive did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RedriveSummary {
    /// How many letters were looked at.
    pub selected: usize,
    /// What is on its way again.
    pub redriven: usize,
    /// What was alive already, or had died again: only the letter went.
    pub no_longer_dead: usize,
    /// What could not be done now; what stands behind it in its conversation was left too.
    pub failed: usize,
    /// Whether there are more letters than were asked for.
    pub more: bool,
}

/// Letters that are gone from the store, by queue: their copies are to go too.
pub(super) type RemovedLetters = BTreeMap<QueueName, BTreeSet<RedrivenLetter>>;

pub(super) fn record_removed_letter(gone: &mut RemovedLetters, letter: &DeadLetter) {
    gone.entry(letter.queue).or_default().insert(RedrivenLetter {
        letter: letter.id.clone(),
        died: letter.at,
    });
}

/// Removes what is left in the dead-letter queues. What fails here `reconcile` does: the letters are gone.
pub(super) async fn clear_queue_copies<W: Deps>(deps: &W, gone: &RemovedLetters) {
    for (queue, letters) in gone {
        if let Err(error) = remove_dead_copies(deps, *queue, letters).await {
            tracing::warn!(queue = queue.as_str(), error = %format_error_chain(&error), "copies of dead letters were left");
        }
    }
}

/// Redrives one dead letter. `false`: what it is a copy of is no longer dead of that death, and only the letter went.
pub async fn redrive_dead_letter<W: Deps>(deps: &W, id: &str) -> Result<bool, OperateError> {
    let letter = require_dead_letter(deps, id).await?;
    let revived = redrive_if_dead(deps, &letter).await?;
    let mut gone = RemovedLetters::new();
    record_removed_letter(&mut gone, &letter);
    clear_queue_copies(deps, &gone).await;
    Ok(revived)
}

/// Redrives many, each conversation's in its order. A second time changes nothing: what is no longer dead is left alone.
pub async fn redrive_dead_letters<W: Deps>(
    deps: &W,
    selection: &DeadLetterSelection,
) -> Result<RedriveSummary, OperateError> {
    let selected = select_letters(deps, selection).await?;
    let mut done = RedriveSummary {
        selected: selected.count,
        more: selected.more,
        ..RedriveSummary::default()
    };
    let mut gone = RemovedLetters::new();
    let mut lines = stream::iter(selected.lines)
        .map(|line| redrive_in_order(deps, line))
        .buffer_unordered(SIDE_BY_SIDE);
    while let Some((part, letters)) = lines.next().await {
        done.redriven += part.redriven;
        done.no_longer_dead += part.no_longer_dead;
        done.failed += part.failed;
        for letter in &letters {
            record_removed_letter(&mut gone, letter);
        }
    }
    clear_queue_copies(deps, &gone).await;
    Ok(done)
}

async fn redrive_in_order<W: Deps>(deps: &W, line: OrderedLetters) -> (RedriveSummary, Vec<DeadLetter>) {
    let (mut done, mut gone) = (RedriveSummary::default(), Vec::new());
    for id in line.into_letter_ids() {
        if done.failed > 0 {
            // In order, or not at all.
            done.failed += 1;
            continue;
        }
        match redrive_listed_letter(deps, &id).await {
            Ok(Some((letter, revived))) => {
                done.redriven += usize::from(revived);
                done.no_longer_dead += usize::from(!revived);
                gone.push(letter);
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

async fn redrive_listed_letter<W: Deps>(deps: &W, id: &str) -> PortResult<Option<(DeadLetter, bool)>> {
    let Some(letter) = deps.store().find_dead_letter(id).await? else {
        return Ok(None);
    };
    let revived = redrive_if_dead(deps, &letter).await?;
    Ok(Some((letter, revived)))
}

/// The kick first: it names the death, so whoever receives it revives the record and removes the letter, should this request
/// die on the way. Then the record is revived here too, so that it is alive when the client has its answer, and the letter
/// goes. A record that is alive, or died again, gets no kick.
async fn redrive_if_dead<W: Deps>(deps: &W, letter: &DeadLetter) -> PortResult<bool> {
    let dead = has_same_failure(deps, letter).await?;
    if dead {
        deps.queues()
            .enqueue_redrive(letter, generate_nonce(deps.system()).as_str())
            .await?;
        revive_record(deps, letter).await?;
        tracing::info!(dead_letter = %letter.id, correlation_id = %letter.correlation, "redriven by an operator");
    }
    deps.store().remove_dead_letter(&letter.id, letter.at).await?;
    Ok(dead)
}

/// Whether what the letter is a copy of is dead of the letter's death.
async fn has_same_failure<W: Deps>(deps: &W, letter: &DeadLetter) -> PortResult<bool> {
    let died = match &letter.what {
        DeadLetterContent::Event(job) => {
            let record = deps.store().find_event(&job.event).await?;
            record.and_then(|record| record.failed_at())
        }
        DeadLetterContent::Message { message } => {
            let message = deps.store().find_message(message).await?;
            message.and_then(|message| message.out?.failed_at())
        }
        // No record dies with these.
        DeadLetterContent::Turn(_) | DeadLetterContent::Unreadable { .. } => return Ok(true),
    };
    Ok(died == Some(letter.at))
}

/// Nothing changes if whoever received the kick was faster.
async fn revive_record<W: Deps>(deps: &W, letter: &DeadLetter) -> PortResult<()> {
    match &letter.what {
        DeadLetterContent::Event(job) => {
            deps.store().revive_event(&job.event, letter.at).await?;
        }
        DeadLetterContent::Message { message } => {
            let (message, died) = (message.clone(), letter.at);
            requeue_dead_message(deps, &Redrive { message, died }).await?;
        }
        DeadLetterContent::Turn(_) | DeadLetterContent::Unreadable { .. } => {}
    }
    Ok(())
}
