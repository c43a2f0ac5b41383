//! `/metrics` of a running `recado`, read by Prometheus's own parser and held against the records.

#![expect(clippy::float_cmp, reason = "counts are whole numbers")]

use crate::machine::{INSTANCE, Machine, eventually, seconds};
use recado_testkit::servers::Behaviour;
use recado_testkit::webhooks::evolution_text;
use reqwest::StatusCode;
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const METRICS_TOKEN: &str = "metrics-token-of-this-test-of-enough-characters";

/// The samples of a page, as Prometheus's parser reads them.
struct Samples(Vec<Value>);

impl Samples {
    fn parse(page: &str) -> Self {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let own = here.join(".tools/venv/bin/python3");
        let python = if own.exists() { own } else { "python3".into() };
        let mut parser = Command::new(python)
            .arg(here.join("tests/end_to_end/one_machine/read_metrics.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = parser.stdin.take().unwrap();
        input.write_all(page.as_bytes()).unwrap();
        drop(input);
        let read = parser.wait_with_output().unwrap();
        assert!(
            read.status.success(),
            "no page of metrics (`make tools` installs the parser):\n{page}"
        );
        Self(serde_json::from_slice(&read.stdout).unwrap())
    }

    /// The sum of the samples of this name that bear these labels.
    fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let fits = |sample: &&Value| {
            sample["name"] == name
                && labels
                    .iter()
                    .all(|(label, value)| sample["labels"][label] == *value)
        };
        self.0
            .iter()
            .filter(fits)
            .map(|sample| sample["value"].as_f64().unwrap())
            .sum()
    }
}

async fn scrape(machine: &Machine) -> Samples {
    let asked = machine
        .http
        .get(machine.url("/metrics"))
        .bearer_auth(METRICS_TOKEN);
    let answer = asked.send().await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    Samples::parse(&answer.text().await.unwrap())
}

/// What the records tell of all that was sent.
#[derive(Debug, Default, PartialEq)]
struct Records {
    sent: f64,
    failed: f64,
    received: f64,
    retries: f64,
    input_tokens: f64,
    output_tokens: f64,
    dead_letters: f64,
}

impl Records {
    /// The same by the metrics.
    fn from_page(page: &Samples) -> Self {
        let here = ("instance", INSTANCE);
        Self {
            sent: page.sum(
                "whatsapp_messages_processed_total",
                &[here, ("status", "success")],
            ),
            failed: page.sum("whatsapp_messages_processed_total", &[here, ("status", "failed")]),
            received: page.sum(
                "whatsapp_message_latency_seconds_count",
                &[here, ("stage", "inbound")],
            ),
            retries: page.sum("whatsapp_retries_total", &[here, ("queue", "outbound")]),
            input_tokens: page.sum("whatsapp_model_tokens_total", &[here, ("kind", "input")]),
            output_tokens: page.sum("whatsapp_model_tokens_total", &[here, ("kind", "output")]),
            dead_letters: page.sum("whatsapp_dead_letters_created_total", &[here]),
        }
    }
}

async fn read_records(machine: &Machine) -> Records {
    let mut found = Records::default();
    let list = machine.get("/v1/conversations?limit=100").await;
    for conversation in list["items"].as_array().unwrap() {
        for item in machine.messages(conversation["id"].as_str().unwrap()).await {
            let message = machine
                .get(&format!("/v1/messages/{}", item["id"].as_str().unwrap()))
                .await;
            if item["role"] == "user" {
                found.received += 1.0;
                continue;
            }
            match item["status"].as_str().unwrap() {
                "failed" => found.failed += 1.0,
                "sent" => found.sent += 1.0,
                other => panic!("{other}: {message}"),
            }
            found.retries += message["attempts"].as_f64().unwrap() - 1.0;
            found.input_tokens += message["input_tokens"].as_f64().unwrap_or_default();
            found.output_tokens += message["output_tokens"].as_f64().unwrap_or_default();
        }
    }
    let dead = machine.get("/v1/dead-letters?limit=100").await;
    found.dead_letters = dead["items"].as_array().unwrap().iter().map(|_| 1.0).sum();
    found
}

/// The webhook of a contact's message.
fn webhook(number: usize) -> Value {
    let contact = format!("55119000001{number:02}@s.whatsapp.net");
    evolution_text(INSTANCE, &contact, &format!("M{number}"), "Oi", seconds())
}

/// Contacts write; some sends are refused for a while, some for good.
async fn make_traffic(machine: &Machine, contacts: usize) {
    let gone = json!({"status": 400, "error": "Bad Request", "response": {"message": [{"exists": false, "jid": "x", "number": "x"}]}});
    let failed =
        json!({"status": 500, "error": "Internal Server Error", "response": {"message": "TypeError"}});
    let (gone, failed) = (Behaviour::status(400, gone), Behaviour::status(500, failed));
    let slow = Behaviour::status_with(429, json!({"message": "slow down"}), "retry-after", "1");
    machine.stand_ins.evolution.next_all([
        Behaviour::Normal,
        gone.clone(),
        slow,
        failed.clone(),
        Behaviour::Normal,
        failed,
        gone,
    ]);
    for number in 0..contacts {
        assert_eq!(machine.evolution(&webhook(number)).await, 200);
    }
}

/// Checks that the durations are such as they must be: the reply takes the debounce at least, and nobody waits for it at the
/// acknowledgement.
fn check_averages(page: &Samples) {
    let average = |name: &str, label| {
        let count = page.sum(&format!("{name}_count"), &[label]);
        page.sum(&format!("{name}_sum"), &[label]) / count
    };
    let reply = average("whatsapp_message_latency_seconds", ("stage", "reply"));
    assert!((0.3..60.0).contains(&reply), "{reply}");
    let acknowledged = average(
        "whatsapp_webhook_acknowledgement_seconds",
        ("provider", "evolution"),
    );
    assert!(acknowledged > 0.0 && acknowledged < reply, "{acknowledged}");
}

#[tokio::test]
async fn after_dead_letters_duplicates_and_retries_the_numbers_are_those_of_the_records() {
    let machine = Machine::serving(&[
        ("RECADO_METRICS_TOKEN", METRICS_TOKEN),
        ("RECADO_UNKNOWN_WAIT_SECONDS", "1"),
        ("RECADO_OUTBOUND_BACKOFF", "1"),
        ("RECADO_RATE_PER_SECOND", "50"),
        ("RECADO_RATE_BURST", "50"),
    ]);
    make_traffic(&machine, 12).await;
    eventually("every reply to end", || async {
        let page = scrape(&machine).await;
        let ended = page.sum("whatsapp_messages_processed_total", &[]);
        (ended >= 12.0).then_some(())
    })
    .await;
    machine.quiet().await;
    for number in 0..4 {
        assert_eq!(machine.evolution(&webhook(number)).await, 200, "again");
    }
    let records = read_records(&machine).await;
    let here = ("instance", INSTANCE);
    // Gauges may be five seconds old.
    let page = eventually("the gauges", || async {
        let page = scrape(&machine).await;
        (page.sum("whatsapp_dead_letters", &[here]) == records.dead_letters).then_some(page)
    })
    .await;
    let counted = Records::from_page(&page);
    assert_eq!(counted, records);
    assert!(
        records.retries >= 2.0 && records.failed == 2.0 && records.sent == 10.0,
        "{records:?}"
    );
    for (name, labels, expected) in [
        ("whatsapp_webhook_items_total", ("kind", "event"), 12.0),
        ("whatsapp_webhook_items_total", ("kind", "duplicate"), 4.0),
        ("whatsapp_webhooks_total", ("code", "200"), 16.0),
        (
            "whatsapp_webhook_acknowledgement_seconds_count",
            ("provider", "evolution"),
            16.0,
        ),
        ("whatsapp_message_latency_seconds_count", ("stage", "turn"), 12.0),
        (
            "whatsapp_message_latency_seconds_count",
            ("stage", "outbound"),
            records.sent,
        ),
        (
            "whatsapp_message_latency_seconds_count",
            ("stage", "reply"),
            records.sent,
        ),
        ("whatsapp_turn_step_seconds_count", ("step", "model"), 12.0),
        ("whatsapp_queue_depth", here, 0.0),
        ("whatsapp_evolution_connected", here, 1.0),
    ] {
        assert_eq!(page.sum(name, &[labels]), expected, "{name} {labels:?}");
    }
    assert!(page.sum("whatsapp_reconcile_timestamp_seconds", &[]) > 1.7e9);
    check_averages(&page);
}

#[tokio::test]
async fn the_metrics_are_closed_to_strangers_and_their_token_opens_nothing_else() {
    let machine = Machine::serving(&[("RECADO_METRICS_TOKEN", METRICS_TOKEN)]);
    let status = async |path: &str, token: Option<&str>| {
        let mut request = machine.http.get(machine.url(path));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        request.send().await.unwrap().status()
    };
    assert_eq!(status("/metrics", None).await, StatusCode::UNAUTHORIZED);
    assert_eq!(status("/metrics", Some("guess")).await, StatusCode::UNAUTHORIZED);
    assert_eq!(
        status("/v1/config", Some(METRICS_TOKEN)).await,
        StatusCode::UNAUTHORIZED
    );
    scrape(&machine).await;
}
