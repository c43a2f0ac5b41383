//! The step [`recado_domain::turn::TurnStep::Limits`]: checks the agent's limits in this thread.

use crate::steps::budget_reading::{measure_budget, read_prices};
use crate::steps::save_conversation::save_conversation;
use crate::steps::turn::reading::TurnReading;
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use jiff::Timestamp;
use recado_domain::config::{InstanceConfig, LimitReply};
use recado_domain::conversation::{AgentPause, Conversation};
use recado_domain::price::PriceList;
use recado_domain::usage::resolve_usage_day;
use recado_ports::Deps;
use recado_ports::ports::{PortResult, WriteOutcome};

/// Ends the turn if a limit of the agent is reached: what is owed waits for a person. If the contact is told
/// something then, the pause is returned, and it begins with the commit of that message.
pub(in crate::usecases::reply) async fn check_limits(
    deps: &Deps,
    bound: &InstanceConfig,
    conversation: &mut Conversation,
    reading: &TurnReading,
) -> Result<Option<AgentPause>, TurnStop> {
    let limits = &bound.agent.limits;
    let now = deps.system().now();
    let own = conversation.find_reached_limit(limits, reading.known_messages(), now);
    let pause = match own {
        Some(pause) => Some(pause),
        None => match find_spent_tokens(deps, bound, now).await? {
            Some(pause) => Some(pause),
            None => find_spent_budget(deps, bound, now).await?,
        },
    };
    let Some(pause) = pause else {
        return Ok(None);
    };
    tracing::warn!(reason = %pause.reason, until = %pause.until, "a limit is reached: the agent pauses in this conversation");
    if limits.reply_for(pause.reason) != LimitReply::Nothing {
        return Ok(Some(pause));
    }
    conversation.pause_agent(pause);
    if save_conversation(deps, conversation).await? == WriteOutcome::Conflict {
        return Err(TurnEnd::ChangedMeanwhile.into());
    }
    Err(TurnEnd::Paused.into())
}

/// Returns the pause of a tenant that used up its tokens of the day. Only where the configuration limits them is anything read.
async fn find_spent_tokens(
    deps: &Deps,
    bound: &InstanceConfig,
    now: Timestamp,
) -> PortResult<Option<AgentPause>> {
    let Some(limit) = bound.tenant.tokens_per_day else {
        return Ok(None);
    };
    let day = resolve_usage_day(now);
    let today = deps.store().list_usage(&bound.tenant.id, day, day).await?;
    Ok(AgentPause::for_spent_tokens(limit, &today, now))
}

/// Returns the pause of a tenant that used up its budget of the month. Only where the agents stop then is anything read.
async fn find_spent_budget(
    deps: &Deps,
    bound: &InstanceConfig,
    now: Timestamp,
) -> PortResult<Option<AgentPause>> {
    let Some(budget) = bound.tenant.budget.as_ref().filter(|budget| budget.stop) else {
        return Ok(None);
    };
    let prices = if budget.amount.is_some() {
        read_prices(deps.store()).await?
    } else {
        PriceList::default()
    };
    let used = measure_budget(deps.store(), &bound.tenant.id, budget, &prices, now).await?;
    Ok(AgentPause::for_spent_budget(budget, used, now))
}
