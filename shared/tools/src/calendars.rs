//! Calendars: busy times, events, and the tools that book, move and cancel.

use crate::HttpTools;
use crate::argument_checks::ArgumentChecks;
use crate::mcp::McpServers;
use async_trait::async_trait;
use recado_domain::calendar::TimeSpan;
use recado_domain::config::{Calendar, GoogleCalendarAccess};
use recado_domain::effects::{EffectEntry, EffectId};
use recado_domain::tools::{CalendarFunction, McpListing, Tool};
use recado_google_calendar::{CalendarEffects, CalendarError, CalendarTarget, GoogleCalendar};
use recado_ports::ports::{
    AskAnswer, BookedEvent, CallAnswer, EffectTool, FenceAnswer, Secrets, SettlingAbility, System,
    ToolFailure, ToolLimits, Tools,
};
use serde_json::Value;
use std::time::Duration;

/// The title of an event whose call names none.
const USUAL_TITLE: &str = "Appointment (WhatsApp)";

/// The version that events of simulated calendars have.
const SIMULATED_VERSION: &str = "simulated";

/// All kinds of tools: requests over HTTP, servers of the Model Context Protocol, and calendars.
#[derive(Debug, Clone)]
pub struct AgentTools<S, A> {
    http: HttpTools<S>,
    servers: McpServers,
    google: GoogleCalendar<S, A>,
    checks: ArgumentChecks,
}

impl<S, A> AgentTools<S, A> {
    /// Joins the clients of the kinds of tools.
    pub fn new(http: HttpTools<S>, google: GoogleCalendar<S, A>) -> Self {
        Self {
            http,
            servers: McpServers::default(),
            google,
            checks: ArgumentChecks::default(),
        }
    }
}

impl<S: Secrets + Clone, A: System + Clone> AgentTools<S, A> {
    fn open_calendar<'a>(&self, function: &CalendarFunction) -> Box<dyn EffectTool + 'a>
    where
        S: 'a,
        A: 'a,
    {
        let Some(google) = &function.calendar.google else {
            return Box::new(SimulatedCalendar);
        };
        Box::new(CalendarEffects {
            client: self.google.clone(),
            calendar_id: google.calendar_id.clone(),
            credential: google.credential.clone(),
            rules: function.calendar.rules.clone(),
            time_zone: function.zone.iana_name().unwrap_or("UTC").to_owned(),
            title: USUAL_TITLE.to_owned(),
        })
    }
}

fn to_calendar_target(google: &GoogleCalendarAccess) -> CalendarTarget<'_> {
    CalendarTarget {
        calendar_id: &google.calendar_id,
        credential: &google.credential,
    }
}

fn to_tool_failure(error: &CalendarError) -> ToolFailure {
    match error {
        CalendarError::Credentials(_) | CalendarError::Forbidden(_) => ToolFailure::Credentials,
        CalendarError::NotFound => {
            ToolFailure::Failed("the calendar is not there, or not shared any more".to_owned())
        }
        other => ToolFailure::Failed(other.to_string()),
    }
}

#[async_trait]
impl<S: Secrets + Clone, A: System + Clone> Tools for AgentTools<S, A> {
    async fn check_arguments(&self, tool: &Tool, arguments: &Value, within: Duration) -> Result<(), String> {
        let (owned, given) = (tool.clone(), arguments.clone());
        let check = move || owned.check_arguments(&given);
        self.checks.run_check(&tool.tenant, within, check).await
    }

    async fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        limits: ToolLimits,
    ) -> Result<String, ToolFailure> {
        if tool.mcp.is_some() {
            let call = self
                .servers
                .call_reading_tool(&self.http, tool, arguments, limits);
            return call.await;
        }
        self.http.call_tool(tool, arguments, limits).await
    }

    async fn list_server_tools(
        &self,
        tool: &Tool,
        limits: ToolLimits,
    ) -> Result<Vec<McpListing>, ToolFailure> {
        self.servers.list_server_tools(&self.http, tool, limits).await
    }

    async fn query_busy_times(
        &self,
        calendar: &Calendar,
        span: TimeSpan,
    ) -> Result<Vec<TimeSpan>, ToolFailure> {
        let Some(google) = &calendar.google else {
            return Ok(Vec::new());
        };
        let busy = self
            .google
            .query_busy_times(&to_calendar_target(google), span)
            .await;
        busy.map_err(|error| to_tool_failure(&error))
    }

    async fn look_at_event(&self, calendar: &Calendar, event: &EffectId) -> Result<BookedEvent, ToolFailure> {
        let Some(google) = &calendar.google else {
            return Ok(BookedEvent::Present {
                version: SIMULATED_VERSION.to_owned(),
                time: None,
            });
        };
        let found = self
            .google
            .find_present_event(&to_calendar_target(google), event)
            .await;
        Ok(match found.map_err(|error| to_tool_failure(&error))? {
            Some(event) => BookedEvent::Present {
                version: event.etag,
                time: event.time,
            },
            None => BookedEvent::Gone,
        })
    }

    async fn has_other_event(
        &self,
        calendar: &Calendar,
        own: &EffectId,
        time: TimeSpan,
    ) -> Result<bool, ToolFailure> {
        let Some(google) = &calendar.google else {
            return Ok(false);
        };
        let asked = self
            .google
            .has_other_event(&to_calendar_target(google), own, time)
            .await;
        asked.map_err(|error| to_tool_failure(&error))
    }

    async fn mark_event_confirmed(
        &self,
        calendar: &Calendar,
        event: &EffectId,
        is_confirmed: bool,
    ) -> Result<(), ToolFailure> {
        let Some(google) = &calendar.google else {
            return Ok(());
        };
        let target = to_calendar_target(google);
        let marks = self.google.mark_event_confirmed(&target, event, is_confirmed);
        marks.await.map_err(|error| to_tool_failure(&error))
    }

    fn open_effect_tool<'a>(
        &'a self,
        tool: &'a Tool,
        private_hosts: bool,
    ) -> Option<Box<dyn EffectTool + 'a>> {
        if let Some(function) = &tool.function {
            return tool.acts().then(|| self.open_calendar(function));
        }
        if tool.mcp.is_some() {
            let opened = self.servers.open_acting_tool(&self.http, tool, private_hosts);
            return opened.map(|opened| Box::new(opened) as Box<dyn EffectTool + 'a>);
        }
        self.http.open_effect_tool(tool, private_hosts)
    }
}

/// A simulated calendar. Whatever is asked of it happens: its events are the bookings that the journals hold.
struct SimulatedCalendar;

#[async_trait]
impl EffectTool for SimulatedCalendar {
    fn settling_ability(&self) -> SettlingAbility {
        SettlingAbility::Asked
    }

    async fn call_effect(&self, _: &EffectEntry) -> CallAnswer {
        CallAnswer::Done(None)
    }

    async fn ask_for_effect(&self, _: &EffectEntry) -> AskAnswer {
        AskAnswer::Happened(None)
    }

    async fn put_event_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Done
    }

    async fn remove_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Done
    }
}
