//! The turn (function deferred-reply): decides whether the agent answers, drafts the reply and commits it. Each message
//! sets a timer that names the conversation and an ordinal; everything else is read from the record.

mod draft;
mod reading;
mod transcript;
mod typing;

use crate::Deps;
use crate::measure::{self, MessageStage, TurnStep};
use crate::ports::{
    CommittedReply, Conversations, DeadLetters, PortResult, Queues, System, WRITE_TRIES, WriteOutcome,
};
use crate::steps::enabled_instance::find_enabled_instance;
use crate::steps::queue_message::{self, REQUEUE_AFTER_RECEIVES};
use crate::steps::random_id::generate_nonce;
use crate::steps::save_conversation::save_conversation;
use crate::steps::verdict::Verdict;
use crate::steps::wake_up;
use draft::DraftedReply;
use jiff::{SignedDuration, Timestamp};
use reading::{TurnHistory, TurnReading};
use recado_domain::config::InstanceConfig;
use recado_domain::conversation::{Conversation, Draft, TurnDecision};
use recado_domain::dead_letter::{QueueName, RedrivenTurn};
use recado_domain::hours::OpeningState;
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::wake_up::TurnJob;
use tracing::Instrument;

/// Handles one message of the `turns` queue. `receives` is how often the queue has delivered this message.
pub async fn handle_turn_message(deps: &impl Deps, body: &str, receives: u32) -> Verdict {
    let job: TurnJob = match queue_message::parse_queue_message(deps, QueueName::Turns, body).await {
        Ok(job) => job,
        Err(verdict) => return verdict,
    };
    let span = tracing::info_span!(
        "reply", conversation_id = %job.conversation, correlation_id = %job.correlation, receives
    );
    async {
        // Boxed to keep this future small: thousands of them may wait side by side.
        let worked = Box::pin(handle_turn_job(deps, body, &job, receives)).await;
        queue_message::decide_verdict(deps, worked, &deps.settings().turns_backoff, receives)
    }
    .instrument(span)
    .await
}

/// Runs a turn job after some preparation. The dead letter of a redriven job is removed first. A job that was received
/// too often is sent again as a new message instead.
async fn handle_turn_job(deps: &impl Deps, body: &str, job: &TurnJob, receives: u32) -> PortResult<Verdict> {
    if let Ok(RedrivenTurn { redrive, .. }) = serde_json::from_str(body) {
        deps.store()
            .remove_dead_letter(&redrive.dead_letter, redrive.failed_at)
            .await?;
    }
    if receives >= REQUEUE_AFTER_RECEIVES {
        tracing::warn!("a turn that came back often is asked for anew");
        deps.queues()
            .enqueue_turn_job(job, std::time::Duration::ZERO)
            .await?;
        return Ok(Verdict::Done);
    }
    run_turn(deps, job).await
}

/// Longest time until a turn whose lease another worker holds is checked again.
const LEASE_RECHECK: SignedDuration = SignedDuration::from_secs(3);

/// Runs the turn step by step. The steps: stand down, check that an answer is owed, wait for the opening hours, take
/// the lease, draft, commit, enqueue the send job.
async fn run_turn(deps: &impl Deps, job: &TurnJob) -> PortResult<Verdict> {
    let began_at = deps.system().now();
    let (conversation, messages) = match reading::read_newest_messages(deps, &job.conversation).await? {
        TurnHistory::Whole(conversation, messages) => (*conversation, messages),
        TurnHistory::Torn => return Ok(Verdict::RETRY_SOON),
        TurnHistory::Nothing => {
            tracing::warn!("turn of a conversation that does not exist");
            return Ok(Verdict::Done);
        }
    };
    let now = deps.system().now();
    let wait_max = deps.settings().debounce_max;
    match conversation.decide_turn(job.ordinal, now, wait_max) {
        TurnDecision::StandDown => return Ok(Verdict::Done),
        TurnDecision::NothingOwed => return finish_turn(deps, job).await,
        // The other worker usually finishes long before its lease ends. Messages that came meanwhile are then owed at
        // once.
        TurnDecision::LeaseHeld(until) => {
            return Ok(Verdict::retry_at(
                until.min(add_duration(now, LEASE_RECHECK)),
                now,
            ));
        }
        TurnDecision::AnswerNow => {}
    }
    let Some(bound) = find_enabled_instance(deps, &conversation.instance).await? else {
        return finish_turn(deps, job).await;
    };
    match bound.opening_state_at(now) {
        OpeningState::Open => answer_turn(deps, job, &bound, conversation, messages, began_at).await,
        OpeningState::OpensAt(at) => wait_for_opening(deps, job, conversation, at).await,
        OpeningState::NeverOpens => {
            tracing::info!("the instance is never open: the turn waits for people");
            finish_turn(deps, job).await
        }
    }
}

/// Ends a turn without a reply, and enqueues a send job if messages are open. So a reply that a crash left without a
/// send job is sent.
async fn finish_turn(deps: &impl Deps, job: &TurnJob) -> PortResult<Verdict> {
    wake_up::enqueue_open_sends(deps, &job.conversation, &job.correlation).await?;
    Ok(Verdict::Done)
}

async fn wait_for_opening(
    deps: &impl Deps,
    job: &TurnJob,
    mut conversation: Conversation,
    at: Timestamp,
) -> PortResult<Verdict> {
    // A schedule is precise to a minute and must not fire before the opening, so the time is rounded up.
    let at = round_up_to_minute(at);
    let scheduled = TurnJob {
        ordinal: conversation.turn_upto,
        due: Some(at),
        ..job.clone()
    };
    deps.queues().schedule_turn_job(&scheduled, at).await?;
    if conversation.scheduled_for != Some(at) {
        conversation.schedule_turn(at);
        if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
            return Ok(Verdict::RETRY_SOON);
        }
        tracing::info!(%at, "turn waits for opening");
    }
    finish_turn(deps, job).await
}

fn round_up_to_minute(at: Timestamp) -> Timestamp {
    let past = SignedDuration::from_millis(at.as_millisecond().rem_euclid(60_000));
    if past.is_zero() {
        at
    } else {
        add_duration(at, SignedDuration::from_mins(1) - past)
    }
}

async fn answer_turn(
    deps: &impl Deps,
    job: &TurnJob,
    bound: &InstanceConfig,
    mut conversation: Conversation,
    newest: Vec<Message>,
    began_at: Timestamp,
) -> PortResult<Verdict> {
    let known = reading::read_older_messages(deps, &conversation, newest).await?;
    let (answered, upto) = (conversation.answered, conversation.turn_upto);
    let reading = TurnReading::choose_messages(answered, upto, known, &deps.settings().turn_reads);
    if reading.covers <= answered {
        tracing::error!("messages that are owed an answer were not found");
        return Ok(Verdict::RETRY_SOON);
    }
    let now = deps.system().now();
    let draft = conversation.acquire_lease(
        generate_nonce(deps.system()),
        reading.covers,
        now,
        add_duration(now, deps.settings().turn_lease),
    );
    if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
        return Ok(Verdict::RETRY_SOON);
    }
    let instance = &conversation.instance;
    if draft.attempt > 1 {
        measure::count_retry(instance, QueueName::Turns);
    }
    measure::record_turn_step(instance, TurnStep::Read, began_at, deps.system().now());
    let answered = if draft.attempt > deps.settings().attempts.turn {
        // The attempts are used up: several workers crashed or failed. The contact gets the agent's error message, and
        // the model is not called again.
        tracing::error!(
            attempt = draft.attempt,
            "the model was asked too often for one turn"
        );
        DraftedReply::error_reply(deps, bound)
    } else {
        let work = draft::draft_reply(deps, job, bound, &reading);
        match typing::run_with_typing(
            deps,
            bound,
            &conversation,
            reading.owed_messages().next_back(),
            work,
        )
        .await?
        {
            Some(answered) => answered,
            None => return defer_turn(deps, job, conversation, &draft).await,
        }
    };
    commit_draft(deps, job, conversation, &draft, answered).await
}

/// Releases the lease and leaves the turn owed, because the model's key is missing. `reconcile` asks for the turn
/// again.
async fn defer_turn(
    deps: &impl Deps,
    job: &TurnJob,
    conversation: Conversation,
    draft: &Draft,
) -> PortResult<Verdict> {
    release_lease(deps, conversation, draft, false).await?;
    finish_turn(deps, job).await
}

async fn release_lease(
    deps: &impl Deps,
    mut conversation: Conversation,
    draft: &Draft,
    counted: bool,
) -> PortResult<()> {
    for _ in 0..WRITE_TRIES {
        if !conversation.release_lease(&draft.nonce, counted) {
            return Ok(());
        }
        if save_conversation(deps, &mut conversation).await? == WriteOutcome::Written {
            return Ok(());
        }
        let Some(read_again) = deps.store().find_conversation(&conversation.id).await? else {
            return Ok(());
        };
        conversation = read_again;
    }
    Ok(())
}

async fn commit_draft(
    deps: &impl Deps,
    job: &TurnJob,
    mut conversation: Conversation,
    draft: &Draft,
    answered: DraftedReply,
) -> PortResult<Verdict> {
    let drafted_at = deps.system().now();
    for _ in 0..WRITE_TRIES {
        let before = conversation.clone();
        let ordinal = match conversation.commit_reply(draft, deps.system().now()) {
            Ok(ordinal) => ordinal,
            Err(refused) => {
                tracing::info!(reason = %refused, "draft discarded");
                release_lease(deps, before, draft, true).await?;
                return Ok(Verdict::RETRY_SOON);
            }
        };
        conversation.rev += 1;
        let parts = answered.to_messages(deps, &mut conversation, draft, ordinal, &job.correlation);
        if save_reply(deps, job, draft, &conversation, &parts).await? == WriteOutcome::Written {
            measure_commit(deps, &conversation, draft, drafted_at);
            return Ok(Verdict::Done);
        }
        let Some(read_again) = deps.store().find_conversation(&before.id).await? else {
            return Ok(Verdict::Done);
        };
        conversation = read_again;
    }
    Ok(Verdict::RETRY_SOON)
}

/// Commits the reply, then enqueues its jobs; all in one transaction where records and queues lie in one database.
async fn save_reply(
    deps: &impl Deps,
    job: &TurnJob,
    draft: &Draft,
    conversation: &Conversation,
    parts: &[Message],
) -> PortResult<WriteOutcome> {
    // The sender handles earlier open messages first, so a send job for the last part is enough.
    let send = parts
        .last()
        .map(|last| wake_up::build_send(last, &job.correlation));
    let rest = build_turn_for_rest(job, draft, conversation);
    let reply = send.as_ref().map(|send| CommittedReply {
        conversation,
        parts,
        send,
        turn: rest.as_ref(),
    });
    let joint = reply
        .as_ref()
        .and_then(|reply| deps.queues().commit_and_enqueue(reply));
    if let Some(all) = joint {
        let written = all.await?;
        if written == WriteOutcome::Written {
            log_committed(draft, conversation, parts);
        }
        return Ok(written);
    }
    if deps.store().commit_reply(conversation, parts).await? == WriteOutcome::Conflict {
        return Ok(WriteOutcome::Conflict);
    }
    log_committed(draft, conversation, parts);
    if let Some(send) = &send {
        wake_up::requeue_send(deps, send).await?;
    }
    if let Some(turn) = &rest {
        deps.queues()
            .enqueue_turn_job(turn, std::time::Duration::ZERO)
            .await?;
    }
    Ok(WriteOutcome::Written)
}

/// Records the time that the commit took, and the whole turn.
fn measure_commit(deps: &impl Deps, conversation: &Conversation, draft: &Draft, drafted_at: Timestamp) {
    let (instance, now) = (&conversation.instance, deps.system().now());
    measure::record_turn_step(instance, TurnStep::Commit, drafted_at, now);
    if let Some(asked_at) = draft.turn.answers_since() {
        measure::record_stage(instance, MessageStage::Turn, asked_at, now);
    }
}

/// Builds the turn job for the messages that this turn could not read. It is due at once, because the timers of those
/// messages are over. `None`: nothing is left, or the rest waits for a person.
fn build_turn_for_rest(job: &TurnJob, draft: &Draft, conversation: &Conversation) -> Option<TurnJob> {
    let is_owed = conversation.needs_person.is_none() && draft.more_owed && conversation.agent_owes_answer();
    is_owed.then(|| wake_up::build_turn(conversation, &job.correlation))
}

fn log_committed(draft: &Draft, conversation: &Conversation, parts: &[Message]) {
    if let Some(reason) = conversation.needs_person {
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

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn an_opening_inside_a_minute_is_scheduled_for_the_next() {
        assert_eq!(
            round_up_to_minute(from_unix_millis(60_000)),
            from_unix_millis(60_000)
        );
        assert_eq!(
            round_up_to_minute(from_unix_millis(60_001)),
            from_unix_millis(120_000)
        );
    }
}
