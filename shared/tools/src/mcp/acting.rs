//! A server's tool that acts, as an effect.

use super::failure::McpFailure;
use super::{McpAnswer, McpCall, McpServers, within};
use crate::HttpTools;
use async_trait::async_trait;
use recado_domain::effects::EffectEntry;
use recado_domain::tools::{McpAsk, McpServer, Tool};
use recado_ports::ports::{
    AskAnswer, CallAnswer, EffectTool, FenceAnswer, Secrets, SettlingAbility, ToolLimits,
};
use serde_json::{Map, Value};

/// A server's tool that acts. A call carries the effect's id in `_meta`.
#[derive(Debug)]
pub(crate) struct McpEffects<'a, S> {
    servers: &'a McpServers,
    http: &'a HttpTools<S>,
    tool: &'a Tool,
    server: &'a McpServer,
    name: &'a str,
    private_hosts: bool,
}

impl McpServers {
    /// Opens a tool of a server that acts. `None`: it reads, or is no function of a server.
    pub(crate) fn open_acting_tool<'a, S>(
        &'a self,
        http: &'a HttpTools<S>,
        tool: &'a Tool,
        private_hosts: bool,
    ) -> Option<McpEffects<'a, S>> {
        Some(McpEffects {
            servers: self,
            http,
            tool,
            server: tool.mcp.as_ref().filter(|_| tool.acts())?,
            name: tool.mcp_tool.as_deref()?,
            private_hosts,
        })
    }
}

impl<'a, S: Secrets> McpEffects<'a, S> {
    fn find_question(&self) -> Option<&'a McpAsk> {
        self.server.ask.get(self.name)
    }

    async fn call_server(&self, call: McpCall<'_>, entry: &EffectEntry) -> Result<McpAnswer, McpFailure> {
        let limits = ToolLimits {
            within: entry.limit.unsigned_abs(),
            private_hosts: self.private_hosts,
        };
        let calling = self
            .servers
            .call_once(self.http, (self.tool, self.server), call, limits);
        within(limits.within, calling).await
    }
}

#[async_trait]
impl<S: Secrets> EffectTool for McpEffects<'_, S> {
    fn settling_ability(&self) -> SettlingAbility {
        match self.find_question() {
            Some(_) => SettlingAbility::Asked,
            None => SettlingAbility::Blind,
        }
    }

    async fn call_effect(&self, entry: &EffectEntry) -> CallAnswer {
        let none = Map::new();
        let call = McpCall {
            name: self.name,
            arguments: entry.arguments.as_object().unwrap_or(&none),
            effect: Some(&entry.id),
        };
        match self.call_server(call, entry).await {
            Ok(answer) if !answer.is_error => CallAnswer::Done(Some(answer.text)),
            // A tool that says that it failed may have done something before: who can be asked is asked.
            Ok(_) if self.find_question().is_some() => CallAnswer::Unclear,
            Ok(answer) => CallAnswer::Refused(Some(format!("it says: {}", answer.text))),
            Err(McpFailure::Failed(_) | McpFailure::TimedOut) => CallAnswer::Unclear,
            Err(failure) => CallAnswer::Refused(Some(failure.into_tool_failure().to_string())),
        }
    }

    async fn ask_for_effect(&self, entry: &EffectEntry) -> AskAnswer {
        let Some(ask) = self.find_question() else {
            return AskAnswer::Unanswered;
        };
        let mut arguments = Map::new();
        arguments.insert(ask.argument.clone(), Value::from(entry.id.as_str()));
        let call = McpCall {
            name: &ask.tool,
            arguments: &arguments,
            effect: None,
        };
        match self.call_server(call, entry).await {
            Ok(answer) if answer.is_error => AskAnswer::Unanswered,
            Ok(answer) if ask.says_happened(&answer.value) => AskAnswer::Happened(Some(answer.text)),
            Ok(McpAnswer {
                value: Value::Object(_),
                ..
            }) => AskAnswer::NotYet,
            Ok(_) | Err(_) => AskAnswer::Unanswered,
        }
    }

    async fn put_event_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Unanswered
    }

    async fn remove_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Done
    }
}
