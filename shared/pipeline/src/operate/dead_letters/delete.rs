use super::redrive::{Gone, clear, note};
use super::selection::{Line, Selection, select};
use super::{SIDE_BY_SIDE, found};
use crate::World;
use crate::operate::{OperateError, TRIES};
use crate::ports::{Ambient, Conversations, DeadLetters, Inbox, OutboxStore, PortError, PortResult, Written};
use crate::queued::chain;
use futures::stream::{self, StreamExt};
use recado_domain::dead_letter::{DeadLetter, DeadWhat, Deletion};
use recado_domain::ids::MessageId;
use recado_domain::millis::shift;

/// What deleting many did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deleted {
    /// How many letters were looked at.
    pub selected: usize,
    /// How many are gone.
    pub deleted: usize,
    /// What could not be done now.
    pub failed: usize,
    /// Whether there are more letters than were asked for.
    pub more: bool,
}

/// Deletes one dead letter for good; who did is kept.
pub async fn delete<W: World>(world: &W, id: &str, by: &str) -> Result<(), OperateError> {
    let letter = found(world, id).await?;
    let deleted = forget(world, &letter, by).await?;
    let mut gone = Gone::new();
    note(&mut gone, &letter);
    clear(world, &gone).await;
    if deleted {
        Ok(())
    } else {
        // Somebody else deleted or redrove it in this moment.
        Err(OperateError::NotFound("dead letter"))
    }
}

/// Deletes many dead letters for good; who did is kept with each.
pub async fn delete_many<W: World>(
    world: &W,
    selection: &Selection,
    by: &str,
) -> Result<Deleted, OperateError> {
    let selected = select(world, selection).await?;
    let mut done = Deleted {
        selected: selected.count,
        more: selected.more,
        ..Deleted::default()
    };
    let ids = selected.lines.into_iter().flat_map(Line::ids);
    let mut gone = Gone::new();
    let mut letters = stream::iter(ids)
        .map(|id| forget_listed(world, id, by))
        .buffer_unordered(SIDE_BY_SIDE);
    while let Some(outcome) = letters.next().await {
        match outcome {
            Ok(Some(letter)) => {
                note(&mut gone, &letter);
                done.deleted += 1;
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(error = %chain(&error), "a dead letter was not deleted");
                done.failed += 1;
            }
        }
    }
    clear(world, &gone).await;
    Ok(done)
}

async fn forget_listed<W: World>(world: &W, id: String, by: &str) -> PortResult<Option<DeadLetter>> {
    match world.store().dead_letter(&id).await? {
        Some(letter) => Ok(forget(world, &letter, by).await?.then_some(letter)),
        None => Ok(None),
    }
}

/// The record first, so that no copy that is left revives it and nothing makes the letter anew; then the letter, together
/// with the note of who deleted it. A crash in between leaves a letter that can be deleted again.
async fn forget<W: World>(world: &W, letter: &DeadLetter, by: &str) -> PortResult<bool> {
    let now = world.ambient().now();
    match &letter.what {
        DeadWhat::Event(job) => {
            let ttl = i64::try_from(world.settings().event_ttl.as_millis()).unwrap_or(i64::MAX);
            let expires = shift(now, ttl);
            world
                .store()
                .purge_event(&job.event, letter.at, now, expires)
                .await?;
        }
        DeadWhat::Message { message } => purge_message(world, message, letter).await?,
        DeadWhat::Turn(_) | DeadWhat::Unreadable { .. } => {}
    }
    let deleted = world
        .store()
        .delete_dead_letter(&Deletion::of(letter, by, now))
        .await?;
    if deleted {
        tracing::warn!(dead_letter = %letter.id, correlation_id = %letter.correlation, "deleted by an operator");
    }
    Ok(deleted)
}

/// A message that is alive, or died again, is left as it is: only its old letter goes.
async fn purge_message<W: World>(world: &W, id: &MessageId, letter: &DeadLetter) -> PortResult<()> {
    for _ in 0..TRIES {
        let Some(mut message) = world.store().message(id).await? else {
            return Ok(());
        };
        let Some(out) = message.out.as_mut() else {
            return Ok(());
        };
        let copied = out.copied;
        if out.purge(world.ambient().now(), letter.at).is_err() {
            return Ok(());
        }
        // Until its copies are all made, a dead message lies among the open ones.
        let written = if copied {
            world.store().amend(&message).await?
        } else {
            world.store().settle(&message, None, None, None).await?
        };
        if written == Written::Yes {
            return Ok(());
        }
    }
    Err(PortError::unavailable("message", "others kept writing it"))
}
