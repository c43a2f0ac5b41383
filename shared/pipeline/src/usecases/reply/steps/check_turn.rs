//! The steps [`recado_domain::turn::TurnStep::Owed`], [`recado_domain::turn::TurnStep::Hours`] and
//! [`recado_domain::turn::TurnStep::Limits`]: check that the agent owes an answer now, that the instance is open, and that no limit
//! of the agent is reached. Turns that wait for one opening begin one behind the other, not all at once.

use crate::Deps;
use crate::deps::{capabilities, pair_rate};
use crate::steps::budget_reading::{measure_budget, read_prices};
use crate::steps::save_conversation::save_conversation;
use crate::steps::turn::reading::TurnReading;
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use crate::steps::{typing_signs, wake_up};
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::{InstanceConfig, LimitReply};
use recado_domain::conversation::{AgentPause, Conversation, TurnDecision};
use recado_domain::hours::{OpeningHours, OpeningState};
use recado_domain::ids::Ordinal;
use recado_domain::instance::{InstanceChange, InstanceState};
use recado_domain::message::{Message, NewOutgoing, PreparedContent, Role};
use recado_domain::millis::add_duration;
use recado_domain::outbox::Author;
use recado_domain::price::PriceList;
use recado_domain::service_window::is_window_open;
use recado_domain::usage::resolve_usage_day;
use recado_domain::wake_up::{TurnJob, TurnsJob};
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::step_commit::{ReplyWrite, StepCommit, StepJob, StepOutcome, StepRecords};

/// Least pause between two looks at a contact who types.
const LOOK_AGAIN_MIN: SignedDuration = SignedDuration::from_secs(1);

/// Ends the turn unless the agent owes an answer now and no other worker drafts it. `debounce_max` is the longest time
/// for which newer messages, or a contact who types, put the answer off. `newest` are the newest messages. If nothing
/// is owed, the parts of the turn do what is left to do for these.
pub(in crate::usecases::reply) async fn check_owed(
    deps: &Deps,
    job: &TurnJob,
    conversation: &Conversation,
    newest: &[Message],
) -> Result<(), TurnStop> {
    let (now, wait_max) = (deps.system().now(), deps.settings().debounce_max);
    // A conversation has one scheduled job in the minute of the opening, the first one's. That job stands for all messages. It may
    // be scheduled for an earlier place of that minute than the stored one.
    let is_scheduled = match (job.due, conversation.opening.scheduled_for) {
        (Some(due), Some(stored)) => begin_of_minute(due) == begin_of_minute(stored),
        _ => false,
    };
    let named = if is_scheduled {
        conversation.turn_upto
    } else {
        job.ordinal
    };
    let end = match conversation.decide_turn(named, now, wait_max) {
        TurnDecision::AnswerNow => match find_typing_end(deps, conversation, newest, now).await {
            None => return Ok(()),
            Some(until) => {
                // The contact may stop before.
                let again = deps.settings().typing.short.max(LOOK_AGAIN_MIN);
                let until = until.min(add_duration(now, again));
                TurnEnd::ContactTypes { until }
            }
        },
        TurnDecision::StandDown => TurnEnd::NewerMessage,
        TurnDecision::NothingOwed => {
            for part in deps.features().turn_parts {
                part.follow_nothing_owed(deps, conversation, newest).await?;
            }
            TurnEnd::NothingOwed
        }
        TurnDecision::LeaseHeld(until) => TurnEnd::LeaseHeld { until },
    };
    Err(end.into())
}

/// Returns the time until which the reply waits for a contact who types, if it does. Only where the setting says so is
/// anything read, and a failure of that read has no effect.
async fn find_typing_end(
    deps: &Deps,
    conversation: &Conversation,
    newest: &[Message],
    now: Timestamp,
) -> Option<Timestamp> {
    let settings = deps.settings();
    let latest = add_duration(conversation.waiting_since?, settings.debounce_max);
    if !settings.typing.is_on() || latest <= now {
        return None;
    }
    let last = newest.iter().rev().find(|message| message.role == Role::User)?;
    match typing_signs::find_sign(deps, conversation).await {
        Ok(sign) => settings.typing.wait_until(&sign?, last.stored_at, latest, now),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "whether the contact types is not known");
            None
        }
    }
}

/// Longest time for which a job that came too early waits in the queue. One that is earlier is scheduled anew.
const WAIT_MAX: SignedDuration = SignedDuration::from_mins(5);

/// Ends the turn if the business is closed now, whatever its hours were when the job was scheduled. A turn job is then
/// scheduled, and the contact is told, once in a closure, if the hours have a message for it.
pub(in crate::usecases::reply) async fn check_hours(
    deps: &Deps,
    job: &TurnJob,
    bound: &InstanceConfig,
    conversation: &mut Conversation,
) -> Result<(), TurnStop> {
    let now = deps.system().now();
    match (bound.opening_state_at(now), &bound.instance.opening_hours) {
        (OpeningState::Open, _) => {
            let early = job.due.filter(|due| is_waited_for(*due, now));
            early.map_or(Ok(()), |at| Err(TurnEnd::TooEarly { at }.into()))
        }
        (OpeningState::OpensAt(opens), Some(hours)) => {
            let end = wait_for_opening(deps, job, (bound, hours), conversation, opens).await?;
            Err(end.into())
        }
        (OpeningState::NeverOpens, Some(_)) if !bound.agent.disabled => {
            let written = match build_closed_message(deps, job, bound, conversation, None) {
                Some(message) => tell_closed(deps, job, conversation, message).await?,
                None => StepOutcome::Committed,
            };
            Err(match written {
                StepOutcome::Committed => TurnEnd::NeverOpens.into(),
                _ => TurnEnd::ChangedMeanwhile.into(),
            })
        }
        (OpeningState::NeverOpens, _) | (_, None) => Err(TurnEnd::NeverOpens.into()),
    }
}

/// Returns `true` if a job that is due at `due` waits in the queue until then.
fn is_waited_for(due: Timestamp, now: Timestamp) -> bool {
    due > now && due <= add_duration(now, WAIT_MAX)
}

async fn wait_for_opening(
    deps: &Deps,
    job: &TurnJob,
    (bound, hours): (&InstanceConfig, &OpeningHours),
    conversation: &mut Conversation,
    opens: Timestamp,
) -> PortResult<TurnEnd> {
    let now = deps.system().now();
    let known = conversation.scheduled_turn(opens);
    let early = known.filter(|at| job.due == Some(*at) && is_waited_for(*at, now));
    if let Some(at) = early {
        return Ok(TurnEnd::TooEarly { at });
    }
    let at = match known {
        Some(at) => at,
        None => queue_for_opening(deps, bound, hours, opens).await?,
    };
    let scheduled = TurnsJob::Turn(TurnJob {
        ordinal: conversation.turn_upto,
        due: Some(at),
        ..job.clone()
    });
    // A schedule is precise to a minute. The job waits for its second itself.
    deps.queues()
        .schedule_turns_job(&scheduled, begin_of_minute(at))
        .await?;
    conversation.schedule_turn(opens, at);
    let written = match build_closed_message(deps, job, bound, conversation, Some(opens)) {
        Some(message) => tell_closed(deps, job, conversation, message).await?,
        None if known.is_none() => save_conversation(deps, conversation).await?.into(),
        None => StepOutcome::Committed,
    };
    Ok(match written {
        StepOutcome::Committed => TurnEnd::Closed { opens: at },
        _ => TurnEnd::ChangedMeanwhile,
    })
}

/// Returns the time of a turn that waits for the opening: the opening, or a step behind the turn that was added last.
async fn queue_for_opening(
    deps: &Deps,
    bound: &InstanceConfig,
    hours: &OpeningHours,
    opens_at: Timestamp,
) -> PortResult<Timestamp> {
    let change = InstanceChange::QueueForOpening {
        opens_at,
        interval: hours.reply_interval(),
    };
    let unknown = InstanceState::default();
    let changed = deps
        .store()
        .change_instance_state(&bound.instance.id, &unknown, &change)
        .await?;
    Ok(changed.state.opening.map_or(opens_at, |queue| queue.last_at))
}

/// Returns the minute in which `at` lies: a conversation has one scheduled job in it.
fn begin_of_minute(at: Timestamp) -> Timestamp {
    let past = SignedDuration::from_millis(at.as_millisecond().rem_euclid(60_000));
    add_duration(at, -past)
}

/// Builds the message that tells the contact that the instance is closed. It answers nothing, expires at the opening, if there is one, and
/// a takeover cancels it. `None`: the contact was told in this closure, or there is nothing to say, or the contact's
/// service window is over.
fn build_closed_message(
    deps: &Deps,
    job: &TurnJob,
    bound: &InstanceConfig,
    conversation: &mut Conversation,
    opens: Option<Timestamp>,
) -> Option<Message> {
    let now = deps.system().now();
    let text = conversation.choose_closed_message(bound, now)?.to_owned();
    let has_window = capabilities(deps, bound).has_service_window;
    if has_window && !is_window_open(conversation.contact.last_inbound_at, now) {
        return None;
    }
    let new = NewOutgoing {
        author: Author::Ai,
        to: conversation.address.clone(),
        ordinal: conversation.commit_closed_message(now),
        covers: Ordinal(0),
        ready: PreparedContent::from_text(text),
        pair_rate: pair_rate(deps, bound),
        key: None,
        correlation: &job.correlation,
    };
    let mut message = new.queue_in(conversation, now);
    message.out.expires_at = opens;
    message.out.signature.clone_from(&bound.agent.signature);
    Some(message.into_record())
}

/// Commits the message that the instance is closed, its conversation and its send job. The conversation says that the contact was told.
/// A crash before the job leaves an open message, which the end of every turn finds.
async fn tell_closed(
    deps: &Deps,
    job: &TurnJob,
    conversation: &mut Conversation,
    message: Message,
) -> PortResult<StepOutcome> {
    conversation.raise_revision();
    let send = wake_up::build_send(&message, &job.correlation);
    let step = StepCommit {
        records: StepRecords::Reply(ReplyWrite {
            conversation,
            parts: std::slice::from_ref(&message),
            beside: &[],
        }),
        jobs: vec![StepJob::Outbound(send.into(), message.instance.clone())],
        acknowledges: true,
        takes_jobs: false,
    };
    deps.commit_step(&step).await
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn a_turn_is_scheduled_for_the_minute_that_its_time_is_in() {
        for (at, minute) in [
            (60_000, 60_000),
            (60_001, 60_000),
            (119_999, 60_000),
            (120_000, 120_000),
        ] {
            assert_eq!(begin_of_minute(from_unix_millis(at)), from_unix_millis(minute));
        }
    }
}
