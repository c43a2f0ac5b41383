//! The notes that features keep beside the turn-taking.

use super::ReengagementRecord;
use crate::ids::StepId;
use crate::invitations::InvitedGuest;
use crate::thread_hold::ThreadHold;
use serde::{Deserialize, Serialize};

/// The notes of features beside the turn-taking of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FeatureNotes {
    /// The guest as whom the contact was invited last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invited: Option<InvitedGuest>,
    /// The step of the agent's script; `None` before the first reply, and if the agent has no steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// `true` if the thread may have a journal of effects: an agent with acting tools drafted a reply.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub has_journal: bool,
    /// The last use of the instance's re-engagement template for the contact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reengaged: Option<ReengagementRecord>,
    /// The newest known holder of the contact's thread; `None` if it was always ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_hold: Option<ThreadHold>,
}
