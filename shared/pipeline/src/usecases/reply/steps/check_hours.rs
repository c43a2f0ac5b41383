//! The step [`recado_domain::turn::TurnStep::Hours`]: lets the turn wait for the opening hours. Turns that wait for one
//! opening begin one behind the other, not all at once.

use crate::steps::save_conversation::save_conversation;
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use crate::steps::wake_up;
use jiff::{SignedDuration, Timestamp};
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::Conversation;
use recado_domain::hours::{OpeningHours, OpeningState};
use recado_domain::ids::Ordinal;
use recado_domain::instance::{InstanceChange, InstanceState};
use recado_domain::message::{Message, NewOutgoing, PreparedContent};
use recado_domain::millis::add_duration;
use recado_domain::outbox::Author;
use recado_domain::service_window::is_window_open;
use recado_domain::wake_up::{TurnJob, TurnsJob};
use recado_ports::Deps;
use recado_ports::deps::{capabilities, pair_rate};
use recado_ports::ports::PortResult;
use recado_ports::step_commit::{ReplyWrite, StepCommit, StepJob, StepOutcome, StepRecords};

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
pub(super) fn begin_of_minute(at: Timestamp) -> Timestamp {
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
        jobs: vec![StepJob::Outbound(send, message.instance.clone())],
        acknowledges: true,
    };
    deps.commit_step(&step).await
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
