//! The turn (function deferred-reply): decides whether the agent answers, drafts the reply and commits it. Each message
//! sets a timer that names the conversation and an ordinal; everything else is read from the record.

mod draft;
mod effect_hand_over;
mod leased_turn;
mod reading;
mod step_times;
mod steps;
mod transcript;
mod turn_end;
mod turn_time;
mod typing;

use crate::Deps;
use crate::measure::{self, TurnPart};
use crate::steps::verdict::Verdict;
use crate::steps::wake_up;
use draft::DraftedReply;
use effect_hand_over::hand_over_open_effects;
use jiff::Timestamp;
use leased_turn::LeasedTurn;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::turn::TurnStep;
use recado_domain::wake_up::TurnJob;
use recado_ports::deps::ExclusiveTurn;
use recado_ports::ports::PortResult;
use step_times::StepTimes;
use steps::check_hours::check_hours;
use steps::check_limits::check_limits;
use steps::check_owed::check_owed;
use steps::choose_messages::choose_messages;
use steps::commit_reply::commit_reply;
use steps::commit_silence::commit_silence;
use steps::fetch_files::{UnreadFiles, fetch_files};
use steps::find_instance::find_instance;
use steps::find_knowledge::find_knowledge;
use steps::hold_reply::{find_leaving_time, hold_reply};
use steps::http_agent::ask_http_agent;
use steps::model_reply::ask_model;
use steps::read_conversation::read_conversation;
use steps::read_files::{open_shown_files, read_files};
use steps::read_journal::read_journal;
use steps::ready_reply::find_ready_reply;
use steps::take_lease::{begin_exclusive_turn, release_lease, take_lease};
use steps::take_place::{give_place_back, take_place};
use turn_end::{AfterTurn, TurnEnd, TurnStop};
use turn_time::TurnTime;
use typing::SeenMessages;

/// Runs a turn job. The function that runs it ends at `deadline`, if it ends.
pub(crate) async fn handle_turn_job(
    deps: &Deps,
    job: &TurnJob,
    deadline: Option<Timestamp>,
) -> PortResult<Verdict> {
    let time = TurnTime::from_start(deps.system().now(), deadline);
    let end = match run_turn(deps, job, time).await {
        Ok(()) => TurnEnd::Committed,
        Err(TurnStop::Ended(end)) => end,
        Err(TurnStop::Failed(error)) => return Err(error),
    };
    match end.after_turn(deps.system().now()) {
        AfterTurn::Decided(verdict) => Ok(verdict),
        AfterTurn::SendOpenMessages => {
            wake_up::enqueue_open_sends(deps, &job.conversation, &job.correlation).await?;
            Ok(Verdict::Done)
        }
    }
}

/// Takes the steps of a turn, one a line. Each may end the turn.
async fn run_turn(deps: &Deps, job: &TurnJob, time: TurnTime) -> Result<(), TurnStop> {
    let (began_at, mut times) = (deps.system().now(), StepTimes::default());
    let reads = read_conversation(deps, &job.conversation);
    let (conversation, newest) = times.run(deps, TurnStep::Read, reads).await?;
    let unread = UnreadFiles::from_messages(deps, &newest);
    let (turn, _alone) = match prepare_turn(deps, (job, time), conversation, newest, &mut times).await {
        Ok(prepared) => prepared,
        Err(stop) => {
            Box::pin(unread.fetch_after(deps, &stop)).await?;
            return Err(stop);
        }
    };
    measure::record_turn_part(
        &turn.bound.instance.id,
        TurnPart::Read,
        began_at,
        deps.system().now(),
    );
    let seen = SeenMessages::from_leased_turn(&turn);
    let place = turn.place.clone();
    let answers = Box::pin(async {
        let answered = answer_turn(deps, turn, &seen, &mut times).await;
        give_place_back(deps, place).await;
        answered
    });
    seen.mark_read_during(deps, answers).await
}

/// Takes the steps of a turn up to the lease. Returns the right to run as an exclusive turn too, if it needs that.
async fn prepare_turn<'a>(
    deps: &'a Deps,
    (job, time): (&'a TurnJob, TurnTime),
    mut conversation: Conversation,
    newest: Vec<Message>,
    times: &mut StepTimes,
) -> Result<(Box<LeasedTurn<'a>>, Option<ExclusiveTurn<'a>>), TurnStop> {
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
    let reads = read_journal(deps, &bound, &mut conversation);
    let journal = times.run(deps, TurnStep::Journal, reads).await?;
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
    draft.turn.effects_upto = journal.as_ref().map(|drafted| drafted.journal.record.last);
    let turn = LeasedTurn {
        leaves_at: find_leaving_time(deps, &bound, &conversation, &reading),
        job,
        bound,
        conversation,
        reading,
        pause,
        draft,
        asked: Vec::new(),
        journal,
        place,
        time,
    };
    Ok((Box::new(turn), alone))
}

/// Takes the steps that draft the reply and commit it. If the turn ends before the commit, its lease is released.
async fn answer_turn(
    deps: &Deps,
    mut turn: Box<LeasedTurn<'_>>,
    seen: &SeenMessages,
    times: &mut StepTimes,
) -> Result<(), TurnStop> {
    let drafts = Box::pin(draft_held_reply(deps, &mut turn, times));
    let reply = match seen.show_typing_during(deps, drafts).await {
        Err(TurnStop::Ended(end)) => {
            // The turn stays owed and its attempt is not counted.
            let unsent = turn.unsent_use();
            let released = release_lease(deps, turn.conversation, (&turn.draft, &unsent), false);
            Box::pin(released).await?;
            return Err(end.into());
        }
        drafted => drafted?,
    };
    if let Some(reason) = reply.silence {
        let commits = commit_silence(deps, *turn, reason);
        return times.run(deps, TurnStep::Commit, commits).await;
    }
    let reply = hand_over_open_effects(&turn, reply);
    let steps = times.durations().to_vec();
    let commits = commit_reply(deps, *turn, reply, &steps);
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
        times.run(deps, TurnStep::Hold, hold_reply(deps, turn)).await?;
    }
    Ok(reply)
}

/// Takes the steps that draft the reply.
async fn draft_reply(
    deps: &Deps,
    turn: &mut LeasedTurn<'_>,
    times: &mut StepTimes,
) -> Result<DraftedReply, TurnStop> {
    let ready = find_ready_reply(deps, turn);
    if let Some(reply) = times.run(deps, TurnStep::ReadyReply, ready).await? {
        return Ok(reply);
    }
    let (now, wait) = (deps.system().now(), deps.settings().file_work_wait);
    let until = add_duration(now, turn.time.left_for_files(now, wait));
    times
        .run(deps, TurnStep::Files, fetch_files(deps, turn, until))
        .await?;
    let texts = read_files(deps, turn, until);
    times.run(deps, TurnStep::FileTexts, texts).await?;
    let opens = open_shown_files(deps, turn);
    let shown = times.run(deps, TurnStep::ShownFiles, opens).await?;
    let finds = find_knowledge(deps, turn);
    let knowledge = times.run(deps, TurnStep::Knowledge, finds).await?;
    if let Some(agent) = &turn.bound.agent.http {
        let asks = ask_http_agent(deps, turn, agent, shown, knowledge);
        return times.run(deps, TurnStep::Model, asks).await;
    }
    let asks = ask_model(deps, turn, shown, knowledge);
    times.run(deps, TurnStep::Model, asks).await
}
