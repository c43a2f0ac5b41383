//! Who gets in, and who does not.

use crate::bench::{Bench, answer};
use crate::contact::{Contact, message_id, seconds};
use crate::stack::{INSTANCE, PHONE_NUMBER_ID, VERIFY_TOKEN};
use recado_testkit::webhooks::{evolution_text, meta_signature, meta_text};
use reqwest::StatusCode;

#[tokio::test]
async fn health_is_open_to_all_and_everything_else_wants_the_token() {
    let bench = Bench::new().await;
    let (status, body) = answer(bench.http.get(bench.stack.url("/health"))).await;
    assert_eq!(
        (status, &body["status"]),
        (StatusCode::OK, &"healthy".into()),
        "{body}"
    );
    for path in [
        "/v1/conversations",
        "/v1/config",
        "/v1/dead-letters",
        "/health/whatsapp/detailed",
    ] {
        let request = bench.http.get(bench.stack.url(path));
        assert_eq!(answer(request).await.0, StatusCode::UNAUTHORIZED, "{path}");
        let request = bench.http.get(bench.stack.url(path)).bearer_auth("wrong");
        assert_eq!(answer(request).await.0, StatusCode::UNAUTHORIZED, "{path}");
        bench.get(path).await;
    }
}

#[tokio::test]
async fn the_api_describes_itself_and_the_webhooks() {
    let bench = Bench::new().await;
    let (status, api) = answer(bench.http.get(bench.stack.url("/openapi.json"))).await;
    assert_eq!(status, StatusCode::OK, "{api}");
    let kept: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
    assert_eq!(api, kept);
    assert!(api["paths"]["/webhooks/evolution"]["post"].is_object());
}

#[tokio::test]
async fn a_webhook_without_its_proof_is_refused_and_malformed_ones_too() {
    let bench = Bench::new().await;
    let contact = Contact::new();
    let good = evolution_text(INSTANCE, &contact.jid, &message_id(), "Oi", seconds()).to_string();
    let secret = bench.stack.secret(INSTANCE);
    let other = bench.stack.secret("suporte-02");
    let cut = good[..good.len() / 2].to_owned();
    let cases = [
        ("no proof", "/webhooks/evolution", "", &good, 401),
        ("wrong proof", "/webhooks/evolution", "wrong", &good, 401),
        (
            "another instance's proof",
            "/webhooks/evolution",
            &other,
            &good,
            401,
        ),
        ("cut JSON", "/webhooks/evolution", &secret, &cut, 400),
        ("no JSON", "/webhooks/evolution", &secret, &"Oi".to_owned(), 400),
        (
            "another instance in the path",
            "/webhooks/evolution/suporte-02",
            &secret,
            &good,
            400,
        ),
        ("unknown provider", "/webhooks/telegram", &secret, &good, 404),
    ];
    for (what, path, apikey, body, expected) in cases {
        let mut request = bench.http.post(bench.stack.url(path)).body(body.clone());
        if !apikey.is_empty() {
            request = request.header("apikey", apikey);
        }
        let (status, problem) = answer(request).await;
        assert_eq!(status.as_u16(), expected, "{what}: {problem}");
        assert_eq!(
            problem["status"], expected,
            "{what}: errors are problem+json: {problem}"
        );
    }
    let body = meta_text(PHONE_NUMBER_ID, &contact.number, &message_id(), "Oi", seconds()).to_string();
    let signature = meta_signature("wrong", body.as_bytes());
    let request = bench
        .http
        .post(bench.stack.url("/webhooks/meta"))
        .header("X-Hub-Signature-256", signature);
    assert_eq!(answer(request.body(body)).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn metas_handshake_echoes_the_challenge_for_the_right_token_only() {
    let bench = Bench::new().await;
    for (token, expected) in [(VERIFY_TOKEN, 200), ("wrong", 401)] {
        let query = format!("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={token}");
        let (status, body) = answer(
            bench
                .http
                .get(bench.stack.url(&format!("/webhooks/meta?{query}"))),
        )
        .await;
        assert_eq!(status.as_u16(), expected, "{body}");
        assert_eq!(body == 1_158_201_444, expected == 200, "{body}");
    }
}
