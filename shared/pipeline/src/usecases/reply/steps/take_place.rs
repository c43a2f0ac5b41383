//! The step [`recado_domain::turn::TurnStep::Place`]: takes a place among the turns that run at once, if the tenant limits
//! these.

use crate::Deps;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use recado_domain::config::Tenant;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{Nonce, TenantId};
use recado_domain::millis::add_duration;
use recado_domain::turn_places::PlaceAnswer;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::turn_places::{find_turn_places, save_turn_places};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};

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
        if answer.changes_record()
            && save_turn_places(deps.store(), &mut places).await? == WriteOutcome::Conflict
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
        let written = save_turn_places(deps.store(), &mut places).await?;
        Ok(WriteAttempt::after_write(written, ()))
    })
    .await
}
