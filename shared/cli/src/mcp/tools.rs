//! The tools that are offered: their names, their arguments, and the route that each needs.

use anyhow::{Result, anyhow};
use rmcp::handler::server::common::schema_for_type;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// A call of a tool, with its arguments.
#[derive(Debug, Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "snake_case")]
pub(super) enum DeskCall {
    SearchConversations(SearchedRecord),
    ListConversations(ListedConversations),
    ReadConversation(ReadThread),
    ReadMessage(ReadMessage),
    AnswerContact(ContactAnswer),
    TakeConversation(NamedConversation),
    GiveBackConversation(NamedConversation),
    ListDeadLetters(ListedDeadLetters),
    RedriveDeadLetters(RedrivenDeadLetters),
}

/// A person or a record that is looked for.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct SearchedRecord {
    /// A phone number in any spelling, a part of a contact's name, words of a message, or an id. Ids are those of conversations,
    /// messages, events and requests, and of messages at the provider (`wamid.…`). On AWS texts are not searched.
    pub(super) what: String,
    /// Only the contacts of this tenant.
    pub(super) tenant: Option<String>,
    /// Only on this instance.
    pub(super) instance: Option<String>,
    /// The most messages of each conversation, the newest: 1 to 200, 10 if absent.
    pub(super) limit: Option<u16>,
}

/// The conversations that are listed.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ListedConversations {
    /// `true`: only those in which a person owes an answer, the longest waiting first.
    waiting: Option<bool>,
    /// Only of this instance.
    instance: Option<String>,
    /// `ai`: only those that the agent has. `manual`: only those that people have.
    mode: Option<String>,
    /// 1 to 200, 50 if absent.
    limit: Option<u16>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A conversation that is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ReadThread {
    /// The conversation's id (`c_…-1`).
    pub(super) conversation: String,
    /// The most messages, the newest: 1 to 200, 50 if absent.
    pub(super) limit: Option<u16>,
}

/// A message that is read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ReadMessage {
    /// The message's id (`c_…-1.7`).
    pub(super) message: String,
}

/// An answer to a contact.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ContactAnswer {
    /// The conversation's id.
    pub(super) conversation: String,
    /// The text that the contact gets.
    pub(super) text: String,
    /// `ordinal` of the newest message that was read. Later ones stay unanswered. The same text with the same `seen` is sent once.
    pub(super) seen: u64,
}

/// A conversation that changes hands.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct NamedConversation {
    /// The conversation's id.
    pub(super) conversation: String,
}

/// The dead letters that are listed.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct ListedDeadLetters {
    /// Only of this queue: `inbound`, `turns` or `outbound`.
    queue: Option<String>,
    /// Only with this reason.
    reason: Option<String>,
    /// Only of this instance.
    instance: Option<String>,
    /// 1 to 200, 50 if absent.
    limit: Option<u16>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// The dead letters that are put back on their way.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct RedrivenDeadLetters {
    /// The ids of the dead letters: 1 to 200.
    pub(super) ids: Vec<String>,
    /// `true`: only counts what a redrive would find.
    #[serde(default)]
    dry_run: bool,
}

/// The effect of a tool on what is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolReach {
    /// The tool changes nothing.
    Reads,
    /// The tool changes a record. A repeat changes nothing.
    Changes,
    /// The tool sends to a contact, or may have something sent again.
    Sends,
}

/// A tool that is offered.
#[derive(Debug)]
pub(super) struct DeskTool {
    pub(super) name: &'static str,
    description: &'static str,
    reach: ToolReach,
    /// The route of the API that it needs, by which the roles of tokens have it.
    pub(super) route: &'static str,
    schema: fn() -> Arc<JsonObject>,
}

/// All tools.
pub(super) const TOOLS: &[DeskTool] = &[
    DeskTool {
        name: "search_conversations",
        description: "Finds the conversations of a person by number or name, those with words, or what an id names: what came, what was answered, \
            or the one reason why nothing was.",
        reach: ToolReach::Reads,
        route: "GET /v1/conversations",
        schema: schema_for_type::<SearchedRecord>,
    },
    DeskTool {
        name: "list_conversations",
        description: "Lists conversations, the most recently active first, or those that wait for a person.",
        reach: ToolReach::Reads,
        route: "GET /v1/conversations",
        schema: schema_for_type::<ListedConversations>,
    },
    DeskTool {
        name: "read_conversation",
        description: "Reads a conversation with its newest messages, the oldest of them first.",
        reach: ToolReach::Reads,
        route: "GET /v1/conversations/{id}",
        schema: schema_for_type::<ReadThread>,
    },
    DeskTool {
        name: "read_message",
        description: "Reads one message: its text, its delivery, the steps of its way, and why it is not answered.",
        reach: ToolReach::Reads,
        route: "GET /v1/messages/{id}",
        schema: schema_for_type::<ReadMessage>,
    },
    DeskTool {
        name: "answer_contact",
        description: "Sends a text to the contact of a conversation, as a person does. The conversation is taken over: the \
            agent is silent until it is given back.",
        reach: ToolReach::Sends,
        route: "POST /v1/conversations/{id}/messages",
        schema: schema_for_type::<ContactAnswer>,
    },
    DeskTool {
        name: "take_conversation",
        description: "Takes a conversation over without writing: the agent is silent until it is given back.",
        reach: ToolReach::Changes,
        route: "PATCH /v1/conversations/{id}",
        schema: schema_for_type::<NamedConversation>,
    },
    DeskTool {
        name: "give_back_conversation",
        description: "Gives a conversation back to the agent, which answers what is unanswered.",
        reach: ToolReach::Sends,
        route: "PATCH /v1/conversations/{id}",
        schema: schema_for_type::<NamedConversation>,
    },
    DeskTool {
        name: "list_dead_letters",
        description: "Lists what was given up, with the reason, the newest first.",
        reach: ToolReach::Reads,
        route: "GET /v1/dead-letters",
        schema: schema_for_type::<ListedDeadLetters>,
    },
    DeskTool {
        name: "redrive_dead_letters",
        description: "Puts dead letters back on their way, once their cause is mended. With `dry_run` it only counts.",
        reach: ToolReach::Sends,
        route: "POST /v1/dead-letters/redrive",
        schema: schema_for_type::<RedrivenDeadLetters>,
    },
];

impl DeskTool {
    /// Describes the tool to a client.
    pub(super) fn describe(&self) -> Tool {
        let annotations = ToolAnnotations::new()
            .read_only(self.reach == ToolReach::Reads)
            .destructive(false)
            .idempotent(self.reach != ToolReach::Sends)
            .open_world(self.reach == ToolReach::Sends);
        Tool::new(self.name, self.description, (self.schema)()).with_annotations(annotations)
    }
}

/// Reads a call of a tool. A client's model reads the error, and calls again.
pub(super) fn parse_call(name: &str, arguments: JsonObject) -> Result<DeskCall> {
    let call = json!({"name": name, "arguments": Value::Object(arguments)});
    serde_json::from_value(call).map_err(|error| anyhow!("these arguments cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_called_with_the_arguments_that_its_schema_names() {
        for tool in TOOLS {
            let schema = (tool.schema)();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            let fields = schema["properties"].as_object().unwrap();
            let arguments = fields.iter().map(|(name, field)| {
                let value = match &field["type"] {
                    kind if kind == "array" => json!(["x"]),
                    kind if kind.to_string().contains("boolean") => json!(true),
                    kind if kind.to_string().contains("integer") => json!(7),
                    _ => json!("x"),
                };
                (name.clone(), value)
            });
            let arguments: JsonObject = arguments.collect();
            parse_call(tool.name, arguments.clone()).unwrap();
            let mut other = arguments;
            other.insert("other".to_owned(), json!(1));
            let error = parse_call(tool.name, other).unwrap_err().to_string();
            assert!(error.contains("unknown field `other`"), "{error}");
        }
        let error = parse_call("answer_contact", JsonObject::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains("missing field"), "{error}");
    }

    #[test]
    fn a_role_that_only_reads_has_tools_that_only_read() {
        let reading = TOOLS.iter().filter(|tool| tool.route.starts_with("GET "));
        assert!(reading.clone().all(|tool| tool.reach == ToolReach::Reads));
        assert_eq!(reading.count(), 5);
    }
}
