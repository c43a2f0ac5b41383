//! Who is let in, and what is read.

use crate::tests::description::{description, is_operators, operations};
use crate::tests::{Site, TOKEN};
use axum::http::StatusCode;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::decision::AgentDecision;
use recado_domain::ids::{CorrelationId, InstanceId, StepId, TenantId};
use recado_domain::reason::Reason;
use recado_embedded::Clock;
use recado_http::api::request::encode_cursor;
use recado_pipeline::ports::{CommitOutcome, Conversations, WriteOutcome};
use recado_pipeline::records::dead_letters::put_dead_letter;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};

/// Every call that needs the operators' token: the operators' routes, and the health of one instance.
fn guarded() -> Vec<(String, String)> {
    let operators = operations(description()).filter(|(_, _, told)| is_operators(told));
    let calls = operators.map(|(method, path, _)| (method, path.replace("{id}", "x")));
    let one = (
        "GET".to_owned(),
        "/health/whatsapp?instance=suporte-01".to_owned(),
    );
    calls.chain([one]).collect()
}

#[tokio::test]
async fn only_the_operator_token_lets_in() {
    let site = Site::in_memory();
    let long = format!("Bearer {TOKEN}x");
    for (method, path) in guarded() {
        for wrong in [
            None,
            Some("Bearer "),
            Some("Bearer wrong"),
            Some(&*long),
            Some(TOKEN),
            Some("Basic x"),
        ] {
            let headers: Vec<_> = wrong.map(|value| ("authorization", value)).into_iter().collect();
            let answered = site.ask(&method, &path, &headers, "").await;
            assert_eq!(
                answered.status,
                StatusCode::UNAUTHORIZED,
                "{method} {path} {wrong:?}"
            );
            assert!(answered.header("www-authenticate").unwrap().starts_with("Bearer"));
        }
    }
}

#[tokio::test]
async fn without_a_configured_token_nobody_is_let_in() {
    let site = Site::in_memory().without_keys();
    for (method, path) in guarded() {
        for token in ["", "undefined", TOKEN] {
            let answered = site
                .ask(
                    &method,
                    &path,
                    &[("authorization", &format!("Bearer {token}"))],
                    "",
                )
                .await;
            assert_eq!(
                answered.status,
                StatusCode::SERVICE_UNAVAILABLE,
                "{method} {path}"
            );
        }
    }
    assert_eq!(site.ask("GET", "/health", &[], "").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_conversation_says_why_it_needs_a_person() {
    let site = Site::in_memory().configured().await;
    let id = site.conversation("5511900000001").await;
    let look = async || {
        let path = format!("/v1/conversations/{id}");
        site.operate("GET", &path, &Value::Null).await.body["needs_person"].clone()
    };
    assert_eq!(look().await, Value::Null);
    let mut conversation = site.store.find_conversation(&id).await.unwrap().unwrap();
    conversation.needs_person = Some(Reason::TooMuchToRead);
    conversation.rev += 1;
    assert_eq!(
        site.store.update_conversation(&conversation, &[]).await.unwrap(),
        WriteOutcome::Written
    );
    assert_eq!(look().await, "too_much_to_read");
    let path = format!("/v1/messages/{}", id.message_id(conversation.turn_upto));
    let message = site.operate("GET", &path, &Value::Null).await.body;
    let detail = &message["way"].as_array().unwrap().last().unwrap()["detail"];
    assert_eq!(
        (&detail["waits_for"], &detail["reason"]),
        (&json!("person"), &json!("too_much_to_read")),
        "{message}"
    );
    let given_back = site
        .operate(
            "PATCH",
            &format!("/v1/conversations/{id}"),
            &json!({"mode": "ai"}),
        )
        .await;
    assert_eq!(
        given_back.body["needs_person"],
        Value::Null,
        "{}",
        given_back.text
    );
}

#[tokio::test]
async fn who_waits_for_a_person_is_listed_with_since_when_and_why() {
    let site = Site::in_memory().configured().await;
    let (first, second) = (
        site.conversation("5511900000001").await,
        site.conversation("5511900000002").await,
    );
    let waiting = async || {
        let answer = site
            .operate("GET", "/v1/conversations?waiting=true", &Value::Null)
            .await;
        answer.body["items"].as_array().unwrap().clone()
    };
    assert_eq!(waiting().await, Vec::<Value>::new(), "the agent owes the answers");
    let mut conversation = site.store.find_conversation(&first).await.unwrap().unwrap();
    conversation.answered = conversation.last;
    let note = "asks for a refund".to_owned();
    conversation.apply_decision(
        StepId::parse("ask").ok(),
        Some(&AgentDecision::HandOver { note }),
        conversation.last_message_at,
    );
    conversation.rev += 1;
    let written = site.store.update_conversation(&conversation, &[]).await.unwrap();
    assert_eq!(written, WriteOutcome::Written);
    let found = waiting().await;
    let [item] = found.as_slice() else {
        panic!("one waits: {found:?}");
    };
    assert_eq!(item["id"], first.to_string());
    assert_eq!(
        (&item["needs_person"], &item["step"]),
        (&json!("handed_over"), &json!("ask"))
    );
    assert_eq!(item["hand_over_note"]["text"], "asks for a refund");
    assert_eq!(item["hand_over_note"]["at"], item["waiting_since"]);
    let path = format!("/v1/conversations/{second}");
    site.operate("PATCH", &path, &json!({"mode": "manual"})).await;
    let ids: Vec<Value> = waiting().await.iter().map(|item| item["id"].clone()).collect();
    assert_eq!(ids.len(), 2, "people owe the second an answer");
    let path = format!("/v1/conversations/{first}");
    assert_eq!(item["unseen"], true);
    let seen = json!({"seen": item["last_ordinal"]});
    let mixed = json!({"mode": "manual", "seen": 1});
    let refused = site.operate("PATCH", &path, &mixed).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.text);
    for _ in 0..2 {
        let looked_at = site.operate("PATCH", &path, &seen).await;
        assert_eq!(looked_at.status, StatusCode::OK, "{}", looked_at.text);
        assert_eq!(looked_at.body["unseen"], false);
        assert_eq!(looked_at.body["mode"], "ai", "to look takes nothing over");
    }
    assert_eq!(waiting().await.len(), 2, "who was looked at still waits");
    let taken = site.operate("PATCH", &path, &json!({"mode": "manual"})).await;
    assert_eq!(taken.body["handover"]["by"], "installation");
    assert_eq!(taken.body["waiting_since"], Value::Null);
    assert_eq!(waiting().await.len(), 1);
    let both = site
        .operate(
            "GET",
            "/v1/conversations?waiting=true&status=active",
            &Value::Null,
        )
        .await;
    assert_eq!(both.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn conversations_are_listed_by_page_and_filter() {
    let site = Site::in_memory().configured().await;
    let first = site.conversation("5511900000001@s.whatsapp.net").await;
    site.conversation("5511900000002@s.whatsapp.net").await;
    site.conversation("900000000000003@lid").await;
    let get = async |query: &str| {
        site.operate("GET", &format!("/v1/conversations{query}"), &Value::Null)
            .await
    };
    let page = get("?limit=2").await;
    assert_eq!(page.body["items"].as_array().unwrap().len(), 2, "{}", page.text);
    let cursor = page.body["next_cursor"].as_str().unwrap();
    let rest = get(&format!("?limit=2&cursor={cursor}")).await;
    assert_eq!(rest.body["items"].as_array().unwrap().len(), 1);
    assert!(rest.body["next_cursor"].is_null());
    for (query, count) in [
        ("?instance=suporte-01&mode=ai&status=active", 3),
        ("?mode=manual", 0),
        ("?instance=x", 0),
    ] {
        assert_eq!(
            get(query).await.body["items"].as_array().unwrap().len(),
            count,
            "{query}"
        );
    }
    let shown = site
        .operate("GET", &format!("/v1/conversations/{first}"), &Value::Null)
        .await;
    assert_eq!(
        shown.body["contact"],
        json!({"phone": "+5511900000001", "name": "Bia", "picture_url": null})
    );
    assert_eq!(
        (&shown.body["mode"], &shown.body["status"]),
        (&json!("ai"), &json!("active"))
    );
    let all = get("").await;
    let without_phone = all.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item["contact"]["phone"].is_null())
        .count();
    assert_eq!(without_phone, 1);
}

#[tokio::test]
async fn malformed_queries_are_400() {
    let site = Site::in_memory().configured().await;
    for query in [
        "limit=0",
        "limit=201",
        "limit=x",
        "mode=robot",
        "status=done",
        "cursor=",
        "cursor=%F0%9F%98%80",
        "cursor=8J-YgA",
        "colour=red",
    ] {
        let answered = site
            .operate("GET", &format!("/v1/conversations?{query}"), &Value::Null)
            .await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{query}");
    }
    for list in [
        "/v1/tokens?",
        "/v1/tokens?tenant=clinic&",
        "/v1/audit?",
        "/v1/audit?tenant=clinic&",
        "/v1/opt-outs?tenant=clinic&",
        "/v1/dead-letters?",
    ] {
        // No list gave these. Lists of builds before the first release gave some like the last two.
        for cursor in ["\0", "😀", "1764500000123~n", "clinic\ndesk"] {
            let path = format!("{list}cursor={}", encode_cursor(cursor));
            let answered = site.operate("GET", &path, &Value::Null).await;
            assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{path}");
        }
    }
    for query in ["queue=x", "reason=bored", "limit=-1"] {
        let answered = site
            .operate("GET", &format!("/v1/dead-letters?{query}"), &Value::Null)
            .await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{query}");
    }
}

#[tokio::test]
async fn messages_have_the_documented_shape() {
    let site = Site::in_memory().configured().await;
    let id = site.conversation("5511900000001@s.whatsapp.net").await;
    let listed = site
        .operate("GET", &format!("/v1/conversations/{id}/messages"), &Value::Null)
        .await;
    let mut message = listed.body["items"][0].clone();
    assert!(message["created_at"].take().as_str().unwrap().ends_with('Z'));
    let (since, until) = (
        message["answer"]["since"].take(),
        message["answer"]["until"].take(),
    );
    assert!(since.as_str().unwrap().ends_with('Z'));
    assert!(until.as_str().unwrap() > since.as_str().unwrap());
    let answer = json!({
        "state": "in_work", "reason": "debounce", "message_id": null, "since": null, "until": null, "by": null, "cause": null,
    });
    let expected = json!({
        "answer": answer, "id": format!("{id}.1"), "ordinal": 1, "role": "user", "by": null, "type": "text", "content": "bom dia",
        "media_url": null, "file_text": null, "file_note": null, "provider_message_id": "3EB0A1", "chosen": null, "reply_to": null, "refers_to": null, "reactions": [], "edited_at": null,
        "versions": [], "deleted_at": null, "status": "delivered",
        "input_tokens": null, "output_tokens": null, "cost": null, "created_at": null,
    });
    assert_eq!(message, expected);
    let shown = site
        .operate("GET", &format!("/v1/messages/{id}.1"), &Value::Null)
        .await;
    assert_eq!(
        (&shown.body["correlation_id"], &shown.body["history"]),
        (&json!("c-1"), &json!([]))
    );
}

#[tokio::test]
async fn a_file_that_its_provider_names_by_url_is_shown_with_it() {
    let site = Site::in_memory().configured().await;
    let id = site.conversation("5511900000001@s.whatsapp.net").await;
    for (source, shown) in [
        (
            Some("https://media.example/a.jpg"),
            json!("https://media.example/a.jpg"),
        ),
        (Some("1234567890"), Value::Null),
        (None, Value::Null),
    ] {
        let mut conversation = site.store.find_conversation(&id).await.unwrap().unwrap();
        let (_, messages) = site.store.find_with_history(&id, 1).await.unwrap().unwrap();
        let mut message = messages[0].clone();
        message.ordinal = conversation.append_message(message.stored_at);
        message.event = None;
        message.content = Content::Media(Media {
            source: source.map(str::to_owned),
            ..Media::from_kind(MediaKind::Image)
        });
        conversation.rev += 1;
        let committed = succeed(site.store.commit_messages(
            &conversation,
            std::slice::from_ref(&message),
            &[],
        ))
        .await;
        assert_eq!(committed, CommitOutcome::Committed);
        let path = format!("/v1/messages/{}", message.message_id());
        let told = site.operate("GET", &path, &Value::Null).await;
        assert_eq!(told.body["media_url"], shown, "{}", told.text);
    }
}

#[tokio::test]
async fn what_does_not_exist_is_404() {
    let site = Site::in_memory().configured().await;
    let nobody = "c_0123456789abcdef0123456789abcdef-1";
    for path in [
        format!("/v1/conversations/{nobody}"),
        format!("/v1/conversations/{nobody}/messages"),
        format!("/v1/messages/{nobody}.1"),
        "/v1/conversations/x".to_owned(),
        "/v1/messages/x".to_owned(),
        "/v1/messages/%00".to_owned(),
        "/simulator/outbox".to_owned(),
    ] {
        assert_eq!(
            site.operate("GET", &path, &Value::Null).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    let bad = site.operate("GET", "/v1/conversations/%ff", &Value::Null).await;
    assert_eq!(bad.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn dead_letters_show_why_and_not_what_was_said() {
    let site = Site::in_memory().configured().await;
    let dead_letter = DeadLetter {
        id: "d-1".to_owned(),
        queue: QueueName::Outbound,
        reason: Reason::WindowClosed,
        at: Clock::from_system().now(),
        attempts: 2,
        last_error: Some("131047 Re-engagement message".to_owned()),
        correlation: CorrelationId::parse("c-1").unwrap(),
        tenant: Some(TenantId::parse("clinic").unwrap()),
        instance: Some(InstanceId::parse("suporte-01").unwrap()),
        what: DeadLetterContent::Unreadable {
            body: "bom dia".to_owned(),
        },
    };
    put_dead_letter(&site.store, &dead_letter).await.unwrap();
    let path = "/v1/dead-letters?queue=outbound&reason=window_closed&instance=suporte-01";
    let answered = site.operate("GET", path, &Value::Null).await;
    assert_eq!(
        answered.body["items"][0]["reason"], "window_closed",
        "{}",
        answered.text
    );
    assert_eq!(answered.body["items"][0]["what"], "unreadable");
    assert!(!answered.text.contains("bom dia"));
    let other = site
        .operate("GET", "/v1/dead-letters?queue=turns", &Value::Null)
        .await;
    assert_eq!(other.body, json!({"items": [], "next_cursor": null}));
}

#[tokio::test]
async fn a_conversation_that_was_left_says_where_the_person_goes_on_and_is_resolved_once_nothing_is_owed() {
    let site = Site::in_memory().configured().await;
    let (id, other) = (
        site.conversation("5511900000001").await,
        site.conversation("5511900000002").await,
    );
    let look = async || {
        let path = format!("/v1/conversations/{id}");
        let shown = site.operate("GET", &path, &Value::Null).await.body;
        (shown["status"].clone(), shown["moved_to"].clone())
    };
    assert_eq!(look().await, (json!("active"), Value::Null));
    for (owes, status) in [(true, "active"), (false, "resolved")] {
        let mut conversation = site.store.find_conversation(&id).await.unwrap().unwrap();
        conversation.mark_moved_to(&other);
        if !owes {
            conversation.answered = conversation.turn_upto;
        }
        conversation.rev += 1;
        assert_eq!(
            site.store.update_conversation(&conversation, &[]).await.unwrap(),
            WriteOutcome::Written
        );
        assert_eq!(look().await, (json!(status), json!(other)));
        let path = format!("/v1/conversations?status={status}");
        let listed = site.operate("GET", &path, &Value::Null).await.body;
        let mut items = listed["items"].as_array().unwrap().iter();
        assert!(items.any(|item| item["id"] == json!(id)), "{listed}");
    }
}
