use super::*;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::context::MessageContext;
use recado_domain::event::{EventKind, EventState, InboundJob, derive_event_id};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, CorrelationId, ExternalId, InstanceId, Nonce, Ordinal, TenantId};
use recado_domain::message::Role;
use recado_domain::millis::from_unix_millis;
use recado_domain::outbox::{Author, Outbox};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use serde_json::json;

fn record() -> EventRecord {
    let external = ExternalId::parse("front-desk").unwrap();
    EventRecord::new_pending(InboundJob {
        event: derive_event_id(Provider::Evolution, &external, EventKind::Message, "3EB0"),
        provider: Provider::Evolution,
        external,
        kind: EventKind::Message,
        group: "g".to_owned(),
        correlation: CorrelationId::parse("r").unwrap(),
        parent: None,
        received_at: from_unix_millis(1_000),
        payload: EventPayload::Inline(json!({"": {"message": "olá"}, "n": 1.5})),
        lookalike: false,
        has_file: false,
        redrive: None,
    })
}

pub(in crate::store) fn outgoing() -> Message {
    let instance = InstanceId::parse("front-desk").unwrap();
    Message {
        conversation: ConversationId::new(
            IdentityKey::from_bytes([7; 32]).derive_thread_id(&instance, "551190000000"),
            1,
        ),
        ordinal: Ordinal(2),
        tenant: TenantId::parse("clinic").unwrap(),
        instance,
        role: Role::Assistant,
        content: Content::Unsupported {
            kind: "x".to_owned(),
            raw: json!({"": [null, {"a": 0.1}]}),
        },
        context: MessageContext::default(),
        provider_message_id: None,
        written_at: from_unix_millis(5),
        told_at: None,
        stored_at: from_unix_millis(6),
        correlation: CorrelationId::parse("r").unwrap(),
        event: None,
        idempotency_key: None,
        unanswered: None,
        model: None,
        usage: None,
        changes: recado_domain::message::MessageChanges::default(),
        file: None,
        rev: 0,
        out: Some(Outbox::new_queued(
            ContactAddress::parse("551190000000").unwrap(),
            Author::Ai,
            0,
            Ordinal(1),
            from_unix_millis(6),
        )),
    }
}

#[test]
fn an_event_survives_being_written_and_read_and_its_payload_can_be_dropped_alone() {
    let record = record();
    let mut item = event_item("test", &record).unwrap();
    assert_eq!(parse_event_record("test", &item).unwrap(), record);
    assert_eq!(item::get_integer(&item, "open_due"), Some(121_000));
    assert!(item.remove("payload").is_some_and(|payload| payload.is_s()));
    assert_eq!(
        parse_event_record("test", &item).unwrap().job.payload,
        EventPayload::Inline(Value::Null)
    );
}

#[test]
fn a_settled_event_is_not_in_the_index_of_open_records() {
    let mut record = record();
    record.state = EventState::Dead;
    assert!(!event_item("test", &record).unwrap().contains_key("open_shard"));
}

#[test]
fn an_open_message_lies_on_the_open_list_with_its_revision_and_in_the_conversation_without() {
    let mut message = outgoing();
    let nonce = Nonce::parse("n1").unwrap();
    message
        .out
        .as_mut()
        .unwrap()
        .claim_attempt(nonce, from_unix_millis(7), from_unix_millis(8))
        .unwrap();
    let copy = open_message_item("test", &message).unwrap();
    assert_eq!(item::get_integer(&copy, "out_rev"), Some(2));
    assert!(copy.contains_key("open_due"));
    let record = self::message_item("test", &message).unwrap();
    assert!(!record.contains_key("out_rev") && !record.contains_key("open_due"));
    assert_eq!(parse_message("test", &copy).unwrap(), message);
    assert_eq!(parse_message("test", &record).unwrap(), message);
}

#[test]
fn a_dead_message_is_open_until_its_dead_letter_exists() {
    let mut message = outgoing();
    let out = message.out.as_mut().unwrap();
    out.mark_dead(from_unix_millis(9), Reason::Poison, None).unwrap();
    assert!(stays_open(&message));
    message.out.as_mut().unwrap().mark_dead_lettered();
    assert!(!stays_open(&message));
    assert_eq!(
        item::get_integer(&self::message_item("test", &message).unwrap(), "out_rev"),
        Some(3)
    );
}

/// All text of an item, its nested attributes' too.
fn texts(item: &Item) -> String {
    format!("{item:?}")
}

#[test]
fn an_item_does_not_repeat_what_its_key_says() {
    let mut record = record();
    record.job.parent = Some("00f067aa0ba902b7-01".to_owned().try_into().unwrap());
    let item = event_item("test", &record).unwrap();
    assert_eq!(texts(&item).matches(record.job.event.as_str()).count(), 1);
    assert_eq!(item::get_string(&item, "trace"), Some("r"));
    let job = item["job"].as_m().unwrap();
    for name in ["event", "correlation", "parent"] {
        assert!(!job.contains_key(name), "{name}");
    }

    let message = outgoing();
    let id = message.conversation.clone();
    for item in [
        self::message_item("test", &message).unwrap(),
        open_message_item("test", &message).unwrap(),
    ] {
        assert_eq!(
            texts(&item).matches(id.thread_id().as_str()).count(),
            1,
            "{item:?}"
        );
        assert!(!item.contains_key("ordinal"));
    }
    let traced = self::message_item("test", &message).unwrap();
    assert!(
        !traced.contains_key("correlation"),
        "it is in the index attribute"
    );
}

#[test]
fn a_conversation_survives_being_written_and_read_without_its_id() {
    let message = outgoing();
    let mut conversation: Conversation = serde_json::from_value(json!({
        "id": message.conversation.to_string(), "tenant": "clinic", "instance": "front-desk", "address": "551190000000",
        "mode": "ai", "status": "active", "epoch": 3, "last": 2, "turn_upto": 1, "answered": 0, "human": 0,
        "created_at": 5, "last_message_at": 6, "rev": 9,
    }))
    .unwrap();
    let item = conversation_item("test", &conversation).unwrap();
    assert!(!item.contains_key("id"));
    assert_eq!(parse_conversation("test", &item).unwrap(), conversation);
    conversation.epoch = 4;
    assert_ne!(parse_conversation("test", &item).unwrap(), conversation);
}
