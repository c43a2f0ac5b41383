//! Bodies and queries that cannot be read: the client is told why.

use crate::tests::Site;
use axum::http::StatusCode;
use serde_json::{Value, json};

#[tokio::test]
async fn a_wrong_body_or_query_is_told_with_its_field_and_in_plain_words() {
    let site = Site::in_memory().configured().await;
    let agent =
        |field: &str, value: Value| json!({"agents": [{"id": "ana", "tenant": "demo", field: value}]});
    let no_list = json!({"tenants": {"id": "demo"}});
    let said = |text: Value| json!({"to": text, "text": "oi"});
    let ses = json!({"id": "mail", "kind": "ses", "from": "a@b.example", "region": "sa-east-1"});
    let ses_refused =
        "email_senders[0].kind`: there is no kind `ses`: write `smtp`, with the server `smtp://email-smtp.";
    for (method, path, body, told) in [
        (
            "POST",
            "/v1/config",
            agent("max_tokens", json!("many")),
            "`agents[0].max_tokens`: it must be a whole number from 0 to 4294967295, and is the text \"many\"",
        ),
        (
            "POST",
            "/v1/config",
            agent("limits", json!({"turns_per_hour": true})),
            "`agents[0].limits.turns_per_hour`: it must be a whole number",
        ),
        (
            "POST",
            "/v1/config",
            no_list,
            "`tenants`: it must be a list, and is an object",
        ),
        (
            "POST",
            "/v1/config",
            json!({"tenants": [{"name": "Demo"}]}),
            "`tenants[0]`: missing field `id`",
        ),
        (
            "PUT",
            "/v1/config",
            json!({"tenants": [{"id": "demo", "email_senders": [ses]}]}),
            ses_refused,
        ),
        (
            "POST",
            "/v1/tenants",
            json!({"id": "demo", "email_senders": [ses]}),
            ses_refused,
        ),
        (
            "POST",
            "/v1/dead-letters/redrive",
            json!({"limit": "all"}),
            "`limit`: it must be a whole number from 0 on, and is the text \"all\"",
        ),
        (
            "POST",
            "/v1/instances/suporte-01/messages",
            said(json!(5)),
            "`to`: it must be a text, and is `5`",
        ),
        (
            "GET",
            "/v1/conversations?limit=x",
            Value::Null,
            "limit: it must be a whole number",
        ),
    ] {
        let refused = site.operate(method, path, &body).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{path} {body}");
        let detail = refused.body["detail"].as_str().unwrap();
        assert!(detail.contains(told), "{path} {body}: {detail}");
        assert!(!detail.contains(" at line "), "{detail}");
    }
}

#[tokio::test]
async fn a_body_that_is_no_json_is_told_with_its_line() {
    let site = Site::in_memory().configured().await;
    let token = format!("Bearer {}", crate::tests::TOKEN);
    let headers = [("authorization", token.as_str())];
    let refused = site
        .ask("POST", "/v1/config", &headers, "{\n  \"agents\": [}")
        .await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(detail.contains("at line 2 column "), "{detail}");
}
