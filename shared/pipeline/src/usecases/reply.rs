//! The turn (function deferred-reply): decides whether the agent answers, drafts the reply and commits it. Each message
//! sets a timer that names the conversation and an ordinal; everything else is read from the record.

mod steps;
mod typing;

use crate::Deps;
use crate::deps::ExclusiveTurn;
use crate::measure;
use crate::measure::TurnPhase;
use crate::steps::turn::draft::DraftedReply;
use crate::steps::turn::transcript::ShownFiles;
use crate::steps::turn::turn_end::{AfterTurn, TurnEnd, TurnStop};
use crate::steps::turn::{LeasedTurn, StepTimes, TurnState, TurnTime};
use crate::steps::verdict::Verdict;
use crate::steps::wake_up;
use crate::usecases::reply::steps::check_turn::{check_hours, check_limits, check_owed};
pub(crate) use crate::usecases::reply::steps::commit_reply::LeftSend;
use crate::usecases::reply::steps::commit_reply::{commit_reply, find_leaving_time, release_lease};
use crate::usecases::reply::steps::model_reply::ask_model;
use crate::usecases::reply::steps::read_conversation::{choose_messages, find_instance, read_conversation};
use crate::usecases::reply::steps::take_lease::{
    TurnPlace, begin_exclusive_turn, give_place_back, take_lease, take_place,
};
use crate::usecases::reply::typing::SeenMessages;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_domain::turn::TurnStep;
use recado_domain::wake_up::TurnJob;
use recado_ports::ports::PortResult;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use std::mem;

/// The result of a turn job.
pub(crate) struct HandledTurn {
    pub verdict: Verdict,
    /// What this worker sends before the verdict holds.
    pub left: Option<LeftSend>,
}

impl From<Verdict> for HandledTurn {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, left: None }
    }
}

/// Runs a turn job. The function that runs it ends at `deadline`, if it ends.
pub(crate) async fn handle_turn_job(
    deps: &Deps,
    job: &TurnJob,
    deadline: Option<Timestamp>,
) -> PortResult<HandledTurn> {
    let time = TurnTime::from_start(deps.system().now(), deadline);
    let end = match run_turn(deps, job, time).await {
        Ok(left) => {
            let verdict = Verdict::Done;
            return Ok(HandledTurn { verdict, left });
        }
        Err(TurnStop::Ended(end)) => end,
        Err(TurnStop::Failed(error)) => return Err(error),
    };
    match end.after_turn(deps.system().now()) {
        AfterTurn::Decided(verdict) => Ok(verdict.into()),
        AfterTurn::SendOpenMessages => {
            wake_up::enqueue_open_sends(deps, &job.conversation, &job.correlation).await?;
            Ok(Verdict::Done.into())
        }
    }
}

/// Takes the steps of a turn. Each may end the turn. Returns what is left to send.
async fn run_turn(deps: &Deps, job: &TurnJob, time: TurnTime) -> Result<Option<LeftSend>, TurnStop> {
    let began_at = deps.system().now();
    // If somebody else wrote the conversation meanwhile, the contact need not wait until the job comes back.
    let begins = retry_lost_write(TurnEnd::ChangedMeanwhile, (), |()| async {
        match begin_turn(deps, job, time).await {
            Err(TurnStop::Ended(TurnEnd::ChangedMeanwhile)) => Ok(WriteAttempt::Lost(())),
            begun => begun.map(WriteAttempt::Done),
        }
    });
    let (held, mut times) = begins.await?;
    let HeldTurn {
        turn,
        place,
        alone: _alone,
    } = held;
    measure::record_turn_part(
        &turn.bound.instance.id,
        TurnPhase::Read,
        began_at,
        deps.system().now(),
    );
    let seen = SeenMessages::from_leased_turn(&turn);
    let answers = Box::pin(async {
        let answered = answer_turn(deps, turn, &seen, &mut times).await;
        give_place_back(deps, place).await;
        answered
    });
    seen.mark_read_during(deps, answers).await
}

/// Takes the steps up to the lease, one a line.
async fn begin_turn<'a>(
    deps: &'a Deps,
    job: &'a TurnJob,
    time: TurnTime,
) -> Result<(HeldTurn<'a>, StepTimes), TurnStop> {
    let (mut state, mut times) = (TurnState::default(), StepTimes::default());
    let reads = read_conversation(deps, &job.conversation);
    let (conversation, newest) = times.run(deps, TurnStep::Read, reads).await?;
    for part in deps.features().turn_parts {
        part.note_messages(deps, &newest, &mut state);
    }
    let read = (conversation, newest);
    match prepare_turn(deps, (job, time), read, &mut state, &mut times).await {
        Ok(held) => Ok((held, times)),
        Err(stop) => {
            for part in deps.features().turn_parts {
                part.follow_early_stop(deps, &mut state, &stop).await?;
            }
            Err(stop)
        }
    }
}

/// A turn with its lease, and what else it holds until its end.
struct HeldTurn<'a> {
    turn: Box<LeasedTurn<'a>>,
    /// The place among the tenant's turns that run at once; `None` if the tenant does not limit these.
    place: Option<TurnPlace>,
    /// The right to run as an exclusive turn, if it needs that.
    alone: Option<ExclusiveTurn<'a>>,
}

/// Takes the steps of a turn up to the lease.
async fn prepare_turn<'a>(
    deps: &'a Deps,
    (job, time): (&'a TurnJob, TurnTime),
    (mut conversation, newest): (Conversation, Vec<Message>),
    state: &mut TurnState,
    times: &mut StepTimes,
) -> Result<HeldTurn<'a>, TurnStop> {
    times
        .run(
            deps,
            TurnStep::Owed,
            check_owed(deps, job, &conversation, &newest),
        )
        .await?;
    let finds = find_instance(deps, &conversation);
    let bound = times.run(deps, TurnStep::Instance, finds).await?;
    let waits = check_hours(deps, job, &bound, &mut conversation);
    times.run(deps, TurnStep::Hours, waits).await?;
    for part in deps.features().turn_parts {
        part.begin_turn(deps, &bound, &mut conversation, state, times)
            .await?;
    }
    let chooses = choose_messages(deps, &conversation, newest);
    let reading = times.run(deps, TurnStep::Choose, chooses).await?;
    let limits = check_limits(deps, &bound, &mut conversation, &reading);
    let pause = times.run(deps, TurnStep::Limits, limits).await?;
    let alone = begin_exclusive_turn(deps, &conversation, &reading, time).await?;
    let takes = take_place(deps, &bound.tenant, &conversation);
    let place = times.run(deps, TurnStep::Place, takes).await?;
    let takes = take_lease(deps, &mut conversation, &reading);
    let mut draft = match times.run(deps, TurnStep::Lease, takes).await {
        Ok(draft) => draft,
        Err(stop) => {
            give_place_back(deps, place).await;
            return Err(stop);
        }
    };
    draft.turn.agent = Some(bound.agent.id.clone());
    draft.turn.usage_kept = bound.tenant.retention.usage;
    let turn = LeasedTurn {
        leaves_at: find_leaving_time(deps, &bound, &conversation, &reading),
        job,
        bound,
        conversation,
        reading,
        shown: ShownFiles::default(),
        pause,
        draft,
        asked: Vec::new(),
        state: mem::take(state),
        time,
    };
    Ok(HeldTurn {
        turn: Box::new(turn),
        place,
        alone,
    })
}

/// Takes the steps that draft the reply and commit it. If the turn ends before the commit, its lease is released.
async fn answer_turn(
    deps: &Deps,
    mut turn: Box<LeasedTurn<'_>>,
    seen: &SeenMessages,
    times: &mut StepTimes,
) -> Result<Option<LeftSend>, TurnStop> {
    let drafts = Box::pin(draft_held_reply(deps, &mut turn, times));
    let mut reply = match seen.show_typing_during(deps, drafts).await {
        Err(TurnStop::Ended(end)) => {
            // The turn stays owed and its attempt is not counted.
            let unsent = turn.unsent_use();
            let released = release_lease(deps, turn.conversation, (&turn.draft, &unsent), false);
            Box::pin(released).await?;
            return Err(end.into());
        }
        drafted => drafted?,
    };
    if reply.silence.is_none() {
        for check in deps.features().reply_checks {
            reply = check.complete_reply(&mut turn, reply);
        }
    }
    let steps = times.durations().to_vec();
    let commits = commit_reply(deps, &turn, reply, &steps);
    times.run(deps, TurnStep::Commit, commits).await
}

/// Takes the steps that draft the reply, and holds it until it may leave. A turn without a reply waits for nothing.
async fn draft_held_reply(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    times: &mut StepTimes,
) -> Result<DraftedReply, TurnStop> {
    let reply = draft_reply(deps, turn, times).await?;
    if reply.silence.is_none() {
        times.run(deps, TurnStep::Hold, turn.hold_reply(deps)).await?;
    }
    Ok(reply)
}

/// Takes the steps that draft the reply.
async fn draft_reply(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    times: &mut StepTimes,
) -> Result<DraftedReply, TurnStop> {
    let ready = async {
        let mut parts = deps.features().turn_parts.iter();
        Ok(parts.find_map(|part| part.find_reply_at_once(deps, turn)))
    };
    if let Some(reply) = times.run(deps, TurnStep::ReadyReply, ready).await? {
        return Ok(reply);
    }
    for part in deps.features().turn_parts {
        part.prepare_draft(deps, turn, times).await?;
    }
    times.run(deps, TurnStep::Model, ask_model(deps, turn)).await
}
