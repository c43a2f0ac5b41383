//! An agent with the tools of a server of the Model Context Protocol: the real program with the simulated model.

use crate::calendars::call;
use crate::canary::assert_shown_nowhere;
use crate::commands::{findings, grade, run};
use crate::machine::{INSTANCE, Machine, seconds};
use recado_testkit::servers::{McpDoes, McpStandIn, McpVersions};
use recado_testkit::webhooks::evolution_text;
use serde_json::json;

/// The server's token. It may stand nowhere but in requests to the server.
const CANARY: &str = "canary-7d1f0b42";

fn document(url: &str) -> String {
    format!(
        r#"
[[tenants]]
id = "demo"

[[tools]]
id = "crm"
tenant = "demo"
description = "The CRM of the shop."
effect = "reads"

[tools.mcp]
url = "{url}"
credential = "env:RECADO_CREDENTIAL_DEMO_CRM"
allow = ["find_customer", "open_ticket"]
effects = {{ open_ticket = "acts" }}

[[agents]]
id = "ana"
tenant = "demo"
model = "claude-sonnet-4-5"
system_prompt = "You answer for a shop."
tools = ["crm"]

[[instances]]
id = "{INSTANCE}"
tenant = "demo"
agent = "ana"
provider = "evolution"
"#
    )
}

fn start(server: &McpStandIn) -> Machine {
    let mut machine = Machine::prepared(&[
        ("RECADO_SIMULATION", "auto"),
        ("RECADO_SIMULATED_LATENCY_MS", "0"),
        ("RECADO_DEBOUNCE_SECONDS", "0"),
        ("RECADO_PRIVATE_TOOLS", "true"),
        ("RECADO_CREDENTIAL_DEMO_CRM", CANARY),
        ("RUST_LOG", "debug"),
    ]);
    machine.unset("ANTHROPIC_API_KEY");
    machine.unset("EVOLUTION_API_KEY");
    machine.configure(&document(&server.url()));
    machine.start("serve");
    machine
}

fn start_server() -> McpStandIn {
    let server = McpStandIn::start(McpVersions::All);
    server.require_token(CANARY);
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let found = format!("Maria, customer 7, key {CANARY}");
    server.set_tool(
        "find_customer",
        &format!("Finds by {CANARY}."),
        &schema,
        McpDoes::Says(found),
    );
    server.set_tool(
        "open_ticket",
        "Opens a ticket.",
        &schema,
        McpDoes::Says(format!("ticket 12 {CANARY}")),
    );
    server.set_tool(
        "drop_tables",
        "Is not allowed.",
        &schema,
        McpDoes::Says(String::new()),
    );
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_asks_a_server_and_acts_by_it_and_its_token_is_shown_nowhere() {
    let server = start_server();
    let machine = start(&server);
    let (told, tools) = call(&machine, 1, r#"call crm_find_customer: {"name": "Maria"}"#).await;
    assert!(told.contains("Maria, customer 7, key [secret]"), "{told}");
    assert_eq!(tools[0]["outcome"], "answered");
    let (told, tools) = call(&machine, 2, r#"call crm_open_ticket: {"name": "Maria"}"#).await;
    assert!(
        told.contains("is done") && told.contains("ticket 12 [secret]"),
        "{told}"
    );
    assert_eq!(
        (&tools[0]["tool"], &tools[0]["outcome"]),
        (&json!("crm_open_ticket"), &json!("answered"))
    );
    let (_, tools) = call(&machine, 3, r#"call crm_drop_tables: {"name": "Maria"}"#).await;
    assert!(
        tools.is_null() || tools == json!([]),
        "it is not offered: {tools}"
    );
    let calls = server.calls();
    let [asked, acted] = &calls[..] else {
        panic!("two calls: {calls:?}")
    };
    assert_eq!(
        (asked.tool.as_str(), asked.effect.as_ref()),
        ("find_customer", None)
    );
    assert!(acted.effect.is_some(), "an effect has an id: {acted:?}");
    assert_eq!(asked.authorization, Some(format!("Bearer {CANARY}")));
    assert_eq!(server.count_lists(), 1, "the list is cached");
    let all = findings(&run(&machine, &["doctor", "--json"]));
    assert_eq!(grade(&all, "-", "tools"), "good");
    let listed = all.iter().find(|finding| finding["check"] == "tools").unwrap();
    assert!(
        listed.to_string().contains("drop_tables"),
        "all that it lists: {listed}"
    );
    assert_shown_nowhere(&machine, CANARY).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_names_a_tool_that_its_server_does_not_have() {
    let server = start_server();
    server.remove_tool("open_ticket");
    let machine = start(&server);
    let all = findings(&run(&machine, &["doctor", "--json"]));
    assert_eq!(grade(&all, "-", "tools"), "broken");
    let told = all.iter().find(|finding| finding["check"] == "tools").unwrap();
    assert!(told.to_string().contains("has no open_ticket"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_prompt_has_the_tools_of_the_server_and_not_its_token() {
    let server = start_server();
    let mut machine = Machine::prepared(&[
        ("RECADO_PRIVATE_TOOLS", "true"),
        ("RECADO_CREDENTIAL_DEMO_CRM", CANARY),
    ]);
    machine.configure(&document(&server.url()));
    machine.start("serve");
    let body = evolution_text(INSTANCE, "5511900000001@s.whatsapp.net", "P1", "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    machine.phone(1).await;
    let asked = machine.stand_ins.anthropic.requests().pop().unwrap().body;
    let names: Vec<&str> = asked["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["crm_find_customer", "crm_open_ticket"]);
    let prompt = asked.to_string();
    assert!(
        prompt.contains("Finds by [secret].") && !prompt.contains(CANARY),
        "{prompt}"
    );
}
