//! The step [`recado_domain::turn::TurnStep::Lease`]: takes the lease of the turn, under which the reply is drafted.

use crate::Deps;
use crate::measure;
use crate::steps::save_conversation::{save_conversation, save_conversation_with_use};
use crate::usecases::reply::reading::TurnReading;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use crate::usecases::reply::turn_time::TurnTime;
use recado_domain::conversation::{Conversation, Draft, UnsentUse};
use recado_domain::dead_letter::QueueName;
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_ports::deps::ExclusiveTurn;
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::retry_write::{WriteAttempt, repeat_lost_write};

/// Waits until no other exclusive turn runs in this process, if the turn is one: it holds files in memory, or an earlier
/// attempt at it did not end. Ends the turn, uncounted, if the others take too long.
pub(in crate::usecases::reply) async fn begin_exclusive_turn<'a>(
    deps: &'a Deps,
    conversation: &Conversation,
    reading: &TurnReading,
    time: TurnTime,
) -> Result<Option<ExclusiveTurn<'a>>, TurnStop> {
    let holds_file = |message: &Message| {
        message
            .file
            .as_ref()
            .is_some_and(|file| file.found_text().is_none())
    };
    if conversation.attempts.count == 0 && !reading.chosen_messages().any(holds_file) {
        return Ok(None);
    }
    let limit = time.left_for_files(deps.system().now(), deps.settings().file_work_wait);
    let turns = &deps.exclusive_turns;
    let begun = turns.begin_exclusive_turn(deps.system(), limit).await;
    begun.map(Some).ok_or_else(|| TurnEnd::NoTimeLeft.into())
}

/// Takes the lease for the messages of `reading`, and counts an attempt. Ends the turn if the conversation changed since
/// it was read.
pub(in crate::usecases::reply) async fn take_lease(
    deps: &Deps,
    conversation: &mut Conversation,
    reading: &TurnReading,
) -> Result<Draft, TurnStop> {
    let now = deps.system().now();
    let draft = conversation.acquire_lease(
        generate_nonce(deps.system()),
        reading.covers,
        now,
        add_duration(now, deps.settings().turn_lease),
    );
    if save_conversation(deps, conversation).await? == WriteOutcome::Conflict {
        return Err(TurnEnd::ChangedMeanwhile.into());
    }
    if draft.attempt > 1 {
        measure::count_retry(&conversation.instance, QueueName::Turns);
    }
    Ok(draft)
}

/// Gives the lease of `draft` back, if it is still held. `counted`: the attempt stays counted. What the turn used without a reply is
/// summed up in the same write; it is written, too, if another worker has the lease.
pub(in crate::usecases::reply) async fn release_lease(
    deps: &Deps,
    conversation: Conversation,
    (draft, unsent): (&Draft, &UnsentUse),
    counted: bool,
) -> PortResult<()> {
    let released = repeat_lost_write(conversation, |mut conversation| async move {
        if !conversation.release_lease(&draft.nonce, counted) && unsent.models.is_empty() {
            return Ok(WriteAttempt::Done(()));
        }
        let saves = save_conversation_with_use(deps, &mut conversation, unsent);
        if saves.await? == WriteOutcome::Written {
            return Ok(WriteAttempt::Done(()));
        }
        let found = deps.store().find_conversation(&conversation.id).await?;
        Ok(found.map_or(WriteAttempt::Done(()), WriteAttempt::Lost))
    });
    // A lease that is not given back ends by itself.
    released.await.map(drop)
}
