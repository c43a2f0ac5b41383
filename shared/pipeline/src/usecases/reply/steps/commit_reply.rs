//! The step [`recado_domain::turn::TurnStep::Commit`]: commits the reply with the jobs that follow from it, or that nothing is answered.
//! A turn that ends before that gives its lease back.

use crate::Deps;
use crate::measure;
use crate::measure::{MessageStage, TurnPhase};
use crate::steps::first_attempt::{FirstAttempt, begin_first_attempt};
use crate::steps::outgoing::find_outgoing;
use crate::steps::turn::LeasedTurn;
use crate::steps::turn::draft::DraftedReply;
use crate::steps::turn::reading::TurnReading;
use crate::steps::turn::turn_end::{TurnEnd, TurnStop};
use crate::steps::wake_up::{self, resolve_debounce};
use jiff::Timestamp;
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::{CommittedDecision, Conversation, Draft, UnsentUse};
use recado_domain::decision::AgentDecision;
use recado_domain::ids::{ConversationId, InstanceId};
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::reason::Reason;
use recado_domain::turn::StepDuration;
use recado_domain::usage::resolve_usage_day;
use recado_domain::wake_up::{SendJob, TurnJob, TurnsJob};
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::retry_write::{WriteAttempt, repeat_lost_write, retry_lost_write};
use recado_ports::step_commit::{ReplyWrite, StepCommit, StepJob, StepOutcome, StepRecords};
use std::time::Duration;

/// Returns the time before which the reply of a turn that begins now does not leave. A rule may have let the draft begin earlier, since the
/// contact's last message reads complete.
pub(in crate::usecases::reply) fn find_leaving_time(
    deps: &Deps,
    bound: &InstanceConfig,
    conversation: &Conversation,
    reading: &TurnReading,
) -> Timestamp {
    let now = deps.system().now();
    let newest = reading.owed_messages().next_back();
    // The clock of the worker that stored the message may be ahead.
    let written_at = newest.map_or(now, |message| message.stored_at.min(now));
    let silence = resolve_debounce(deps, bound).silence_before_reply();
    let within = conversation.bound_silence(silence, written_at, deps.settings().debounce_max);
    add_duration(written_at, within)
}

/// Commits the reply, or that the messages of the turn get none. Ends the turn if the conversation was answered, taken over or resolved
/// since the lease was taken, if a check lets a lost commit be drafted anew, or if the contact wrote since and the draft is to be dropped
/// for that: by `restart_drafts`, or once if that was before the reply may leave. The write that ends it sums up what the turn used.
/// `steps` are the durations of the steps before this one. Returns what is left to send.
pub(in crate::usecases::reply) async fn commit_reply(
    deps: &Deps,
    turn: &LeasedTurn<'_>,
    reply: DraftedReply,
    steps: &[StepDuration],
) -> Result<Option<LeftSend>, TurnStop> {
    let ready = ReadyReply {
        unsent: reply.unsent_use(&turn.bound.agent.id, &turn.draft),
        drafted_at: deps.system().now(),
        turn,
        reply,
        steps,
    };
    let begin = (turn.conversation.clone(), None);
    retry_lost_write(TurnEnd::ChangedMeanwhile, begin, |(conversation, slot)| {
        try_to_commit_reply(deps, &ready, conversation, slot)
    })
    .await
}

/// A reply that is ready to be committed.
struct ReadyReply<'a> {
    turn: &'a LeasedTurn<'a>,
    reply: DraftedReply,
    /// The durations of the steps of the turn so far.
    steps: &'a [StepDuration],
    /// What the turn used, for the case that the reply is not committed.
    unsent: UnsentUse,
    drafted_at: Timestamp,
}

/// What a try to commit begins with: the conversation, and the slot that an earlier try reserved.
type Try = (Conversation, Option<Timestamp>);

async fn try_to_commit_reply(
    deps: &Deps,
    ready: &ReadyReply<'_>,
    mut conversation: Conversation,
    slot: Option<Timestamp>,
) -> Result<WriteAttempt<Option<LeftSend>, Try>, TurnStop> {
    let (turn, reply, unsent) = (ready.turn, &ready.reply, &ready.unsent);
    let draft = &turn.draft;
    let before = conversation.clone();
    // Who writes before a reply may leave gets one reply to all.
    let is_early = reply.silence.is_none() && conversation.is_continued_before(draft, turn.leaves_at);
    let dropped_max = turn.dropped_drafts_max(deps).max(u32::from(is_early));
    if conversation.drop_outdated_draft(draft, dropped_max) {
        let saves = save_conversation_with_use(deps, &mut conversation, unsent);
        if saves.await? == WriteOutcome::Written {
            return Err(TurnEnd::DraftDropped.into());
        }
        let read = read_again(deps, &before.id).await?;
        return Ok(WriteAttempt::Lost((read, slot)));
    }
    let committed = match reply.silence {
        None => conversation.commit_reply(draft, deps.system().now()),
        Some(reason) => match conversation.commit_silence(draft, reason) {
            Ok(()) => return save_silence(deps, ready, conversation, reason).await,
            Err(refused) => Err(refused),
        },
    };
    let ordinal = match committed {
        Ok(ordinal) => ordinal,
        Err(refused) => {
            Box::pin(release_lease(deps, before, (draft, unsent), true)).await?;
            return Err(TurnEnd::Discarded(refused).into());
        }
    };
    let (decision, now) = (reply.decision.as_ref(), deps.system().now());
    let step = turn.script_step().map(|step| step.id.clone());
    let decided = conversation.apply_decision(step, decision, now);
    if let Some(pause) = turn.pause {
        conversation.pause_agent(pause);
    }
    conversation.note_reply_outcome(draft, reply.is_model_failure(), now);
    let last_words = decided == CommittedDecision::LastWords;
    conversation.raise_revision();
    let of_turn = (draft, ordinal, &turn.job.correlation);
    let mut parts = reply.to_messages(deps, &mut conversation, of_turn, ready.steps, last_words);
    if let Some(out) = parts.first_mut().and_then(|part| part.out.as_mut()) {
        out.slot = slot;
    }
    if let Some(CommittedReply { left }) = save_reply(deps, ready, &conversation, &mut parts).await? {
        measure_commit(deps, &conversation, ready);
        log_decision(&conversation.instance, decision, decided);
        return Ok(WriteAttempt::Done(left));
    }
    let slot = parts.first().and_then(|part| part.out.as_ref()?.slot);
    let conversation = read_again(deps, &before.id).await?;
    for check in deps.features().reply_checks {
        if let Some(end) = check
            .find_end_after_lost_commit(deps, turn, &conversation)
            .await?
        {
            Box::pin(release_lease(deps, conversation, (draft, unsent), true)).await?;
            return Err(end.into());
        }
    }
    Ok(WriteAttempt::Lost((conversation, slot)))
}

async fn read_again(deps: &Deps, id: &ConversationId) -> Result<Conversation, TurnStop> {
    let found = deps.store().find_conversation(id).await?;
    found.ok_or_else(|| TurnEnd::NoConversation.into())
}

/// A reply that is committed.
struct CommittedReply {
    left: Option<LeftSend>,
}

/// What is left to do of a committed reply, where no queue stands between the two.
pub(crate) struct LeftSend {
    /// The reply's send job, which is not enqueued.
    pub job: SendJob,
    /// The attempt that began with the commit.
    pub begun: Option<Box<FirstAttempt>>,
    /// The turn job for what the turn could not read.
    pub rest: Option<TurnsJob>,
}

/// Commits the reply beside the writes that the checks require, with its jobs. `None`: the commit is lost, which a check may know
/// before. Where the jobs are left to this worker, the first attempt begins with the commit.
async fn save_reply(
    deps: &Deps,
    ready: &ReadyReply<'_>,
    conversation: &Conversation,
    parts: &mut [Message],
) -> PortResult<Option<CommittedReply>> {
    let (job, draft) = (ready.turn.job, &ready.turn.draft);
    let mut beside = Vec::new();
    for check in deps.features().reply_checks {
        let Some(writes) = check.list_commit_conditions(ready.turn) else {
            return Ok(None);
        };
        beside.extend(writes);
    }
    let begun = if deps.queues().joins_records() {
        None
    } else {
        begin_first_attempt(deps, parts, ready.turn.time.deadline).await
    };
    // The sender handles earlier open messages first, so a send job for the last part is enough.
    let send = parts.last();
    let send = send.map(|last| (wake_up::build_send(last, &job.correlation), last.instance.clone()));
    let rest = build_turn_for_rest(job, draft, conversation);
    let jobs = send
        .iter()
        .map(|(send, instance)| StepJob::Outbound(send.clone().into(), instance.clone()));
    let turn = rest
        .iter()
        .map(|turn| StepJob::Turns(turn.clone(), Duration::ZERO));
    let step = StepCommit {
        records: StepRecords::Reply(ReplyWrite {
            conversation,
            parts,
            beside: &beside,
        }),
        jobs: jobs.chain(turn).collect(),
        acknowledges: true,
        takes_jobs: true,
    };
    let left = match commit_or_find(deps, &step, begun.as_deref()).await? {
        StepOutcome::Committed => None,
        StepOutcome::JobsLeft => send.map(|(job, _)| LeftSend { job, begun, rest }),
        _ => return Ok(None),
    };
    log_committed(draft, conversation, parts);
    Ok(Some(CommittedReply { left }))
}

/// Commits a step. If the answer is lost, and the attempt that begins with the commit is stored, it took place: nobody else would make the
/// attempt.
async fn commit_or_find(
    deps: &Deps,
    step: &StepCommit<'_>,
    begun: Option<&FirstAttempt>,
) -> PortResult<StepOutcome> {
    let error = match deps.commit_step(step).await {
        Ok(outcome) => return Ok(outcome),
        Err(error) => error,
    };
    let Some(begun) = begun else { return Err(error) };
    let found = find_outgoing(deps, &begun.flight.message).await?;
    if found.is_some_and(|found| found.out.is_held_by(&begun.flight.nonce)) {
        return Ok(StepOutcome::JobsLeft);
    }
    Err(error)
}

/// Records the time that the commit took, and the whole turn. An error message is no reply.
fn measure_commit(deps: &Deps, conversation: &Conversation, ready: &ReadyReply<'_>) {
    let (instance, now) = (&conversation.instance, deps.system().now());
    measure::record_turn_part(instance, TurnPhase::Commit, ready.drafted_at, now);
    let asked_at = ready.turn.draft.turn.answers_since();
    if let Some(asked_at) = asked_at.filter(|_| !ready.reply.is_error_reply()) {
        measure::record_stage(instance, MessageStage::Turn, asked_at, now);
    }
}

/// Builds the turn job for the messages that this turn could not read. It is due at once, because the timers of those
/// messages are over. `None`: nothing is left, or the rest waits for a person.
fn build_turn_for_rest(job: &TurnJob, draft: &Draft, conversation: &Conversation) -> Option<TurnsJob> {
    let is_owed = conversation.needs_person.is_none() && draft.more_owed && conversation.agent_owes_answer();
    is_owed.then(|| wake_up::build_turn(conversation, &job.correlation))
}

/// Logs and counts the agent's decision.
fn log_decision(instance: &InstanceId, decision: Option<&AgentDecision>, decided: CommittedDecision) {
    let Some(decision) = decision else { return };
    let (name, dropped) = (decision.tool_name(), decided == CommittedDecision::Dropped);
    tracing::info!(decision = name, dropped, "the agent decided");
    measure::count_decision(instance, if dropped { "dropped" } else { name });
}

fn log_committed(draft: &Draft, conversation: &Conversation, parts: &[Message]) {
    if let Some(reason) = conversation
        .needs_person
        .filter(|reason| *reason == Reason::TooMuchToRead)
    {
        tracing::warn!(
            answered = conversation.answered.0,
            upto = conversation.turn_upto.0,
            %reason,
            "more was written than the agent reads in a row: the rest waits for a person"
        );
    }
    let Some(first) = parts.first() else { return };
    tracing::info!(
        ordinal = first.ordinal.0,
        parts = parts.len(),
        covers = draft.covers.0,
        model = first.model.as_deref().unwrap_or("none"),
        input_tokens = first.usage.map(|usage| usage.input_tokens),
        output_tokens = first.usage.map(|usage| usage.output_tokens),
        "reply committed"
    );
}

/// Writes that the messages of the turn get no answer, with what the turn used, and has the rest answered.
async fn save_silence(
    deps: &Deps,
    ready: &ReadyReply<'_>,
    mut conversation: Conversation,
    reason: Reason,
) -> Result<WriteAttempt<Option<LeftSend>, Try>, TurnStop> {
    let (job, draft) = (ready.turn.job, &ready.turn.draft);
    let saves = save_conversation_with_use(deps, &mut conversation, &ready.unsent);
    if saves.await? == WriteOutcome::Conflict {
        let read = read_again(deps, &conversation.id).await?;
        return Ok(WriteAttempt::Lost((read, None)));
    }
    tracing::info!(covers = draft.covers.0, %reason, "nothing is to be answered");
    if let Some(rest) = build_turn_for_rest(job, draft, &conversation) {
        deps.queues().enqueue_turns_job(&rest, Duration::ZERO).await?;
    }
    Ok(WriteAttempt::Done(None))
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

/// Writes a conversation that was read and changed, and with it what a turn used that ended without a reply.
async fn save_conversation_with_use(
    deps: &Deps,
    conversation: &mut Conversation,
    unsent: &UnsentUse,
) -> PortResult<WriteOutcome> {
    let used = conversation.record_unsent_use(unsent, resolve_usage_day(deps.system().now()));
    conversation.raise_revision();
    deps.store().update_conversation(conversation, &used).await
}
