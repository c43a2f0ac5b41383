//! The tools of agents, behind the port of the models.

use super::Model;
use async_trait::async_trait;
use recado_domain::calendar::TimeSpan;
use recado_domain::config::Calendar;
use recado_domain::effects::EffectId;
use recado_domain::tools::{McpListing, Tool};
use recado_ports::ports::{BookedEvent, EffectTool, Secrets, System, ToolFailure, ToolLimits, Tools};
use serde_json::Value;
use std::time::Duration;

#[async_trait]
impl<S: Secrets + Clone, A: System + Clone> Tools for Model<S, A> {
    async fn check_arguments(&self, tool: &Tool, arguments: &Value, within: Duration) -> Result<(), String> {
        self.parts.tools.check_arguments(tool, arguments, within).await
    }

    async fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        limits: ToolLimits,
    ) -> Result<String, ToolFailure> {
        self.parts.tools.call_tool(tool, arguments, limits).await
    }

    async fn list_server_tools(
        &self,
        tool: &Tool,
        limits: ToolLimits,
    ) -> Result<Vec<McpListing>, ToolFailure> {
        self.parts.tools.list_server_tools(tool, limits).await
    }

    async fn query_busy_times(
        &self,
        calendar: &Calendar,
        span: TimeSpan,
    ) -> Result<Vec<TimeSpan>, ToolFailure> {
        self.parts.tools.query_busy_times(calendar, span).await
    }

    async fn look_at_event(&self, calendar: &Calendar, event: &EffectId) -> Result<BookedEvent, ToolFailure> {
        self.parts.tools.look_at_event(calendar, event).await
    }

    async fn has_other_event(
        &self,
        calendar: &Calendar,
        own: &EffectId,
        time: TimeSpan,
    ) -> Result<bool, ToolFailure> {
        self.parts.tools.has_other_event(calendar, own, time).await
    }

    async fn mark_event_confirmed(
        &self,
        calendar: &Calendar,
        event: &EffectId,
        is_confirmed: bool,
    ) -> Result<(), ToolFailure> {
        self.parts
            .tools
            .mark_event_confirmed(calendar, event, is_confirmed)
            .await
    }

    fn open_effect_tool<'a>(
        &'a self,
        tool: &'a Tool,
        private_hosts: bool,
    ) -> Option<Box<dyn EffectTool + 'a>> {
        self.parts.tools.open_effect_tool(tool, private_hosts)
    }
}
