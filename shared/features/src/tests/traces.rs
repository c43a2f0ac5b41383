//! What belongs together, asked for by each kind of id.

use crate::tests::{Answered, Site};
use axum::http::StatusCode;
use serde_json::{Value, json};

async fn trace(site: &Site, query: &str) -> Answered {
    site.operate("GET", &format!("/v1/trace?{query}"), &Value::Null)
        .await
}

#[tokio::test]
async fn exactly_one_thing_is_looked_for() {
    let site = Site::in_memory().configured().await;
    for wrong in [
        "",
        "event=a&message=b",
        "correlation=",
        "correlation=a%00",
        "message=a&correlation=b",
        "message=a&provider_message=b",
        "message=a&instance=suporte-01",
        "what=a",
    ] {
        assert_eq!(
            trace(&site, wrong).await.status,
            StatusCode::BAD_REQUEST,
            "{wrong}"
        );
    }
    for unknown in [
        "event=a",
        "message=a",
        "message=s_0123456789abcdef0123456789abcdef",
        "provider_message=3EB0",
        "provider_message=3EB0&instance=nobody",
    ] {
        assert_eq!(
            trace(&site, unknown).await.status,
            StatusCode::NOT_FOUND,
            "{unknown}"
        );
    }
    let nothing = trace(&site, "correlation=nobody").await;
    assert_eq!(nothing.body, json!({"events": [], "messages": []}));
}

#[tokio::test]
async fn a_message_is_found_by_its_id_and_by_its_correlation() {
    let site = Site::in_memory().configured().await;
    let body = json!({"to": "+5511900000001", "text": "Olá"});
    let sent = site
        .operate("POST", "/v1/instances/suporte-01/messages", &body)
        .await;
    let id = sent.body["id"].as_str().unwrap();
    for query in [
        format!("message={id}"),
        format!("correlation={}", sent.header("x-correlation-id").unwrap()),
    ] {
        let found = trace(&site, &query).await;
        assert_eq!(found.status, StatusCode::OK, "{}", found.text);
        assert_eq!(found.body["events"], json!([]));
        let ids: Vec<&Value> = found.body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| &m["id"])
            .collect();
        assert_eq!(ids, [id], "{query}");
    }
}
