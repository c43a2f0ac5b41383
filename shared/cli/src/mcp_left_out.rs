//! Takes the place of `mcp` in a program without the Model Context Protocol.

#![expect(clippy::unused_async, reason = "it has the functions of what it stands for")]

use crate::command_environment::CommandEnvironment;
use anyhow::{Result, bail};
use clap::Args;

/// A server of the Model Context Protocol, which this program was built without.
#[derive(Debug, Args)]
pub struct McpArguments {}

/// Refuses the command.
pub(crate) async fn serve_tools(_: McpArguments, _: &CommandEnvironment) -> Result<()> {
    bail!("this program was built without the Model Context Protocol: build it with --features full")
}
