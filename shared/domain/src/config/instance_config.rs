//! The configuration with which a function handles a message.

use super::{Agent, Instance, Tenant};
use crate::hours::{OpeningHours, OpeningState};
use crate::knowledge::SnapshotName;
use crate::tools::Tool;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// An instance together with its tenant and agent, as a function needs them to handle a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InstanceConfig {
    /// The instance.
    pub instance: Instance,
    /// The instance's tenant.
    pub tenant: Tenant,
    /// The agent that answers.
    pub agent: Agent,
    /// The present snapshot of the agent's knowledge; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knowledge: Option<SnapshotName>,
    /// The agent's tools, sorted by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
}

impl InstanceConfig {
    /// Returns `true` if neither the instance nor its tenant is disabled.
    pub fn is_enabled(&self) -> bool {
        !self.instance.disabled && !self.tenant.disabled
    }

    /// Returns the time zone in which the instance's `hours` are read.
    pub fn resolve_opening_zone(&self, hours: &OpeningHours) -> TimeZone {
        hours.resolve_time_zone(self.tenant.resolve_time_zone())
    }

    /// Returns whether the agent may answer at `now`, or when the instance opens. An instance without opening hours is
    /// always open; one whose agent is disabled is never open.
    pub fn opening_state_at(&self, now: Timestamp) -> OpeningState {
        if self.agent.disabled {
            return OpeningState::NeverOpens;
        }
        let hours = self.instance.opening_hours.as_ref();
        hours.map_or(OpeningState::Open, |hours| {
            hours.opening_state_at(now, &self.resolve_opening_zone(hours))
        })
    }
}
