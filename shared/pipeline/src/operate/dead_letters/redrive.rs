use super::selection::{Line, Selection, select};
use super::{SIDE_BY_SIDE, found};
use crate::World;
use crate::chance::nonce;
use crate::collect::remove_copies;
use crate::operate::OperateError;
use crate::ports::{Conversations, DeadLetters, DeadQueues, Inbox, PortResult};
use crate::queued::chain;
use crate::send::revive;
use futures::stream::{self, StreamExt};
use recado_domain::dead_letter::{DeadLetter, DeadWhat, QueueName, RedrivenLetter};
use recado_domain::kick::Redrive;
use std::collections::{BTreeMap, BTreeSet};

/// What a redrive did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Redriven {
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
pub(super) type Gone = BTreeMap<QueueName, BTreeSet<RedrivenLetter>>;

pub(super) fn note(gone: &mut Gone, letter: &DeadLetter) {
    gone.entry(letter.queue).or_default().insert(RedrivenLetter {
        letter: letter.id.clone(),
        died: letter.at,
    });
}

/// Removes what is left in the dead-letter queues. What fails here `reconcile` does: the letters are gone.
pub(super) async fn clear<W: World>(world: &W, gone: &Gone) {
    for (queue, letters) in gone {
        if let Err(error) = remove_copies(world, *queue, letters).await {
            tracing::warn!(queue = queue.as_str(), error = %chain(&error), "copies of dead letters were left");
        }
    }
}

/// Redrives one dead letter. `false`: what it is a copy of is no longer dead of that death, and only the letter went.
pub async fn redrive<W: World>(world: &W, id: &str) -> Result<bool, OperateError> {
    let letter = found(world, id).await?;
    let revived = again(world, &letter).await?;
    let mut gone = Gone::new();
    note(&mut gone, &letter);
    clear(world, &gone).await;
    Ok(revived)
}

/// Redrives many, each conversation's in its order. A second time changes nothing: what is no longer dead is left alone.
pub async fn redrive_many<W: World>(world: &W, selection: &Selection) -> Result<Redriven, OperateError> {
    let selected = select(world, selection).await?;
    let mut done = Redriven {
        selected: selected.count,
        more: selected.more,
        ..Redriven::default()
    };
    let mut gone = Gone::new();
    let mut lines = stream::iter(selected.lines)
        .map(|line| redrive_line(world, line))
        .buffer_unordered(SIDE_BY_SIDE);
    while let Some((part, letters)) = lines.next().await {
        done.redriven += part.redriven;
        done.no_longer_dead += part.no_longer_dead;
        done.failed += part.failed;
        for letter in &letters {
            note(&mut gone, letter);
        }
    }
    clear(world, &gone).await;
    Ok(done)
}

async fn redrive_line<W: World>(world: &W, line: Line) -> (Redriven, Vec<DeadLetter>) {
    let (mut done, mut gone) = (Redriven::default(), Vec::new());
    for id in line.ids() {
        if done.failed > 0 {
            // In order, or not at all.
            done.failed += 1;
            continue;
        }
        match redrive_listed(world, &id).await {
            Ok(Some((letter, revived))) => {
                done.redriven += usize::from(revived);
                done.no_longer_dead += usize::from(!revived);
                gone.push(letter);
            }
            Ok(None) => done.no_longer_dead += 1,
            Err(error) => {
                tracing::warn!(dead_letter = id, error = %chain(&error), "not redriven");
                done.failed += 1;
            }
        }
    }
    (done, gone)
}

async fn redrive_listed<W: World>(world: &W, id: &str) -> PortResult<Option<(DeadLetter, bool)>> {
    let Some(letter) = world.store().dead_letter(id).await? else {
        return Ok(None);
    };
    let revived = again(world, &letter).await?;
    Ok(Some((letter, revived)))
}

/// The kick first: it names the death, so whoever receives it revives the record and removes the letter, should this request
/// die on the way. Then the record is revived here too, so that it is alive when the client has its answer, and the letter
/// goes. A record that is alive, or died again, gets no kick.
async fn again<W: World>(world: &W, letter: &DeadLetter) -> PortResult<bool> {
    let dead = is_dead_of(world, letter).await?;
    if dead {
        world
            .queues()
            .send_redrive(letter, nonce(world.ambient()).as_str())
            .await?;
        revive_record(world, letter).await?;
        tracing::info!(dead_letter = %letter.id, correlation_id = %letter.correlation, "redriven by an operator");
    }
    world.store().remove_dead_letter(&letter.id, letter.at).await?;
    Ok(dead)
}

/// Whether what the letter is a copy of is dead of the letter's death.
async fn is_dead_of<W: World>(world: &W, letter: &DeadLetter) -> PortResult<bool> {
    let died = match &letter.what {
        DeadWhat::Event(job) => {
            let record = world.store().event(&job.event).await?;
            record.and_then(|record| record.died())
        }
        DeadWhat::Message { message } => {
            let message = world.store().message(message).await?;
            message.and_then(|message| message.out?.died())
        }
        // No record dies with these.
        DeadWhat::Turn(_) | DeadWhat::Unreadable { .. } => return Ok(true),
    };
    Ok(died == Some(letter.at))
}

/// Nothing changes if whoever received the kick was faster.
async fn revive_record<W: World>(world: &W, letter: &DeadLetter) -> PortResult<()> {
    match &letter.what {
        DeadWhat::Event(job) => {
            world.store().revive_event(&job.event, letter.at).await?;
        }
        DeadWhat::Message { message } => {
            let (message, died) = (message.clone(), letter.at);
            revive(world, &Redrive { message, died }).await?;
        }
        DeadWhat::Turn(_) | DeadWhat::Unreadable { .. } => {}
    }
    Ok(())
}
