//! `/v1/webhooks`: endpoints of a tenant that are told of its events.

use crate::tests::Site;
use axum::http::StatusCode;
use serde_json::{Value, json};

const URL: &str = "https://crm.example.org/recado";

/// Sends a request below `/v1/webhooks`, and returns its answer.
async fn ask(site: &Site, method: &str, path: &str, body: &Value) -> (StatusCode, Value) {
    let answered = site.operate(method, &format!("/v1/webhooks{path}"), body).await;
    (answered.status, answered.body)
}

async fn created(site: &Site) -> Value {
    let new = json!({"id": "crm", "url": URL, "kinds": ["message.*"]});
    let (status, made) = ask(site, "POST", "", &new).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    made
}

#[tokio::test]
async fn an_endpoint_is_created_with_a_secret_that_is_shown_once_changed_and_removed() {
    let site = Site::in_memory().configured().await;
    let made = created(&site).await;
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"), "{made}");
    assert_eq!(
        (&made["status"], &made["kinds"]),
        (&json!("working"), &json!(["message.*"]))
    );
    let new = json!({"id": "crm", "url": URL});
    assert_eq!(ask(&site, "POST", "", &new).await.0, StatusCode::CONFLICT);
    let changed = json!({"url": URL, "disabled": true});
    let (status, shown) = ask(&site, "PUT", "/crm", &changed).await;
    assert_eq!(
        (status, &shown["status"]),
        (StatusCode::OK, &json!("disabled")),
        "{shown}"
    );
    assert_eq!((&shown["kinds"], shown.get("secret")), (&json!([]), None));
    let (_, listed) = ask(&site, "GET", "", &Value::Null).await;
    assert_eq!(listed["items"], json!([shown]));
    let (status, _) = ask(&site, "DELETE", "/crm", &Value::Null).await;
    assert_eq!(status, StatusCode::NO_CONTENT);
    assert_eq!(
        ask(&site, "GET", "/crm", &Value::Null).await.0,
        StatusCode::NOT_FOUND
    );
    let again = created(&site).await;
    assert_ne!(again["secret"], made["secret"], "a secret never comes back");
}

#[tokio::test]
async fn what_cannot_be_an_endpoint_is_refused() {
    let site = Site::in_memory().configured().await;
    created(&site).await;
    for (url, kinds) in [
        ("http://crm.example.org/", json!([])),
        ("https://169.254.169.254/", json!([])),
        ("ftp://crm.example.org/", json!([])),
    ] {
        let new = json!({"id": "new", "url": url, "kinds": kinds});
        let (status, told) = ask(&site, "POST", "", &new).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{told}");
    }
    for body in [
        json!({"id": "new", "url": URL, "kinds": ["nothing.*"]}),
        json!({"id": "new", "url": URL, "secret": "whsec_own"}),
        json!({"url": URL}),
    ] {
        let (status, told) = ask(&site, "POST", "", &body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}: {told}");
    }
    for (method, path) in [
        ("PUT", "/none"),
        ("DELETE", "/none"),
        ("POST", "/none/test"),
        ("POST", "/none/replay"),
    ] {
        let body = if method == "PUT" {
            json!({"url": URL})
        } else {
            Value::Null
        };
        let (status, told) = ask(&site, method, path, &body).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{method} {path}: {told}");
    }
}

#[tokio::test]
async fn a_rotation_gives_another_secret_and_tells_until_when_the_one_before_counts() {
    let site = Site::in_memory().configured().await;
    let made = created(&site).await;
    let (_, rotated) = ask(
        &site,
        "POST",
        "/crm/secret/rotate",
        &json!({"overlap_seconds": 60}),
    )
    .await;
    assert_ne!(rotated["secret"], made["secret"]);
    assert!(rotated["previous_secret_until"].is_string(), "{rotated}");
    let (_, leaked) = ask(
        &site,
        "POST",
        "/crm/secret/rotate",
        &json!({"overlap_seconds": 0}),
    )
    .await;
    assert!(leaked["previous_secret_until"].is_null(), "{leaked}");
    let too_long = json!({"overlap_seconds": 31 * 86_400});
    let (status, _) = ask(&site, "POST", "/crm/secret/rotate", &too_long).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_test_tells_the_answer_and_what_did_not_fail_is_not_listed() {
    let site = Site::in_memory().configured().await;
    created(&site).await;
    let (_, tested) = ask(&site, "POST", "/crm/test", &Value::Null).await;
    assert_eq!(
        (&tested["accepted"], &tested["status"], &tested["error"]),
        (&json!(true), &json!(204), &Value::Null)
    );
    let (_, failed) = ask(&site, "GET", "/crm/failed", &Value::Null).await;
    assert_eq!(failed["items"], json!([]));
    let (_, redriven) = ask(&site, "POST", "/crm/failed/redrive", &Value::Null).await;
    assert_eq!(redriven, json!({"redriven": 0}));
    let (status, _) = ask(&site, "POST", "/crm/failed/redrive", &json!({"cursor": "7"})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (status, _) = ask(&site, "POST", "/crm/failed/redrive", &json!({"cursor": "x"})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let since = json!({"since": "2026-01-01T00:00:00Z"});
    let (status, replayed) = ask(&site, "POST", "/crm/replay", &since).await;
    assert_eq!((status, &replayed["status"]), (StatusCode::OK, &json!("working")));
}

#[tokio::test]
async fn a_document_that_does_not_speak_of_endpoints_leaves_them() {
    let site = Site::in_memory().configured().await;
    created(&site).await;
    let (_, listed) = ask(&site, "GET", "", &Value::Null).await;
    let tenant = &listed["items"][0]["tenant"];
    for (webhooks, left) in [(Value::Null, 1), (json!([]), 0)] {
        let mut written = json!({"id": tenant, "name": "renamed"});
        if !webhooks.is_null() {
            written["webhooks"] = webhooks;
        }
        let applied = site
            .operate("PUT", "/v1/config", &json!({ "tenants": [written] }))
            .await;
        assert_eq!(applied.status, StatusCode::OK, "{}", applied.text);
        let (_, listed) = ask(&site, "GET", "", &Value::Null).await;
        assert_eq!(listed["items"].as_array().unwrap().len(), left);
    }
}
