//! Against a server that is made with the server side of the official crate.

use crate::mcp::McpServers;
use crate::tests::{CANARY, Keys};
use crate::{HttpTools, mcp::acting::McpEffects};
use jiff::Timestamp;
use recado_domain::effects::{EffectEntry, EffectId};
use recado_domain::tools::{SchemaError, Tool};
use recado_http_client::GuardedClients;
use recado_ports::ports::{AskAnswer, CallAnswer, EffectTool, SettlingAbility, ToolFailure, ToolLimits};
use recado_testkit::servers::{McpDoes, McpStandIn, McpVersions};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;

const LIMITS: ToolLimits = ToolLimits {
    within: Duration::from_secs(20),
    private_hosts: true,
};

const VERSIONS: [McpVersions; 3] = [
    McpVersions::WithHandshake,
    McpVersions::All,
    McpVersions::WithoutHandshake,
];

struct Client {
    http: HttpTools<Keys>,
    servers: McpServers,
    keys: Keys,
}

impl Client {
    fn new() -> Self {
        let keys = Keys::default();
        Self {
            http: HttpTools::new(GuardedClients::default(), keys.clone()),
            servers: McpServers::default(),
            keys,
        }
    }

    async fn call(&self, tool: &Tool, arguments: &Value) -> Result<String, ToolFailure> {
        let call = self
            .servers
            .call_reading_tool(&self.http, tool, arguments, LIMITS);
        call.await
    }

    async fn list(&self, tool: &Tool) -> Result<Vec<String>, ToolFailure> {
        let listed = self.servers.list_server_tools(&self.http, tool, LIMITS).await?;
        Ok(listed.into_iter().map(|one| one.name).collect())
    }

    fn open<'a>(&'a self, tool: &'a Tool) -> McpEffects<'a, Keys> {
        self.servers.open_acting_tool(&self.http, tool, true).unwrap()
    }
}

/// The function `name` of a server, as a turn has it.
fn function(url: &str, name: &str, change: &Value) -> Tool {
    let mut mcp = json!({"url": url, "allow": [name], "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"});
    for (field, value) in change.as_object().unwrap() {
        mcp[field] = value.clone();
    }
    let tool: Tool = serde_json::from_value(
        json!({"id": "crm", "tenant": "clinic", "description": "d", "effect": "reads", "mcp": mcp}),
    )
    .unwrap();
    assert_eq!(tool.check_tool(), Ok(()));
    let tenant = serde_json::from_value(json!({"id": "clinic"})).unwrap();
    tool.into_functions(&[], &tenant).remove(0)
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}})
}

fn server(versions: McpVersions, does: McpDoes) -> McpStandIn {
    let server = McpStandIn::start(versions);
    server.require_token(CANARY);
    server.set_tool("find", "Finds a customer.", &schema(), does);
    server
}

fn entry() -> EffectEntry {
    serde_json::from_value(json!({"number": 1, "id": EffectId::from_random_bits(1, 2),
        "tool": {"agent": "ana", "name": "crm_find"}, "action": "other", "arguments": {"name": "Ana"},
        "conversation": "c_0123456789abcdef0123456789abcdef-1", "epoch": 0, "base": 0, "state": "doing", "nonce": "n",
        "until": 0, "limit": 2_000, "begun_at": Timestamp::UNIX_EPOCH.as_millisecond()}))
    .unwrap()
}

fn acts() -> Value {
    json!({"effects": {"find": "acts"}})
}

#[tokio::test]
async fn a_call_carries_its_arguments_and_the_credential_and_the_list_is_asked_for_once() {
    for versions in VERSIONS {
        let server = server(versions, McpDoes::Says("Ana, 7".to_owned()));
        let (client, tool) = (Client::new(), function(&server.url(), "find", &json!({})));
        assert_eq!(client.list(&tool).await, Ok(vec!["find".to_owned()]));
        for _ in 0..2 {
            assert_eq!(
                client.call(&tool, &json!({"name": "Ana"})).await.as_deref(),
                Ok("Ana, 7")
            );
        }
        let calls = server.calls();
        assert_eq!((calls.len(), server.count_lists()), (2, 1), "{versions:?}");
        assert_eq!(calls[0].arguments, json!({"name": "Ana"}));
        assert_eq!(calls[0].authorization, Some(format!("Bearer {CANARY}")));
        assert_eq!(calls[0].effect, None, "it reads");
    }
}

#[tokio::test]
async fn the_tools_are_listed_again_when_the_server_says_that_they_changed() {
    for versions in VERSIONS {
        let server = server(versions, McpDoes::Says(String::new()));
        let (client, tool) = (Client::new(), function(&server.url(), "find", &json!({})));
        assert_eq!(client.list(&tool).await, Ok(vec!["find".to_owned()]));
        // The server's word comes when it comes: it is told again until it is heard.
        let mut told = 0;
        while client.list(&tool).await.unwrap().len() < 2 {
            server.set_tool("open", "Opens.", &schema(), McpDoes::Says(String::new()));
            told += 1;
            assert!(told < 2_000, "{versions:?}: it is not heard");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn a_tool_whose_schema_is_not_small_is_refused_and_the_others_go_on() {
    let server = server(McpVersions::All, McpDoes::Says("7".to_owned()));
    let parts: serde_json::Map<String, Value> = (0..40)
        .map(|level| {
            let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
            (format!("a{level}"), json!({"allOf": [next, next]}))
        })
        .chain([("a40".to_owned(), json!({"type": "object"}))])
        .collect();
    let heavy = json!({"type": "object", "$ref": "#/$defs/a0", "$defs": parts});
    server.set_tool("heavy", "Takes for ever.", &heavy, McpDoes::Says(String::new()));
    let client = Client::new();
    let tool = function(&server.url(), "heavy", &json!({}));
    let listed = client
        .servers
        .list_server_tools(&client.http, &tool, LIMITS)
        .await
        .unwrap();
    let refused: Vec<_> = listed
        .iter()
        .map(|one| (one.name.as_str(), one.refused.clone()))
        .collect();
    assert_eq!(refused, [("find", None), ("heavy", Some(SchemaError::TooLarge))]);
    assert_eq!(tool.complete_mcp_function(&listed), None);
    let other = function(&server.url(), "find", &json!({}));
    assert!(other.complete_mcp_function(&listed).is_some());
}

#[tokio::test]
async fn the_tools_are_listed_again_when_the_server_does_not_know_one() {
    let server = server(McpVersions::WithHandshake, McpDoes::Says(String::new()));
    let (client, tool) = (Client::new(), function(&server.url(), "find", &json!({})));
    assert_eq!(client.list(&tool).await.unwrap().len(), 1);
    server.remove_tool("find");
    let refused = client.call(&tool, &json!({})).await;
    assert_eq!(
        refused,
        Err(ToolFailure::Failed("it says: tool not found".to_owned()))
    );
    assert_eq!(client.list(&tool).await, Ok(Vec::new()));
    assert_eq!(server.count_lists(), 2);
}

#[tokio::test]
async fn a_server_that_started_anew_is_asked_in_a_new_session() {
    let first = server(McpVersions::WithHandshake, McpDoes::Says("1".to_owned()));
    let client = Client::new();
    let tool = function(&first.url(), "find", &json!({}));
    assert_eq!(client.call(&tool, &json!({})).await.as_deref(), Ok("1"));
    drop(first);
    let gone = client.call(&tool, &json!({})).await;
    assert!(matches!(gone, Err(ToolFailure::Failed(_))), "{gone:?}");
}

#[tokio::test]
async fn a_secret_that_a_server_repeats_reaches_nobody() {
    let server = server(McpVersions::All, McpDoes::Says(format!("key {CANARY}")));
    let (client, tool) = (Client::new(), function(&server.url(), "find", &json!({})));
    server.set_tool(
        "find",
        &format!("Uses {CANARY}."),
        &json!({"type": "object", "properties": {"key": {"default": CANARY}}}),
        McpDoes::Says(format!("key {CANARY}")),
    );
    let listed = client
        .servers
        .list_server_tools(&client.http, &tool, LIMITS)
        .await
        .unwrap();
    let told = format!("{listed:?}");
    assert!(!told.contains(CANARY) && told.contains("[secret]"), "{told}");
    assert_eq!(
        client.call(&tool, &json!({})).await.as_deref(),
        Ok("key [secret]")
    );
    server.set_tool("find", "", &schema(), McpDoes::Fails(CANARY.to_owned()));
    let failed = client.call(&tool, &json!({})).await;
    assert_eq!(failed, Err(ToolFailure::Failed("it says: [secret]".to_owned())));
    server.set_tool(
        "find",
        "",
        &schema(),
        McpDoes::Errors(ErrorCode::INTERNAL_ERROR, CANARY.to_owned()),
    );
    let failed = client.call(&tool, &json!({})).await;
    assert_eq!(failed, Err(ToolFailure::Failed("it says: [secret]".to_owned())));
    let session = format!("{:?} {:?}", client.servers, client.http);
    assert!(!session.contains(CANARY), "{session}");
}

#[tokio::test]
async fn a_refused_credential_is_forgotten() {
    let server = server(McpVersions::WithHandshake, McpDoes::Says(String::new()));
    server.require_token("another");
    let (client, tool) = (Client::new(), function(&server.url(), "find", &json!({})));
    assert_eq!(
        client.call(&tool, &json!({})).await,
        Err(ToolFailure::Credentials)
    );
    assert_eq!(client.keys.forgotten.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_server_in_a_private_network_is_not_asked_unless_it_is_allowed() {
    let server = server(McpVersions::WithHandshake, McpDoes::Says(String::new()));
    let client = Client::new();
    let limits = ToolLimits {
        private_hosts: false,
        ..LIMITS
    };
    for url in [server.url(), server.url().replace("http:", "https:")] {
        let tool = function(&url, "find", &json!({}));
        let asked = client
            .servers
            .call_reading_tool(&client.http, &tool, &json!({}), limits)
            .await;
        assert!(matches!(asked, Err(ToolFailure::Failed(_))), "{url}: {asked:?}");
    }
    let metadata = function("http://169.254.169.254/mcp", "find", &json!({}));
    assert!(client.call(&metadata, &json!({})).await.is_err(), "not even then");
    assert_eq!((server.count_lists(), server.calls().len()), (0, 0));
}

#[tokio::test]
async fn a_call_ends_within_its_time() {
    let server = server(McpVersions::WithHandshake, McpDoes::Hangs);
    let (client, tool) = (Client::new(), function(&server.url(), "find", &json!({})));
    let limits = ToolLimits {
        within: Duration::from_millis(300),
        ..LIMITS
    };
    client.list(&tool).await.unwrap();
    let asked = client
        .servers
        .call_reading_tool(&client.http, &tool, &json!({}), limits)
        .await;
    assert_eq!(asked, Err(ToolFailure::TimedOut));
}

#[tokio::test]
async fn an_effect_is_called_once_with_its_id_and_only_a_clear_answer_is_believed() {
    let unclear = |code| (McpDoes::Errors(code, "no".to_owned()), CallAnswer::Unclear);
    let refused = |code| {
        let told = "the tool failed: it says: no".to_owned();
        (
            McpDoes::Errors(code, "no".to_owned()),
            CallAnswer::Refused(Some(told)),
        )
    };
    for (does, wanted) in [
        (
            McpDoes::Says(format!("done {CANARY}")),
            CallAnswer::Done(Some("done [secret]".to_owned())),
        ),
        (
            McpDoes::Returns(json!({"ticket": 7})),
            CallAnswer::Done(Some(r#"{"ticket":7}"#.to_owned())),
        ),
        (
            McpDoes::Fails("sold out".to_owned()),
            CallAnswer::Refused(Some("it says: sold out".to_owned())),
        ),
        (McpDoes::Hangs, CallAnswer::Unclear),
        unclear(ErrorCode::INTERNAL_ERROR),
        refused(ErrorCode::INVALID_PARAMS),
        refused(ErrorCode::METHOD_NOT_FOUND),
    ] {
        let server = server(McpVersions::WithHandshake, does.clone());
        let (client, tool) = (Client::new(), function(&server.url(), "find", &acts()));
        let acting = client.open(&tool);
        assert_eq!(acting.settling_ability(), SettlingAbility::Blind);
        assert_eq!(acting.call_effect(&entry()).await, wanted, "{does:?}");
        let calls = server.calls();
        assert_eq!(calls.len(), 1, "{does:?}");
        assert_eq!(calls[0].effect, Some(entry().id.to_string()));
    }
}

#[tokio::test]
async fn an_effect_whose_request_left_for_nobody_did_not_happen() {
    let server = server(McpVersions::WithHandshake, McpDoes::Says(String::new()));
    let (client, tool) = (Client::new(), function(&server.url(), "find", &acts()));
    drop(server);
    let answer = client.open(&tool).call_effect(&entry()).await;
    assert!(matches!(answer, CallAnswer::Refused(Some(_))), "{answer:?}");
}

#[tokio::test]
async fn a_server_that_can_be_asked_tells_whether_an_effect_happened() {
    let server = server(
        McpVersions::WithoutHandshake,
        McpDoes::Fails("the connection to the CRM broke".to_owned()),
    );
    let ask = json!({"effects": {"find": "acts"},
        "ask": {"find": {"tool": "look", "argument": "key", "happened": "/ticket"}}});
    let (client, tool) = (Client::new(), function(&server.url(), "find", &ask));
    let acting = client.open(&tool);
    assert_eq!(acting.settling_ability(), SettlingAbility::Asked);
    assert_eq!(
        acting.call_effect(&entry()).await,
        CallAnswer::Unclear,
        "it may have happened before"
    );
    for (does, wanted) in [
        (
            McpDoes::Returns(json!({"ticket": 7})),
            AskAnswer::Happened(Some(r#"{"ticket":7}"#.to_owned())),
        ),
        (McpDoes::Returns(json!({"ticket": null})), AskAnswer::NotYet),
        (
            McpDoes::Says(r#"{"ticket": false}"#.to_owned()),
            AskAnswer::NotYet,
        ),
        (McpDoes::Says("perhaps".to_owned()), AskAnswer::Unanswered),
        (McpDoes::Fails("no".to_owned()), AskAnswer::Unanswered),
        (McpDoes::Hangs, AskAnswer::Unanswered),
    ] {
        server.set_tool("look", "", &schema(), does.clone());
        assert_eq!(acting.ask_for_effect(&entry()).await, wanted, "{does:?}");
        assert_eq!(
            server.calls().last().unwrap().arguments,
            json!({"key": entry().id})
        );
    }
}
