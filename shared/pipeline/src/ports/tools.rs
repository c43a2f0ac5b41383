use super::{EffectTool, MissingEffectTool, ToolFailure};
use recado_domain::tools::Tool;
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

/// The tools of agents.
pub trait Tools: Send + Sync {
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
    /// Opens a tool that acts. This is the one place where a kind of tool meets the steps of an effect. `None`: the tool has
    /// no kind that acts.
    fn open_effect_tool<'a>(&'a self, tool: &'a Tool, private_hosts: bool) -> Option<impl EffectTool> {
        let _ = (tool, private_hosts);
        None::<MissingEffectTool>
    }
}
