//! What is this backend's own: several tables in one transaction, lists, the due index. What every store must do is in
//! the contract suite.

use crate::{Clock, Embedded};
use futures::executor::block_on;
use jiff::Timestamp;
use recado_domain::config::{ConfigDocument, InstanceConfig};
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::event::{EventKind, EventPayload, InboundJob, MessagePosition, derive_event_id};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{
    ConversationId, CorrelationId, ExternalId, IdempotencyKey, InstanceId, Nonce, Ordinal,
};
use recado_domain::instance::{
    ConnectionStatus, ConnectionUpdate, DEFAULT_PATIENCE_MS, InFlightSend, ParkedConversation,
    UnansweredAttempt,
};
use recado_domain::message::{Message, Role};
use recado_domain::millis::from_unix_millis;
use recado_domain::outbox::{Author, Outbox};
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_domain::reason::Reason;
use recado_pipeline::ports::{
    ClaimGuard, ClaimOutcome, CommitOutcome, ConfigurationStore, ConversationFilter, Conversations,
    Deliveries, DeliveryLink, IdempotencyClaim, InboundWrite, Inbox, InstanceStates, OutboxStore,
    OverdueIndex, OverdueWork, PageRequest, Reservation, StoreInboundOutcome, WriteOutcome,
};
use serde_json::{from_value, json};

mod instances;
mod outgoing;

const NOW: i64 = 1_000_000;

fn store() -> Embedded {
    Embedded::in_memory(Clock::new(|| from_unix_millis(NOW))).unwrap()
}

fn document() -> ConfigDocument {
    from_value(json!({
        "tenants": [{"id": "padaria", "time_zone": "America/Sao_Paulo"}],
        "agents": [{"id": "bia", "tenant": "padaria", "model": "m", "system_prompt": "p"}],
        "instances": [
            {"id": "um", "tenant": "padaria", "agent": "bia", "provider": "meta", "external_id": "101"},
            {"id": "dois", "tenant": "padaria", "agent": "bia", "provider": "meta", "external_id": "102"},
        ],
    }))
    .unwrap()
}

fn bound() -> InstanceConfig {
    let ConfigDocument {
        mut tenants,
        mut agents,
        mut instances,
    } = document();
    InstanceConfig {
        instance: instances.remove(0),
        tenant: tenants.remove(0),
        agent: agents.remove(0),
    }
}

fn address() -> ContactAddress {
    ContactAddress::parse("5511900000001").unwrap()
}

fn begun(contact: &str, at: i64) -> Conversation {
    let thread = IdentityKey::from_bytes([7; 32]).derive_thread_id(&bound().instance.id, contact);
    let mut conversation = Conversation::start_new(
        ConversationId::new(thread, 1),
        &bound(),
        address(),
        None,
        from_unix_millis(at),
    );
    conversation.rev = 1;
    conversation
}

fn message(conversation: &Conversation, ordinal: Ordinal, out: Option<Outbox>) -> Message {
    Message {
        conversation: conversation.id.clone(),
        ordinal,
        tenant: conversation.tenant.clone(),
        instance: conversation.instance.clone(),
        role: if out.is_some() {
            Role::Assistant
        } else {
            Role::User
        },
        content: Content::from_text("oi"),
        context: recado_domain::context::MessageContext::default(),
        provider_message_id: None,
        written_at: from_unix_millis(0),
        told_at: None,
        stored_at: from_unix_millis(0),
        correlation: CorrelationId::parse("k").unwrap(),
        event: None,
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        out,
    }
}

fn event() -> InboundJob {
    let external = ExternalId::parse("101").unwrap();
    InboundJob {
        event: derive_event_id(Provider::Meta, &external, EventKind::Message, "x"),
        provider: Provider::Meta,
        external,
        kind: EventKind::Message,
        group: "g".to_owned(),
        correlation: CorrelationId::parse("k").unwrap(),
        received_at: from_unix_millis(0),
        payload: EventPayload::Inline(json!({})),
        lookalike: false,
        redrive: None,
    }
}

/// A conversation with one queued reply, committed.
async fn with_reply(store: &Embedded) -> (Conversation, Message) {
    let mut conversation = begun("a", 0);
    let ordinal = conversation.record_operator_answer(Ordinal(0), false, from_unix_millis(0));
    let out = Outbox::new_queued(address(), Author::Ai, 0, Ordinal(0), from_unix_millis(0));
    let reply = message(&conversation, ordinal, Some(out));
    assert_eq!(
        store.commit_message(&conversation, &reply, None).await.unwrap(),
        CommitOutcome::Committed
    );
    (conversation, reply)
}

fn seen(connection: ConnectionStatus, at: Timestamp, probe_at: Option<Timestamp>) -> ConnectionUpdate {
    ConnectionUpdate {
        connection,
        at,
        probe_at,
        asked_at: None,
        releases_waiting: false,
    }
}

fn flight(message: &Message, nonce: &str) -> InFlightSend {
    InFlightSend {
        message: message.message_id(),
        to: message.recipient().unwrap().clone(),
        nonce: Nonce::parse(nonce).unwrap(),
        claimed_at: from_unix_millis(1),
        until: from_unix_millis(2),
        text_hash: "h".to_owned(),
        echo: None,
        maybe_echo: None,
    }
}

#[test]
fn an_inbound_message_is_stored_with_its_event_and_conversation_or_not_at_all() {
    let (store, job) = (store(), event());
    block_on(async {
        store.record_event(&job).await.unwrap();
        let mut first = begun("a", 0);
        let ordinal = first.receive_message(true, from_unix_millis(0)).unwrap();
        let hello = message(&first, ordinal, None);
        let mut stale = first.clone();
        stale.rev = 3;
        let lost = InboundWrite {
            event: &job.event,
            conversation: &stale,
            message: &hello,
        };
        assert_eq!(
            store.store_inbound(lost).await.unwrap(),
            StoreInboundOutcome::Conflict
        );
        assert!(store.find_message(&hello.message_id()).await.unwrap().is_none());
        assert!(
            store
                .find_event(&job.event)
                .await
                .unwrap()
                .unwrap()
                .stored
                .is_none()
        );

        let write = || InboundWrite {
            event: &job.event,
            conversation: &first,
            message: &hello,
        };
        assert_eq!(
            store.store_inbound(write()).await.unwrap(),
            StoreInboundOutcome::Stored
        );
        let stored = MessagePosition {
            conversation: first.id.clone(),
            ordinal,
        };
        assert_eq!(
            store.store_inbound(write()).await.unwrap(),
            StoreInboundOutcome::AlreadyStored(stored)
        );
        assert_eq!(
            store
                .find_latest_conversation(first.id.thread_id())
                .await
                .unwrap(),
            Some(first.clone())
        );
        assert_eq!(
            store.find_with_history(&first.id, 5).await.unwrap(),
            Some((first, vec![hello]))
        );
    });
}

#[test]
fn an_event_that_was_given_up_counts_no_attempt_and_is_revived_once() {
    let (store, job) = (store(), event());
    block_on(async {
        store.record_event(&job).await.unwrap();
        assert!(store.set_event_attempts(&job.event, 0, 1).await.unwrap());
        store
            .settle_event(
                &job.event,
                Some(Reason::Poison),
                from_unix_millis(3),
                from_unix_millis(4),
            )
            .await
            .unwrap();
        assert!(
            !store.set_event_attempts(&job.event, 1, 2).await.unwrap(),
            "it is dead"
        );
        assert!(store.revive_event(&job.event, from_unix_millis(3)).await.unwrap());
        assert!(!store.revive_event(&job.event, from_unix_millis(3)).await.unwrap());
        assert_eq!(
            store
                .record_reenqueue(&job.event, from_unix_millis(9))
                .await
                .unwrap(),
            1
        );
    });
}

#[test]
fn a_clients_key_makes_one_message_until_it_expires() {
    let store = store();
    block_on(async {
        let key = IdempotencyClaim {
            scope: "s".to_owned(),
            key: IdempotencyKey::parse("k").unwrap(),
            request_hash: "r".to_owned(),
            expires: from_unix_millis(NOW + 1),
        };
        let first = begun("a", 0);
        let one = message(&first, Ordinal(1), None);
        assert_eq!(
            store.commit_message(&first, &one, Some(&key)).await.unwrap(),
            CommitOutcome::Committed
        );
        let taken = store.find_idempotency_key("s", &key.key).await.unwrap().unwrap();
        assert_eq!(taken.message, one.message_id());
        let other = begun("b", 0);
        let two = message(&other, Ordinal(1), None);
        assert_eq!(
            store.commit_message(&other, &two, Some(&key)).await.unwrap(),
            CommitOutcome::KeyTaken(taken)
        );
        assert!(store.find_conversation(&other.id).await.unwrap().is_none());
        let expired = IdempotencyClaim {
            scope: "t".to_owned(),
            expires: from_unix_millis(NOW),
            ..key
        };
        assert_eq!(
            store.commit_message(&other, &two, Some(&expired)).await.unwrap(),
            CommitOutcome::Committed
        );
        assert_eq!(store.find_idempotency_key("t", &expired.key).await.unwrap(), None);
    });
}

#[test]
fn lists_are_read_page_by_page_without_gap_or_repeat() {
    let store = store();
    block_on(async {
        for n in 0..7i64 {
            let mut conversation = begun(&n.to_string(), 1000 + n / 2);
            conversation.mode = if n == 3 {
                ConversationMode::Manual
            } else {
                ConversationMode::Ai
            };
            assert_eq!(
                store.update_conversation(&conversation).await.unwrap(),
                WriteOutcome::Written
            );
            assert_eq!(
                store.update_conversation(&conversation).await.unwrap(),
                WriteOutcome::Conflict
            );
        }
        let filter = ConversationFilter {
            instance: Some(InstanceId::parse("um").unwrap()),
            mode: Some(ConversationMode::Ai),
            ..ConversationFilter::default()
        };
        let (mut seen, mut cursor): (Vec<Conversation>, _) = (Vec::new(), None);
        loop {
            let page = store
                .search_conversations(&filter, &PageRequest { limit: 2, cursor })
                .await
                .unwrap();
            seen.extend(page.items);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.is_sorted_by(|a, b| (a.last_message_at, &a.id) > (b.last_message_at, &b.id)));
        let nonsense = PageRequest {
            limit: 2,
            cursor: Some("nonsense".to_owned()),
        };
        assert!(
            !store
                .search_conversations(&filter, &nonsense)
                .await
                .unwrap_err()
                .is_retryable()
        );
        assert!(
            !store
                .list_messages(&seen[0].id, &nonsense)
                .await
                .unwrap_err()
                .is_retryable()
        );
    });
}

#[test]
fn what_is_overdue_comes_from_every_table_the_longest_first() {
    let store = store();
    block_on(async {
        let minutes = |n: i64| from_unix_millis(n * 60_000);
        let (conversation, reply) = with_reply(&store).await; // due after 5 minutes
        let mut owed = begun("owed", 60_000); // 6
        owed.receive_message(true, minutes(1)).unwrap();
        assert_eq!(
            store.update_conversation(&owed).await.unwrap(),
            WriteOutcome::Written
        );
        store.record_event(&event()).await.unwrap(); // 2
        let id = bound().instance.id;
        assert!(
            store
                .set_connection(&id, &seen(ConnectionStatus::Closed, minutes(0), Some(minutes(3))))
                .await
                .unwrap()
        );
        let parked = ParkedConversation {
            instance: id.clone(),
            conversation: conversation.id.clone(),
            version: Nonce::parse("v1").unwrap(),
            since: minutes(0),
            not_before: Some(minutes(4)),
            patience_ms: DEFAULT_PATIENCE_MS,
            reply: None,
        };
        store.put_parked(&parked).await.unwrap();
        let kinds = |work: Vec<OverdueWork>| -> Vec<&'static str> {
            let kind = |work: &OverdueWork| match work {
                OverdueWork::Event(_) => "event",
                OverdueWork::Outgoing { ordinal, .. } if *ordinal == reply.ordinal => "outgoing",
                OverdueWork::Owed(id) if *id == owed.id => "owed",
                OverdueWork::Probe(_) => "probe",
                OverdueWork::Parked(entry) if *entry == parked => "parked",
                _ => "wrong",
            };
            work.iter().map(kind).collect()
        };
        let all = store.list_overdue(minutes(6), 10).await.unwrap();
        assert_eq!(kinds(all), ["event", "probe", "parked", "outgoing", "owed"]);
        let one_of_each = store.list_overdue(minutes(6), 1).await.unwrap();
        assert_eq!(
            kinds(one_of_each).len(),
            5,
            "much of one kind hides nothing of another"
        );
        assert_eq!(
            kinds(store.list_overdue(minutes(2), 10).await.unwrap()),
            ["event"]
        );
    });
}
