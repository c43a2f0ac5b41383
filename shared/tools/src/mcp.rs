//! Tools of servers of the Model Context Protocol.
//!
//! A session with a server is opened when it is first needed. It is kept in the process with the list of the server's tools, for a
//! bounded time, and is closed when the server says that its list changed or does not know a tool. Its requests go through the
//! guarded client: to hosts that are judged as those of other tools, without redirects.

mod acting;
mod connection;
mod events;
mod failure;
mod session;

use crate::{HttpTools, hide_secret};
use failure::McpFailure;
use recado_domain::effects::EffectId;
use recado_domain::secret::Secret;
use recado_domain::tools::{McpListing, McpServer, Tool};
use recado_http_client::HostReach;
use recado_ports::ports::{Secrets, ToolFailure, ToolLimits};
use serde_json::{Map, Value, json};
use session::{McpSession, ServerKey, SessionCache};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The key under which a call of a tool that acts carries the effect's id, in `_meta`.
pub(crate) const EFFECT_ID_KEY: &str = "recado/effect_id";

/// The fields that the result of a call may have beside its content.
const RESULT_FIELDS: [&str; 4] = ["_meta", "isError", "resultType", "structuredContent"];

/// The sessions of this process with servers.
#[derive(Debug, Clone, Default)]
pub(crate) struct McpServers {
    sessions: Arc<SessionCache>,
}

/// The result of a call.
#[derive(Debug)]
pub(crate) struct McpAnswer {
    /// The text for the model.
    pub(crate) text: String,
    /// The same as JSON: what the server calls structured content, or its text if that is JSON.
    pub(crate) value: Value,
    /// `true` if the tool says that it failed.
    pub(crate) is_error: bool,
}

/// A call of a server's tool.
#[derive(Debug, Clone, Copy)]
struct McpCall<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
    effect: Option<&'a EffectId>,
}

impl McpServers {
    /// Returns the tools of a server, as it told them in this session.
    pub(crate) async fn list_server_tools<S: Secrets>(
        &self,
        http: &HttpTools<S>,
        tool: &Tool,
        limits: ToolLimits,
    ) -> Result<Vec<McpListing>, ToolFailure> {
        let server = find_server(tool)?;
        let opening = Box::pin(self.find_session(http, tool, server, limits));
        let opened = within(limits.within, opening).await;
        Ok(opened.map_err(McpFailure::into_tool_failure)?.tools.clone())
    }

    /// Calls a tool that reads. A session that the server ended is opened once more.
    pub(crate) async fn call_reading_tool<S: Secrets>(
        &self,
        http: &HttpTools<S>,
        tool: &Tool,
        arguments: &Value,
        limits: ToolLimits,
    ) -> Result<String, ToolFailure> {
        let (server, name) = (find_server(tool)?, find_name(tool)?);
        let call = McpCall {
            name,
            arguments: &read_arguments(arguments)?,
            effect: None,
        };
        let calling = async {
            match self.call_once(http, (tool, server), call, limits).await {
                Err(McpFailure::SessionEnded) => self.call_once(http, (tool, server), call, limits).await,
                answer => answer,
            }
        };
        let answer = within(limits.within, calling).await;
        let answer = answer.map_err(McpFailure::into_tool_failure)?;
        if answer.is_error {
            let told = format!("it says: {}", answer.text);
            return Err(ToolFailure::Failed(told));
        }
        Ok(answer.text)
    }

    /// Makes one call. A server that does not know the tool is asked for its list the next time.
    async fn call_once<S: Secrets>(
        &self,
        http: &HttpTools<S>,
        (tool, server): (&Tool, &McpServer),
        call: McpCall<'_>,
        limits: ToolLimits,
    ) -> Result<McpAnswer, McpFailure> {
        let session = Box::pin(self.find_session(http, tool, server, limits)).await?;
        let mut params = json!({"name": call.name, "arguments": call.arguments});
        if let Some(effect) = call.effect {
            params["_meta"] = json!({EFFECT_ID_KEY: effect.as_str()});
        }
        let called = session.connection.send_request("tools/call", &params).await;
        let secret = session.connection.secret.as_ref();
        let failure = match called.and_then(|result| read_result(&result, secret)) {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        if failure.ends_session() {
            self.sessions
                .close_session(&ServerKey::new(tool, server), &session);
        }
        if matches!(failure, McpFailure::Credentials) {
            forget_credential(http, server).await;
        }
        Err(failure)
    }

    /// Returns the session that is kept, or opens one.
    async fn find_session<S: Secrets>(
        &self,
        http: &HttpTools<S>,
        tool: &Tool,
        server: &McpServer,
        limits: ToolLimits,
    ) -> Result<Arc<McpSession>, McpFailure> {
        let reach = HostReach::for_encrypted(&server.url, limits.private_hosts)
            .ok_or_else(|| McpFailure::NothingLeft("its address is not https".to_owned()))?;
        let place = self.sessions.find_place(&ServerKey::new(tool, server));
        let mut kept = place.lock().await;
        if let Some(session) = kept.as_ref().filter(|session| session.is_usable(reach)) {
            return Ok(session.clone());
        }
        *kept = None;
        let secret = http.resolve_credential(server.credential.as_ref()).await;
        let secret = secret.map_err(McpFailure::from_tool_failure)?;
        let opened = Box::pin(McpSession::open(&http.clients, reach, server, secret)).await;
        if matches!(opened, Err(McpFailure::Credentials)) {
            forget_credential(http, server).await;
        }
        let session = Arc::new(opened?);
        *kept = Some(session.clone());
        Ok(session)
    }
}

async fn forget_credential<S: Secrets>(http: &HttpTools<S>, server: &McpServer) {
    if let Some(reference) = &server.credential {
        http.secrets.forget_secret(reference).await;
    }
}

fn find_server(tool: &Tool) -> Result<&McpServer, ToolFailure> {
    let missing = || ToolFailure::Failed("it has no kind that is known here".to_owned());
    tool.mcp.as_ref().ok_or_else(missing)
}

fn find_name(tool: &Tool) -> Result<&str, ToolFailure> {
    let missing = || ToolFailure::Failed("it is no function of a server".to_owned());
    tool.mcp_tool.as_deref().ok_or_else(missing)
}

fn read_arguments(arguments: &Value) -> Result<Map<String, Value>, ToolFailure> {
    let mistake = || ToolFailure::BadArguments("they are no object".to_owned());
    arguments.as_object().cloned().ok_or_else(mistake)
}

/// Runs a request within its time limit.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, McpFailure>>,
) -> Result<T, McpFailure> {
    timeout(limit, work).await.unwrap_or(Err(McpFailure::TimedOut))
}

/// Reads what a server returned: its texts, and what else it may read as JSON. Pictures and sounds are named, not shown.
fn read_result(result: &Value, secret: Option<&Secret>) -> Result<McpAnswer, McpFailure> {
    let fields = result.as_object().ok_or_else(McpFailure::other_result)?;
    let content = match fields.get("content") {
        Some(content) => content.as_array().map(Vec::as_slice),
        None => fields
            .keys()
            .all(|name| RESULT_FIELDS.contains(&name.as_str()))
            .then_some::<&[Value]>(&[]),
    };
    let texts = content.ok_or_else(McpFailure::other_result)?.iter().map(|block| {
        let text = block["text"].as_str().filter(|_| block["type"] == "text");
        text.unwrap_or("[the tool returned something that is no text]")
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let structured = fields.get("structuredContent").filter(|value| !value.is_null());
    let text = match (structured, text.trim().is_empty()) {
        (Some(value), true) => value.to_string(),
        _ => text,
    };
    let value = structured.cloned().or_else(|| serde_json::from_str(&text).ok());
    Ok(McpAnswer {
        text: hide_secret(&text, secret),
        value: value.unwrap_or_default(),
        is_error: result["isError"].as_bool().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
