//! Fields besides `messages`.

use super::{NUMBER, event, items, what};
use crate::meta::interpret_payload;
use recado_domain::content::{Content, SystemNote};
use recado_domain::event::{EventKind, EventPayload, InboundJob, derive_event_id};
use recado_domain::ids::{CorrelationId, ExternalId};
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent, WebhookItem};
use recado_domain::millis::from_unix_millis;
use recado_domain::provider::Provider;
use serde_json::{Value, json};

const OWN: &str = "5511900000099";
const MARIA: &str = "5511900000001";

pub(super) fn body(field: &str, value: &Value) -> Value {
    let mut value = value.clone();
    value["metadata"] = json!({"phone_number_id": NUMBER, "display_phone_number": "+55 11 90000-0099"});
    json!({"entry": [{"id": "1", "changes": [{"field": field, "value": value}]}]})
}

pub(super) fn said(event: &WebhookEvent) -> InboundMessage {
    let job = InboundJob {
        event: event.id.clone(),
        provider: event.provider,
        external: event.external.clone(),
        kind: event.kind,
        group: String::new(),
        correlation: CorrelationId::parse("test").unwrap(),
        parent: None,
        received_at: from_unix_millis(1_760_000_000_000),
        payload: EventPayload::Inline(event.payload.clone()),
        lookalike: false,
        has_file: false,
        redrive: None,
    };
    match interpret_payload(&job, &event.payload) {
        InboundEvent::Message(message) => *message,
        other => panic!("not a message: {other:?}"),
    }
}

fn live_id(provider_id: &str) -> recado_domain::ids::EventId {
    let external = ExternalId::parse(NUMBER).unwrap();
    derive_event_id(Provider::Meta, &external, EventKind::Message, provider_id)
}

fn text_of(from: &str, id: &str) -> Value {
    json!({"from": from, "id": id, "timestamp": "1750000000", "type": "text", "text": {"body": "oi"}, "history_context": {"status": "READ"}})
}

fn history(threads: &Value) -> Vec<WebhookItem> {
    let chunk = json!({"metadata": {"phase": 1, "chunk_order": 2, "progress": 70}, "threads": threads});
    items(&body("history", &json!({"history": [chunk]})))
}

#[test]
fn every_message_of_a_history_is_an_event_under_its_own_id_and_its_threads_contact() {
    let threads = json!([
        {"id": MARIA, "messages": [text_of(OWN, "a"), text_of(MARIA, "b")]},
        {"id": "5511900000002", "messages": [text_of(OWN, "c")]},
    ]);
    let expected = [
        ("a", MARIA, true),
        ("b", MARIA, false),
        ("c", "5511900000002", true),
    ];
    let found = history(&threads);
    assert_eq!(found.len(), expected.len());
    for (item, (id, address, from_me)) in found.into_iter().zip(expected) {
        let event = event(item);
        assert_eq!(event.id, live_id(id), "as if it had come live");
        let message = said(&event);
        assert_eq!((message.address.as_str(), message.from_me), (address, from_me));
        assert_eq!(message.sent_at, Some(from_unix_millis(1_750_000_000_000)));
        assert_eq!(event.address, Some(message.address));
    }
}

#[test]
fn whose_words_a_history_holds_does_not_hang_on_how_numbers_are_written() {
    for (from, thread, from_me) in [
        ("+55 11 90000-0099", MARIA, true),
        // A Brazilian number without its ninth digit.
        ("551100000099", MARIA, true),
        ("551100000001", MARIA, false),
        ("BR.10000000000000001", "BR.10000000000000001", false),
        (MARIA, "BR.10000000000000001", false),
        (OWN, "BR.10000000000000001", true),
    ] {
        let found = history(&json!([{"id": thread, "messages": [text_of(from, "a")]}]));
        let message = said(&event(found.into_iter().next().unwrap()));
        assert_eq!(message.from_me, from_me, "{from} in {thread}");
    }
    let nameless = json!({"history": [{"threads": [{"id": MARIA, "messages": [text_of(OWN, "a"), text_of(MARIA, "b")]}]}],
        "metadata": {"phone_number_id": NUMBER}});
    let found = items(&json!({"entry": [{"changes": [{"field": "history", "value": nameless}]}]}));
    let from_me: Vec<bool> = found.into_iter().map(|item| said(&event(item)).from_me).collect();
    assert_eq!(from_me, [true, false]);
}

#[test]
fn a_file_of_a_history_is_not_swallowed_by_its_placeholder() {
    let placeholder =
        json!({"from": MARIA, "id": "file", "timestamp": "1750000000", "type": "media_placeholder"});
    let placeholder = event(history(&json!([{"id": MARIA, "messages": [placeholder]}])).remove(0));
    let file = json!({"from": MARIA, "id": "file", "timestamp": "1750000000", "type": "image", "image": {"id": "7"}});
    let file = event(items(&body("history", &json!({"messages": [file]}))).remove(0));
    assert_ne!(placeholder.id, file.id);
    assert_eq!(file.id, live_id("file"));
    assert!(!said(&placeholder).content.expects_answer());
    assert_eq!(said(&file).content.kind_name(), "image");
}

#[test]
fn a_history_that_is_not_shared_or_empty_is_left_alone() {
    for (value, expected) in [
        (
            json!({"history": [{"errors": [{"code": 2_593_109, "title": "x"}]}]}),
            "history declined 2593109",
        ),
        (json!({"history": [{"errors": {"code": "7"}}]}), "history error 7"),
        (json!({"history": [{"errors": [{}]}]}), "history error"),
        (json!({"history": []}), "history without messages"),
        (
            json!({"history": [{"threads": [{"id": "1"}]}]}),
            "history without messages",
        ),
        (
            json!({"history": [{"threads": [{"messages": [{"id": "a"}]}]}]}),
            "message without a sender",
        ),
        (
            json!({"history": [{"threads": [{"messages": ["x"]}]}]}),
            "message without a sender",
        ),
    ] {
        assert_eq!(what(&items(&body("history", &value))[0]), expected, "{value}");
    }
}

fn preference(entry: &Value) -> Vec<WebhookItem> {
    items(&body("user_preferences", &json!({"user_preferences": [entry]})))
}

#[test]
fn a_stop_and_a_resumption_of_marketing_are_told_of_the_contact() {
    for (value, note) in [
        ("stop", SystemNote::MarketingStopped),
        ("resume", SystemNote::MarketingResumed),
    ] {
        for (who, address) in [
            (json!({"wa_id": MARIA, "user_id": "BR.1"}), MARIA),
            (json!({"user_id": "BR.1"}), "BR.1"),
        ] {
            let mut entry =
                json!({"category": "marketing_messages", "value": value, "timestamp": 1_750_000_000});
            entry
                .as_object_mut()
                .unwrap()
                .extend(who.as_object().unwrap().clone());
            let event = event(preference(&entry).remove(0));
            let message = said(&event);
            assert_eq!(
                message.content,
                Content::System {
                    what: note,
                    text: None
                }
            );
            assert_eq!((message.address.as_str(), message.from_me), (address, false));
            assert_eq!(
                (event.address, message.sent_at),
                (Some(message.address), Some(from_unix_millis(1_750_000_000_000)))
            );
            assert!(!message.content.expects_answer());
        }
    }
}

#[test]
fn each_preference_is_one_event_and_a_repetition_is_known_again() {
    let of = |value: &str, timestamp: i64| {
        let entry =
            json!({"wa_id": MARIA, "category": "marketing_messages", "value": value, "timestamp": timestamp});
        event(preference(&entry).remove(0)).id
    };
    let again = json!({"detail": "other words", "wa_id": MARIA, "category": "marketing_messages", "value": "stop", "timestamp": "1"});
    assert_eq!(of("stop", 1), event(preference(&again).remove(0)).id);
    let all = [of("stop", 1), of("resume", 1), of("stop", 2)];
    assert!(all[0] != all[1] && all[0] != all[2] && all[1] != all[2]);
}

#[test]
fn a_preference_is_never_taken_for_that_of_a_contact_it_does_not_name() {
    let of = |entry: Value| {
        let value = json!({"contacts": [{"wa_id": MARIA, "user_id": "BR.1"}], "user_preferences": [entry]});
        said(&event(items(&body("user_preferences", &value)).remove(0))).address
    };
    let stop = |key: &str, id: &str| json!({key: id, "category": "marketing_messages", "value": "stop"});
    assert_eq!(of(stop("user_id", "BR.2")).as_str(), "BR.2");
    assert_eq!(of(stop("user_id", "BR.1")).as_str(), MARIA);
    assert_eq!(of(stop("x", "y")).as_str(), MARIA, "it names nobody");
    let beside_number =
        json!({"contacts": [{"wa_id": MARIA}], "user_preferences": [stop("user_id", "BR.2")]});
    let told = said(&event(items(&body("user_preferences", &beside_number)).remove(0)));
    assert_eq!(
        told.address.as_str(),
        "BR.2",
        "nobody says that they are one person"
    );
}

#[test]
fn preferences_that_say_nothing_of_marketing_are_left_alone() {
    for (entry, expected) in [
        (
            json!({"wa_id": MARIA, "category": "weather", "value": "stop"}),
            "preference weather",
        ),
        (
            json!({"wa_id": MARIA, "category": "marketing_messages", "value": "later"}),
            "preference marketing_messages",
        ),
        (
            json!({"category": "marketing_messages", "value": "stop"}),
            "preference of nobody",
        ),
        (json!("x"), "preference of nobody"),
    ] {
        assert_eq!(what(&preference(&entry)[0]), expected);
    }
    let empty = items(&body("user_preferences", &json!({})));
    assert_eq!(what(&empty[0]), "user_preferences without entries");
}

#[test]
fn echoes_of_the_phone_and_of_other_applications_are_the_businesss_words_to_the_contact() {
    let edit =
        json!({"original_message_id": "target", "message": {"type": "text", "text": {"body": "novo"}}});
    let echo = |kind: &str, of: Value| json!({"from": OWN, "to": MARIA, "id": "e", "type": kind, kind: of});
    for field in ["smb_message_echoes", "message_echoes"] {
        for (message, expected) in [
            (echo("text", json!({"body": "oi"})), Content::from_text("oi")),
            (
                echo("edit", edit.clone()),
                Content::Edit {
                    target: Some("target".to_owned()),
                    content: Box::new(Content::from_text("novo")),
                },
            ),
            (
                echo("revoke", json!({"original_message_id": "target"})),
                Content::Deletion {
                    target: Some("target".to_owned()),
                },
            ),
        ] {
            let found = items(&body(field, &json!({"message_echoes": [message]})));
            let message = said(&event(found.into_iter().next().unwrap()));
            assert_eq!(
                (message.address.as_str(), message.from_me),
                (MARIA, true),
                "{field}"
            );
            assert_eq!((message.content, message.name), (expected, None));
        }
    }
}

#[test]
fn an_echo_to_a_user_id_is_not_taken_for_one_to_whoever_else_is_named() {
    let echo = json!({"from": OWN, "to_user_id": "BR.1", "id": "e", "type": "text", "text": {"body": "oi"}});
    let value = json!({"contacts": [{"wa_id": "5511900000007"}], "message_echoes": [echo]});
    let message = said(&event(items(&body("smb_message_echoes", &value)).remove(0)));
    assert_eq!(message.address.as_str(), "BR.1");
}

#[test]
fn a_field_that_is_missing_is_told_by_what_is_in_the_value() {
    for (key, member, count) in [
        (
            "history",
            json!([{"threads": [{"id": MARIA, "messages": [text_of(MARIA, "a")]}]}]),
            1,
        ),
        (
            "message_echoes",
            json!([{"from": OWN, "to": MARIA, "id": "a", "type": "text", "text": {"body": "oi"}}]),
            1,
        ),
        ("user_preferences", json!([{"wa_id": MARIA, "value": "stop"}]), 1),
    ] {
        let value = json!({"metadata": {"phone_number_id": NUMBER}, key: member});
        let found = items(&json!({"entry": [{"changes": [{ "value": value }]}]}));
        let events = found.iter().filter(|item| matches!(item, WebhookItem::Event(_)));
        assert_eq!(events.count(), count, "{key}");
    }
}
