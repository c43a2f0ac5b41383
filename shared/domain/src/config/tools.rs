//! The tools of agents: what a tenant configures, and the rules by which a model calls them.

mod calendar;
mod calendar_offer;
mod calendar_times;
mod calls;
mod check;
mod http;
mod mcp;
mod pattern_size;
mod request;
mod schema;
mod schema_error;
mod schema_size;

#[cfg(test)]
mod tests;

pub use calendar::{AskedSlots, CalendarFunction, CalendarOperation, cells_of_others};
pub use calls::{TOOL_INSTRUCTIONS, ToolOutcome, TurnToolCall, render_tool_result, tool_result_text};
pub use check::ToolError;
pub(crate) use check::{check_agent_tools, check_tools};
pub use http::{HttpAsk, HttpMethod, HttpTool};
pub use mcp::{McpAsk, McpListing, McpServer};
pub use request::{ArgumentError, HttpToolRequest};
pub use schema::ArgumentSchema;
pub use schema_error::SchemaError;

use crate::config::CredentialRef;
use crate::ids::{CalendarId, TenantId, ToolId};
use jiff::SignedDuration;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Greatest number of tools of one agent.
pub const TOOLS_MAX: usize = 32;

/// Longest time limit of one call, in seconds.
pub const TOOL_SECONDS_MAX: f64 = 60.0;

/// Longest time limit of one call of a tool that acts, in seconds: how it ended is asked in the same turn.
pub const ACTING_SECONDS_MAX: f64 = 30.0;

/// A tool that agents of a tenant may call. Exactly one kind of tool is set: `http`, `mcp` or `calendar`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The tool's id.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "opening_slots"))]
    pub id: ToolId,
    /// The tenant that the tool belongs to.
    pub tenant: TenantId,
    /// The name by which the model calls the tool: 1 to 64 letters, digits, `_` and `-`. If absent, the id.
    #[cfg_attr(feature = "schema", schema(pattern = "^[a-zA-Z0-9_-]{1,64}$"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description for the model: what the tool does, and when to call it.
    #[cfg_attr(feature = "schema", schema(max_length = 2000))]
    pub description: String,
    /// The effect of a call.
    pub effect: ToolEffect,
    /// JSON schema of the arguments, of type `object`. If absent, the tool takes none.
    #[cfg_attr(feature = "schema", schema(value_type = Object))]
    #[serde(default = "no_arguments")]
    pub arguments: Map<String, Value>,
    /// Time limit of one call, in seconds: above 0, at most 60, of a tool that acts at most 30.
    #[cfg_attr(feature = "schema", schema(default = 10.0, maximum = 60))]
    #[serde(default = "default_timeout_seconds")]
    pub timeout_seconds: f64,
    /// `true` if a tool that acts may act once for the same messages. A second call is refused.
    #[cfg_attr(feature = "schema", schema(default = true))]
    #[serde(default = "default_once_per_turn", skip_serializing_if = "Clone::clone")]
    pub once_per_turn: bool,
    /// A request over HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpTool>,
    /// A server of the Model Context Protocol. The tool becomes several functions of the model, one for each tool that it allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpServer>,
    /// Id of a calendar of the tenant. The tool becomes several functions of the model: with `reads` those that list free slots and the
    /// contact's appointments, with `acts` also those that book, move and cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calendar: Option<CalendarId>,
    /// The function of a calendar. It is no part of the configuration: [`Self::into_functions`] sets it.
    #[serde(skip)]
    pub function: Option<Box<CalendarFunction>>,
    /// The name of a tool at its server. It is no part of the configuration: [`Self::into_functions`] sets it.
    #[serde(skip)]
    pub mcp_tool: Option<String>,
}

/// The effect of a tool's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ToolEffect {
    /// A call changes nothing, so it may be repeated.
    Reads,
    /// A call changes something, so it must happen once.
    Acts,
}

fn no_arguments() -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), Value::from("object"));
    schema
}

fn default_timeout_seconds() -> f64 {
    10.0
}

fn default_once_per_turn() -> bool {
    true
}

impl Tool {
    /// Returns `true` if a call of the tool changes something.
    pub fn acts(&self) -> bool {
        self.effect == ToolEffect::Acts
    }

    /// Returns the name by which the model calls the tool.
    pub fn model_name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.id.as_str())
    }

    /// Returns the reference to the secret that calls carry.
    pub fn credential(&self) -> Option<&CredentialRef> {
        let of_http = self.http.as_ref().and_then(|http| http.credential.as_ref());
        of_http.or_else(|| self.mcp.as_ref()?.credential.as_ref())
    }

    /// Returns the time limit of one call.
    pub fn time_limit(&self) -> SignedDuration {
        let seconds = self.timeout_seconds.clamp(0.0, TOOL_SECONDS_MAX);
        SignedDuration::try_from_secs_f64(seconds).unwrap_or_default()
    }
}
