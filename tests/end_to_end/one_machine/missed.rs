//! Webhooks that never came: what the provider remembers is fetched.

use crate::commands::run;
use crate::machine::{BURST, INSTANCE, Machine, eventually, seconds};
use recado_domain::Timestamp;
use recado_testkit::webhooks::evolution_text;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

const CARLA: &str = "5511900000021@s.whatsapp.net";

fn remember(machine: &Machine, id: &str, text: &str, seconds_ago: i64) {
    let at = Timestamp::from_second(seconds() - seconds_ago).unwrap();
    let notes = machine.stand_ins.evolution.notes();
    notes.remember(INSTANCE, CARLA, id, text, at);
}

fn contents(messages: &[Value]) -> Vec<&str> {
    messages
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn what_evolution_did_not_deliver_is_fetched_once_in_order_and_answered() {
    let machine = Machine::serving(&BURST);
    machine
        .evolution(&evolution_text(INSTANCE, CARLA, "C1", "um", seconds() - 300))
        .await;
    machine.phone(1).await;
    remember(&machine, "C1", "um", 300);
    // Sixty that were lost: more than a page.
    for number in 0..60 {
        remember(
            &machine,
            &format!("L{number}"),
            &format!("perdida {number}"),
            200 - number,
        );
    }
    let run = || {
        let output = machine
            .command(&[
                "catch-up",
                INSTANCE,
                "--since",
                "20m",
                "--json",
                "--url",
                &machine.url(""),
            ])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let report = run();
    assert_eq!(report["missed"], 60, "{report}");
    // What came by its webhook, and the answer to it.
    assert_eq!(report["known"], 2, "{report}");
    assert_eq!(report["pages"], 2, "{report}");
    // Three replies: each reads twenty.
    machine.phone(4).await;
    let id = machine.conversation().await;
    let list = machine
        .get(&format!("/v1/conversations/{id}/messages?limit=200"))
        .await;
    let messages: Vec<Value> = list["items"].as_array().unwrap().iter().rev().cloned().collect();
    let expected: Vec<String> = ["um".to_owned()]
        .into_iter()
        .chain((0..60).map(|number| format!("perdida {number}")))
        .collect();
    assert_eq!(contents(&messages), expected);
    let again = run();
    assert_eq!(
        (&again["missed"], &again["known"]),
        (&json!(0), &json!(65)),
        "{again}"
    );
    machine.quiet().await;
    machine.phone(4).await;
    assert_eq!(machine.stand_ins.violations(), []);
}

#[tokio::test]
async fn a_provider_that_does_not_answer_is_a_bad_gateway_and_an_old_instant_a_bad_request() {
    let machine = Machine::serving(&[]);
    machine.stand_ins.evolution.expect_credential("another-key");
    let path = format!("/v1/instances/{INSTANCE}/catch-up");
    let (status, body) = machine.api(Method::POST, &path, None).await;
    assert_eq!(status, StatusCode::BAD_GATEWAY, "{body}");
    let old = json!({"since": "2020-01-01T00:00:00Z"});
    let (status, body) = machine.api(Method::POST, &path, Some(old)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert!(
        body["detail"].as_str().unwrap().contains("nothing before"),
        "{body}"
    );
}

#[tokio::test]
async fn an_old_message_that_was_missed_is_stored_and_not_answered() {
    let machine = Machine::serving(&[]);
    remember(&machine, "OLD", "ontem", 86_400);
    let path = format!("/v1/instances/{INSTANCE}/catch-up");
    let (status, report) = machine.api(Method::POST, &path, None).await;
    assert_eq!(
        (status, &report["missed"]),
        (StatusCode::OK, &json!(1)),
        "{report}"
    );
    let id = machine.conversation().await;
    let stored = eventually("the message", || async {
        machine.messages(&id).await.first().cloned()
    })
    .await;
    let way = machine
        .get(&format!("/v1/messages/{}", stored["id"].as_str().unwrap()))
        .await;
    assert_eq!(way["reason"], "stale", "{way}");
    machine.quiet().await;
    assert_eq!(machine.stand_ins.evolution.phone(), []);
}

#[tokio::test]
async fn a_dry_run_tells_whom_a_catch_up_would_write_to_and_writes_to_nobody() {
    let machine = Machine::serving(&BURST);
    remember(&machine, "OLD", "ontem", 86_400);
    remember(&machine, "Y1", "agora", 120);
    remember(&machine, "Y2", "agora mesmo", 60);
    let dry = run(&machine, &["catch-up", INSTANCE, "--since", "2d", "--dry-run"]);
    assert!(
        dry.success
            && dry.out.starts_with("3 missed (")
            && dry.out.contains("; 2 would be answered")
            && dry.out.contains("; 1 too old"),
        "{}{}",
        dry.out,
        dry.err
    );
    machine.quiet().await;
    assert_eq!(machine.get("/v1/conversations").await["items"], json!([]));
    assert_eq!(machine.stand_ins.evolution.phone(), []);
    let done = run(&machine, &["catch-up", INSTANCE, "--since", "2d"]);
    assert!(done.success && done.out.starts_with("3 missed, "), "{}", done.out);
    machine.phone(1).await;
}
