//! Schemas of tools.

use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A tool that agents of a tenant may call. Exactly one kind of tool is set: `http`, `mcp` or `calendar`.
#[derive(Serialize, ToSchema)]
#[schema(as = Tool)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct ToolSchema {
    #[schema(example = "opening_slots")]
    id: String,
    /// Id of the tenant.
    tenant: String,
    /// The name by which the model calls the tool: 1 to 64 letters, digits, `_` and `-`. If absent, the id.
    #[schema(pattern = "^[a-zA-Z0-9_-]{1,64}$")]
    name: Option<String>,
    /// The description for the model: what the tool does, and when to call it.
    #[schema(max_length = 2000)]
    description: String,
    effect: ToolEffectSchema,
    /// JSON schema of the arguments, of type `object`. If absent, the tool takes none.
    #[schema(required = false, value_type = Object)]
    arguments: Map<String, Value>,
    /// Time limit of one call, in seconds: above 0, at most 60, of a tool that acts at most 30.
    #[schema(required = false, default = 10.0, maximum = 60)]
    timeout_seconds: f64,
    /// `true` if a tool that acts may act once for the same messages. A second call is refused.
    #[schema(required = false, default = true)]
    once_per_turn: bool,
    /// A request over HTTP.
    http: Option<HttpToolSchema>,
    /// A server of the Model Context Protocol. The tool becomes several functions of the model, one for each tool that it allows.
    mcp: Option<McpServerSchema>,
    /// Id of a calendar of the tenant. The tool becomes several functions of the model: with `reads` those that list free slots and
    /// the contact's appointments, with `acts` also those that book, move and cancel.
    calendar: Option<String>,
}

/// The effect of a tool's calls.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolEffect)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "it only describes")]
enum ToolEffectSchema {
    /// A call changes nothing, so it may be repeated.
    Reads,
    /// A call changes something, so it must happen once.
    Acts,
}

/// A request over HTTP, with places for the arguments: `{name}` in the path, in the query and in texts of the body.
#[derive(Serialize, ToSchema)]
#[schema(as = HttpTool)]
#[serde(deny_unknown_fields)]
struct HttpToolSchema {
    #[schema(required = false)]
    method: HttpMethodSchema,
    /// The URL. Arguments stand in its path and in the values of its query.
    #[schema(example = "https://clinic.example/slots/{date}")]
    url: String,
    /// Headers of the request. They are no place for a secret: they are shown as they are.
    #[schema(required = false)]
    headers: BTreeMap<String, String>,
    /// The body. If absent, a POST, PUT or PATCH sends the arguments as they are.
    #[schema(value_type = Option<Object>)]
    body: Option<Value>,
    /// The part of the answer that the model reads, as a JSON pointer. If absent, all of it.
    #[schema(example = "/slots")]
    select: Option<String>,
    /// Reference to a secret of the tenant that the request carries (`env:NAME` or `ssm:/path/name`).
    credential: Option<String>,
    /// The header that carries the secret.
    #[schema(required = false, default = "Authorization")]
    credential_header: String,
    /// The words before the secret in its header.
    #[schema(required = false, default = "Bearer ")]
    credential_prefix: String,
    /// The header of a tool that acts which carries the id of the effect. If absent, `Idempotency-Key`.
    idempotency_header: Option<String>,
    /// The request by which it is asked whether an effect happened. If absent, nobody can be asked.
    ask: Option<HttpAskSchema>,
}

/// The request by which it is asked whether an effect happened: a GET. 2xx says that it did, 404 that it did not.
#[derive(Serialize, ToSchema)]
#[schema(as = HttpAsk)]
#[serde(deny_unknown_fields)]
struct HttpAskSchema {
    /// The URL, with the effect's id as `{effect_id}` in its path or query.
    #[schema(example = "https://clinic.example/orders/{effect_id}")]
    url: String,
    /// The part of the answer that the model reads, as a JSON pointer. If absent, all of it.
    select: Option<String>,
}

/// A server of the Model Context Protocol over streamable HTTP, and which of its tools may be called.
#[derive(Serialize, ToSchema)]
#[schema(as = McpServer)]
#[serde(deny_unknown_fields)]
struct McpServerSchema {
    /// The URL of the server.
    #[schema(example = "https://crm.example/mcp")]
    url: String,
    /// Reference to a secret of the tenant that every request carries as its bearer token (`env:NAME` or `ssm:/path/name`).
    credential: Option<String>,
    /// The names of the server's tools that may be called: 1 to 32, each once. Its other tools are not shown to the model.
    allow: Vec<String>,
    /// The effect of single tools, where it is another than the entry's.
    #[schema(required = false)]
    effects: BTreeMap<String, ToolEffectSchema>,
    /// For tools that act: the tool of the same server which tells whether an effect happened.
    #[schema(required = false)]
    ask: BTreeMap<String, McpAskSchema>,
}

/// The call by which a server is asked whether an effect happened.
#[derive(Serialize, ToSchema)]
#[schema(as = McpAsk)]
#[serde(deny_unknown_fields)]
struct McpAskSchema {
    /// The name of the tool that is called. It must read alone.
    tool: String,
    /// The name of its argument that takes the effect's id.
    argument: String,
    /// The place in its answer, as a JSON pointer, where a value stands if the effect happened: none, `null` and `false` say that
    /// it did not.
    #[schema(example = "/ticket")]
    happened: String,
}

/// The method of a request. If absent, GET.
#[derive(Serialize, ToSchema)]
#[schema(as = HttpMethod)]
#[serde(rename_all = "UPPERCASE")]
#[expect(dead_code, reason = "it only describes")]
enum HttpMethodSchema {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}
