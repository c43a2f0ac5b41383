//! Takes the place of `mcp` in a program without the Model Context Protocol: a call of such a tool fails and says so.

#![expect(
    clippy::unused_async,
    clippy::unused_self,
    reason = "it has the functions of what it stands for"
)]

use crate::HttpTools;
use crate::acting::ActingTool;
use recado_domain::tools::{McpListing, Tool};
use recado_ports::ports::{Secrets, ToolFailure, ToolLimits};
use serde_json::Value;

/// The sessions with servers, of which there are none.
#[derive(Debug, Clone, Default)]
pub(crate) struct McpServers {}

/// A tool of a server that acts. There is none.
pub(crate) type McpEffects<'a, S> = ActingTool<'a, S>;

impl McpServers {
    pub(crate) async fn list_server_tools<S: Secrets>(
        &self,
        _: &HttpTools<S>,
        _: &Tool,
        _: ToolLimits,
    ) -> Result<Vec<McpListing>, ToolFailure> {
        Err(tell_left_out())
    }

    pub(crate) async fn call_reading_tool<S: Secrets>(
        &self,
        _: &HttpTools<S>,
        _: &Tool,
        _: &Value,
        _: ToolLimits,
    ) -> Result<String, ToolFailure> {
        Err(tell_left_out())
    }

    /// Opens a tool that acts: here there is none.
    pub(crate) fn open_acting_tool<'a, S>(
        &'a self,
        _: &'a HttpTools<S>,
        _: &'a Tool,
        _: bool,
    ) -> Option<McpEffects<'a, S>> {
        None
    }
}

fn tell_left_out() -> ToolFailure {
    ToolFailure::Failed(
        "this program was built without the Model Context Protocol: build it with --features full".to_owned(),
    )
}
