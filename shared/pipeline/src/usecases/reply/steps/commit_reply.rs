//! The step [`recado_domain::turn::TurnStep::Commit`]: commits the reply and enqueues the jobs that follow from it.

use super::take_lease::release_lease;
use crate::Deps;
use crate::measure::{self, MessageStage, TurnPart};
use crate::steps::effects::DraftedJournal;
use crate::steps::save_conversation::save_conversation_with_use;
use crate::steps::wake_up;
use crate::usecases::reply::draft::DraftedReply;
use crate::usecases::reply::leased_turn::LeasedTurn;
use crate::usecases::reply::turn_end::{TurnEnd, TurnStop};
use jiff::Timestamp;
use recado_domain::conversation::{AgentPause, CommittedDecision, Conversation, Draft, UnsentUse};
use recado_domain::decision::AgentDecision;
use recado_domain::ids::{ConversationId, InstanceId, StepId};
use recado_domain::message::Message;
use recado_domain::reason::Reason;
use recado_domain::turn::StepDuration;
use recado_domain::wake_up::{TurnJob, TurnsJob};
use recado_ports::ports::{PortResult, WriteOutcome};
use recado_ports::records::effects::is_journal_unchanged;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::step_commit::{ReplyWrite, StepCommit, StepJob, StepOutcome, StepRecords};
use recado_ports::table::Write;
use std::time::Duration;

/// Commits the reply. Ends the turn if the conversation was answered, taken over or resolved since the lease was taken,
/// if an effect of the thread is unknown to the draft, or if the contact wrote since and the draft is to be dropped for that: by
/// `restart_drafts`, or once if that was before the reply may leave. The write that ends it sums up what the turn used.
/// `steps` are the durations of the steps before this one.
pub(in crate::usecases::reply) async fn commit_reply(
    deps: &Deps,
    turn: LeasedTurn<'_>,
    reply: DraftedReply,
    steps: &[StepDuration],
) -> Result<(), TurnStop> {
    let step = turn.script_step().map(|step| step.id.clone());
    let dropped_max = turn.dropped_drafts_max(deps);
    let LeasedTurn {
        job,
        bound,
        conversation,
        pause,
        draft,
        journal,
        leaves_at,
        ..
    } = turn;
    let ready = ReadyReply {
        unsent: reply.unsent_use(&bound.agent.id, &draft),
        journal,
        drafted_at: deps.system().now(),
        job,
        reply,
        draft,
        step,
        pause,
        steps,
        dropped_max,
        leaves_at,
    };
    retry_lost_write(TurnEnd::ChangedMeanwhile, conversation, |conversation| {
        try_to_commit_reply(deps, &ready, conversation)
    })
    .await
}

/// A reply that is ready to be committed.
struct ReadyReply<'a> {
    job: &'a TurnJob,
    reply: DraftedReply,
    draft: Draft,
    /// The step of the agent's script at which the reply was drafted.
    step: Option<StepId>,
    pause: Option<AgentPause>,
    /// The durations of the steps of the turn so far.
    steps: &'a [StepDuration],
    /// What the turn used, for the case that the reply is not committed.
    unsent: UnsentUse,
    /// The journal as the draft knows it.
    journal: Option<DraftedJournal>,
    /// The number of drafts in a row that may be dropped because the contact wrote.
    dropped_max: u32,
    /// The time before which the reply does not leave.
    leaves_at: Timestamp,
    drafted_at: Timestamp,
}

async fn try_to_commit_reply(
    deps: &Deps,
    ready: &ReadyReply<'_>,
    mut conversation: Conversation,
) -> Result<WriteAttempt<(), Conversation>, TurnStop> {
    let (draft, reply, unsent) = (&ready.draft, &ready.reply, &ready.unsent);
    let before = conversation.clone();
    // Who writes before a reply may leave gets one reply to all.
    let is_early = conversation.is_continued_before(draft, ready.leaves_at);
    let dropped_max = ready.dropped_max.max(u32::from(is_early));
    if conversation.drop_outdated_draft(draft, dropped_max) {
        let saves = save_conversation_with_use(deps, &mut conversation, unsent);
        if saves.await? == WriteOutcome::Written {
            return Err(TurnEnd::DraftDropped.into());
        }
        return read_again(deps, &before.id).await.map(WriteAttempt::Lost);
    }
    let ordinal = match conversation.commit_reply(draft, deps.system().now()) {
        Ok(ordinal) => ordinal,
        Err(refused) => {
            Box::pin(release_lease(deps, before, (draft, unsent), true)).await?;
            return Err(TurnEnd::Discarded(refused).into());
        }
    };
    let (decision, now) = (reply.decision.as_ref(), deps.system().now());
    let decided = conversation.apply_decision(ready.step.clone(), decision, now);
    if let Some(pause) = ready.pause {
        conversation.pause_agent(pause);
    }
    conversation.note_reply_outcome(draft, reply.is_model_failure(), now);
    let last_words = decided == CommittedDecision::LastWords;
    conversation.raise_revision();
    let of_turn = (draft, ordinal, &ready.job.correlation);
    let parts = reply.to_messages(deps, &mut conversation, of_turn, ready.steps, last_words);
    if save_reply(deps, ready, &conversation, &parts).await? == StepOutcome::Committed {
        measure_commit(deps, &conversation, ready);
        log_decision(&conversation.instance, decision, decided);
        return Ok(WriteAttempt::Done(()));
    }
    let conversation = read_again(deps, &before.id).await?;
    if is_journal_changed(deps, &conversation, ready.journal.as_ref()).await? {
        Box::pin(release_lease(deps, conversation, (draft, unsent), true)).await?;
        return Err(TurnEnd::JournalChanged.into());
    }
    Ok(WriteAttempt::Lost(conversation))
}

/// Returns whether an effect of the thread began or ended that the draft does not know.
async fn is_journal_changed(
    deps: &Deps,
    conversation: &Conversation,
    known: Option<&DraftedJournal>,
) -> PortResult<bool> {
    let Some(known) = known else {
        // The agent got a tool that acts since this turn began, and a later turn may have used it.
        return Ok(conversation.has_journal);
    };
    Ok(known.has_writes_of_others() || !is_journal_unchanged(deps.store(), &known.journal).await?)
}

pub(super) async fn read_again(deps: &Deps, id: &ConversationId) -> Result<Conversation, TurnStop> {
    let found = deps.store().find_conversation(id).await?;
    found.ok_or_else(|| TurnEnd::NoConversation.into())
}

/// Commits the reply beside the journal that its draft knows, with its jobs.
async fn save_reply(
    deps: &Deps,
    ready: &ReadyReply<'_>,
    conversation: &Conversation,
    parts: &[Message],
) -> PortResult<StepOutcome> {
    let (job, draft, journal) = (ready.job, &ready.draft, ready.journal.as_ref());
    if journal.is_some_and(DraftedJournal::has_writes_of_others) {
        return Ok(StepOutcome::Conflict);
    }
    let known = journal.map(|drafted| drafted.journal.require_unchanged());
    let beside: Vec<Write> = known.into_iter().collect();
    // The sender handles earlier open messages first, so a send job for the last part is enough.
    let send = parts.last().map(|last| {
        let send = wake_up::build_send(last, &job.correlation);
        StepJob::Outbound(send, last.instance.clone())
    });
    let rest = build_turn_for_rest(job, draft, conversation);
    let rest = rest.map(|turn| StepJob::Turns(turn, Duration::ZERO));
    let step = StepCommit {
        records: StepRecords::Reply(ReplyWrite {
            conversation,
            parts,
            beside: &beside,
        }),
        jobs: send.into_iter().chain(rest).collect(),
        acknowledges: true,
    };
    let outcome = deps.commit_step(&step).await?;
    if outcome == StepOutcome::Committed {
        log_committed(draft, conversation, parts);
    }
    Ok(outcome)
}

/// Records the time that the commit took, and the whole turn. An error message is no reply.
fn measure_commit(deps: &Deps, conversation: &Conversation, ready: &ReadyReply<'_>) {
    let (instance, now) = (&conversation.instance, deps.system().now());
    measure::record_turn_part(instance, TurnPart::Commit, ready.drafted_at, now);
    let asked_at = ready.draft.turn.answers_since();
    if let Some(asked_at) = asked_at.filter(|_| !ready.reply.is_error_reply()) {
        measure::record_stage(instance, MessageStage::Turn, asked_at, now);
    }
}

/// Builds the turn job for the messages that this turn could not read. It is due at once, because the timers of those
/// messages are over. `None`: nothing is left, or the rest waits for a person.
pub(super) fn build_turn_for_rest(
    job: &TurnJob,
    draft: &Draft,
    conversation: &Conversation,
) -> Option<TurnsJob> {
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
