//! deferred-reply: the turn. One timer per message names the conversation and an ordinal; what to do follows from the
//! record.

mod draft;
mod reading;
mod seen;
mod transcript;

use crate::World;
use crate::chance::nonce;
use crate::kick;
use crate::ports::{Ambient, Conversations, DeadLetters, Directory, PortResult, Queues, Written};
use crate::queued::{self, RECEIVES_HALF};
use crate::verdict::Verdict;
use draft::Answered;
use jiff::Timestamp;
use reading::{Found, Reading};
use recado_domain::config::Bound;
use recado_domain::conversation::{Conversation, Draft, TurnStep};
use recado_domain::dead_letter::{QueueName, RedrivenTurn};
use recado_domain::hours::Opening;
use recado_domain::kick::TurnKick;
use recado_domain::message::Message;
use recado_domain::millis::shift;
use std::time::Duration;
use tracing::Instrument;

/// Handles one message of `turns`, received for the `receives`th time.
pub async fn reply<W: World>(world: &W, body: &str, receives: u32) -> Verdict {
    let kick: TurnKick = match queued::read(world, QueueName::Turns, body).await {
        Ok(kick) => kick,
        Err(verdict) => return verdict,
    };
    let span = tracing::info_span!(
        "reply", conversation_id = %kick.conversation, correlation_id = %kick.correlation, receives
    );
    async {
        // In a box: thousands of these may wait side by side.
        let worked = Box::pin(come(world, body, &kick, receives)).await;
        queued::verdict(world, worked, &world.settings().turns_backoff, receives)
    }
    .instrument(span)
    .await
}

/// What comes before the turn itself: the letter of a redriven kick goes, and a kick that came back too often is sent
/// anew.
async fn come<W: World>(world: &W, body: &str, kick: &TurnKick, receives: u32) -> PortResult<Verdict> {
    if let Ok(RedrivenTurn { redrive, .. }) = serde_json::from_str(body) {
        world
            .store()
            .remove_dead_letter(&redrive.letter, redrive.died)
            .await?;
    }
    if receives >= RECEIVES_HALF {
        tracing::warn!("a turn that came back often is asked for anew");
        world.queues().send_turn(kick, Duration::ZERO).await?;
        return Ok(Verdict::Done);
    }
    turn(world, kick).await
}

/// How often a turn whose lease another worker holds is looked at.
const HELD_LOOK_MS: i64 = 3_000;

/// The turn, step by step: stand down, see whether anything is owed, wait for opening, take the lease, draft, commit,
/// kick.
async fn turn<W: World>(world: &W, kick: &TurnKick) -> PortResult<Verdict> {
    let (conversation, messages) = match reading::newest(world, &kick.conversation).await? {
        Found::Whole(conversation, messages) => (*conversation, messages),
        Found::Torn => return Ok(Verdict::SOON),
        Found::Nothing => {
            tracing::warn!("turn of a conversation that does not exist");
            return Ok(Verdict::Done);
        }
    };
    let now = world.ambient().now();
    let wait_max = i64::try_from(world.settings().debounce_max.as_millis()).unwrap_or(i64::MAX);
    match conversation.turn(kick.ordinal, now, wait_max) {
        TurnStep::StandDown => return Ok(Verdict::Done),
        TurnStep::NothingOwed => return done(world, kick).await,
        // Usually done long before the lease ends, and then what came meanwhile is owed at once.
        TurnStep::Held(until) => return Ok(Verdict::at(until.min(shift(now, HELD_LOOK_MS)), now)),
        TurnStep::Ours => {}
    }
    let Some(bound) = world.store().bound_by_id(&conversation.instance).await? else {
        tracing::error!("turn of an instance that is no longer configured");
        return done(world, kick).await;
    };
    match opening(&bound, now) {
        Opening::Open => answer(world, kick, &bound, conversation, messages).await,
        Opening::At(at) => wait_for_opening(world, kick, conversation, at).await,
        Opening::Never => {
            tracing::info!("the instance is never open: the turn waits for people");
            done(world, kick).await
        }
    }
}

/// Whether the agent answers at `now`, or when.
pub(crate) fn opening(bound: &Bound, now: Timestamp) -> Opening {
    bound
        .instance
        .opening_hours
        .as_ref()
        .map_or(Opening::Open, |hours| hours.at(now, &bound.tenant.zone()))
}

/// Every way out leads here: a reply that a crash left behind gets its kick.
async fn done<W: World>(world: &W, kick: &TurnKick) -> PortResult<Verdict> {
    kick::flush(world, &kick.conversation, &kick.correlation).await?;
    Ok(Verdict::Done)
}

async fn wait_for_opening<W: World>(
    world: &W,
    kick: &TurnKick,
    mut conversation: Conversation,
    at: Timestamp,
) -> PortResult<Verdict> {
    // A schedule is precise to a minute and must not fire before the opening.
    let at = round_up_to_minute(at);
    let scheduled = TurnKick {
        ordinal: conversation.turn_upto,
        due: Some(at),
        ..kick.clone()
    };
    world.queues().schedule_turn(&scheduled, at).await?;
    if conversation.scheduled_for != Some(at) {
        conversation.schedule(at);
        conversation.rev += 1;
        if world.store().update(&conversation).await? == Written::Conflict {
            return Ok(Verdict::SOON);
        }
        tracing::info!(%at, "turn waits for opening");
    }
    done(world, kick).await
}

fn round_up_to_minute(at: Timestamp) -> Timestamp {
    let past = at.as_millisecond().rem_euclid(60_000);
    if past == 0 { at } else { shift(at, 60_000 - past) }
}

async fn answer<W: World>(
    world: &W,
    kick: &TurnKick,
    bound: &Bound,
    mut conversation: Conversation,
    newest: Vec<Message>,
) -> PortResult<Verdict> {
    let known = reading::older(world, &conversation, newest).await?;
    let (answered, upto) = (conversation.answered, conversation.turn_upto);
    let reading = Reading::of(answered, upto, known, &world.settings().turn_reads);
    if reading.covers <= answered {
        tracing::error!("messages that are owed an answer were not found");
        return Ok(Verdict::SOON);
    }
    let now = world.ambient().now();
    let lease = i64::try_from(world.settings().turn_lease.as_millis()).unwrap_or(i64::MAX);
    let draft = conversation.lease(nonce(world.ambient()), reading.covers, now, shift(now, lease));
    conversation.rev += 1;
    if world.store().update(&conversation).await? == Written::Conflict {
        return Ok(Verdict::SOON);
    }
    let answered = if draft.attempt > world.settings().attempts.turn {
        // Three workers died or gave up over it: the contact is told, without a fourth call.
        tracing::error!(
            attempt = draft.attempt,
            "the model was asked too often for one turn"
        );
        Answered::apology(world, bound)
    } else {
        let work = draft::write(world, kick, bound, &reading);
        match seen::beside(world, bound, &conversation, reading.owed().next_back(), work).await? {
            Some(answered) => answered,
            None => return lay_down(world, kick, conversation, &draft).await,
        }
    };
    commit(world, kick, conversation, &draft, answered).await
}

/// The model's key is missing: the turn waits in the record, and `reconcile` asks for it again.
async fn lay_down<W: World>(
    world: &W,
    kick: &TurnKick,
    conversation: Conversation,
    draft: &Draft,
) -> PortResult<Verdict> {
    release_lease(world, conversation, draft, false).await?;
    done(world, kick).await
}

async fn release_lease<W: World>(
    world: &W,
    mut conversation: Conversation,
    draft: &Draft,
    counted: bool,
) -> PortResult<()> {
    for _ in 0..COMMIT_TRIES {
        if !conversation.release(&draft.nonce, counted) {
            return Ok(());
        }
        conversation.rev += 1;
        if world.store().update(&conversation).await? == Written::Yes {
            return Ok(());
        }
        let Some(read_again) = world.store().conversation(&conversation.id).await? else {
            return Ok(());
        };
        conversation = read_again;
    }
    Ok(())
}

/// How often a commit is tried against messages that keep coming in. They change the record but not what the draft
/// stands on, so each try but the last loses to a new arrival only.
const COMMIT_TRIES: usize = 8;

async fn commit<W: World>(
    world: &W,
    kick: &TurnKick,
    mut conversation: Conversation,
    draft: &Draft,
    answered: Answered,
) -> PortResult<Verdict> {
    for _ in 0..COMMIT_TRIES {
        let before = conversation.clone();
        let ordinal = match conversation.commit(draft, world.ambient().now()) {
            Ok(ordinal) => ordinal,
            Err(refused) => {
                tracing::info!(reason = %refused, "draft discarded");
                release_lease(world, before, draft, true).await?;
                return Ok(Verdict::SOON);
            }
        };
        conversation.rev += 1;
        let parts = answered.messages(world, &mut conversation, draft, ordinal, &kick.correlation);
        if world.store().commit_reply(&conversation, &parts).await? == Written::Yes {
            committed(draft, &parts);
            if let Some(last) = parts.last() {
                // Whoever sends the last sends those before it first.
                kick::send(world, last, &kick.correlation).await?;
            }
            read_on(world, kick, draft, &conversation).await?;
            return Ok(Verdict::Done);
        }
        let Some(read_again) = world.store().conversation(&before.id).await? else {
            return Ok(Verdict::Done);
        };
        conversation = read_again;
    }
    Ok(Verdict::SOON)
}

/// What this turn could not read is the next one's, at once: its messages' timers are over.
async fn read_on<W: World>(
    world: &W,
    kick: &TurnKick,
    draft: &Draft,
    conversation: &Conversation,
) -> PortResult<()> {
    if let Some(reason) = conversation.needs_person {
        tracing::warn!(
            answered = conversation.answered.0,
            upto = conversation.turn_upto.0,
            %reason,
            "more was written than the agent reads in a row: the rest waits for a person"
        );
    } else if draft.rest && conversation.agent_owes() {
        kick::turn(world, conversation, &kick.correlation).await?;
    }
    Ok(())
}

fn committed(draft: &Draft, parts: &[Message]) {
    let Some(first) = parts.first() else { return };
    tracing::info!(
        ordinal = first.ordinal.0,
        parts = parts.len(),
        covers = draft.covers.0,
        model = first.model.as_deref().unwrap_or("none"),
        input_tokens = first.usage.map(|usage| usage.input_tokens),
        output_tokens = first.usage.map(|usage| usage.output_tokens),
        "reply committed"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::instant;

    #[test]
    fn an_opening_inside_a_minute_is_scheduled_for_the_next() {
        assert_eq!(round_up_to_minute(instant(60_000)), instant(60_000));
        assert_eq!(round_up_to_minute(instant(60_001)), instant(120_000));
    }
}
