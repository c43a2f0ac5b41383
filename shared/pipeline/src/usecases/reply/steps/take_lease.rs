//! The steps [`recado_domain::turn::TurnStep::Place`] and [`recado_domain::turn::TurnStep::Lease`]: takes what a turn must hold to
//! draft its reply. These are a place among the turns that run at once, if the tenant limits them, and the conversation's lease.

use crate::Deps;
use crate::deps::ExclusiveTurn;
use crate::measure;
use crate::steps::save_conversation::save_conversation;
use crate::steps::turn::TurnTime;
use crate::steps::turn::reading::TurnReading;
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use recado_domain::config::Tenant;
use recado_domain::conversation::{Conversation, Draft};
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::{Nonce, TenantId};
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::turn_places::PlaceAnswer;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::turn_places::find_turn_places;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::write_record;

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

/// A place that a turn has, to be given back at its end.
#[derive(Debug, Clone)]
pub(in crate::usecases::reply) struct TurnPlace {
    tenant: TenantId,
    nonce: Nonce,
}

/// Takes a place for the turn, or ends it: its job comes back. Without a limit nothing is read or written.
///
/// The place ends by itself when a lease would. So a crash keeps nobody waiting for longer, and a worker that stalls beyond that
/// may run beside the next.
pub(in crate::usecases::reply) async fn take_place(
    deps: &Deps,
    tenant: &Tenant,
    conversation: &Conversation,
) -> Result<Option<TurnPlace>, TurnStop> {
    let Some(limit) = tenant.turns_at_once else {
        return Ok(None);
    };
    let nonce = generate_nonce(deps.system());
    let taken = retry_lost_write(TurnEnd::ChangedMeanwhile, (), |()| async {
        let mut places = find_turn_places(deps.store(), &tenant.id).await?;
        let now = deps.system().now();
        let until = add_duration(now, deps.settings().turn_lease);
        let asked = &mut places.record;
        let answer = asked.ask_for_place(limit, (&conversation.id, &nonce), now, until);
        if answer.changes_record() && write_record(deps.store(), &mut places).await? == WriteOutcome::Conflict
        {
            return Ok(WriteAttempt::Lost(()));
        }
        match answer {
            PlaceAnswer::Taken => Ok(WriteAttempt::Done(())),
            PlaceAnswer::Waits { until, .. } => Err(TurnStop::from(TurnEnd::WaitsForPlace { until })),
        }
    });
    taken.await?;
    Ok(Some(TurnPlace {
        tenant: tenant.id.clone(),
        nonce,
    }))
}

/// Gives the place back. If that fails, it ends by itself.
pub(in crate::usecases::reply) async fn give_place_back(deps: &Deps, place: Option<TurnPlace>) {
    let Some(place) = place else {
        return;
    };
    if let Err(error) = try_to_give_back(deps, &place).await {
        tracing::warn!(%error, "the place of a turn is not given back and ends by itself");
    }
}

async fn try_to_give_back(deps: &Deps, place: &TurnPlace) -> PortResult<()> {
    let contended = PortError::contended("places of turns");
    retry_lost_write(contended, (), |()| async {
        let mut places = find_turn_places(deps.store(), &place.tenant).await?;
        if !places.record.give_place_back(&place.nonce) {
            return Ok(WriteAttempt::Done(()));
        }
        let written = write_record(deps.store(), &mut places).await?;
        Ok(WriteAttempt::after_write(written, ()))
    })
    .await
}
