use super::{EffectTool, ToolFailure};
use async_trait::async_trait;
use recado_domain::calendar::TimeSpan;
use recado_domain::config::Calendar;
use recado_domain::effects::EffectId;
use recado_domain::tools::{McpListing, Tool};
use serde_json::Value;
use std::time::Duration;

/// The limits of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLimits {
    /// Maximum duration of the call.
    pub within: Duration,
    /// `true` if the tool may be on this machine or in a private network, and without TLS.
    pub private_hosts: bool,
}

/// The state of an event that was booked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BookedEvent {
    /// The event is there.
    Present {
        /// The version of the event.
        version: String,
        /// The time of the event, without buffers; `None`: nobody says.
        time: Option<TimeSpan>,
    },
    /// The event was deleted.
    Gone,
}

/// The tools of agents.
#[async_trait]
pub trait Tools: Send + Sync {
    /// Checks the arguments of a call against the tool's schema, within a time limit. The error tells the model what to mend. The
    /// schema and the arguments are written by strangers: a check that takes too long is given up, and the call refused.
    async fn check_arguments(&self, tool: &Tool, arguments: &Value, within: Duration) -> Result<(), String> {
        let _ = within;
        tool.check_arguments(arguments)
    }

    /// Calls a tool that reads. The arguments fit their schema. Returns the part of the answer that the model may read, without
    /// secrets. A call may be repeated, by this turn or another.
    async fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        limits: ToolLimits,
    ) -> Result<String, ToolFailure> {
        let _ = (tool, arguments, limits);
        Err(ToolFailure::Failed("there are no tools here".to_owned()))
    }

    /// Lists the tools of a tool's server of the Model Context Protocol, also those that are not allowed. The server may have
    /// told them to an earlier turn.
    async fn list_server_tools(
        &self,
        tool: &Tool,
        limits: ToolLimits,
    ) -> Result<Vec<McpListing>, ToolFailure> {
        let _ = (tool, limits);
        Err(ToolFailure::Failed("there are no servers here".to_owned()))
    }

    /// Asks a calendar when it is busy within `span`. Changes nothing.
    async fn query_busy_times(
        &self,
        calendar: &Calendar,
        span: TimeSpan,
    ) -> Result<Vec<TimeSpan>, ToolFailure> {
        let _ = (calendar, span);
        Err(ToolFailure::Failed("there are no calendars here".to_owned()))
    }

    /// Asks a calendar for an event that was booked. Changes nothing. A calendar that is not there is a failure.
    async fn look_at_event(&self, calendar: &Calendar, event: &EffectId) -> Result<BookedEvent, ToolFailure> {
        let _ = (calendar, event);
        Err(ToolFailure::Failed("there are no calendars here".to_owned()))
    }

    /// Asks a calendar whether an event other than `own` takes some of a time. Changes nothing.
    async fn has_other_event(
        &self,
        calendar: &Calendar,
        own: &EffectId,
        time: TimeSpan,
    ) -> Result<bool, ToolFailure> {
        let _ = (calendar, own, time);
        Ok(false)
    }

    /// Shows people in an event of a calendar whether the contact confirmed it. May be repeated.
    async fn mark_event_confirmed(
        &self,
        calendar: &Calendar,
        event: &EffectId,
        is_confirmed: bool,
    ) -> Result<(), ToolFailure> {
        let _ = (calendar, event, is_confirmed);
        Ok(())
    }

    /// Opens a tool that acts. This is the one place where a kind of tool meets the steps of an effect. `None`: the tool has
    /// no kind that acts.
    fn open_effect_tool<'a>(
        &'a self,
        tool: &'a Tool,
        private_hosts: bool,
    ) -> Option<Box<dyn EffectTool + 'a>> {
        let _ = (tool, private_hosts);
        None
    }
}
