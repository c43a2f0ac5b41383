use super::{EffectTool, MissingEffectTool, ToolFailure};
use recado_domain::calendar::TimeSpan;
use recado_domain::config::Calendar;
use recado_domain::effects::EffectId;
use recado_domain::tools::{McpListing, Tool};
use serde_json::Value;
use std::future::Future;
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
pub enum EventLook {
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
pub trait Tools: Send + Sync {
    /// Checks the arguments of a call against the tool's schema, within a time limit. The error tells the model what to mend. The
    /// schema and the arguments are written by strangers: a check that takes too long is given up, and the call refused.
    fn check_arguments(
        &self,
        tool: &Tool,
        arguments: &Value,
        within: Duration,
    ) -> impl Future<Output = Result<(), String>> + Send {
        let _ = within;
        std::future::ready(tool.check_arguments(arguments))
    }

    /// Calls a tool that reads. The arguments fit their schema. Returns the part of the answer that the model may read, without
    /// secrets. A call may be repeated, by this turn or another.
    fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        limits: ToolLimits,
    ) -> impl Future<Output = Result<String, ToolFailure>> + Send {
        let _ = (tool, arguments, limits);
        std::future::ready(Err(ToolFailure::Failed("there are no tools here".to_owned())))
    }

    /// Lists the tools of a tool's server of the Model Context Protocol, also those that are not allowed. The server may have
    /// told them to an earlier turn.
    fn list_server_tools(
        &self,
        tool: &Tool,
        limits: ToolLimits,
    ) -> impl Future<Output = Result<Vec<McpListing>, ToolFailure>> + Send {
        let _ = (tool, limits);
        std::future::ready(Err(ToolFailure::Failed("there are no servers here".to_owned())))
    }

    /// Asks a calendar when it is busy within `span`. Changes nothing.
    fn query_busy_times(
        &self,
        calendar: &Calendar,
        span: TimeSpan,
    ) -> impl Future<Output = Result<Vec<TimeSpan>, ToolFailure>> + Send {
        let _ = (calendar, span);
        std::future::ready(Err(ToolFailure::Failed("there are no calendars here".to_owned())))
    }

    /// Asks a calendar for an event that was booked. Changes nothing. A calendar that is not there is a failure.
    fn look_at_event(
        &self,
        calendar: &Calendar,
        event: &EffectId,
    ) -> impl Future<Output = Result<EventLook, ToolFailure>> + Send {
        let _ = (calendar, event);
        std::future::ready(Err(ToolFailure::Failed("there are no calendars here".to_owned())))
    }

    /// Asks a calendar whether an event other than `own` takes some of a time. Changes nothing.
    fn has_other_event(
        &self,
        calendar: &Calendar,
        own: &EffectId,
        time: TimeSpan,
    ) -> impl Future<Output = Result<bool, ToolFailure>> + Send {
        let _ = (calendar, own, time);
        std::future::ready(Ok(false))
    }

    /// Shows people in an event of a calendar whether the contact confirmed it. May be repeated.
    fn mark_event_confirmed(
        &self,
        calendar: &Calendar,
        event: &EffectId,
        is_confirmed: bool,
    ) -> impl Future<Output = Result<(), ToolFailure>> + Send {
        let _ = (calendar, event, is_confirmed);
        std::future::ready(Ok(()))
    }

    /// Opens a tool that acts. This is the one place where a kind of tool meets the steps of an effect. `None`: the tool has
    /// no kind that acts.
    fn open_effect_tool<'a>(&'a self, tool: &'a Tool, private_hosts: bool) -> Option<impl EffectTool> {
        let _ = (tool, private_hosts);
        None::<MissingEffectTool>
    }
}
