//! Measures the time to read a webhook: to split its body, and to read each of its events. Prints a JSON line for each kind
//! of body. Run it with optimisations, on a machine that does nothing else: `cargo run --release -p recado-whatsapp --example
//! parsing`.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on may panic")]

use jiff::Timestamp;
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::{WebhookEvent, WebhookItem};
use recado_domain::provider::Provider;
use recado_whatsapp::{interpret_event, split_webhook};
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

/// Of so many rounds the median counts.
const ROUNDS: usize = 201;

fn main() {
    let evolution = fixture("evolution/v2-conversation.json");
    let meta = fixture("meta/text.json");
    let batch = many(&meta, 1_000);
    let failed = fixture("meta/status-failed.json");
    for (what, provider, body) in [
        ("a text message, Evolution", Provider::Evolution, evolution),
        ("a text message, Meta", Provider::Meta, meta),
        ("a failed status, Meta", Provider::Meta, failed),
        ("1,000 text messages in one body, Meta", Provider::Meta, batch),
    ] {
        let nanoseconds = median(provider, &body);
        let bytes = f64::from(u32::try_from(body.len()).unwrap());
        let line = json!({
            "what": what, "bytes": body.len(), "microseconds": round(nanoseconds / 1e3),
            "mebibytes_per_second": round(bytes / 1_048_576.0 / (nanoseconds / 1e9)),
        });
        println!("{line}");
    }
}

fn round(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let body: Value = serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap();
    // As providers write it: without the spaces of a file for people.
    body.to_string().into_bytes()
}

/// The same body with so many messages of different ids.
fn many(body: &[u8], count: usize) -> Vec<u8> {
    let mut body: Value = serde_json::from_slice(body).unwrap();
    let messages = &mut body["entry"][0]["changes"][0]["value"]["messages"];
    let one = messages[0].clone();
    let copies = (0..count).map(|number| {
        let mut copy = one.clone();
        copy["id"] = json!(format!("wamid.{number}"));
        copy
    });
    *messages = copies.collect();
    body.to_string().into_bytes()
}

/// In nanoseconds for one body; small bodies are read many times a round, for the clock is coarse.
fn median(provider: Provider, body: &[u8]) -> f64 {
    let repeats = u32::try_from(200_000 / body.len().max(1)).unwrap().max(1);
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            for _ in 0..repeats {
                read(provider, black_box(body));
            }
            began.elapsed().as_secs_f64() * 1e9 / f64::from(repeats)
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}

fn read(provider: Provider, body: &[u8]) {
    for item in split_webhook(provider, body, Timestamp::UNIX_EPOCH).unwrap() {
        if let WebhookItem::Event(event) = item {
            let job = job(event);
            let EventPayload::Inline(payload) = &job.payload else {
                continue;
            };
            black_box(interpret_event(&job, payload));
        }
    }
}

fn job(event: WebhookEvent) -> InboundJob {
    InboundJob {
        group: "group".to_owned(),
        event: event.id,
        provider: event.provider,
        external: event.external,
        kind: event.kind,
        correlation: CorrelationId::parse("measured").unwrap(),
        parent: None,
        received_at: Timestamp::UNIX_EPOCH,
        payload: EventPayload::Inline(event.payload),
        lookalike: false,
        has_file: false,
        redrive: None,
    }
}
