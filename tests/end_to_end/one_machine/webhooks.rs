//! Published events reach an endpoint of the tenant's own systems, signed, also after a failure and a crash.

use crate::commands::run;
use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::servers::scripted::{Does, Request, StandIn};
use recado_testkit::webhooks::evolution_text;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const MARIA: &str = "5511900000001@s.whatsapp.net";

fn header<'a>(request: &'a Request, name: &str) -> &'a str {
    let prefix = format!("{name}: ");
    let mut headers = request.headers.iter();
    headers.find_map(|header| header.strip_prefix(&prefix)).unwrap()
}

/// Runs a command about endpoints, and returns its answer.
fn webhooks(machine: &Machine, arguments: &[&str]) -> Value {
    let arguments = [["webhooks", "--json"].as_slice(), arguments].concat();
    let ran = run(machine, &arguments);
    assert!(ran.success, "{arguments:?}: {}{}", ran.out, ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

/// The signature that the library of Standard Webhooks makes. The stand-in keeps headers in lower case.
fn sign(request: &Request, secret: &str) -> String {
    let library = standardwebhooks::Webhook::new(secret).unwrap();
    let at = header(request, "webhook-timestamp").parse().unwrap();
    let signed = library.sign(header(request, "webhook-id"), at, request.text.as_bytes());
    signed.unwrap().to_lowercase()
}

/// The messages of which the endpoint was told that they were stored.
fn stored_messages(endpoint: &StandIn) -> BTreeSet<String> {
    let requests = endpoint.requests();
    let created = requests
        .iter()
        .filter(|request| request.body["kind"] == "message.created");
    created
        .map(|request| request.body["message_id"].as_str().unwrap().to_owned())
        .collect()
}

/// Changes the endpoint by the command line: what a command does not name stays.
fn change_endpoint(machine: &Machine, url: &str) {
    let moved = format!("{url}/moved");
    for (arguments, shown) in [
        (
            ["disable", "crm"].as_slice(),
            json!([url, ["message.created"], true]),
        ),
        (
            &["change", "crm", "--endpoint-url", &moved],
            json!([moved, ["message.created"], true]),
        ),
        (&["change", "crm", "--all-kinds"], json!([moved, [], true])),
        (&["enable", "crm"], json!([moved, [], false])),
        (
            &["change", "crm", "--kind", "turn.*", "--kind", "alert.fired"],
            json!([moved, ["turn.*", "alert.fired"], false]),
        ),
    ] {
        let answer = webhooks(machine, arguments);
        let fields = json!([answer["url"], answer["kinds"], answer["disabled"]]);
        assert_eq!(fields, shown, "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_posted_signed_again_after_a_failure_and_on_after_a_crash() {
    let endpoint = StandIn::start(vec![Does::Answers(500, ""), Does::Answers(204, "")]).await;
    let mut machine = Machine::serving(&[("RECADO_PRIVATE_TOOLS", "true")]);
    let url = format!("{}/recado", endpoint.url);
    let made = webhooks(&machine, &["create", "crm", &url, "--kind", "message.created"]);
    let secret = made["secret"].as_str().unwrap().to_owned();
    let body = evolution_text(INSTANCE, MARIA, "W1", "Oi", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    machine.phone(1).await;
    // The first post fails; a quarter of a minute later nothing is missing.
    let told = || async { (stored_messages(&endpoint).len() == 2).then_some(()) };
    eventually("both messages are told", told).await;
    for request in endpoint.requests() {
        assert_eq!(request.line, "POST /recado");
        assert_eq!(header(&request, "webhook-signature"), sign(&request, &secret));
        assert_eq!(request.body["id"], header(&request, "webhook-id"));
        assert!(!request.text.contains("5511900000001"), "{}", request.text);
    }
    let rotated = webhooks(&machine, &["rotate", "crm", "--yes"]);
    let new = rotated["secret"].as_str().unwrap();
    assert_eq!(webhooks(&machine, &["test", "crm"])["accepted"], true);
    let tested = endpoint.requests().pop().unwrap();
    assert_eq!(tested.body["kind"], "webhook.test");
    let both = format!("{} {}", sign(&tested, new), sign(&tested, &secret));
    assert_eq!(header(&tested, "webhook-signature"), both);
    let body = evolution_text(INSTANCE, MARIA, "W2", "E agora?", seconds());
    assert_eq!(machine.evolution(&body).await, 200);
    machine.kill();
    machine.start("serve");
    let told = || async { (stored_messages(&endpoint).len() == 4).then_some(()) };
    eventually("what came before the crash is told", told).await;
    let shown = webhooks(&machine, &["show", "crm"]);
    assert_eq!(
        (&shown["status"], shown.get("secret")),
        (&Value::from("working"), None)
    );
    assert_eq!(webhooks(&machine, &["failed", "crm"])["items"], json!([]));
    change_endpoint(&machine, &url);
    webhooks(&machine, &["remove", "crm", "--yes"]);
    assert_eq!(webhooks(&machine, &["list"])["items"], json!([]));
}
