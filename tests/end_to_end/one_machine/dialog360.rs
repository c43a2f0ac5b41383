//! A number of 360dialog: connected, looked over, written to, answering.

use crate::commands::{findings, grade, run};
use crate::machine::{D360_KEY, Machine, PATIENCE, PHONE_NUMBER_ID, eventually, seconds};
use recado_domain::provider::Provider;
use recado_testkit::servers::Dialog360Error;
use recado_testkit::webhooks::{meta_status, meta_text};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;

const NUMBER: &str = "parceiro-01";
pub(crate) const MARIA: &str = "5511900000041";

fn serving() -> Machine {
    serving_with(&[])
}

/// A number of 360dialog with these settings.
pub(crate) fn serving_with(variables: &[(&str, &str)]) -> Machine {
    let mut machine = Machine::prepared(variables);
    machine.configure(&format!(
        r#"
        [[tenants]]
        id = "clinica"
        [[agents]]
        id = "ana"
        tenant = "clinica"
        model = "claude-sonnet-4-5"
        system_prompt = "You are Ana."
        [[instances]]
        id = "{NUMBER}"
        tenant = "clinica"
        agent = "ana"
        provider = "360dialog"
        external_id = "{PHONE_NUMBER_ID}"
        typing = true
        mark_read = true
        "#
    ));
    machine.start("serve");
    machine
}

fn secret(machine: &Machine) -> String {
    machine.secret_at(Provider::Dialog360, PHONE_NUMBER_ID)
}

fn webhook(machine: &Machine, body: &Value) -> RequestBuilder {
    let path = format!("/webhooks/360dialog/{PHONE_NUMBER_ID}");
    machine.http.post(machine.url(&path)).json(body)
}

pub(crate) fn proven(machine: &Machine, body: &Value) -> RequestBuilder {
    webhook(machine, body).header("x-recado-webhook-secret", secret(machine))
}

pub(crate) async fn status(request: RequestBuilder) -> StatusCode {
    request.send().await.unwrap().status()
}

/// The messages that were asked to be sent, without read marks.
fn sends(machine: &Machine) -> usize {
    let requests = machine.stand_ins.dialog360.requests();
    requests
        .iter()
        .filter(|request| request.body["type"] == "text")
        .count()
}

#[tokio::test]
async fn a_message_is_answered_once_though_its_reply_was_throttled_with_400() {
    let machine = serving();
    let server = &machine.stand_ins.dialog360;
    server.next(Dialog360Error::RateLimitAsText.with_retry_after(1));
    let body = meta_text(PHONE_NUMBER_ID, MARIA, "wamid.D1", "Oi", seconds());
    assert_eq!(status(webhook(&machine, &body)).await, 401);
    for _ in 0..2 {
        assert_eq!(status(proven(&machine, &body)).await, 200);
    }
    let sent = server.wait_for_phone(1, PATIENCE).await;
    assert_eq!(
        (sent[0].text.as_str(), sent[0].instance.as_str()),
        ("echo: Oi", D360_KEY)
    );
    machine.quiet().await;
    assert_eq!(
        (sends(&machine), server.phone().len()),
        (2, 1),
        "throttled, then sent"
    );
    assert_eq!(server.notes().seen(), [("wamid.D1".to_owned(), true)]);
    assert_eq!(machine.stand_ins.violations(), []);
    let id = machine.conversation().await;
    let read = meta_status(PHONE_NUMBER_ID, &sent[0].id, "read", sent[0].callback.as_deref());
    assert_eq!(status(proven(&machine, &read)).await, 200);
    eventually("the reply to be read", || async {
        (machine.messages(&id).await[1]["status"] == "read").then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_on_premise_body_with_basic_authentication_is_answered_too() {
    let machine = serving();
    let body = json!({"messages": [{"from": MARIA, "id": "ABGG1", "timestamp": seconds().to_string(), "type": "text",
        "text": {"body": "Bom dia"}}]});
    let wrong = webhook(&machine, &body).basic_auth("recado", Some("wrong"));
    assert_eq!(status(wrong).await, 401);
    let right = webhook(&machine, &body).basic_auth("recado", Some(secret(&machine)));
    assert_eq!(status(right).await, 200);
    let sent = machine.stand_ins.dialog360.wait_for_phone(1, PATIENCE).await;
    assert_eq!(
        (sent[0].text.as_str(), sent[0].to.as_str()),
        ("echo: Bom dia", "+5511900000041")
    );
    assert_eq!(machine.stand_ins.violations(), []);
}

/// 360dialog waits for 5 seconds, then hangs up and comes again, for 7 days.
#[tokio::test]
async fn a_webhook_counts_once_however_often_360dialog_hung_up_before_its_answer() {
    let machine = serving();
    let body = meta_text(PHONE_NUMBER_ID, MARIA, "wamid.D2", "Oi", seconds());
    for patience in [0, 1, 2, 4] {
        let hung_up = proven(&machine, &body).timeout(Duration::from_millis(patience));
        // Whether the answer came in so short a time is not the point.
        let _ = hung_up.send().await;
    }
    assert_eq!(status(proven(&machine, &body)).await, 200);
    let sent = machine.stand_ins.dialog360.wait_for_phone(1, PATIENCE).await;
    assert_eq!(sent[0].text, "echo: Oi");
    machine.quiet().await;
    let id = machine.conversation().await;
    assert_eq!(machine.messages(&id).await.len(), 2, "the message and its answer");
    assert_eq!(
        (sends(&machine), machine.stand_ins.dialog360.phone().len()),
        (1, 1)
    );
}

#[tokio::test]
async fn connect_sets_the_webhook_with_its_secret_and_reads_it_back() {
    let machine = serving();
    let ran = run(&machine, &["connect", NUMBER]);
    assert!(ran.success, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("is taken"), "{}", ran.out);
    assert!(!ran.out.contains(&secret(&machine)), "no secret is shown");
    let set = machine.stand_ins.dialog360.notes().webhook(D360_KEY).unwrap();
    let url = machine.url(&format!("/webhooks/360dialog/{PHONE_NUMBER_ID}"));
    let expected = json!({"url": url, "headers": {"x-recado-webhook-secret": secret(&machine)}});
    assert_eq!(set, expected);
    assert_eq!(machine.stand_ins.violations(), []);
    let elsewhere = [
        "connect",
        NUMBER,
        "--check",
        "--public-url",
        "https://recado.example",
    ];
    let ran = run(&machine, &elsewhere);
    assert!(
        !ran.success && ran.err.contains("elsewhere"),
        "{}{}",
        ran.out,
        ran.err
    );
    let unchanged = machine.stand_ins.dialog360.notes().webhook(D360_KEY);
    assert_eq!(unchanged, Some(expected), "a check changes nothing");
}

#[tokio::test]
async fn doctor_finds_a_missing_webhook_and_a_refused_key() {
    let machine = serving();
    let ran = run(&machine, &["doctor", NUMBER, "--json"]);
    assert!(!ran.success);
    assert_eq!(grade(&findings(&ran), NUMBER, "webhook"), "broken");
    assert!(run(&machine, &["connect", NUMBER]).success);
    let ran = run(&machine, &["doctor", NUMBER, "--json"]);
    let found = findings(&ran);
    for check in ["credential", "webhook", "clock"] {
        assert_eq!(grade(&found, NUMBER, check), "good", "{check}");
    }
    let broken: Vec<&Value> = found
        .iter()
        .filter(|finding| finding["grade"] == "broken")
        .collect();
    assert!(
        broken.iter().all(|finding| finding["check"] == "url"),
        "here it is no https: {broken:?}"
    );
    machine.stand_ins.dialog360.expect_credential("another-key");
    let ran = run(&machine, &["doctor", NUMBER, "--json"]);
    assert_eq!(grade(&findings(&ran), NUMBER, "credential"), "broken");
    assert_eq!(machine.stand_ins.violations(), []);
}
