//! What operators change: mode, status, and answers.

use crate::tests::{Answered, Site, TOKEN};
use axum::http::StatusCode;
use recado_domain::ids::ConversationId;
use serde_json::{Value, json};

async fn patch(site: &Site, id: &ConversationId, body: Value) -> Answered {
    site.operate("PATCH", &format!("/v1/conversations/{id}"), &body)
        .await
}

async fn answer(site: &Site, id: &ConversationId, key: Option<&str>, body: &Value) -> Answered {
    let bearer = format!("Bearer {TOKEN}");
    let mut headers = vec![("authorization", bearer.as_str())];
    headers.extend(key.map(|key| ("idempotency-key", key)));
    site.ask(
        "POST",
        &format!("/v1/conversations/{id}/messages"),
        &headers,
        body.to_string(),
    )
    .await
}

async fn started() -> (Site, ConversationId) {
    let site = Site::in_memory().configured().await;
    let id = site.conversation("5511900000001@s.whatsapp.net").await;
    (site, id)
}

#[tokio::test]
async fn a_person_takes_over_and_gives_back() {
    let (site, id) = started().await;
    for mode in ["manual", "manual", "ai"] {
        let answered = patch(&site, &id, json!({"mode": mode})).await;
        assert_eq!(
            (answered.status, &answered.body["mode"]),
            (StatusCode::OK, &json!(mode)),
            "{}",
            answered.text
        );
    }
}

#[tokio::test]
async fn a_conversation_is_resolved_only_by_who_has_seen_it_all() {
    let (site, id) = started().await;
    let unseen = patch(&site, &id, json!({"status": "resolved", "seen": 0})).await;
    assert_eq!(unseen.status, StatusCode::CONFLICT);
    let seen = patch(
        &site,
        &id,
        json!({"mode": "manual", "status": "resolved", "seen": 1}),
    )
    .await;
    assert_eq!(
        (seen.status, &seen.body["status"], &seen.body["mode"]),
        (StatusCode::OK, &json!("resolved"), &json!("manual"))
    );
    let late = answer(&site, &id, None, &json!({"text": "ola"})).await;
    assert_eq!(late.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_change_that_says_nothing_or_too_much_is_400() {
    let (site, id) = started().await;
    for body in [
        json!({}),
        json!({"status": "active"}),
        json!({"mode": "ai", "seen": 1}),
        json!({"mode": "robot"}),
        json!({"mood": "good"}),
        json!([]),
    ] {
        assert_eq!(
            patch(&site, &id, body.clone()).await.status,
            StatusCode::BAD_REQUEST,
            "{body}"
        );
    }
}

#[tokio::test]
async fn an_answer_is_accepted_and_its_repetition_is_the_same_message() {
    let (site, id) = started().await;
    let body = json!({"text": "bom dia, Bia", "seen": 1});
    let first = answer(&site, &id, Some("key-1"), &body).await;
    assert_eq!(first.status, StatusCode::ACCEPTED, "{}", first.text);
    assert_eq!(
        (&first.body["role"], &first.body["status"]),
        (&json!("operator"), &json!("pending"))
    );
    assert_eq!(first.header("location"), Some(&*format!("/v1/messages/{id}.2")));
    let again = answer(&site, &id, Some("key-1"), &body).await;
    assert_eq!(
        (again.status, &again.body["id"]),
        (StatusCode::ACCEPTED, &first.body["id"]),
        "{}",
        again.text
    );
    let other = answer(&site, &id, Some("key-1"), &json!({"text": "outra coisa"})).await;
    assert_eq!(other.status, StatusCode::CONFLICT);
    let listed = site
        .operate("GET", &format!("/v1/conversations/{id}/messages"), &Value::Null)
        .await;
    let contents: Vec<_> = listed.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["content"])
        .collect();
    assert_eq!(contents, ["bom dia, Bia", "bom dia"]);
    let shown = site
        .operate("GET", &format!("/v1/conversations/{id}"), &Value::Null)
        .await;
    assert_eq!(shown.body["mode"], "manual");
}

#[tokio::test]
async fn an_answer_without_sound_text_or_key_is_400() {
    let (site, id) = started().await;
    for text in [String::new(), "  \n".to_owned(), "x".repeat(4097)] {
        assert_eq!(
            answer(&site, &id, None, &json!({"text": text})).await.status,
            StatusCode::BAD_REQUEST
        );
    }
    for key in ["", "a\u{e9}", &"k".repeat(201), "<x>"] {
        assert_eq!(
            answer(&site, &id, Some(key), &json!({"text": "ola"}))
                .await
                .status,
            StatusCode::BAD_REQUEST,
            "{key}"
        );
    }
    assert_eq!(
        answer(&site, &id, None, &json!({"text": "é".repeat(4096)}))
            .await
            .status,
        StatusCode::ACCEPTED
    );
    let nobody = ConversationId::parse("c_0123456789abcdef0123456789abcdef-1").unwrap();
    assert_eq!(
        answer(&site, &nobody, None, &json!({"text": "ola"})).await.status,
        StatusCode::NOT_FOUND
    );
}
