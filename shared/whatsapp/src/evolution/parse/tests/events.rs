use super::*;
use recado_domain::typing::TypingState;

fn body(event: &str, data: Value) -> Value {
    let mut body = json!({"event": event, "instance": "suporte-01"});
    body["data"] = data;
    body
}

#[test]
fn what_is_of_no_use_is_told_by_a_word_that_stays_the_same() {
    let object = json!({"remoteJid": "5511900000001@s.whatsapp.net", "pushName": "Maria"});
    let many = json!([object, object]);
    for (name, word) in [
        ("contacts.upsert", "contacts.upsert"),
        ("contacts.update", "contacts.update"),
        ("contacts.set", "contacts.set"),
        ("chats.set", "chats.set"),
        ("chats.upsert", "chats.upsert"),
        ("chats.update", "chats.update"),
        ("chats.delete", "chats.delete"),
        ("groups.upsert", "groups.upsert"),
        ("groups.update", "groups.update"),
        ("group-participants.update", "group.participants.update"),
        ("presence.update", "presence.update"),
        ("call", "call"),
        ("labels.edit", "labels.edit"),
        ("labels.association", "labels.association"),
        ("typebot.start", "typebot.start"),
        ("typebot.change-status", "typebot.change.status"),
        ("qrcode.updated", "qrcode.updated"),
        ("status.instance", "status.instance"),
        ("instance.create", "instance.create"),
        ("instance.delete", "instance.delete"),
        ("remove.instance", "remove.instance"),
        ("logout.instance", "logout.instance"),
        ("messaging-history.set", "messaging.history.set"),
        ("application.startup", "application.startup"),
        ("creds.update", "creds.update"),
    ] {
        for data in [object.clone(), many.clone(), json!(null), json!([]), json!("x")] {
            let body = body(name, data);
            assert_eq!(items(&body).len(), 1);
            assert_eq!(ignored(&body), word);
        }
    }
}

#[test]
fn who_types_or_records_and_who_stopped_is_read_of_chats_with_one_person() {
    let states = |jid: &str, presence: &str| -> Vec<(String, TypingState)> {
        let data = json!({"id": jid, "presences": {jid: {"lastKnownPresence": presence, "lastSeen": 1}}});
        let found = items(&body("presence.update", data));
        let of_item = |item| match item {
            WebhookItem::Typing(update) => Some((update.address.as_str().to_owned(), update.state)),
            _ => None,
        };
        found.into_iter().filter_map(of_item).collect()
    };
    let jid = "100000000000001@lid";
    for (presence, state) in [
        ("composing", TypingState::Typing),
        ("recording", TypingState::Typing),
        ("paused", TypingState::Paused),
        ("available", TypingState::Paused),
        ("unavailable", TypingState::Paused),
    ] {
        assert_eq!(states(jid, presence), [(jid.to_owned(), state)], "{presence}");
    }
    assert_eq!(states(jid, "dancing"), []);
    assert_eq!(states("120363041000000001@g.us", "composing"), []);
}

#[test]
fn the_error_webhook_names_no_instance_and_is_refused_without_repeating_its_key() {
    let body = json!({"event": "error", "data": {"error": "Internal Server Error", "message": "private", "status": 500},
        "date_time": "t", "api_key": "global-key", "server_url": "https://a.example"});
    let body = body.to_string();
    assert_eq!(read_instance_name(body.as_bytes()).unwrap_err(), NO_INSTANCE);
    let error = split_webhook(body.as_bytes(), Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(error, NO_INSTANCE);
    assert!(!error.to_string().contains("global-key"));
}

#[test]
fn a_history_is_read_message_by_message_oldest_first() {
    let message = |id: &str, at: Value| {
        json!({"key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": id},
            "message": {"conversation": id}, "messageTimestamp": at})
    };
    let group = json!({"key": {"remoteJid": "1@g.us", "id": "G"}, "message": {"conversation": "x"}, "messageTimestamp": 1});
    let body = json!({"isLatest": true, "progress": 100, "event": "messages.set", "instance": "suporte-01", "data": [
        message("NEW", json!(1_760_000_300)), message("MIDDLE", json!("1760000200")),
        message("OLD", json!({"low": 1_760_000_100, "high": 0, "unsigned": true})), group]});
    let read: Vec<String> = items(&body)
        .iter()
        .map(|item| match item {
            WebhookItem::Event(event) => event.payload["data"]["key"]["id"].as_str().unwrap().to_owned(),
            WebhookItem::Ignored { what } => what.clone(),
            WebhookItem::Status(_) | WebhookItem::ChargedStatus { .. } => "status".to_owned(),
            WebhookItem::Notice { .. } => "notice".to_owned(),
            WebhookItem::Typing(_) => "typing".to_owned(),
        })
        .collect();
    assert_eq!(read, ["group message", "OLD", "MIDDLE", "NEW"]);
    let upserted = event(
        &json!({"event": "messages.upsert", "instance": "suporte-01", "data": message("OLD", json!(0))}),
    );
    let WebhookItem::Event(of_history) = &items(&body)[1] else {
        panic!("no event")
    };
    assert_eq!(of_history.id, upserted.id);
}

#[test]
fn times_are_read_in_every_form() {
    for written in [
        json!(1_760_000_000),
        json!("1760000000"),
        json!(1_760_000_000_000_i64),
        json!({"low": 1_760_000_000, "high": 0, "unsigned": true}),
    ] {
        let mut body = upsert(&json!({"conversation": "oi"}));
        body["data"]["messageTimestamp"] = written;
        assert_eq!(said(&body).sent_at, Some(from_unix_millis(1_760_000_000_000)));
    }
    let mut body = upsert(&json!({"conversation": "oi"}));
    body["data"]["messageTimestamp"] = json!(null);
    assert_eq!(said(&body).sent_at, None);
    // The server's local time with a false `Z` is never taken for it.
    body["date_time"] = json!("2026-03-02T09:15:00.000Z");
    assert_eq!(said(&body).sent_at, None);
}

#[test]
fn the_row_of_the_database_is_never_taken_for_the_message() {
    let update = body(
        "messages.update",
        json!({"messageId": "cm0000000000000000000001", "id": "cm2", "keyId": "AB12",
        "remoteJid": "5511900000001:75@s.whatsapp.net", "fromMe": true, "status": "READ"}),
    );
    let Some(WebhookItem::Status(by_key)) = items(&update).pop() else {
        panic!("no status")
    };
    let first = body(
        "messages.update",
        json!({"id": "AB12", "fromMe": true, "status": "READ", "datetime": 1_760_000_100_000_i64}),
    );
    let Some(WebhookItem::Status(by_id)) = items(&first).pop() else {
        panic!("no status")
    };
    assert_eq!(by_key.key, by_id.key);
    assert_eq!(by_id.at, from_unix_millis(1_760_000_100_000));
}

#[test]
fn states_of_the_connection_are_asked_for_whatever_they_are_called() {
    for state in ["open", "close", "connecting", "refused"] {
        let update = body(
            "connection.update",
            json!({"instance": "suporte-01", "state": state, "statusReason": 200}),
        );
        assert_eq!(event(&update).kind, EventKind::Connection);
    }
}

#[test]
fn what_the_api_sent_is_from_the_business_even_where_the_key_does_not_say() {
    let mut body = upsert(&json!({"conversation": "Olá"}));
    body["event"] = json!("send.message");
    body["data"]["status"] = json!("PENDING");
    assert!(said(&body).from_me);
}

#[test]
fn what_has_neither_an_id_nor_a_time_may_look_like_another() {
    let key =
        |id: Option<&str>| json!({"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": id});
    let said = |id, time: Value| json!({"key": key(id), "message": {"conversation": "Oi"}, "messageTimestamp": time});
    let lookalike = |body: &Value| event(body).lookalike;
    let worker = |message: Value| json!({"instanceName": "suporte-01", "message": message});
    assert!(lookalike(&worker(said(None, json!(null)))));
    assert!(!lookalike(&worker(said(None, json!(1_760_000_000)))));
    assert!(!lookalike(&worker(said(Some("A1"), json!(null)))));
    let mut dated = body("messages.upsert", said(None, json!(null)));
    assert!(lookalike(&dated));
    dated["date_time"] = json!("2025-10-09T08:53:20.000Z");
    assert!(!lookalike(&dated));
    let mut open = body("connection.update", json!({"state": "open"}));
    assert!(lookalike(&open));
    open["date_time"] = json!("2025-10-09T08:53:20.000Z");
    assert!(!lookalike(&open));
}
