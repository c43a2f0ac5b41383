//! The tools that are offered: their names, their arguments, and the route that each needs.

use anyhow::{Result, anyhow};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The arguments of a call.
type JsonObject = Map<String, Value>;

/// A call of a tool, with its arguments.
#[derive(Debug, Deserialize)]
#[serde(tag = "name", content = "arguments", rename_all = "snake_case")]
pub(super) enum McpToolCall {
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
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchedRecord {
    pub(super) what: String,
    pub(super) tenant: Option<String>,
    pub(super) instance: Option<String>,
    pub(super) limit: Option<u16>,
}

/// The conversations that are listed.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedConversations {
    waiting: Option<bool>,
    instance: Option<String>,
    mode: Option<String>,
    limit: Option<u16>,
    cursor: Option<String>,
}

/// A conversation that is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadThread {
    pub(super) conversation: String,
    pub(super) limit: Option<u16>,
}

/// A message that is read.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadMessage {
    pub(super) message: String,
}

/// An answer to a contact.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ContactAnswer {
    pub(super) conversation: String,
    pub(super) text: String,
    pub(super) seen: u64,
}

/// A conversation that changes hands.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedConversation {
    pub(super) conversation: String,
}

/// The dead letters that are listed.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedDeadLetters {
    queue: Option<String>,
    reason: Option<String>,
    instance: Option<String>,
    limit: Option<u16>,
    cursor: Option<String>,
}

/// The dead letters that are put back on their way.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RedrivenDeadLetters {
    pub(super) ids: Vec<String>,
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
pub(super) struct McpTool {
    pub(super) name: &'static str,
    description: &'static str,
    reach: ToolReach,
    /// The route of the API that it needs, by which the roles of tokens have it.
    pub(super) route: &'static str,
    /// The arguments that a call must have.
    required: &'static [&'static str],
    arguments: &'static [ToolArgument],
}

/// An argument of a call: its name, its type in a JSON schema, and its meaning.
type ToolArgument = (&'static str, &'static str, &'static str);

const NAMED_CONVERSATION: ToolArgument = ("conversation", "string", "The conversation's id.");
const OF_INSTANCE: ToolArgument = ("instance", "string", "Only of this instance.");
const PAGE_LIMIT: ToolArgument = ("limit", "integer", "1 to 200, 50 if absent.");
const PAGE_CURSOR: ToolArgument = ("cursor", "string", "`next_cursor` of the page before.");

/// All tools.
pub(super) const TOOLS: &[McpTool] = &[
    McpTool {
        name: "search_conversations",
        description: "Finds the conversations of a person by number or name, those with words, or what an id names: what came, what was answered, \
            or the one reason why nothing was.",
        reach: ToolReach::Reads,
        route: "GET /v1/conversations",
        required: &["what"],
        arguments: &[
            (
                "what",
                "string",
                "A phone number in any spelling, a part of a contact's name, words of a message, or an id. Ids are those of \
                    conversations, messages, events and requests, and of messages at the provider (`wamid.…`). On AWS texts are not searched.",
            ),
            ("tenant", "string", "Only the contacts of this tenant."),
            ("instance", "string", "Only on this instance."),
            (
                "limit",
                "integer",
                "The most messages of each conversation, the newest: 1 to 200, 10 if absent.",
            ),
        ],
    },
    McpTool {
        name: "list_conversations",
        description: "Lists conversations, the most recently active first, or those that wait for a person.",
        reach: ToolReach::Reads,
        route: "GET /v1/conversations",
        required: &[],
        arguments: &[
            (
                "waiting",
                "boolean",
                "`true`: only those in which a person owes an answer, the longest waiting first.",
            ),
            OF_INSTANCE,
            (
                "mode",
                "string",
                "`ai`: only those that the agent has. `manual`: only those that people have.",
            ),
            PAGE_LIMIT,
            PAGE_CURSOR,
        ],
    },
    McpTool {
        name: "read_conversation",
        description: "Reads a conversation with its newest messages, the oldest of them first.",
        reach: ToolReach::Reads,
        route: "GET /v1/conversations/{id}",
        required: &["conversation"],
        arguments: &[
            ("conversation", "string", "The conversation's id (`c_…-1`)."),
            (
                "limit",
                "integer",
                "The most messages, the newest: 1 to 200, 50 if absent.",
            ),
        ],
    },
    McpTool {
        name: "read_message",
        description: "Reads one message: its text, its delivery, the steps of its way, and why it is not answered.",
        reach: ToolReach::Reads,
        route: "GET /v1/messages/{id}",
        required: &["message"],
        arguments: &[("message", "string", "The message's id (`c_…-1.7`).")],
    },
    McpTool {
        name: "answer_contact",
        description: "Sends a text to the contact of a conversation, as a person does. The conversation is taken over: the \
            agent is silent until it is given back.",
        reach: ToolReach::Sends,
        route: "POST /v1/conversations/{id}/messages",
        required: &["conversation", "text", "seen"],
        arguments: &[
            NAMED_CONVERSATION,
            ("text", "string", "The text that the contact gets."),
            (
                "seen",
                "integer",
                "`ordinal` of the newest message that was read. Later ones stay unanswered. The same text with the same `seen` is \
                    sent once.",
            ),
        ],
    },
    McpTool {
        name: "take_conversation",
        description: "Takes a conversation over without writing: the agent is silent until it is given back.",
        reach: ToolReach::Changes,
        route: "PATCH /v1/conversations/{id}",
        required: &["conversation"],
        arguments: &[NAMED_CONVERSATION],
    },
    McpTool {
        name: "give_back_conversation",
        description: "Gives a conversation back to the agent, which answers what is unanswered.",
        reach: ToolReach::Sends,
        route: "PATCH /v1/conversations/{id}",
        required: &["conversation"],
        arguments: &[NAMED_CONVERSATION],
    },
    McpTool {
        name: "list_dead_letters",
        description: "Lists what was given up, with the reason, the newest first.",
        reach: ToolReach::Reads,
        route: "GET /v1/dead-letters",
        required: &[],
        arguments: &[
            (
                "queue",
                "string",
                "Only of this queue: `inbound`, `turns` or `outbound`.",
            ),
            ("reason", "string", "Only with this reason."),
            OF_INSTANCE,
            PAGE_LIMIT,
            PAGE_CURSOR,
        ],
    },
    McpTool {
        name: "redrive_dead_letters",
        description: "Puts dead letters back on their way, once their cause is mended. With `dry_run` it only counts.",
        reach: ToolReach::Sends,
        route: "POST /v1/dead-letters/redrive",
        required: &["ids"],
        arguments: &[
            ("ids", "array", "The ids of the dead letters: 1 to 200."),
            (
                "dry_run",
                "boolean",
                "`true`: only counts what a redrive would find.",
            ),
        ],
    },
];

impl McpTool {
    /// Describes the tool to a client.
    pub(super) fn describe(&self) -> Value {
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": self.describe_arguments(),
            "annotations": {
                "readOnlyHint": self.reach == ToolReach::Reads,
                "destructiveHint": false,
                "idempotentHint": self.reach != ToolReach::Sends,
                "openWorldHint": self.reach == ToolReach::Sends,
            },
        })
    }

    /// Describes the arguments of a call as a JSON schema: those that it must have, and all with their types and meanings.
    fn describe_arguments(&self) -> Value {
        let described = self.arguments.iter().map(|(name, kind, meaning)| {
            let mut field = json!({"type": kind, "description": meaning});
            if *kind == "array" {
                field["items"] = json!({"type": "string"});
            }
            ((*name).to_owned(), field)
        });
        let properties: JsonObject = described.collect();
        json!({"type": "object", "properties": properties, "required": self.required, "additionalProperties": false})
    }
}

/// Reads a call of a tool. A client's model reads the error, and calls again.
pub(super) fn parse_call(name: &str, arguments: JsonObject) -> Result<McpToolCall> {
    let call = json!({"name": name, "arguments": Value::Object(arguments)});
    serde_json::from_value(call).map_err(|error| anyhow!("these arguments cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_is_called_with_the_arguments_that_its_schema_names() {
        for tool in TOOLS {
            let schema = tool.describe_arguments();
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
