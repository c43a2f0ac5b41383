//! A turn that holds its lease: what the steps work with that draft and commit the reply.

use super::reading::TurnReading;
use super::steps::take_place::TurnPlace;
use super::turn_time::TurnTime;
use crate::Deps;
use crate::steps::effects::DraftedJournal;
use jiff::Timestamp;
use recado_domain::config::{AgentStep, InstanceConfig};
use recado_domain::conversation::{AgentPause, Conversation, Draft, UnsentUse};
use recado_domain::usage::ModelUse;
use recado_domain::wake_up::TurnJob;
use std::sync::Arc;

/// A turn that holds its lease.
#[derive(Debug)]
pub(super) struct LeasedTurn<'a> {
    /// The job that asked for the turn.
    pub(super) job: &'a TurnJob,
    /// The instance's configuration when the turn began.
    pub(super) bound: Arc<InstanceConfig>,
    /// The conversation as the lease was written.
    pub(super) conversation: Conversation,
    /// The messages that the turn reads and those that its reply answers.
    pub(super) reading: TurnReading,
    /// The pause that begins with the reply, because a limit is reached.
    pub(super) pause: Option<AgentPause>,
    /// The state from which the reply is drafted.
    pub(super) draft: Draft,
    /// The tokens of requests to models that led to calls of tools, and to no reply yet.
    pub(super) asked: Vec<ModelUse>,
    /// The journal of the thread's effects as the draft knows it; `None` if the thread has none.
    pub(super) journal: Option<DraftedJournal>,
    /// The place among the tenant's turns that run at once; `None` if the tenant does not limit these.
    pub(super) place: Option<TurnPlace>,
    /// The time that the turn has.
    pub(super) time: TurnTime,
    /// The time before which the reply does not leave.
    pub(super) leaves_at: Timestamp,
}

impl LeasedTurn<'_> {
    /// Returns the number of drafts in a row that may be dropped because the contact wrote while they were made.
    pub(super) fn dropped_drafts_max(&self, deps: &Deps) -> u32 {
        let of_instance = self.bound.instance.restart_drafts;
        of_instance.unwrap_or(deps.settings().restart_drafts)
    }

    /// Returns what the turn used so far, for a turn that ends before its draft is finished.
    pub(super) fn unsent_use(&self) -> UnsentUse {
        let rewriting = self.draft.turn.rewriting.as_deref();
        UnsentUse {
            agent: self.bound.agent.id.clone(),
            models: self.asked.iter().chain(rewriting).cloned().collect(),
            drafted_by: None,
            kept: self.bound.tenant.retention.usage,
        }
    }

    /// Returns the step of the agent's script at which the conversation is. A step that the agent no longer has leads to
    /// the first.
    pub(super) fn script_step(&self) -> Option<&AgentStep> {
        self.bound.agent.resolve_step(self.conversation.step.as_ref())
    }
}
