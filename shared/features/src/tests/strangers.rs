//! What strangers can do without a proof: next to nothing.

use crate::tests::webhooks::evolution_message;
use crate::tests::{BYTES_MAX, Site, ask_of, secret_of, signature};
use axum::body::Body;
use axum::http::StatusCode;
use recado_http::WebhookLimits;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{self, Write};
use std::sync::Once;

thread_local! {
    static LINES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A log for each thread, and so for each test.
struct ThreadLog;

impl Write for ThreadLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.with_borrow_mut(|lines| lines.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps what this test logs.
pub(super) fn keep_log() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| tracing_subscriber::fmt().json().with_writer(|| ThreadLog).init());
    LINES.with_borrow_mut(Vec::clear);
}

/// What this test has logged.
pub(super) fn log() -> String {
    LINES.with_borrow(|lines| String::from_utf8(lines.clone()).unwrap())
}

const SAID: &str = "5511900011111 Maria Silva";

#[tokio::test]
async fn a_correlation_id_counts_once_its_sender_is_proven() {
    keep_log();
    let site = Site::in_memory().configured().await;
    let body = evolution_message().to_string();
    let given = ("x-correlation-id", SAID);
    for (method, path, headers) in [
        ("GET", "/health", vec![given]),
        ("GET", "/v1/conversations", vec![given]),
        ("GET", "/nowhere", vec![given]),
        ("POST", "/webhooks/evolution", vec![given, ("apikey", "wrong")]),
        ("POST", "/webhooks/meta", vec![given]),
    ] {
        let answered = site.ask(method, path, &headers, body.clone()).await;
        let id = answered.header("x-correlation-id").unwrap();
        assert!(
            id.len() == 32 && id.chars().all(|c| c.is_ascii_hexdigit()),
            "{path}: {id}"
        );
    }
    assert!(!log().contains("Maria"), "{}", log());
    assert!(log().contains("correlation_id"), "{}", log());

    let secret = secret_of("master", "suporte-01");
    let headers = [("x-correlation-id", "trace-42"), ("apikey", secret.as_str())];
    let taken = site.ask("POST", "/webhooks/evolution", &headers, body).await;
    assert_eq!(taken.header("x-correlation-id"), Some("trace-42"));
    let log = log();
    let line = log
        .lines()
        .find(|line| line.contains("webhook acknowledged"))
        .unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["span"]["correlation_id"], "trace-42", "{line}");
    assert_eq!(
        (&line["fields"]["provider"], &line["fields"]["events"]),
        (&json!("evolution"), &json!(1)),
        "{line}"
    );
}

/// A large body, of `event` messages that are lists of nothing.
fn large(bytes: usize, part: &str) -> String {
    let parts = vec![part; bytes / (part.len() + 1)].join(",");
    format!(r#"{{"event":"messages.upsert","data":[{parts}],"instance":"suporte-01"}}"#)
}

async fn post_large(body: String, key: &str) -> crate::tests::Answered {
    let site = Site::in_memory();
    let limits = WebhookLimits { bytes_max: 8_000_000 };
    let router = site.router_with(limits);
    ask_of(router, "POST", "/webhooks/evolution", &[("apikey", key)], body).await
}

#[tokio::test]
async fn a_large_body_is_proven_first_and_then_read_unless_it_holds_too_much() {
    let secret = secret_of("master", "suporte-01");
    for part in ["[0]", r#"{"":0}"#, r#"{"a":{"a":{"a":0}}}"#] {
        let refused = post_large(large(6_000_000, part), "wrong").await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{part}");
        let proven = post_large(large(6_000_000, part), &secret).await;
        assert_eq!(proven.status, StatusCode::BAD_REQUEST, "{part}");
        assert_eq!(proven.body["detail"], "the body holds too many values", "{part}");
    }
    let mut message = evolution_message();
    message["data"]["message"]["base64"] = json!("A".repeat(3_000_000));
    let refused = post_large(message.to_string(), "wrong").await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let taken = post_large(message.to_string(), &secret).await;
    assert_eq!(
        (taken.status, &taken.body["events"]),
        (StatusCode::OK, &json!(1)),
        "{}",
        taken.text
    );
}

#[tokio::test]
async fn an_unproven_body_is_not_judged_beyond_the_field_that_the_proof_needs() {
    let site = Site::in_memory();
    let (secret, deep) = (
        secret_of("master", "suporte-01"),
        format!("{}{}", "[".repeat(20_000), "]".repeat(20_000)),
    );
    for data in [deep.as_str(), "1e999"] {
        let body = format!(r#"{{"data":{data},"event":"x","instance":"suporte-01"}}"#);
        let refused = site
            .ask(
                "POST",
                "/webhooks/evolution",
                &[("apikey", "wrong")],
                body.clone(),
            )
            .await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
        let proven = site
            .ask("POST", "/webhooks/evolution", &[("apikey", &secret)], body)
            .await;
        assert_eq!(proven.status, StatusCode::BAD_REQUEST);
    }
}

#[tokio::test]
async fn of_two_instances_in_one_body_the_last_counts_for_the_proof_and_for_what_is_stored() {
    let site = Site::in_memory().configured().await;
    let message = evolution_message().to_string();
    let twice = message.replacen('{', r#"{"instance":"antiga","#, 1);
    let (first, last) = (secret_of("master", "antiga"), secret_of("master", "suporte-01"));
    let refused = site
        .ask(
            "POST",
            "/webhooks/evolution",
            &[("apikey", &first)],
            twice.clone(),
        )
        .await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let taken = site
        .ask("POST", "/webhooks/evolution", &[("apikey", &last)], twice)
        .await;
    assert_eq!(taken.status, StatusCode::OK, "{}", taken.text);
    let jobs = site.jobs().await;
    assert_eq!(jobs, ["suporte-01"]);
}

#[tokio::test]
async fn a_body_that_takes_too_long_is_408_and_one_that_breaks_off_is_400() {
    for (kind, status) in [
        (io::ErrorKind::TimedOut, StatusCode::REQUEST_TIMEOUT),
        (io::ErrorKind::ConnectionReset, StatusCode::BAD_REQUEST),
    ] {
        let chunks = [Ok("{".to_owned()), Err(io::Error::from(kind))];
        let body = Body::from_stream(futures::stream::iter(chunks));
        let answered = Site::in_memory()
            .ask("POST", "/webhooks/evolution", &[], body)
            .await;
        assert_eq!(answered.status, status, "{kind:?}");
    }
}

#[tokio::test]
async fn a_body_without_an_announced_length_is_held_to_the_limit_too() {
    let chunks = (0..=BYTES_MAX / 1024).map(|_| Ok::<_, io::Error>(vec![b' '; 1024]));
    let body = Body::from_stream(futures::stream::iter(chunks));
    let signed = signature(b"{}");
    let headers = [("x-hub-signature-256", signed.as_str())];
    let answered = Site::in_memory()
        .ask("POST", "/webhooks/meta", &headers, body)
        .await;
    assert_eq!(answered.status, StatusCode::PAYLOAD_TOO_LARGE);
}
