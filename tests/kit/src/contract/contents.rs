//! Whatever people and providers write comes back exactly.

use super::given::{begun, committed, find_stored, list_open, updated};
use crate::builders::{Fixture, at, fresh, out};
use crate::ports::succeed;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{
    ContactCard, Content, Location, Media, MediaKind, MessageTemplate, Order, SystemNote,
};
use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::{IdempotencyKey, Ordinal};
use recado_domain::message::{Message, TokenUsage};
use recado_domain::reason::Reason;
use recado_ports::ports::{
    EventChange, InboundWrite, PageRequest, RecordEventOutcome, Store, StoreInboundOutcome,
};
use recado_ports::records::dead_letters::find_dead_letter;
use serde_json::{Value, json};

/// Text that stores stumble over: characters outside the basic plane, joined ones, U+0000, line separators, what looks
/// like an escape, and none at all.
fn texts() -> Vec<String> {
    [
        "",
        " ",
        "Olá, você pode às 15h? \u{1F33B}",
        "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} \u{1F1E7}\u{1F1F7} e\u{301}",
        "\u{0}",
        "a\u{0}b\u{1}\u{7f}\u{85}\u{2028}\u{2029}\u{feff}\u{fffe}\u{ffff}\u{10ffff}",
        "\"\\\\u0000\" '; DROP TABLE messages; -- \r\n\t",
        "\u{202e}مرحبا 你好",
    ]
    .map(str::to_owned)
    .into()
}

/// JSON that stores stumble over.
fn odd_json() -> Value {
    json!({
        "": {"": [{"": ""}, null, [], {}]},
        "key\u{0}with\u{1F33B}": "value\u{0}\u{ffff}",
        "a.b#c:d": true,
        "largest": u64::MAX,
        "smallest": i64::MIN,
        "seconds": 1_767_614_400u64,
        "zero": [0, 0.0, 1.0, -1.5],
        "floats": [0.1, 1e-7, 1.5e300, f64::MAX, f64::MIN_POSITIVE, f64::EPSILON, 1.0 / 3.0],
        "places": [-23.550_519_943_237_305, -46.633_308_410_644_53, 2.675, 123_456_789.123_456_79],
        "texts": texts(),
    })
}

/// So deep that a store's own nesting cannot hold it (DynamoDB: 32).
fn deep_json() -> Value {
    (0..60).fold(json!("core"), |inner, level| {
        if level % 2 == 0 {
            json!({"in": inner})
        } else {
            json!([inner])
        }
    })
}

/// As large as a body may be in a record, of characters that take four bytes each.
fn large_json() -> Value {
    json!({"text": "\u{1F33B}".repeat(22_500)})
}

/// Equal, down to how numbers are written.
fn assert_same(found: &Value, expected: &Value) {
    assert_eq!(found, expected);
    assert_eq!(found.to_string(), expected.to_string());
}

fn payload(job: &InboundJob) -> &Value {
    match &job.payload {
        EventPayload::Inline(value) => value,
        EventPayload::Stored(_) => panic!("it was inline"),
    }
}

pub async fn an_events_payload_comes_back_exactly<S: Store>(store: &S) {
    for expected in [
        odd_json(),
        deep_json(),
        large_json(),
        json!(null),
        json!("text"),
        json!([]),
    ] {
        let fixture = Fixture::new();
        let mut job = fixture.job();
        job.payload = EventPayload::Inline(expected.clone());
        assert_eq!(succeed(store.record_event(&job)).await, RecordEventOutcome::New);
        let record = succeed(store.find_event(&job.event)).await.unwrap();
        assert_same(payload(&record.job), &expected);
        let dead_letter = fixture.dead_letter_of(&job, at(1));
        succeed(store.change_event(
            &job.event,
            EventChange::GiveUp {
                dead_letter: &dead_letter,
                expires: at(1),
            },
        ))
        .await;
        let kept = succeed(find_dead_letter(store, &dead_letter.id)).await;
        assert_eq!(kept, Some(dead_letter));
        assert!(succeed(store.change_event(&job.event, EventChange::Revive { failed_at: at(1) })).await);
        let record = succeed(store.find_event(&job.event)).await.unwrap();
        assert_same(payload(&record.job), &expected);
    }
}

pub async fn a_pointer_to_a_large_body_comes_back<S: Store>(store: &S) {
    let mut job = Fixture::new().job();
    job.payload = EventPayload::Stored(fresh("payloads/2026/01"));
    assert_eq!(succeed(store.record_event(&job)).await, RecordEventOutcome::New);
    assert_eq!(succeed(store.find_event(&job.event)).await.unwrap().job, job);
}

async fn messages<S: Store>(store: &S, message: &Message) -> Vec<Message> {
    let page = PageRequest::first(1);
    let (_, mut all) = succeed(store.find_with_history(&message.conversation, 1))
        .await
        .unwrap();
    all.extend(find_stored(store, message).await);
    all.extend(
        succeed(store.list_messages(&message.conversation, &page))
            .await
            .items,
    );
    all
}

pub async fn a_message_that_is_not_understood_is_kept_as_it_came<S: Store>(store: &S) {
    for expected in [odd_json(), deep_json(), large_json()] {
        let fixture = Fixture::new();
        let (job, mut conversation) = (fixture.job(), fixture.conversation(1));
        let _ = succeed(store.record_event(&job)).await;
        let content = Content::Unsupported {
            kind: "orb\u{0}".to_owned(),
            raw: expected.clone(),
        };
        let message = Message {
            content,
            ..fixture.inbound(&mut conversation, &job)
        };
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: None,
        };
        assert_eq!(
            succeed(store.store_inbound(write)).await,
            StoreInboundOutcome::Stored
        );
        let found = messages(store, &message).await;
        assert_eq!(found.len(), 3);
        for found in found {
            assert_eq!(found, message);
            let Content::Unsupported { raw, .. } = &found.content else {
                panic!("another content")
            };
            assert_same(raw, &expected);
        }
    }
}

fn card(name: String) -> ContactCard {
    ContactCard {
        name,
        ..ContactCard::default()
    }
}

fn contents() -> Vec<Content> {
    let some = |text: &str| Some(text.to_owned());
    let mut contents: Vec<Content> = texts().into_iter().map(Content::from_text).collect();
    contents.extend([
        Content::Media(Media {
            caption: some("\u{0}"),
            mime_type: some("audio/ogg; codecs=opus"),
            file_name: some(""),
            view_once: true,
            ..Media::from_kind(MediaKind::Voice)
        }),
        Content::Location(Location {
            latitude: "-23.550519943237305".to_owned(),
            longitude: "-46.63330841064453".to_owned(),
            name: None,
            address: some("\u{1F33B}"),
            url: None,
            live: false,
        }),
        Content::Contacts {
            contacts: texts().into_iter().map(card).collect(),
        },
        Content::Choice {
            id: some(""),
            title: String::new(),
            description: None,
        },
        Content::Form {
            name: None,
            title: some(""),
            answers: odd_json(),
        },
        Content::Reaction {
            emoji: None,
            target: some("3EB0"),
        },
        Content::Poll {
            question: String::new(),
            options: Vec::new(),
            selectable: 0,
        },
        Content::Order(Order {
            count: u32::MAX,
            ..Order::default()
        }),
        Content::Edit {
            target: some("3EB0"),
            content: Box::new(Content::Edit {
                target: None,
                content: Box::new(Content::from_text("")),
            }),
        },
        Content::Deletion { target: None },
        Content::Welcome,
        Content::System {
            what: SystemNote::NumberChanged,
            text: some("\u{0}"),
        },
        Content::Template(MessageTemplate {
            name: "t".to_owned(),
            language: "pt_BR".to_owned(),
            components: vec![odd_json()],
        }),
    ]);
    contents
}

pub async fn every_content_comes_back_exactly<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    for content in contents() {
        let message = Message {
            content,
            ..fixture.reply(&mut conversation)
        };
        committed(store, &conversation, &message).await;
        let found = messages(store, &message).await;
        assert_eq!(found, [message.clone(), message.clone(), message]);
    }
    assert_eq!(list_open(store, &conversation.id).await.len(), contents().len());
}

pub async fn a_long_text_and_history_come_back_exactly<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut message = fixture.reply(&mut conversation);
    message.content = Content::from_text("\u{1F33B}".repeat(16_000));
    for index in 0..100 {
        let why = format!("\u{1F33B} {index}");
        out(&mut message)
            .claim_attempt(crate::builders::nonce(), at(index), at(index + 1))
            .unwrap();
        out(&mut message).return_to_queue(at(index), true, &why).unwrap();
    }
    committed(store, &conversation, &message).await;
    assert_eq!(list_open(store, &conversation.id).await, [message.clone()]);
    assert_eq!(find_stored(store, &message).await, Some(message));
}

pub async fn every_field_of_a_message_comes_back<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let mut message = fixture.reply(&mut conversation);
    message.event = Some(fixture.job().event);
    message.idempotency_key = Some(IdempotencyKey::parse("order 7/=+:@").unwrap());
    message.unanswered = Some(Reason::Stale);
    message.model = Some("model-1".to_owned());
    message.usage = Some(TokenUsage {
        input_tokens: u64::MAX,
        output_tokens: 1 << 53,
        cache_read_tokens: (1 << 53) + 1,
        cache_write_tokens: 0,
    });
    let way = out(&mut message);
    (way.slot, way.maybe_sent, way.simulated, way.attempts) = (Some(at(9)), true, true, u32::MAX);
    way.not_before = Some(at(10));
    way.part = Some(recado_domain::outbox::ReplyPart {
        number: u32::MAX,
        of: u32::MAX,
    });
    (way.epoch, way.covers) = (u64::MAX, Ordinal(u64::MAX));
    committed(store, &conversation, &message).await;
    let found = messages(store, &message).await;
    assert_eq!(found, [message.clone(), message.clone(), message]);
}

pub async fn odd_names_and_addresses_of_contacts_come_back<S: Store>(store: &S) {
    for text in texts() {
        let mut fixture = Fixture::new();
        fixture.address = ContactAddress::parse(&format!("{}{text}@lid", fresh("1"))).unwrap();
        let mut conversation = begun(store, &fixture).await;
        conversation.contact.name = Some(text.clone());
        conversation.contact.phone = Some(text);
        updated(store, &mut conversation).await;
        assert_eq!(
            succeed(store.find_latest_conversation(&fixture.thread())).await,
            Some(conversation)
        );
    }
}
