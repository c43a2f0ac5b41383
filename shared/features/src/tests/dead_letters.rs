//! Dead letters: shown, redriven and deleted, over the real store and its queues.

use crate::tests::Site;
use crate::tests::dying::{
    CONTACT, dead_depth, dead_event, dies, get, jobs, now, post, reply, state, with_dead_reply,
};
use axum::http::StatusCode;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{EventState, InboundJob};
use recado_domain::ids::CorrelationId;
use recado_domain::millis::add_millis;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::wake_up::OutboundJob;
use recado_pipeline::ports::{Conversations, Inbox, OutboxStore, WriteOutcome};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::dead_letters::{find_dead_letter, put_dead_letter};
use recado_pipeline::{handle_outbound_message, process};
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn a_dead_letter_is_shown_with_what_would_be_done_again() {
    let site = Site::in_memory().configured().await;
    let (_, message, dead_letter) = with_dead_reply(&site).await;
    let event = dead_event(&site, "A1").await;
    let shown = get(&site, &format!("/v1/dead-letters/{}", dead_letter.id)).await;
    assert_eq!(
        (&shown["payload"]["to"], &shown["original_id"], &shown["what"]),
        (&json!(CONTACT), &json!(message.message_id()), &json!("message")),
        "{shown}"
    );
    assert!(shown["payload"]["content"].to_string().contains("Até logo"));
    let shown = get(&site, &format!("/v1/dead-letters/{}", event.event)).await;
    assert_eq!(
        (&shown["payload"], &shown["reason"]),
        (&json!({"text": "segredo"}), &json!("unknown_instance"))
    );
    let none = site.operate("GET", "/v1/dead-letters/none", &Value::Null).await;
    assert_eq!(none.status, StatusCode::NOT_FOUND);
    let dlq = get(&site, "/health/whatsapp/dlq").await;
    assert_eq!(dlq["dlq_depth"], 2);
    let newest = dlq["messages"].as_array().unwrap();
    assert_eq!(newest.len(), 2);
    for field in [
        "payload",
        "original_id",
        "reason",
        "timestamp",
        "attempts",
        "last_error",
        "correlation_id",
        "queue",
        "instance",
    ] {
        assert!(
            newest.iter().all(|message| message.get(field).is_some()),
            "{field}"
        );
    }
    let narrowed = get(&site, "/health/whatsapp/dlq?instance=suporte-01").await;
    assert_eq!(
        (&narrowed["dlq_depth"], &narrowed["messages"][0]["queue"]),
        (&json!(1), &json!("outbound"))
    );
}

#[tokio::test]
async fn the_health_page_shows_the_newest_hundred() {
    let site = Site::in_memory().configured().await;
    for number in 0..101 {
        let dead_letter = DeadLetter {
            id: format!("e{number}"),
            queue: QueueName::Inbound,
            reason: Reason::Poison,
            tenant: None,
            instance: None,
            at: add_millis(now(), number),
            attempts: 3,
            last_error: None,
            correlation: CorrelationId::parse("c").unwrap(),
            what: DeadLetterContent::Unreadable {
                body: "{}".to_owned(),
            },
        };
        put_dead_letter(&site.store, &dead_letter).await.unwrap();
    }
    let dlq = get(&site, "/health/whatsapp/dlq").await;
    let shown = dlq["messages"].as_array().unwrap();
    assert_eq!((&dlq["dlq_depth"], shown.len()), (&json!(101), 100));
    assert!(
        !shown.iter().any(|dead_letter| dead_letter["original_id"] == "e0"),
        "the oldest"
    );
}

#[tokio::test]
async fn a_list_is_narrowed_by_time() {
    let site = Site::in_memory().configured().await;
    let (_, _, dead_letter) = with_dead_reply(&site).await;
    let list = async |query: String| get(&site, &format!("/v1/dead-letters?{query}")).await["items"].clone();
    let later = add_millis(dead_letter.at, 1);
    assert_eq!(
        list(format!("since={}", dead_letter.at))
            .await
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(list(format!("since={later}")).await, json!([]));
    assert_eq!(list(format!("until={}", dead_letter.at)).await, json!([]));
    assert_eq!(list(format!("until={later}")).await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_redriven_message_is_queued_and_no_copy_is_left() {
    let site = Site::in_memory().configured().await;
    let (_, message, dead_letter) = with_dead_reply(&site).await;
    assert_eq!(dead_depth(&site, QueueName::Outbound).await, 1);
    let answered = post(
        &site,
        &format!("/v1/dead-letters/{}/redrive", dead_letter.id),
        Value::Null,
    )
    .await;
    assert_eq!(answered.status, StatusCode::ACCEPTED, "{}", answered.text);
    assert_eq!(answered.body["redriven"], true);
    assert_eq!(state(&site, &message.message_id()).await, OutboxState::Queued);
    assert_eq!(dead_depth(&site, QueueName::Outbound).await, 0);
    assert_eq!(
        find_dead_letter(&site.store, &dead_letter.id).await.unwrap(),
        None
    );
    let jobs = jobs(&site).await;
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].redrive.as_ref().unwrap().failed_at, dead_letter.at);
}

#[tokio::test]
async fn a_redrive_that_comes_again_after_a_later_death_changes_nothing() {
    let site = Site::in_memory().configured().await;
    let (id, message, dead_letter) = with_dead_reply(&site).await;
    post(
        &site,
        &format!("/v1/dead-letters/{}/redrive", dead_letter.id),
        Value::Null,
    )
    .await;
    let job = jobs(&site).await.remove(0);
    let alive = succeed(site.store.list_open_messages(id.thread_id()))
        .await
        .remove(0);
    let second = dies(&site, &alive, add_millis(dead_letter.at, 60_000)).await;
    let body = serde_json::to_string(&OutboundJob::Send(job)).unwrap();
    let verdict = handle_outbound_message(&site.deps(), &Idle, &body, 2, None).await;
    assert_eq!(verdict, recado_pipeline::Verdict::Done);
    let failed_at = succeed(site.store.find_message(&message.message_id()))
        .await
        .unwrap();
    assert_eq!(failed_at.out.unwrap().failed_at(), Some(second.at));
    assert_eq!(
        find_dead_letter(&site.store, &second.id).await.unwrap(),
        Some(second),
        "the letter of the later death stays"
    );
}

#[tokio::test]
async fn a_conversations_messages_are_redriven_in_their_order_whichever_died_first() {
    let site = Site::in_memory().configured().await;
    let id = site.conversation(CONTACT).await;
    let first = reply(&site, &id).await;
    let second = reply(&site, &id).await;
    let at = now();
    dies(&site, &second, add_millis(at, -5_000)).await;
    dies(&site, &first, at).await;
    let answered = post(
        &site,
        "/v1/dead-letters/redrive",
        json!({"reason": "max_retries_exceeded"}),
    )
    .await;
    assert_eq!(
        answered.body,
        json!({"dry_run": false, "selected": 2, "redriven": 2, "no_longer_dead": 0, "failed": 0, "more": false})
    );
    let send_jobs: Vec<u64> = jobs(&site).await.iter().map(|job| job.upto.0).collect();
    assert_eq!(send_jobs, [first.ordinal.0, second.ordinal.0]);
    let again = post(&site, "/v1/dead-letters/redrive", json!({})).await;
    assert_eq!(again.body["selected"], 0, "{}", again.text);
    assert!(jobs(&site).await.is_empty());
}

#[tokio::test]
async fn a_dry_run_counts_and_changes_nothing() {
    let site = Site::in_memory().configured().await;
    let (id, message, dead_letter) = with_dead_reply(&site).await;
    let dry = async |body: Value| post(&site, "/v1/dead-letters/redrive", body).await.body;
    let all = json!({"dry_run": true});
    assert_eq!(
        dry(all.clone()).await,
        json!({"dry_run": true, "selected": 1, "out_of_window": 0, "answered_meanwhile": 0,
               "recipients_left": 0, "no_longer_dead": 0, "more": false})
    );
    assert_eq!(
        dry(json!({"dry_run": true, "ids": [dead_letter.id, dead_letter.id]})).await["selected"],
        1
    );
    assert_eq!(
        dry(json!({"dry_run": true, "queue": "turns"})).await["selected"],
        0
    );
    // Somebody answers what came since.
    reply(&site, &id).await;
    assert_eq!(dry(all.clone()).await["answered_meanwhile"], 1);
    assert!(matches!(
        state(&site, &message.message_id()).await,
        OutboxState::Dead { .. }
    ));
    assert_eq!(
        find_dead_letter(&site.store, &dead_letter.id).await.unwrap(),
        Some(dead_letter)
    );
    assert_eq!(dead_depth(&site, QueueName::Outbound).await, 1);
}

#[tokio::test]
async fn a_dry_run_tells_who_is_out_of_metas_window() {
    let site = Site::in_memory().configured().await;
    let (id, _, _) = with_dead_reply(&site).await;
    for (hours, out_of_window) in [(23, 0), (25, 1)] {
        let mut conversation = site.store.find_conversation(&id).await.unwrap().unwrap();
        conversation.contact.last_inbound_at = Some(add_millis(now(), -hours * 3_600_000));
        conversation.rev += 1;
        assert_eq!(
            site.store.update_conversation(&conversation, &[]).await.unwrap(),
            WriteOutcome::Written
        );
        let found = post(&site, "/v1/dead-letters/redrive", json!({"dry_run": true})).await;
        assert_eq!(found.body["out_of_window"], 0, "Evolution has no window");
        let moved = json!({"instances": [
            {"id": "suporte-01", "tenant": "clinic", "agent": "ana", "provider": "meta",
             "external_id": "100000000000009"}]});
        succeed(put_configuration(
            &site.store,
            &serde_json::from_value(moved).unwrap(),
        ))
        .await;
        let found = post(&site, "/v1/dead-letters/redrive", json!({"dry_run": true})).await;
        assert_eq!(found.body["out_of_window"], out_of_window, "{hours} hours");
        put_configuration(&site.store, &crate::tests::document())
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_redriven_event_is_pending_and_a_second_redrive_after_it_died_again_is_its_own() {
    let site = Site::in_memory().configured().await;
    let job = dead_event(&site, "B1").await;
    let path = format!("/v1/dead-letters/{}/redrive", job.event);
    assert_eq!(post(&site, &path, Value::Null).await.status, StatusCode::ACCEPTED);
    let record = site.store.find_event(&job.event).await.unwrap().unwrap();
    assert_eq!(record.state, EventState::Pending);
    assert_eq!(dead_depth(&site, QueueName::Inbound).await, 0);
    assert_eq!(
        post(&site, &path, Value::Null).await.status,
        StatusCode::NOT_FOUND,
        "the letter is gone"
    );
    let received = succeed(
        site.store
            .receive_messages(QueueName::Inbound, 10, Duration::from_secs(30)),
    )
    .await
    .remove(0);
    let first: InboundJob = serde_json::from_str(&received.body).unwrap();
    while first.redrive >= Some(now()) {}
    let _ = process::process(&site.deps(), &received.body, 1).await;
    let failed_at = async || {
        succeed(site.store.find_event(&job.event))
            .await
            .unwrap()
            .failed_at()
    };
    let second = failed_at().await.expect("its instance is still unknown");
    let dead_letter = succeed(find_dead_letter(&site.store, job.event.as_str()))
        .await
        .unwrap();
    assert_eq!(dead_letter.at, second);
    // The queue brings the first redrive again.
    let _ = process::process(&site.deps(), &received.body, 2).await;
    assert_eq!(failed_at().await, Some(second));
    let kept = find_dead_letter(&site.store, job.event.as_str()).await.unwrap();
    assert_eq!(kept, Some(dead_letter));
}

#[tokio::test]
async fn a_deleted_dead_letter_does_not_come_back_and_who_deleted_it_can_be_read() {
    let site = Site::in_memory().configured().await;
    let (_, message, dead_letter) = with_dead_reply(&site).await;
    let job = dead_event(&site, "C1").await;
    let copy = succeed(site.store.list_dead_messages(QueueName::Outbound, 1))
        .await
        .remove(0);
    for id in [dead_letter.id.as_str(), job.event.as_str()] {
        let answered = site
            .operate("DELETE", &format!("/v1/dead-letters/{id}"), &Value::Null)
            .await;
        assert_eq!(answered.status, StatusCode::NO_CONTENT, "{}", answered.text);
        let again = site
            .operate("DELETE", &format!("/v1/dead-letters/{id}"), &Value::Null)
            .await;
        assert_eq!(again.status, StatusCode::NOT_FOUND);
    }
    let deps = site.deps();
    // Whatever comes late: the copy from a console, the event from its queue, the minute.
    let _ = handle_outbound_message(&deps, &Idle, &copy.body, 1, None).await;
    let body = serde_json::to_string(&job).unwrap();
    let _ = process::process(&deps, &body, 2).await;
    reconcile(&deps).await.unwrap();
    assert!(matches!(
        state(&site, &message.message_id()).await,
        OutboxState::Dead {
            reason: Reason::Purged,
            ..
        }
    ));
    assert_eq!(get(&site, "/v1/dead-letters").await["items"], json!([]));
    assert!(jobs(&site).await.is_empty());
    for queue in [QueueName::Inbound, QueueName::Outbound] {
        assert_eq!(dead_depth(&site, queue).await, 0);
    }
    let audit = get(&site, "/v1/audit?action=dead_letter_deleted").await;
    let items = audit["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{audit}");
    assert!(items.iter().all(|item| item["actor"] == "installation"));
    assert!(!audit.to_string().contains("segredo") && !audit.to_string().contains("Até logo"));
}

#[tokio::test]
async fn all_are_deleted_only_if_that_is_said() {
    let site = Site::in_memory().configured().await;
    with_dead_reply(&site).await;
    dead_event(&site, "D1").await;
    let delete = async |query: &str| {
        site.operate("DELETE", &format!("/v1/dead-letters{query}"), &Value::Null)
            .await
    };
    for wrong in ["", "?all=true&by=Bia", "?all=true&limit=0", "?all=true&x=1"] {
        assert_eq!(delete(wrong).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    assert_eq!(delete("?queue=inbound").await.body["deleted"], 1);
    assert_eq!(delete("?all=true").await.body["deleted"], 1);
    assert_eq!(get(&site, "/health/whatsapp/dlq").await["dlq_depth"], 0);
}

#[tokio::test]
async fn what_cannot_be_understood_is_a_400() {
    let site = Site::in_memory().configured().await;
    for body in [
        json!({"limit": 0}),
        json!({"limit": 1001}),
        json!({"reson": "poison"}),
        json!([]),
    ] {
        let answered = post(&site, "/v1/dead-letters/redrive", body.clone()).await;
        assert_eq!(answered.status, StatusCode::BAD_REQUEST, "{body}");
    }
}
