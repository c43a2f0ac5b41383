use super::*;
use crate::Clock;
use crate::sql_records::encode_json;
use futures::executor::block_on;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, InstanceId, MessageId, Nonce, Ordinal};
use recado_domain::message::Message;
use recado_domain::millis::from_unix_millis;
use recado_domain::outbox::{Author, Outbox};
use recado_domain::reason::Reason;
use recado_domain::scheduled::ScheduledMessage;
use recado_ports::ports::{
    CommitOutcome, Conversations, EventChange, Inbox, OutboxStore, Queues, RecordEventOutcome, WriteOutcome,
};
use recado_ports::records::dead_letters::{put_dead_letter, remove_dead_letter};
use recado_ports::records::scheduled_messages::{find_scheduled, put_scheduled};
use recado_ports::table::write_record;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const HOUR: i64 = 3_600_000;

fn job(payload: EventPayload) -> InboundJob {
    InboundJob {
        payload,
        ..Fixture::new().job()
    }
}

#[test]
fn an_applied_event_is_forgotten_when_it_expires_and_a_pending_one_never() {
    let time = Arc::new(AtomicI64::new(0));
    let now = Arc::clone(&time);
    let store =
        Embedded::in_memory(Clock::new(move || from_unix_millis(now.load(Ordering::Relaxed)))).unwrap();
    block_on(async {
        let (applied, pending) = (
            job(EventPayload::Inline(json!(1))),
            job(EventPayload::Inline(json!(2))),
        );
        for job in [&applied, &pending] {
            assert_eq!(store.record_event(job).await.unwrap(), RecordEventOutcome::New);
        }
        succeed(store.change_event(
            &applied.event,
            EventChange::Apply {
                at: from_unix_millis(5),
                expires: from_unix_millis(HOUR),
            },
        ))
        .await;
        time.store(HOUR - 1, Ordering::Relaxed);
        assert_eq!(
            store.record_event(&applied).await.unwrap(),
            RecordEventOutcome::Settled
        );
        time.store(HOUR, Ordering::Relaxed);
        assert_eq!(
            store.find_event(&applied.event).await.unwrap(),
            None,
            "before any sweep"
        );
        let swept = store.delete_expired(from_unix_millis(HOUR)).await.unwrap();
        assert_eq!(swept.events, 1);
        time.store(9_000 * HOUR, Ordering::Relaxed);
        assert_eq!(
            store.record_event(&pending).await.unwrap(),
            RecordEventOutcome::Pending
        );
        assert_eq!(
            store.record_event(&applied).await.unwrap(),
            RecordEventOutcome::New
        );
    });
}

#[test]
fn a_large_body_stays_as_long_as_its_event_may_need_it() {
    let scratch = crate::embedded::tests::Scratch::new();
    let store = scratch.store();
    block_on(async {
        let job = job(EventPayload::Stored("body-a".to_owned()));
        store.put_payload("body-a", &json!("large")).await.unwrap();
        store.put_payload("body-b", &json!("of nobody")).await.unwrap();
        store.record_event(&job).await.unwrap();
        let now = Timestamp::now();
        assert_eq!(
            store.delete_expired(now).await.unwrap().payloads,
            0,
            "what is new may be claimed yet"
        );
        let tomorrow = millis::add_millis(now, 25 * HOUR);
        assert_eq!(store.delete_expired(tomorrow).await.unwrap().payloads, 1);
        assert_eq!(store.find_payload("body-b").await.unwrap(), None);
        assert_eq!(store.find_payload("body-a").await.unwrap(), Some(json!("large")));
        succeed(store.change_event(
            &job.event,
            EventChange::Apply {
                at: now,
                expires: millis::add_millis(now, 90 * HOUR),
            },
        ))
        .await;
        assert_eq!(store.delete_expired(tomorrow).await.unwrap().payloads, 1);
        assert_eq!(store.find_payload("body-a").await.unwrap(), None);
    });
}

#[test]
fn a_note_of_a_send_is_swept_once_no_echo_can_come_any_more() {
    let scratch = crate::embedded::tests::Scratch::new();
    let store = scratch.store();
    block_on(async {
        let note = InFlightSend {
            message: MessageId::parse("c.1").unwrap(),
            to: ContactAddress::parse("1@lid").unwrap(),
            nonce: Nonce::parse("n").unwrap(),
            claimed_at: from_unix_millis(0),
            until: from_unix_millis(35_000),
            text_hash: "h".to_owned(),
            echo: None,
            maybe_echo: None,
            erased: None,
            is_time_unsure: false,
        };
        let id = InstanceId::parse("front-desk").unwrap();
        let (body, instance) = (encode_json(&note).unwrap(), id.clone());
        let sql = "INSERT INTO in_flight (instance, message, nonce, body) VALUES (?1, 'm', 'n', ?2)";
        let put = move |c: &Connection| execute_sql(c, sql, params![instance.as_str(), body]);
        store.run_write("test", put).await.unwrap();
        let last = millis::to_millis(InFlightSend::RETENTION);
        assert_eq!(
            succeed(store.delete_expired(from_unix_millis(last - 1)))
                .await
                .notes,
            0
        );
        assert_eq!(store.list_in_flight(&id).await.unwrap(), [note]);
        assert_eq!(
            store.delete_expired(from_unix_millis(last)).await.unwrap().notes,
            1
        );
        assert!(store.list_in_flight(&id).await.unwrap().is_empty());
    });
}

/// A message that is open and sends the upload `id`.
fn sends(instance: &InstanceId, id: &str) -> (Conversation, Message) {
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(instance, id);
    let conversation: ConversationId = ConversationId::new(thread, 1);
    let body = json!({
        "conversation": conversation, "ordinal": 1, "tenant": "clinic", "instance": instance, "role": "operator",
        "content": {"type": "media", "media": "image", "source": format!("upload:{id}")},
        "written_at": 0, "stored_at": 0, "correlation": "k",
    });
    let mut message: Message = serde_json::from_value(body).unwrap();
    let to = ContactAddress::parse("5500000000001@s.whatsapp.net").unwrap();
    message.out = Some(Outbox::new_queued(
        to.clone(),
        Author::Person,
        0,
        Ordinal(0),
        from_unix_millis(0),
    ));
    let body = json!({
        "id": conversation, "instance": instance, "tenant": "clinic", "address": to, "mode": "ai", "status": "active",
        "epoch": 0, "last": 1, "last_inbound": 0, "turn_upto": 0, "answered": 0, "human": 0, "rev": 1,
        "created_at": 0, "last_message_at": 0,
    });
    (serde_json::from_value(body).unwrap(), message)
}

fn dead_letter_of(dead: &Message, now: Timestamp) -> DeadLetter {
    DeadLetter {
        id: dead.message_id().to_string(),
        queue: QueueName::Outbound,
        at: now,
        what: DeadLetterContent::Message {
            message: dead.message_id(),
        },
        ..Fixture::new().dead_letter()
    }
}

/// An upload is otherwise deleted after a day.
#[test]
fn an_upload_stays_as_long_as_a_message_or_a_dead_letter_names_it() {
    let scratch = crate::embedded::tests::Scratch::new();
    let store = scratch.store();
    let instance = InstanceId::parse("front-desk").unwrap();
    let key = |id: &str| upload_payload_key(instance.as_str(), &format!("upload:{id}")).unwrap();
    let now = Timestamp::now();
    block_on(async {
        for id in ["waits", "dead", "later", "nobodys"] {
            store.put_payload(&key(id), &json!("file")).await.unwrap();
        }
        let there = async |id: &str| store.find_payload(&key(id)).await.unwrap().is_some();
        let (conversation, waits) = sends(&instance, "waits");
        assert_eq!(
            store
                .commit_messages(&conversation, std::slice::from_ref(&waits), &[])
                .await
                .unwrap(),
            CommitOutcome::Committed
        );
        let (conversation, mut dead) = sends(&instance, "dead");
        assert_eq!(
            store
                .commit_messages(&conversation, std::slice::from_ref(&dead), &[])
                .await
                .unwrap(),
            CommitOutcome::Committed
        );
        let out = dead.out.as_mut().unwrap();
        out.mark_dead(now, Reason::MaxRetriesExceeded, None).unwrap();
        assert_eq!(
            store.save_open_message(&dead, None).await.unwrap(),
            WriteOutcome::Written
        );
        let later = json!({
            "id": "s_00000000000000000000000000000001", "tenant": "clinic", "instance": instance,
            "to": "5500000000001@s.whatsapp.net", "send_at": now.as_millisecond() + 30 * 24 * HOUR, "created_at": 0,
            "content": {"type": "media", "media": "image", "source": "upload:later"}, "correlation": "k",
            "state": "pending",
        });
        let later: ScheduledMessage = serde_json::from_value(later).unwrap();
        let put = put_scheduled(&store, &later, &[]).await.unwrap();
        assert_eq!(put, CommitOutcome::Committed);
        for days in [2, 20] {
            succeed(store.delete_expired(millis::add_millis(now, days * 24 * HOUR))).await;
            for id in ["waits", "dead", "later"] {
                assert!(there(id).await, "{id} after {days} days");
            }
        }
        let found = find_scheduled(&store, &later.tenant, &later.id).await.unwrap();
        let mut later = found.unwrap();
        later.record.cancel_pending(now, None).unwrap();
        let written = write_record(&store, &mut later).await.unwrap();
        assert_eq!(written, WriteOutcome::Written);
        succeed(store.delete_expired(millis::add_millis(now, 20 * 24 * HOUR))).await;
        assert!(!there("later").await, "it will not be sent");
        assert!(!there("nobodys").await);

        let dead_letter = dead_letter_of(&dead, now);
        put_dead_letter(&store, &dead_letter).await.unwrap();
        dead.out.as_mut().unwrap().mark_dead_lettered();
        assert_eq!(
            store.settle_message(&dead, None, None, None).await.unwrap(),
            WriteOutcome::Written
        );
        let later = millis::add_millis(now, 40 * 24 * HOUR);
        store.delete_expired(later).await.unwrap();
        assert!(there("dead").await, "it can be redriven");
        assert!(remove_dead_letter(&store, &dead_letter.id, now).await.unwrap());
        store.delete_expired(later).await.unwrap();
        assert!(!there("dead").await, "its letter was deleted");
        assert!(there("waits").await);
    });
}
