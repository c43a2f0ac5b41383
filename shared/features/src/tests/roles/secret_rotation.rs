//! A webhook secret is replaced alone: what is accepted when, and that nothing brings an old one back.

use crate::tests::webhooks::evolution_message;
use crate::tests::{Site, TOKEN, document, secret_at};
use axum::http::StatusCode;
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, SecretVersion, derive_webhook_secrets};
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::long_ago;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

const ROTATE: &str = "/v1/instances/suporte-01/secret/rotate";

/// The secrets of versions 1, 2 and 3 as an entry from before there were salts has them.
fn old_secrets() -> Vec<String> {
    let master = Secret::new("master").unwrap();
    let external = ExternalId::parse("suporte-01").unwrap();
    let secrets = derive_webhook_secrets(&master, Provider::Evolution, &external, None);
    secrets
        .take(3)
        .map(|(_, secret)| secret.expose_secret().to_owned())
        .collect()
}

/// The answers to a webhook with each of these secrets.
async fn answers(site: &Site, secrets: &[String]) -> Vec<u16> {
    let mut codes = Vec::new();
    for secret in secrets {
        let headers = [("apikey", secret.as_str())];
        let message = evolution_message().to_string();
        let answered = site.ask("POST", "/webhooks/evolution", &headers, message).await;
        codes.push(answered.status.as_u16());
    }
    codes
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

async fn rotate(site: &Site, body: Value) -> Value {
    let answered = site.operate("POST", ROTATE, &body).await;
    assert_eq!(answered.status, StatusCode::OK, "{}", answered.text);
    answered.body
}

#[tokio::test]
async fn the_secret_before_counts_during_the_overlap_alone() {
    let site = Site::in_memory().configured().await;
    let mut secrets = old_secrets();
    assert_eq!(answers(&site, &secrets).await, [200, 401, 401]);
    let rotated = rotate(&site, Value::Null).await;
    assert_eq!(rotated["secret_version"], 2);
    secrets.push(text(&rotated["secret"]));
    assert!(rotated["previous_secret_until"].is_string());
    assert_eq!(
        answers(&site, &secrets).await,
        [200, 401, 401, 200],
        "an old entry gets a salt"
    );
    let rotated = rotate(&site, Value::Null).await;
    secrets.push(text(&rotated["secret"]));
    assert_eq!(answers(&site, &secrets).await, [401, 401, 401, 200, 200]);
    let rotated = rotate(&site, json!({"overlap_seconds": 0})).await;
    assert_eq!(rotated["previous_secret_until"], Value::Null);
    secrets.push(text(&rotated["secret"]));
    assert_eq!(answers(&site, &secrets).await, [401, 401, 401, 401, 401, 200]);
    // The overlap of another instance ends by the clock.
    let id = InstanceId::parse("suporte-01").unwrap();
    let mut document = document();
    document.instances.retain(|instance| instance.id == id);
    document.instances[0].secret_version = SecretVersion::try_from(2).unwrap();
    document.instances[0].previous_secret_until = Some(long_ago());
    succeed(put_configuration(&site.store, &document)).await;
    assert_eq!(answers(&site, &old_secrets()).await, [401, 200, 401]);
}

#[tokio::test]
async fn a_document_brings_no_old_secret_back_and_makes_no_new_one() {
    let site = Site::in_memory().configured().await;
    let present = text(&rotate(&site, json!({"overlap_seconds": 0})).await["secret"]);
    let mut secrets = old_secrets();
    secrets.push(present.clone());
    for version in [1, 2, 3, 9] {
        let mut written = serde_json::to_value(document()).unwrap();
        written["instances"][0]["previous_secret_until"] = json!("2999-01-01T00:00:00Z");
        written["instances"][0]["secret_version"] = json!(version);
        written["instances"][0]["secret_salt"] = json!({"value": "0".repeat(32)});
        let applied = site.operate("PUT", "/v1/config", &written).await;
        assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
        assert_eq!(applied.body["instances"][0]["secret"], present, "{version}");
        assert_eq!(answers(&site, &secrets).await, [401, 401, 401, 200], "{version}");
    }
}

#[tokio::test]
async fn other_instances_keep_their_secrets_and_what_cannot_be_rotated_is_refused() {
    let site = Site::in_memory().configured().await;
    rotate(&site, json!({"overlap_seconds": 0})).await;
    let shown = site.operate("GET", "/v1/config/webhooks", &Value::Null).await;
    let other = secret_at(Provider::Evolution, "master", "antiga");
    assert!(
        shown.text.contains(&other) && !shown.text.contains(&old_secrets()[0]),
        "{}",
        shown.text
    );
    let meta = site
        .operate("POST", "/v1/instances/oficial/secret/rotate", &Value::Null)
        .await;
    assert_eq!(meta.status, StatusCode::CONFLICT, "{}", meta.text);
    for body in [
        json!({"overlap_seconds": 2_592_001}),
        json!({"overlap_seconds": -1}),
        json!({"overlap": 1}),
    ] {
        let refused = site.operate("POST", ROTATE, &body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{body}");
    }
    for _ in 3..=9 {
        rotate(&site, Value::Null).await;
    }
    let last = site.operate("POST", ROTATE, &Value::Null).await;
    assert_eq!(last.status, StatusCode::CONFLICT, "{}", last.text);
    let unknown = "/v1/instances/ninguem/secret/rotate";
    let headers = [("authorization", &*format!("Bearer {TOKEN}"))];
    let unknown = site.ask("POST", unknown, &headers, "").await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}
