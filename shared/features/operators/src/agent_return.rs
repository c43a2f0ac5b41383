//! Gives conversations back to the agent when the time of their people is over.

use futures::future::BoxFuture;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::ids::TokenName;
use recado_domain::wake_up::{AgentReturnJob, TurnsJob};
use recado_pipeline::Deps;
use recado_pipeline::hooks::job_handler::JobHandler;
use recado_pipeline::steps::linked_threads::give_back_others;
use recado_pipeline::steps::reply_coverage::highest_covered_ordinal;
use recado_pipeline::steps::save_conversation::save_conversation;
use recado_pipeline::steps::verdict::Verdict;
use recado_pipeline::steps::wake_up;
use recado_ports::ports::{PortResult, WriteOutcome};

/// The timers of the return to the agent.
#[derive(Debug)]
pub struct AgentReturns;

impl JobHandler for AgentReturns {
    fn handle_turns_job<'a>(
        &self,
        deps: &'a Deps,
        job: &'a TurnsJob,
        _receives: u32,
    ) -> Option<BoxFuture<'a, PortResult<Verdict>>> {
        match job {
            TurnsJob::AgentReturn(job) => Some(Box::pin(handle_return_timer(deps, job))),
            TurnsJob::Turn(_) | TurnsJob::File(_) | TurnsJob::Batch(_) => None,
        }
    }
}

/// Handles a timer of the agent's return. If the time has come, the conversation is given back, and the agent is asked for
/// what is owed. If a person wrote since, the timer is set to the later time. If the agent has the conversation, the timer is over.
async fn handle_return_timer(deps: &Deps, job: &AgentReturnJob) -> PortResult<Verdict> {
    let Some(conversation) = deps.store().find_conversation(&job.conversation).await? else {
        return Ok(Verdict::Done);
    };
    let Some(due) = conversation.return_due_at() else {
        let handover = conversation.people.handover.as_ref();
        let returned = handover.is_some_and(|handover| handover.by == TokenName::installation());
        if returned && conversation.mode == ConversationMode::Ai {
            // A timer gave it back. A crash may have come before what follows from that.
            follow_return(deps, job, &conversation).await?;
        }
        return Ok(Verdict::Done);
    };
    if due > deps.system().now() {
        let timer = TurnsJob::AgentReturn(job.clone());
        deps.queues().schedule_turns_job(&timer, due).await?;
        return Ok(Verdict::Done);
    }
    return_to_agent(deps, job, conversation).await
}

async fn return_to_agent(
    deps: &Deps,
    job: &AgentReturnJob,
    mut conversation: Conversation,
) -> PortResult<Verdict> {
    let now = deps.system().now();
    if conversation.linked.moved_to.is_some() {
        // The person's other conversation took this one's place, and decides when the agent comes back.
        conversation.agent_returns_at = None;
        return Ok(match save_conversation(deps, &mut conversation).await? {
            WriteOutcome::Written => Verdict::Done,
            WriteOutcome::Conflict => Verdict::RETRY_SOON,
        });
    }
    let left = highest_covered_ordinal(deps, &conversation, None).await?;
    conversation.give_back_to_agent(left, now);
    conversation.sign_handover(&TokenName::installation(), now);
    if save_conversation(deps, &mut conversation).await? == WriteOutcome::Conflict {
        return Ok(Verdict::RETRY_SOON);
    }
    tracing::info!(conversation_id = %conversation.id, "given back to the agent: no person wrote for long enough");
    follow_return(deps, job, &conversation).await?;
    Ok(Verdict::Done)
}

/// Does what follows from a conversation's return: its open messages are looked at, the person's other conversations are given
/// back, and the agent is asked for what is owed.
async fn follow_return(deps: &Deps, job: &AgentReturnJob, conversation: &Conversation) -> PortResult<()> {
    wake_up::enqueue_after_handover(deps, &conversation.id, &job.correlation).await?;
    give_back_others(deps, conversation, &job.correlation).await?;
    if conversation.owes_answer() {
        wake_up::enqueue_turn(deps, conversation, &job.correlation).await?;
    }
    Ok(())
}
