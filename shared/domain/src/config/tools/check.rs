//! Checks tools, and the tools that an agent names.

use super::calendar_offer::LONGEST_ENDING;
use super::schema::ArgumentSchema;
use super::schema_error::SchemaError;
use super::{ACTING_SECONDS_MAX, TOOL_SECONDS_MAX, TOOLS_MAX, Tool, no_arguments};
use crate::config::error::check_tenant_exists;
use crate::config::{Agent, Calendar, ConfigError, EntryRef};
use crate::decision::DECISION_TOOL_NAMES;
use crate::ids::{CalendarId, TenantId, ToolId};
use std::collections::{BTreeMap, BTreeSet};

/// Longest name of a tool, in characters.
pub(super) const NAME_MAX: usize = 64;

/// Longest description of a tool, in characters.
const DESCRIPTION_MAX: usize = 2_000;

/// The reasons why a tool is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// Models do not accept the name.
    #[error("its name must have 1 to 64 letters, digits, `_` and `-`")]
    Name,
    /// The name is that of a decision.
    #[error("the name `{0}` is that of a decision of agents")]
    DecisionName(String),
    /// The description is empty or too long.
    #[error("description must have 1 to 2000 characters")]
    Description,
    /// The schema of the arguments cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// The tool acts by a request that must change nothing.
    #[error("a tool that acts needs http.method POST, PUT, PATCH or DELETE")]
    ActsWithGet,
    /// The tool reads, and has what only tools that act have.
    #[error("http.ask and http.idempotency_header go with effect = \"acts\" alone")]
    ReadsWithEffect,
    /// The question how an effect ended does not name the effect.
    #[error("http.ask.url must have the place {{effect_id}} in its path or query")]
    AskWithoutId,
    /// The URL of that question cannot be used.
    #[error("http.ask.url must be an http:// or https:// URL whose only place is {{effect_id}}")]
    AskUrl,
    /// The time limit is out of range.
    #[error("timeout_seconds must be above 0 and at most 60, of a tool that acts at most 30")]
    TimeLimit,
    /// The tool has no kind, or several.
    #[error("a tool needs exactly one kind: `http`, `mcp` or `calendar`")]
    Kind,
    /// The URL of a server of the Model Context Protocol cannot be used.
    #[error("mcp.url must be an http:// or https:// URL of at most 2000 characters")]
    McpUrl,
    /// The list of allowed tools is empty or too long, or has a name that cannot be one.
    #[error("mcp.allow takes 1 to 32 names of tools, of at most 128 characters each")]
    McpAllowed,
    /// A tool has an effect, and is not allowed.
    #[error("mcp.effects names `{0}`, which mcp.allow does not")]
    McpNotAllowed(String),
    /// The question how an effect ended cannot be asked.
    #[error(
        "mcp.ask of `{0}` needs a tool that acts, and in it `tool` (one that reads), `argument` and `happened` (a JSON pointer)"
    )]
    McpAsk(String),
    /// The functions of a server would have names that models do not accept, or twice the same.
    #[error("the tool's name with an allowed name must have at most 64 characters, and no two be the same")]
    McpNames,
    /// The functions of a server have the arguments that it tells.
    #[error("a tool with `mcp` takes no `arguments`")]
    McpArguments,
    /// The functions of a calendar would have names that models do not accept.
    #[error("the name of a tool with a calendar must have at most 51 characters")]
    CalendarName,
    /// The functions of a calendar have arguments of their own.
    #[error("a tool with a calendar takes no `arguments`")]
    CalendarArguments,
    /// The URL cannot be used.
    #[error(
        "http.url must be an http:// or https:// URL of at most 2000 characters, with arguments in its path and query alone"
    )]
    Url,
    /// A brace is without its other, or stands where no argument can.
    #[error(
        "an argument is named as `{{name}}`, in the path, in a value of the query or in a text of the body"
    )]
    Placeholder,
    /// A place names an argument that the schema does not have.
    #[error("the schema of the arguments has no property `{0}`")]
    UnknownArgument(String),
    /// An argument of the path may be missing.
    #[error("`{0}` stands in the path, so the schema of the arguments must require it")]
    OptionalInPath(String),
    /// A header cannot be sent.
    #[error("http.headers takes at most 20 headers, each once, without those that Recado sets itself")]
    Header,
    /// The place of the answer is no JSON pointer.
    #[error("http.select must be a JSON pointer, such as /slots")]
    Select,
    /// The method has no body.
    #[error("http.body goes with POST, PUT and PATCH alone")]
    BodyWithoutMethod,
    /// The credential is a secret of another tenant, or of the installation.
    #[error("its credential must be {0}")]
    ForeignCredential(String),
}

impl Tool {
    /// Checks the tool by itself.
    pub fn check_tool(&self) -> Result<(), ToolError> {
        let name = self.model_name();
        let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if !(1..=NAME_MAX).contains(&name.len()) || !name.bytes().all(fine) {
            return Err(ToolError::Name);
        }
        if DECISION_TOOL_NAMES.contains(&name) {
            return Err(ToolError::DecisionName(name.to_owned()));
        }
        if !(1..=DESCRIPTION_MAX).contains(&self.description.trim().chars().count()) {
            return Err(ToolError::Description);
        }
        ArgumentSchema::compile(&self.arguments)?;
        let acts = self
            .mcp
            .as_ref()
            .map_or(self.acts(), |server| server.has_acting_tool(self.effect));
        let seconds_max = if acts {
            ACTING_SECONDS_MAX
        } else {
            TOOL_SECONDS_MAX
        };
        if !(self.timeout_seconds > 0.0 && self.timeout_seconds <= seconds_max) {
            return Err(ToolError::TimeLimit);
        }
        if self.calendar.is_some() {
            return self.check_calendar_tool();
        }
        if let Some(credential) = self.credential()
            && !credential.belongs_to_tenant(&self.tenant)
        {
            let allowed = crate::config::CredentialRef::describe_allowed_for(&self.tenant);
            return Err(ToolError::ForeignCredential(allowed));
        }
        match (&self.http, &self.mcp) {
            (Some(http), None) => {
                http.check_request(&self.arguments)?;
                http.check_acting(self.acts())
            }
            (None, Some(server)) => self.check_mcp_tool(server),
            _ => Err(ToolError::Kind),
        }
    }

    /// Lists the names by which the model calls what this tool becomes. They are those that its configuration alone tells.
    fn list_own_names(&self) -> Vec<String> {
        match &self.mcp {
            Some(server) => server.list_model_names(self.model_name()).collect(),
            None => vec![self.model_name().to_owned()],
        }
    }

    /// Checks a tool that works with a calendar: its functions have names and arguments of their own.
    fn check_calendar_tool(&self) -> Result<(), ToolError> {
        if self.http.is_some() || self.mcp.is_some() {
            return Err(ToolError::Kind);
        }
        if self.model_name().len() + LONGEST_ENDING > NAME_MAX {
            return Err(ToolError::CalendarName);
        }
        if self.arguments != no_arguments() {
            return Err(ToolError::CalendarArguments);
        }
        Ok(())
    }
}

/// Checks the tools of a configuration: each by itself, and that its tenant exists and has its calendar.
pub(crate) fn check_tools<'a>(
    tools: impl Iterator<Item = &'a Tool>,
    tenants: &BTreeSet<&TenantId>,
    calendars: &[Calendar],
) -> Result<(), ConfigError> {
    for tool in tools {
        let of = format!("tool `{}`", tool.id);
        check_tenant_exists(&of, &tool.tenant, tenants)?;
        let own = |calendar: &Calendar, id: &CalendarId| calendar.id == *id && calendar.tenant == tool.tenant;
        if let Some(id) = &tool.calendar
            && !calendars.iter().any(|calendar| own(calendar, id))
        {
            return Err(ConfigError::missing(of, &EntryRef::Calendar(id.clone())));
        }
        tool.check_tool().map_err(|why| ConfigError::of(of, why))?;
    }
    Ok(())
}

/// Checks the tools that an agent names: they exist, belong to its tenant, and have names of their own.
pub(crate) fn check_agent_tools(agent: &Agent, tools: &BTreeMap<&ToolId, &Tool>) -> Result<(), ConfigError> {
    let of = format!("agent `{}`", agent.id);
    if agent.tools.len() > TOOLS_MAX {
        return Err(ConfigError::of(of, "tools holds at most 32 tools"));
    }
    let mut names = BTreeSet::new();
    for id in &agent.tools {
        let found = tools.get(id).filter(|tool| tool.tenant == agent.tenant);
        let tool = found.ok_or_else(|| ConfigError::missing(&of, &EntryRef::Tool(id.clone())))?;
        if !tool.list_own_names().into_iter().all(|name| names.insert(name)) {
            return Err(ConfigError::of(of, "two of its tools have the same name"));
        }
    }
    Ok(())
}
