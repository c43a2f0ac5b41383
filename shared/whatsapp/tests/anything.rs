//! Whatever is posted, reading it ends in a value or an error.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use jiff::Timestamp;
use proptest::prelude::*;
use recado_domain::event::{EventKind, EventPayload, InboundJob};
use recado_domain::ids::{CorrelationId, EventId, ExternalId};
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_whatsapp::{WebhookParseError, dialog360, evolution, interpret_event, split_webhook};
use serde_json::{Value, json};

/// Names that the parsers look at, so that chance gets past the envelope.
const KEYS: [&str; 52] = [
    "event",
    "instance",
    "data",
    "key",
    "message",
    "remoteJid",
    "remoteJidAlt",
    "fromMe",
    "id",
    "keyId",
    "status",
    "messageTimestamp",
    "conversation",
    "ephemeralMessage",
    "editedMessage",
    "imageMessage",
    "reactionMessage",
    "entry",
    "changes",
    "value",
    "field",
    "metadata",
    "phone_number_id",
    "messages",
    "statuses",
    "contacts",
    "from",
    "wa_id",
    "type",
    "text",
    "body",
    "interactive",
    "nfm_reply",
    "response_json",
    "errors",
    "code",
    "timestamp",
    "low",
    "high",
    "edit",
    "protocolMessage",
    "timestampMs",
    "contextInfo",
    "quotedMessage",
    "externalAdReply",
    "contactMessage",
    "vcard",
    "pollUpdates",
    "voters",
    "interactiveMessage",
    "nativeFlowMessage",
    "buttons",
];

const TEXTS: [&str; 22] = [
    "messages.upsert",
    "messages.update",
    "connection.update",
    "suporte-01",
    "5511900000001@s.whatsapp.net",
    "1@lid",
    "@s.whatsapp.net",
    "messages",
    "100000000000001",
    "ERROR",
    "failed",
    "edit",
    "interactive",
    "BR.1",
    "-1",
    "{}",
    "messages.edited",
    "messages.delete",
    "messages.set",
    "REVOKE",
    "EPHEMERAL_SETTING",
    "BEGIN:VCARD\nN:;é\nTEL;x=\"\":=C3\\\nEND:VCARD",
];

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(&TEXTS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 96, 6, |inner| {
        let key =
            prop_oneof![4 => prop::sample::select(&KEYS[..]).prop_map(str::to_owned), 1 => any::<String>()];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn job(provider: Provider, kind: EventKind, payload: &Value) -> InboundJob {
    InboundJob {
        event: EventId::parse("0").unwrap(),
        provider,
        external: ExternalId::parse("suporte-01").unwrap(),
        kind,
        group: String::new(),
        correlation: CorrelationId::parse("test").unwrap(),
        parent: None,
        received_at: Timestamp::UNIX_EPOCH,
        payload: EventPayload::Inline(payload.clone()),
        lookalike: false,
        has_file: false,
        redrive: None,
    }
}

/// Reads a body without an envelope, as on-premise numbers of 360dialog post it.
fn read_on_premise(body: &Value) {
    let number = ExternalId::parse("1").unwrap();
    let body = body.to_string();
    dialog360::read_addressed_numbers(body.as_bytes()).unwrap();
    for item in dialog360::split_webhook(body.as_bytes(), Some(&number), Timestamp::UNIX_EPOCH).unwrap() {
        if let WebhookItem::Event(event) = item {
            interpret_event(
                &job(Provider::Dialog360, event.kind, &event.payload),
                &event.payload,
            );
        }
    }
}

/// Reads a body with every provider, and every event and the body itself as a payload.
fn read(body: &Value) {
    for provider in Provider::ALL {
        let items =
            split_webhook(provider, body.to_string().as_bytes(), Timestamp::UNIX_EPOCH).unwrap_or_default();
        for item in items {
            if let WebhookItem::Event(event) = item {
                interpret_event(&job(provider, event.kind, &event.payload), &event.payload);
            }
        }
        for kind in [EventKind::Message, EventKind::Failed, EventKind::Connection] {
            interpret_event(&job(provider, kind, body), body);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes(body: Vec<u8>) {
        for provider in Provider::ALL {
            split_webhook(provider, &body, Timestamp::UNIX_EPOCH).ok();
        }
        evolution::read_instance_name(&body).ok();
        dialog360::read_addressed_numbers(&body).ok();
    }

    #[test]
    fn any_json(body in json()) {
        read(&body);
    }

    #[test]
    fn an_envelope_around_any_json(part in json(), message in json()) {
        let key = json!({"remoteJid": "5511900000001@s.whatsapp.net", "id": "A"});
        for event in ["messages.upsert", "send.message", "messages.set", "messages.update", "messages.edited",
            "messages.delete", "connection.update"] {
            read(&json!({"event": event, "instance": "suporte-01", "data": part}));
            read(&json!({"event": event, "instance": "suporte-01", "data": {"key": key, "editedMessage": message,
                "type": part, "remoteJid": "5511900000001@s.whatsapp.net", "id": "A", "pollUpdates": part}}));
            read(&json!({"event": event, "instance": "suporte-01", "data": {"key": key, "message": message, "status": part}}));
        }
        let value = json!({"metadata": {"phone_number_id": "1"}, "messages": [part, {"from": "1", "type": "text", "text": part}],
            "statuses": [message], "contacts": part});
        let entry = json!({"changes": [{"field": "messages", "value": value}]});
        read(&json!({"entry": [entry]}));
        read_on_premise(&value);
        read(&json!({"Type": "Notification", "Message": json!({"whatsAppWebhookEntry": entry.to_string(),
            "context": {"MetaPhoneNumberIds": part}}).to_string()}));
        read(&json!({"Type": "Notification", "Message": json!({"whatsAppWebhookEntry": part}).to_string()}));
        read(&json!({"entry": [{"changes": [{"field": "messages", "value": value}]}]}));
        let past = json!({"id": "2", "messages": [part, {"from": "1", "type": "text", "text": message}]});
        for (field, value) in [
            ("history", json!({"metadata": {"phone_number_id": "1", "display_phone_number": part}, "history": [{"threads": [past], "errors": [message]}]})),
            ("user_preferences", json!({"metadata": {"phone_number_id": "1"}, "user_preferences": [part, message], "contacts": message})),
            ("message_echoes", json!({"metadata": {"phone_number_id": "1"}, "message_echoes": [part, {"to": "1", "type": "interactive", "interactive": message}]})),
            ("account_update", part.clone()),
            ("message_template_status_update", message.clone()),
        ] {
            read(&json!({"entry": [{"id": "1", "time": part, "changes": [{"field": field, "value": value}]}]}));
        }
    }
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    for (open, close) in [("[", "]"), (r#"{"message":"#, "}")] {
        let body = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        for provider in Provider::ALL {
            assert_eq!(
                split_webhook(provider, body.as_bytes(), Timestamp::UNIX_EPOCH).unwrap_err(),
                WebhookParseError::TooDeep
            );
        }
    }
}
