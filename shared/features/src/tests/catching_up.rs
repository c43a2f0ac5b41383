//! Catching up on demand: what is refused, and what is told of a provider that keeps nothing.

use crate::tests::{Site, TOKEN};
use axum::http::StatusCode;
use serde_json::{Value, json};

#[tokio::test]
async fn a_provider_without_a_memory_has_nothing_to_fetch_and_the_report_says_so() {
    let site = Site::in_memory().configured().await;
    let path = "/v1/instances/oficial/catch-up";
    let told = site.operate("POST", path, &Value::Null).await;
    assert_eq!(told.status, StatusCode::OK, "{}", told.text);
    assert_eq!(told.body["offered"], false);
    assert_eq!(
        (&told.body["missed"], &told.body["more"]),
        (&json!(0), &json!(false))
    );
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let site = Site::in_memory().configured().await;
    let path = "/v1/instances/suporte-01/catch-up";
    let headers = [("authorization", &*format!("Bearer {TOKEN}"))];
    for body in [
        "nonsense",
        r#"{"since": "yesterday"}"#,
        r#"{"until": null}"#,
        r#"{"since": "2000-01-01T00:00:00Z"}"#,
        r#"{"since": "2999-01-01T00:00:00Z"}"#,
    ] {
        let refused = site.ask("POST", path, &headers, body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{body}");
    }
    for nobody in ["ninguem", "%20"] {
        let path = format!("/v1/instances/{nobody}/catch-up");
        let refused = site.operate("POST", &path, &Value::Null).await;
        assert_eq!(refused.status, StatusCode::NOT_FOUND, "{nobody}");
    }
    assert_eq!(
        site.ask("POST", path, &[], "").await.status,
        StatusCode::UNAUTHORIZED
    );
}
