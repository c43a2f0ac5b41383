//! Sending to anybody: what is taken, what is refused, and what a repeat is.

use crate::FEATURES;
use crate::tests::stand_ins::NotCalled;
use crate::tests::{Answered, Site, TOKEN};
use async_trait::async_trait;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::{ConversationId, TenantId};
use recado_domain::millis::add_millis;
use recado_domain::scheduled::ScheduledId;
use recado_embedded::{Clock, EmbeddedSystem};
use recado_pipeline::ports::{Conversations, System};
use recado_pipeline::{Components, Deps};
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const CONTACT: &str = "5511900000001@s.whatsapp.net";

async fn post(site: &Site, instance: &str, body: &Value) -> Answered {
    let path = format!("/v1/instances/{instance}/messages");
    site.operate("POST", &path, body).await
}

/// Whole seconds from now.
fn ahead(seconds: i64) -> String {
    let now = Clock::from_system().now().as_second();
    Timestamp::from_second(now + seconds).unwrap().to_string()
}

#[tokio::test]
async fn a_message_goes_into_the_contacts_thread_and_changes_nothing_of_whose_turn_it_is() {
    let site = Site::in_memory().configured().await;
    let id = site.conversation(CONTACT).await;
    let before = site.store.find_conversation(&id).await.unwrap().unwrap();
    let body = json!({"to": "+55 (11) 90000-0001", "text": " Seu pedido saiu. ", "metadata": {"order": 7}});
    let sent = post(&site, "suporte-01", &body).await;
    assert_eq!(sent.status, StatusCode::ACCEPTED, "{}", sent.text);
    assert_eq!(sent.body["status"], "pending");
    assert_eq!(sent.body["conversation_id"], id.to_string());
    let message = format!("/v1/messages/{}", sent.body["id"].as_str().unwrap());
    assert_eq!(sent.header("location"), Some(&*message));
    let after = site.store.find_conversation(&id).await.unwrap().unwrap();
    assert_eq!(
        (
            after.mode,
            after.epoch,
            after.answered,
            after.human,
            after.waiting_since
        ),
        (
            before.mode,
            before.epoch,
            before.answered,
            before.human,
            before.waiting_since
        )
    );
    assert!(
        after.owes_answer(),
        "the contact's message is still to be answered"
    );
    let shown = site.operate("GET", &message, &Value::Null).await;
    assert_eq!(shown.body["content"], "Seu pedido saiu.");
    assert_eq!(shown.body["metadata"], json!({"order": 7}));
    assert_eq!(shown.body["way"][0]["step"], "committed");
    assert!(
        succeed(site.store.next_visible_at(QueueName::Outbound))
            .await
            .is_some(),
        "the sender is kicked"
    );
}

#[tokio::test]
async fn a_first_message_out_begins_a_conversation_and_a_resolved_one_is_not_gone_on_with() {
    let site = Site::in_memory().configured().await;
    let body = json!({"to": CONTACT, "text": "Olá"});
    let first = post(&site, "suporte-01", &body).await;
    let id = first.body["conversation_id"].as_str().unwrap().to_owned();
    let resolve = json!({"status": "resolved"});
    let resolved = site
        .operate("PATCH", &format!("/v1/conversations/{id}"), &resolve)
        .await;
    assert_eq!(resolved.status, StatusCode::OK, "{}", resolved.text);
    let second = post(&site, "suporte-01", &body).await;
    let second = ConversationId::parse(second.body["conversation_id"].as_str().unwrap()).unwrap();
    let first = ConversationId::parse(&id).unwrap();
    assert_eq!(
        (second.thread_id(), second.number_in_thread()),
        (first.thread_id(), 2)
    );
}

#[tokio::test]
async fn one_key_is_one_message_in_header_or_body_and_without_a_key_each_is_new() {
    let site = Site::in_memory().configured().await;
    let with_key = json!({"to": CONTACT, "text": "Olá", "message_id": "order-7"});
    let first = post(&site, "suporte-01", &with_key).await;
    assert_eq!(first.status, StatusCode::ACCEPTED);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [("authorization", bearer.as_str()), ("idempotency-key", "order-7")];
    let plain = json!({"to": "5511900000001", "text": "Olá"});
    let path = "/v1/instances/suporte-01/messages";
    let again = site.ask("POST", path, &headers, plain.to_string()).await;
    assert_eq!(
        (again.status, &again.body["id"]),
        (StatusCode::OK, &first.body["id"])
    );
    let other = json!({"to": CONTACT, "text": "Tchau", "message_id": "order-7"});
    assert_eq!(
        post(&site, "suporte-01", &other).await.status,
        StatusCode::CONFLICT
    );
    let metadata = json!({"to": CONTACT, "text": "Olá", "message_id": "order-7", "metadata": {"a": 1}});
    assert_eq!(
        post(&site, "suporte-01", &metadata).await.status,
        StatusCode::CONFLICT
    );
    let elsewhere = post(&site, "antiga", &with_key).await;
    assert_eq!(
        elsewhere.status,
        StatusCode::ACCEPTED,
        "a key counts on its instance"
    );
    let two = json!({"to": CONTACT, "text": "Olá", "message_id": "order-8"});
    let two = site.ask("POST", path, &headers, two.to_string()).await;
    assert_eq!(two.status, StatusCode::BAD_REQUEST);
    let (one, another) = (
        post(&site, "suporte-01", &plain).await,
        post(&site, "suporte-01", &plain).await,
    );
    assert_ne!(one.body["id"], another.body["id"]);
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_with_a_reason() {
    let site = Site::in_memory().configured().await;
    let body = json!({"to": CONTACT, "text": "Olá"});
    assert_eq!(post(&site, "nowhere", &body).await.status, StatusCode::NOT_FOUND);
    for to in ["", "123", "maria", "120363041@g.us", "US.1349", "011900000001"] {
        let answered = post(&site, "suporte-01", &json!({"to": to, "text": "Olá"})).await;
        assert_eq!(
            answered.status,
            StatusCode::UNPROCESSABLE_ENTITY,
            "{to}: {}",
            answered.text
        );
    }
    let large = json!({"text": "x".repeat(4096)});
    for wrong in [
        json!({"to": CONTACT}),
        json!({"to": CONTACT, "text": " \n "}),
        json!({"to": CONTACT, "text": "x".repeat(4097)}),
        json!({"to": CONTACT, "text": "x".repeat(65_537)}),
        json!({"to": CONTACT, "text": "Olá", "metadata": large}),
        json!({"to": CONTACT, "text": "Olá", "metadata": [1]}),
        json!({"to": CONTACT, "text": "Olá", "message_id": "a\nb"}),
        json!({"to": CONTACT, "text": "Olá", "send_at": "tomorrow"}),
        json!({"to": CONTACT, "text": "Olá", "send_at": ahead(367 * 86_400)}),
        json!({"to": CONTACT, "text": "Olá", "colour": "red"}),
    ] {
        let answered = post(&site, "suporte-01", &wrong).await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{}", answered.text);
    }
    let longest = json!({"to": CONTACT, "text": "x".repeat(4096)});
    assert_eq!(
        post(&site, "suporte-01", &longest).await.status,
        StatusCode::ACCEPTED
    );
}

/// A clock that is an hour ahead.
#[derive(Debug, Clone, Copy)]
struct InAnHour;

#[async_trait]
impl System for InAnHour {
    fn now(&self) -> Timestamp {
        add_millis(EmbeddedSystem.now(), 3_600_000)
    }

    fn random_u64(&self) -> u64 {
        EmbeddedSystem.random_u64()
    }

    async fn sleep(&self, duration: Duration) {
        EmbeddedSystem.sleep(duration).await;
    }
}

/// The installation as it is in an hour.
fn in_an_hour(site: &Site) -> Arc<Deps> {
    let world = Components::new(
        site.store.clone(),
        site.queues.clone(),
        NotCalled,
        NotCalled,
        InAnHour,
        &FEATURES,
        site.settings.clone(),
    );
    world.deps
}

#[tokio::test]
async fn a_scheduled_message_is_found_by_its_id_before_and_after_it_falls_due() {
    let site = Site::in_memory().configured().await;
    let body = json!({"to": CONTACT, "text": "Olá", "send_at": ahead(3_000), "message_id": "order-7"});
    let taken = post(&site, "suporte-01", &body).await;
    assert_eq!(taken.status, StatusCode::ACCEPTED, "{}", taken.text);
    assert_eq!(
        (&taken.body["status"], &taken.body["send_at"]),
        (&json!("pending"), &body["send_at"])
    );
    let id = taken.body["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/messages/{id}");
    let before = site.operate("GET", &path, &Value::Null).await;
    assert_eq!(
        (&before.body["id"], &before.body["status"]),
        (&json!(id), &json!("pending"))
    );
    assert_eq!(before.body["way"][0]["step"], "scheduled");
    let again = post(&site, "suporte-01", &body).await;
    assert_eq!((again.status, &again.body["id"]), (StatusCode::OK, &json!(id)));
    let scheduled = ScheduledId::parse(&id).unwrap();
    // Whether it is due is for the clock to say: until then nothing becomes of it.
    let tenant = TenantId::parse("clinic").unwrap();
    assert!(
        !recado_sends::release_due_message(&site.deps(), &tenant, &scheduled)
            .await
            .unwrap()
    );
    let deps = in_an_hour(&site);
    let released = recado_sends::release_due_message(&deps, &tenant, &scheduled).await;
    assert!(released.unwrap());
    let after = site.operate("GET", &path, &Value::Null).await;
    assert_eq!(after.body["scheduled_id"], json!(id), "{}", after.text);
    let steps: Vec<&Value> = after.body["way"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["step"])
        .collect();
    assert_eq!(steps, ["scheduled", "committed"]);
    let again = post(&site, "suporte-01", &body).await;
    assert_eq!((again.status, &again.body["id"]), (StatusCode::OK, &json!(id)));
    assert_eq!(again.body["conversation_id"], after.body["conversation_id"]);
    let released = recado_sends::release_due_message(&deps, &tenant, &scheduled).await;
    assert!(!released.unwrap(), "once");
    let late = site.operate("DELETE", &path, &Value::Null).await;
    assert_eq!(late.status, StatusCode::CONFLICT);
}

#[tokio::test]
async fn a_scheduled_message_can_be_taken_back_and_one_of_the_past_goes_at_once() {
    let site = Site::in_memory().configured().await;
    let body = json!({"to": CONTACT, "text": "Olá", "send_at": ahead(3_600)});
    let taken = post(&site, "suporte-01", &body).await;
    let path = format!("/v1/messages/{}", taken.body["id"].as_str().unwrap());
    for _ in 0..2 {
        let cancelled = site.operate("DELETE", &path, &Value::Null).await;
        assert_eq!(
            (cancelled.status, &cancelled.body["status"]),
            (StatusCode::OK, &json!("cancelled"))
        );
    }
    let shown = site.operate("GET", &path, &Value::Null).await;
    assert_eq!(shown.body["way"][1]["step"], "cancelled", "{}", shown.text);
    let past = json!({"to": CONTACT, "text": "Olá", "send_at": ahead(-60)});
    let past = post(&site, "suporte-01", &past).await;
    assert!(past.body["conversation_id"].is_string(), "{}", past.text);
    let path = format!("/v1/messages/{}", past.body["id"].as_str().unwrap());
    let sent = site.operate("DELETE", &path, &Value::Null).await;
    assert_eq!(sent.status, StatusCode::CONFLICT);
    for unknown in ["s_0123456789abcdef0123456789abcdef", "s_0", "x"] {
        for method in ["GET", "DELETE"] {
            let path = format!("/v1/messages/{unknown}");
            let answered = site.operate(method, &path, &Value::Null).await;
            assert_eq!(answered.status, StatusCode::NOT_FOUND, "{method} {unknown}");
        }
    }
}
