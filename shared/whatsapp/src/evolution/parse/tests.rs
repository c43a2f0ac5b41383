mod changes;
mod contents;
mod events;
mod kinds;
mod votes;

use super::*;
use proptest::prelude::*;
use recado_domain::event::EventPayload;
use recado_domain::event::derive_event_id;
use recado_domain::ids::{CorrelationId, EventId};
use recado_domain::inbound::InboundMessage;
use recado_domain::millis::from_unix_millis;

fn items(body: &Value) -> Vec<WebhookItem> {
    split_webhook(body.to_string().as_bytes(), from_unix_millis(1_760_000_000_000)).unwrap()
}

fn event(body: &Value) -> WebhookEvent {
    match items(body).remove(0) {
        WebhookItem::Event(event) => event,
        other => panic!("not an event: {other:?}"),
    }
}

fn read(event: &WebhookEvent) -> InboundEvent {
    let job = InboundJob {
        event: EventId::parse("0").unwrap(),
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
    interpret_event(&job, &event.payload)
}

fn said(body: &Value) -> InboundMessage {
    match read(&event(body)) {
        InboundEvent::Message(message) => *message,
        other => panic!("no message: {other:?}"),
    }
}

fn ignored(body: &Value) -> String {
    match items(body).remove(0) {
        WebhookItem::Ignored { what } => what,
        other => panic!("not ignored: {other:?}"),
    }
}

fn upsert(message: &Value) -> Value {
    json!({
        "event": "messages.upsert", "instance": "suporte-01", "apikey": "live-key", "server_url": "https://a.example",
        "destination": "https://b.example", "sender": "5511900000099@s.whatsapp.net",
        "data": {"key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "AB12"},
            "pushName": "Maria", "message": message, "messageTimestamp": 1_760_000_000}
    })
}

#[test]
fn the_instance_is_read_from_every_form_of_body() {
    for body in [
        json!({"event": "x", "instance": "suporte-01"}),
        json!({"event": "x", "instance": {"instanceName": "suporte-01"}}),
        json!({"instanceName": "suporte-01", "message": {"key": {}}}),
    ] {
        assert_eq!(
            read_instance_name(body.to_string().as_bytes()).unwrap().as_str(),
            "suporte-01",
            "{body}"
        );
    }
}

proptest! {
    #[test]
    fn the_instance_that_is_picked_is_the_one_that_is_built(
        members in prop::collection::vec(
            (
                prop::sample::select(vec!["instance", "instanceName", "\\u0069nstance", "x"]),
                prop::sample::select(vec![
                    "null", "1", "\"a\"", "\" b \"", "\"\"", "\"\\u0000\"", "\"\\ud83d\"", "[]", "[\"a\"]", "{}", "true",
                    r#"{"instanceName":"c"}"#, r#"{"instanceName":"c","instanceName":"d"}"#,
                    r#"{"instanceName":"c","instanceName":1}"#, r#"{"instanceName":"","x":"a"}"#,
                ]),
            ),
            0..5,
        ),
    ) {
        let members: Vec<String> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        let body = format!("{{{}}}", members.join(","));
        let built = instance_name_in_fields(&parse_json_object(body.as_bytes()).unwrap()).ok_or(NO_INSTANCE);
        prop_assert_eq!(read_instance_name(body.as_bytes()), built, "{}", body);
    }
}

#[test]
fn what_is_no_webhook_is_an_error_that_does_not_repeat_it() {
    let error = |body: &str| split_webhook(body.as_bytes(), Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(error("private"), WebhookParseError::NotJson);
    assert_eq!(error(""), WebhookParseError::NotJson);
    assert_eq!(error(&"[".repeat(100_000)), WebhookParseError::TooDeep);
    for body in [
        "[]",
        "1",
        "{}",
        r#"{"event":"x"}"#,
        r#"{"instance":"a"}"#,
        r#"{"event":"private","instance":"\n"}"#,
    ] {
        assert!(
            matches!(error(body), WebhookParseError::NotEnvelope { .. }),
            "{body}"
        );
        assert!(!error(body).to_string().contains("private"));
    }
}

#[test]
fn event_names_are_read_in_every_spelling() {
    for name in ["messages.upsert", "MESSAGES_UPSERT", "messages-upsert"] {
        let mut body = upsert(&json!({"conversation": "oi"}));
        body["event"] = json!(name);
        assert_eq!(event(&body).payload["event"], "messages.upsert");
    }
}

#[test]
fn credentials_servers_and_files_are_not_kept() {
    let body = upsert(&json!({"imageMessage": {"caption": "x", "jpegThumbnail": "AAAA"}, "base64": "BBBB"}));
    let payload = event(&body).payload.to_string();
    for gone in ["live-key", "a.example", "b.example", "AAAA", "BBBB"] {
        assert!(!payload.contains(gone), "{payload}");
    }
}

#[test]
fn a_message_is_known_again_by_its_id_through_webhooks_of_both_kinds() {
    let sent = upsert(&json!({"conversation": "oi"}));
    let mut api = sent.clone();
    api["event"] = json!("send.message");
    let external = ExternalId::parse("suporte-01").unwrap();
    assert_eq!(
        event(&sent).id,
        derive_event_id(Provider::Evolution, &external, EventKind::Message, "AB12")
    );
    assert_eq!(event(&sent).id, event(&api).id);
}

#[test]
fn without_an_id_the_body_decides_whatever_server_sent_it() {
    let mut one = upsert(&json!({"conversation": "oi"}));
    one["data"]["key"] = json!({"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false});
    let mut again = one.clone();
    again["server_url"] = json!("https://c.example");
    again["apikey"] = json!("other");
    let mut other = one.clone();
    other["data"]["message"]["conversation"] = json!("olá");
    assert_eq!(event(&one).id, event(&again).id);
    assert_ne!(event(&one).id, event(&other).id);
}

#[test]
fn metadata_alone_is_no_message() {
    for message in [
        json!({}),
        json!(null),
        json!({"protocolMessage": {"type": "REVOKE"}}),
        json!({"protocolMessage": {"type": "APP_STATE_SYNC_KEY_SHARE", "key": {"id": "A"}}}),
        json!({"senderKeyDistributionMessage": {}, "messageContextInfo": {}}),
        json!({"ephemeralMessage": {"message": {"protocolMessage": {"type": 5}}}}),
        json!({"editedMessage": {"message": {"protocolMessage": {"editedMessage": {"messageContextInfo": {}}}}}}),
    ] {
        assert_eq!(ignored(&upsert(&message)), "message without content", "{message}");
    }
}

#[test]
fn every_status_has_its_place() {
    let update = |status: Value| {
        json!({"event": "messages.update", "instance": "suporte-01",
        "data": {"keyId": "AB12", "messageId": "row", "fromMe": true, "status": status}})
    };
    for (written, expected) in [
        (json!("SERVER_ACK"), "Sent"),
        (json!(2), "Sent"),
        (json!("DELIVERY_ACK"), "Delivered"),
        (json!(3), "Delivered"),
        (json!("READ"), "Read"),
        (json!(4), "Read"),
        (json!("PLAYED"), "Played"),
        (json!("5"), "Played"),
    ] {
        let Some(WebhookItem::Status(status)) = items(&update(written.clone())).pop() else {
            panic!("{written}")
        };
        assert_eq!(format!("{:?}", status.status), expected);
        assert_eq!(status.at, from_unix_millis(1_760_000_000_000));
    }
    assert_eq!(ignored(&update(json!("DELETED"))), "status deleted");
    assert_eq!(ignored(&update(json!("PENDING"))), "status pending");
    assert_eq!(ignored(&update(json!(null))), "update without a status");
    assert_eq!(event(&update(json!("ERROR"))).kind, EventKind::Failed);
    assert_eq!(event(&update(json!(0))).kind, EventKind::Failed);
}

#[test]
fn the_same_connection_state_comes_again_later_as_another_event() {
    let body = |time: &str| {
        json!({"event": "connection.update", "instance": "suporte-01", "date_time": time,
        "apikey": time, "data": {"instance": "suporte-01", "state": "open", "profileName": "Clínica"}})
    };
    assert_eq!(event(&body("t1")).id, event(&body("t1")).id);
    assert_ne!(event(&body("t1")).id, event(&body("t2")).id);
    assert!(!event(&body("t1")).payload.to_string().contains("Clínica"));
}

#[test]
fn unknown_events_are_ignored_by_name_unless_the_name_is_not_one() {
    let body = |name: &str| json!({"event": name, "instance": "suporte-01", "data": null});
    assert_eq!(ignored(&body("presence.update")), "presence.update");
    assert_eq!(ignored(&body("messages.set")), "messages.set");
    assert_eq!(ignored(&body("messages.edited")), "messages.edited");
    assert_eq!(ignored(&body("Maria Silva")), "unknown");
}
