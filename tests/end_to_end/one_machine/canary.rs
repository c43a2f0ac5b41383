//! A secret of a tool is shown nowhere: neither to the model, nor in a log, a record or an answer of the API.

use crate::calendars::{call, document, google};
use crate::machine::{INSTANCE, Machine};
use recado_testkit::servers::GoogleStandIn;
use recado_testkit::servers::scripted::{Does, StandIn};
use serde_json::Value;

/// A token. It may stand nowhere but in requests to the tool.
const CANARY: &str = "canary-91c2e7aa";

/// Looks for a secret in what the API answers, in the log and in every file of the data folder.
pub(crate) async fn assert_shown_nowhere(machine: &Machine, secret: &str) {
    let conversation = machine.conversation().await;
    let mut shown = vec![
        machine.get("/v1/config").await.to_string(),
        machine.get("/v1/tools").await.to_string(),
        machine.get("/v1/checks").await.to_string(),
        machine
            .get(&format!("/v1/conversations/{conversation}/effects"))
            .await
            .to_string(),
    ];
    for message in machine.messages(&conversation).await {
        let id = message["id"].as_str().unwrap();
        shown.push(machine.get(&format!("/v1/messages/{id}")).await.to_string());
    }
    assert!(
        shown.iter().any(|text| text.contains("answered")),
        "a call is looked at"
    );
    shown.push(machine.log());
    for text in shown {
        assert!(!text.contains(secret), "{text}");
    }
    let mut folders = vec![machine.data()];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            // A file may be gone by now: those of the database come and go.
            let bytes = std::fs::read(&path).unwrap_or_default();
            let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{} holds the secret", path.display());
            files += usize::from(!bytes.is_empty());
        }
    }
    assert!(files > 0, "the records were looked at");
}

fn start(variables: &[(&str, &str)], document: &str) -> Machine {
    let mut all = vec![
        ("RECADO_SIMULATION", "auto"),
        ("RECADO_SIMULATED_LATENCY_MS", "0"),
        ("RECADO_DEBOUNCE_SECONDS", "0"),
        ("RECADO_PRIVATE_TOOLS", "true"),
        ("RUST_LOG", "debug"),
    ];
    all.extend(variables);
    let mut machine = Machine::prepared(&all);
    machine.unset("ANTHROPIC_API_KEY");
    machine.unset("EVOLUTION_API_KEY");
    machine.configure(document);
    machine.start("serve");
    machine
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_of_a_request_over_http_is_shown_nowhere() {
    let repeats = Does::AnswersWith(
        200,
        vec![("content-type", "application/json")],
        format!(r#"{{"order": "7", "sent": "Bearer {CANARY}"}}"#),
    );
    let endpoint = StandIn::start(vec![repeats]).await;
    let tool = |id: &str, effect: &str, method: &str| {
        format!(
            r#"
[[tools]]
id = "{id}"
tenant = "demo"
description = "Looks or orders."
effect = "{effect}"
[tools.http]
method = "{method}"
url = "{}/{id}"
credential = "env:RECADO_CREDENTIAL_DEMO_SHOP"
"#,
            endpoint.url
        )
    };
    let document = format!(
        r#"
[[tenants]]
id = "demo"
{}{}
[[agents]]
id = "ana"
tenant = "demo"
model = "claude-sonnet-4-5"
system_prompt = "You answer for a shop."
tools = ["look", "order"]
[[instances]]
id = "{INSTANCE}"
tenant = "demo"
agent = "ana"
provider = "evolution"
"#,
        tool("look", "reads", "GET"),
        tool("order", "acts", "POST")
    );
    let machine = start(&[("RECADO_CREDENTIAL_DEMO_SHOP", CANARY)], &document);
    for (number, name) in [(1, "look"), (2, "order")] {
        let (told, _) = call(&machine, number, &format!("call {name}: {{}}")).await;
        assert!(told.contains("Bearer [secret]"), "{told}");
    }
    let sent = endpoint.requests();
    let carries = |headers: &[String]| headers.contains(&format!("authorization: bearer {CANARY}"));
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|request| carries(&request.headers)));
    assert_shown_nowhere(&machine, CANARY).await;
}

#[tokio::test]
async fn the_key_of_a_calendar_is_shown_nowhere() {
    let calendar = GoogleStandIn::start();
    let account = calendar.service_account();
    let machine = start(
        &[
            ("GOOGLE_CALENDAR_BASE_URL", &calendar.api_base_url()),
            ("GOOGLE_TOKEN_URL", &calendar.token_url()),
            ("RECADO_CREDENTIAL_DEMO_CALENDAR", &account),
        ],
        &document(&google()),
    );
    let (told, _) = call(&machine, 1, "call agenda_free_slots: {}").await;
    assert!(told.contains("(start "), "{told}");
    let key: Value = serde_json::from_str(&account).unwrap();
    let key = key["private_key"].as_str().unwrap();
    let line = key.lines().find(|line| !line.starts_with('-')).unwrap();
    assert!(line.len() > 20, "a line of the key");
    assert_shown_nowhere(&machine, line).await;
}
