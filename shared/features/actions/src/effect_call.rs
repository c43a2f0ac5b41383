//! Calls a tool that acts, for the model that drafts a reply.

use crate::calendar_call::{describe_other_times, plan_calendar_effect};
use crate::called_tool::{
    Told, await_answer, check_call, describe_missing_time, find_called_tool, note_call,
};
use crate::effects::{
    DraftedJournal, EffectEnd, EffectStop, note_other_event, perform_effect, plan_reminders,
};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::effects::{BeginRefusal, EffectAction, EffectEntry, EffectRequest, EffectState, ToolName};
use recado_domain::tools::{CalendarFunction, Tool, ToolOutcome};
use recado_pipeline::Deps;
use recado_pipeline::hooks::turn_part::{AnsweredCall, TurnPart};
use recado_pipeline::steps::turn::LeasedTurn;
use recado_pipeline::steps::turn::turn_end::{TurnEnd, TurnStop};
use recado_ports::ports::{EffectGuard, ModelCall, ToolLimits};
use recado_ports::random_id::{generate_effect_id, generate_nonce};
use recado_ports::time_limit::run_within;

/// The tools that act.
#[derive(Debug)]
pub struct ActingTools;

#[async_trait]
impl TurnPart for ActingTools {
    async fn answer_call(
        &self,
        deps: &Deps,
        turn: &mut LeasedTurn<'_>,
        call: &ModelCall,
    ) -> Result<Option<AnsweredCall>, TurnStop> {
        Box::pin(answer_acting_call(deps, turn, call)).await
    }
}

/// Answers a call of a tool that acts. `None`: it is none of them. Ends the turn if an action cannot begin or end in it.
pub(super) async fn answer_acting_call(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    call: &ModelCall,
) -> Result<Option<AnsweredCall>, TurnStop> {
    let Some(tool) = find_called_tool(turn, call, Tool::acts) else {
        return Ok(None);
    };
    let began_at = deps.system().now();
    let told = match check_call(deps, turn, &tool, call).await {
        Ok(limits) => perform_asked_effect(deps, turn, &tool, call, limits).await?,
        Err(refused) => refused,
    };
    Ok(Some(note_call(deps, turn, (&tool, call), began_at, told)))
}

/// Performs the effect that a call asks for, once. Returns the outcome, and the words for the model. Ends the turn if the
/// conversation or the journal is not as drafted any more, or if the effect is to be settled later.
async fn perform_asked_effect(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    tool: &Tool,
    call: &ModelCall,
    limits: ToolLimits,
) -> Result<Told, TurnStop> {
    let opened = deps.llm().open_effect_tool(tool, limits.private_hosts);
    let (Some(acting), Some(drafted)) = (opened, turn.state.find::<DraftedJournal>()) else {
        let told = "it cannot act here: tell the contact that a person will see to it";
        return Ok((ToolOutcome::Failed, told.to_owned()));
    };
    let function = tool.function.as_deref();
    let planned = if let Some(function) = function {
        let plans = plan_calendar_effect(deps, turn, function, &call.arguments, limits);
        Box::pin(plans).await
    } else {
        let plans = acting.plan_effect(&call.arguments, &drafted.journal.record);
        await_answer(deps, limits, plans).await
    };
    let action = match planned {
        Ok(action) => action,
        Err(told) => return Ok(told),
    };
    let request = build_request(deps, turn, (tool, call), action);
    let (guard, deadline) = (build_effect_guard(turn), find_call_deadline(turn));
    let Some(drafted) = turn.state.find_mut::<DraftedJournal>() else {
        return Err(TurnEnd::JournalChanged.into());
    };
    let performs = perform_effect(deps, &*acting, &guard, drafted, request, deadline);
    let performed = Box::pin(performs).await;
    let mut meets_other = false;
    if let (Ok(EffectEnd::Entered(entry)), Some(function)) = (&performed, function) {
        meets_other = look_for_other_event(deps, drafted, function, entry, limits).await?;
        plan_reminders_of_effect(deps, drafted, function, entry).await?;
    }
    match performed {
        Ok(EffectEnd::TimeTaken) => {
            let (outcome, told) = describe_effect_end(&EffectEnd::TimeTaken);
            let Some(function) = function else {
                return Ok((outcome, told));
            };
            let others = describe_other_times(deps, turn, function, &call.arguments, limits).await;
            Ok((outcome, format!("{told}. {others}")))
        }
        Ok(end) => Ok(describe_done_effect(&end, meets_other)),
        Err(EffectStop::NoTimeLeft) => Ok(describe_missing_time()),
        Err(EffectStop::Changed) => Err(TurnEnd::JournalChanged.into()),
        Err(EffectStop::UnderWay(until)) => Err(TurnEnd::EffectUnderWay { until }.into()),
        Err(EffectStop::Failed(error)) => Err(error.into()),
    }
}

/// The words for the model where a person of the business used the same time a moment before.
const OTHER_EVENT: &str = "People of the business entered something else at the same time just now: tell the contact that the team \
    will confirm the time.";

/// Looks whether another event stands at the time of an appointment that was just booked or moved: one that people entered after the
/// busy times were asked for. The journal notes it, and `reconcile` tells people. A calendar that does not answer now is not asked
/// again.
async fn look_for_other_event(
    deps: &Deps,
    drafted: &mut DraftedJournal,
    function: &CalendarFunction,
    entry: &EffectEntry,
    limits: ToolLimits,
) -> Result<bool, TurnStop> {
    let event = entry.event().filter(|_| entry.state == EffectState::Done);
    let booking = event.and_then(|event| drafted.journal.record.find_booking(event));
    let time = booking.and_then(|booking| function.find_appointment_time(booking));
    let (Some(event), Some(time)) = (event, time) else {
        return Ok(false);
    };
    let asks = deps.llm().has_other_event(&function.calendar, event, time);
    let found = run_within(deps.system(), limits.within, asks).await;
    let is_met = found.is_some_and(|found| found.unwrap_or(false));
    if is_met {
        tracing::warn!(%event, "people entered another event at the time of an appointment that was just booked");
        note_other_event(deps, drafted, event).await?;
    }
    Ok(is_met)
}

/// Plans the reminders of an appointment that was booked or moved. What a crash leaves out, `reconcile` plans within an hour.
async fn plan_reminders_of_effect(
    deps: &Deps,
    drafted: &mut DraftedJournal,
    function: &CalendarFunction,
    entry: &EffectEntry,
) -> Result<(), TurnStop> {
    let event = entry.event().filter(|_| !function.calendar.reminders.is_empty());
    let booking = event.and_then(|event| drafted.journal.record.find_booking(event));
    let time = booking.and_then(|booking| function.find_appointment_time(booking));
    let (Some(event), Some(time)) = (event, time) else {
        return Ok(());
    };
    let times = function.list_reminder_times(time.from);
    Ok(plan_reminders(deps, drafted, event, (time.from, &times)).await?)
}

fn build_request(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    (tool, call): (&Tool, &ModelCall),
    action: EffectAction,
) -> EffectRequest {
    let guard = build_effect_guard(turn);
    EffectRequest {
        id: generate_effect_id(deps.system()),
        tool: ToolName {
            agent: turn.bound.agent.id.clone(),
            name: tool.model_name().to_owned(),
        },
        action,
        arguments: call.arguments.clone(),
        recorded: tool.hide_arguments(&call.arguments),
        conversation: guard.conversation,
        epoch: guard.epoch,
        base: guard.answered,
        nonce: generate_nonce(deps.system()),
        limit: tool.time_limit(),
        once_per_turn: tool.once_per_turn,
    }
}

/// Returns the state in which the conversation must still be when an effect begins.
fn build_effect_guard(turn: &LeasedTurn<'_>) -> EffectGuard {
    EffectGuard {
        conversation: turn.conversation.id.clone(),
        epoch: turn.draft.epoch,
        answered: turn.draft.answered,
        turn_upto: turn.conversation.turn_upto,
    }
}

/// Returns the time at which a call must have ended: within the lease and the time of the turn.
fn find_call_deadline(turn: &LeasedTurn<'_>) -> Timestamp {
    let ends = turn.time.last_call_ends();
    let lease = turn.conversation.lease.as_ref();
    lease.map_or(ends, |lease| lease.until.min(ends))
}

/// Describes the end of an effect. `meets_other`: people entered something else at the same time.
fn describe_done_effect(end: &EffectEnd, meets_other: bool) -> Told {
    let (outcome, told) = describe_effect_end(end);
    let told = if meets_other {
        format!("{told}\n{OTHER_EVENT}")
    } else {
        told
    };
    (outcome, told)
}

fn describe_effect_end(end: &EffectEnd) -> Told {
    match end {
        EffectEnd::Entered(entry) => {
            let outcome = match entry.state {
                EffectState::Done => ToolOutcome::Answered,
                EffectState::Failed | EffectState::Void => ToolOutcome::Refused,
                EffectState::Doing | EffectState::Unknown => ToolOutcome::Unclear,
            };
            (outcome, entry.describe_end())
        }
        EffectEnd::Refused(refusal @ BeginRefusal::TooLarge) => {
            (ToolOutcome::BadArguments, refusal.to_string())
        }
        EffectEnd::Refused(refusal) => (ToolOutcome::Refused, refusal.to_string()),
        EffectEnd::TimeTaken => {
            let told = "this time is taken: nothing was done. Offer another one";
            (ToolOutcome::Refused, told.to_owned())
        }
    }
}
