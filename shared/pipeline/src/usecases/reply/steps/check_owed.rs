//! The step [`recado_domain::turn::TurnStep::Owed`]: checks that the agent owes an answer now.

use crate::Deps;
use crate::ports::System;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use recado_domain::conversation::{Conversation, TurnDecision};
use recado_domain::wake_up::TurnJob;

/// Ends the turn unless the agent owes an answer now and no other worker drafts it. `debounce_max` is the longest time
/// for which newer messages put the answer off.
pub(in crate::usecases::reply) async fn check_owed(
    deps: &impl Deps,
    job: &TurnJob,
    conversation: &Conversation,
) -> Result<(), TurnStop> {
    let (now, wait_max) = (deps.system().now(), deps.settings().debounce_max);
    let end = match conversation.decide_turn(job.ordinal, now, wait_max) {
        TurnDecision::AnswerNow => return Ok(()),
        TurnDecision::StandDown => TurnEnd::NewerMessage,
        TurnDecision::NothingOwed => TurnEnd::NothingOwed,
        TurnDecision::LeaseHeld(until) => TurnEnd::LeaseHeld { until },
    };
    Err(end.into())
}
