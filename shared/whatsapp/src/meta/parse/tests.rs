mod fields;
mod standby;
mod traps;

use super::*;
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::MessageId;
use recado_domain::inbound::WebhookEvent;
use recado_domain::millis::from_unix_millis;
use serde_json::json;

const NUMBER: &str = "100000000000001";
const OWN_ID: &str = "c_0123456789abcdef0123456789abcdef-1.7";

fn items(body: &Value) -> Vec<WebhookItem> {
    split_webhook(
        body.to_string().as_bytes(),
        None,
        from_unix_millis(1_760_000_000_000),
    )
    .unwrap()
}

fn body(value: &Value) -> Value {
    let mut value = value.clone();
    value["metadata"] = json!({"phone_number_id": NUMBER, "display_phone_number": "+55 11 90000-0099"});
    json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": [{"field": "messages", "value": value}]}]})
}

fn event(item: WebhookItem) -> WebhookEvent {
    match item {
        WebhookItem::Event(event) => event,
        other => panic!("not an event: {other:?}"),
    }
}

fn what(item: &WebhookItem) -> &str {
    match item {
        WebhookItem::Ignored { what } => what,
        other => panic!("not ignored: {other:?}"),
    }
}

fn address_of(message: &Value, contacts: &Value) -> Option<String> {
    match items(&body(&json!({"messages": [message], "contacts": contacts}))).remove(0) {
        WebhookItem::Event(event) => event.address.map(|address| address.as_str().to_owned()),
        _ => None,
    }
}

fn status(fields: &Value) -> StatusUpdate {
    match items(&body(&json!({"statuses": [fields]}))).remove(0) {
        WebhookItem::Status(status) => status,
        other => panic!("not a status: {other:?}"),
    }
}

#[test]
fn one_person_is_one_address_however_the_number_is_given() {
    let none = json!(null);
    let phone = Some("5511900000001".to_owned());
    let user = Some("BR.100000001".to_owned());
    let one = json!([{"wa_id": "5511900000001", "user_id": "BR.100000001"}]);
    assert_eq!(
        address_of(&json!({"id": "a", "from": "5511900000001"}), &none),
        phone
    );
    assert_eq!(
        address_of(
            &json!({"id": "a", "from": "+55 11 90000-0001", "from_user_id": "BR.100000001"}),
            &none
        ),
        phone
    );
    assert_eq!(
        address_of(&json!({"id": "a", "from_user_id": "BR.100000001"}), &one),
        phone
    );
    assert_eq!(
        address_of(&json!({"id": "a", "from": "BR.100000001"}), &one),
        phone
    );
    assert_eq!(
        address_of(&json!({"id": "a", "from": "BR.100000001"}), &none),
        user
    );
    assert_eq!(
        address_of(
            &json!({"id": "a", "from_user_id": "BR.100000001"}),
            &json!([{"user_id": "BR.100000001"}])
        ),
        user
    );
    assert_eq!(
        address_of(&json!({"id": "a"}), &json!([{"user_id": "BR.100000001"}])),
        user
    );
    assert_eq!(address_of(&json!({"id": "a"}), &none), None);
    let two = json!([{"wa_id": "5511900000002"}, {"wa_id": "5511900000003"}]);
    assert_eq!(address_of(&json!({"id": "a"}), &two), None);
}

/// What a message tells of its author beside the number.
fn also_of(message: &Value, contacts: &Value) -> Option<String> {
    let event = event(items(&body(&json!({"messages": [message], "contacts": contacts}))).remove(0));
    let said = fields::said(&event);
    assert!(said.numberless_identity.is_none() || !said.address.is_numberless());
    said.numberless_identity.map(|also| also.as_str().to_owned())
}

#[test]
fn a_message_that_shows_number_and_user_id_tells_both() {
    let user = Some("BR.100000001".to_owned());
    let pair = json!([{"wa_id": "5531980000001", "user_id": "BR.100000001"}]);
    for message in [
        json!({"id": "a", "from": "5531980000001"}),
        json!({"id": "a", "from": "553180000001"}),
        json!({"id": "a", "from_user_id": "BR.100000001"}),
        json!({"id": "a", "from": "BR.100000001"}),
    ] {
        assert_eq!(also_of(&message, &pair), user, "{message}");
    }
    let both = json!({"id": "a", "from": "5531980000001", "from_user_id": "BR.100000001"});
    assert_eq!(also_of(&both, &json!(null)), user);
}

#[test]
fn what_may_be_two_persons_is_not_told_as_one() {
    let pair = json!([{"wa_id": "5511900000002", "user_id": "BR.100000002"}]);
    let number = json!({"id": "a", "from": "5511900000001"});
    assert_eq!(also_of(&number, &pair), None, "the contact has another number");
    let nameless = json!([{"wa_id": "5511900000002"}]);
    let user = json!({"id": "a", "from_user_id": "BR.100000001"});
    assert_eq!(also_of(&user, &nameless), None, "the contact has no user id");
    assert_eq!(also_of(&user, &json!([{"user_id": "BR.100000001"}])), None);
    assert_eq!(also_of(&number, &json!([{"wa_id": "5511900000001"}])), None);
}

#[test]
fn a_message_is_never_filed_under_a_contact_that_is_somebody_else() {
    let one = json!([{"wa_id": "5511900000001", "user_id": "BR.1", "profile": {"name": "Ana"}}]);
    for (message, address) in [
        (json!({"id": "a", "from_user_id": "BR.2"}), "BR.2"),
        (json!({"id": "a", "from": "BR.2"}), "BR.2"),
        (
            json!({"id": "a", "from": "5511900000002", "from_user_id": "BR.2"}),
            "5511900000002",
        ),
        // The same phone, written without Brazil's ninth digit.
        (json!({"id": "a", "from": "551100000001"}), "551100000001"),
    ] {
        assert_eq!(address_of(&message, &one).as_deref(), Some(address), "{message}");
    }
    let named = |message: Value| {
        let body = body(&json!({"messages": [message], "contacts": one}));
        !event(items(&body).remove(0)).payload["contact"].is_null()
    };
    assert!(!named(json!({"id": "a", "from": "5511900000002"})));
    assert!(!named(json!({"id": "a", "from_user_id": "BR.2"})));
    assert!(named(json!({"id": "a", "from": "551100000001"})));
    assert!(named(json!({"id": "a", "from_user_id": "BR.1"})));
}

#[test]
fn half_an_emoji_loses_no_message() {
    let body = body(
        &json!({"messages": [{"id": "a", "from": "5511900000001", "type": "text", "text": {"body": "oi CUT"}}]}),
    );
    let cut = body.to_string().replace("CUT", r"\ud83d");
    let items = split_webhook(cut.as_bytes(), None, from_unix_millis(0)).unwrap();
    let payload = event(items.into_iter().next().unwrap()).payload;
    assert_eq!(payload["message"]["text"]["body"], "oi \u{fffd}");
}

#[test]
fn user_ids_are_told_from_numbers_and_names() {
    for yes in ["US.13491208655302741918", "BR.a1", "US.ENT.1181"] {
        assert!(is_user_id(yes), "{yes}");
    }
    for no in ["", "US.", "us.1", "USA.1", "5511900000001", "US.1.2", "US.a b"] {
        assert!(!is_user_id(no), "{no}");
    }
}

#[test]
fn a_message_repeated_in_one_body_is_one_event() {
    let message = json!({"id": "wamid.A", "from": "5511900000001", "type": "text", "text": {"body": "oi"}});
    let items = items(&body(&json!({"messages": [message, message]})));
    assert!(matches!(items[0], WebhookItem::Event(_)));
    assert_eq!(what(&items[1]), "repeated in the body");
}

#[test]
fn a_thousand_messages_and_statuses_keep_their_order() {
    let messages: Vec<Value> = (0..1000)
        .map(|n| json!({"id": format!("m{n}"), "from": "5511900000001"}))
        .collect();
    let statuses: Vec<Value> = (0..1000)
        .map(|n| json!({"id": format!("s{n}"), "status": "read"}))
        .collect();
    let items = items(&body(&json!({"messages": messages, "statuses": statuses})));
    assert_eq!(items.len(), 2000);
    let WebhookItem::Event(event) = &items[999] else {
        panic!()
    };
    assert_eq!(event.payload["message"]["id"], "m999");
    let WebhookItem::Status(status) = &items[1999] else {
        panic!()
    };
    assert_eq!(status.provider_message_id.as_deref(), Some("s999"));
}

#[test]
fn a_status_is_kept_under_our_own_id_where_meta_echoes_it() {
    let own = status(
        &json!({"id": "wamid.A", "status": "sent", "timestamp": "1760000001", "biz_opaque_callback_data": OWN_ID}),
    );
    let external = ExternalId::parse(NUMBER).unwrap();
    let own_id = MessageId::parse(OWN_ID).unwrap();
    assert_eq!(
        own.key,
        DeliveryKey::from_own_id(Provider::Meta, &external, &own_id)
    );
    assert_eq!(own.provider_message_id.as_deref(), Some("wamid.A"));
    assert_eq!(own.at, from_unix_millis(1_760_000_001_000));
    for foreign in [
        json!("campaign-7"),
        json!("c_x-1.2"),
        json!(""),
        json!(null),
        json!(7),
    ] {
        let other =
            status(&json!({"id": "wamid.A", "status": "played", "biz_opaque_callback_data": foreign}));
        assert_eq!(
            other.key,
            DeliveryKey::from_provider_id(Provider::Meta, &external, "wamid.A")
        );
        assert_eq!(
            (other.status, other.at),
            (DeliveryStatus::Played, from_unix_millis(1_760_000_000_000))
        );
    }
}

#[test]
fn only_a_failure_is_an_event_and_unknown_words_are_ignored() {
    let failed = json!({"id": "wamid.A", "status": "failed", "recipient_id": "5511900000001",
        "errors": [{"code": 131_047, "title": "Re-engagement", "error_data": {"details": "to 5511900000001, too late"}}]});
    let failed = event(items(&body(&json!({"statuses": [failed]}))).remove(0));
    assert_eq!(failed.kind, EventKind::Failed);
    // For whom it was, and nowhere else: only sends to the same contact are waited for.
    let payload = failed.payload.to_string();
    assert_eq!(payload.matches("5511900000001").count(), 1);
    assert_eq!(failed.payload["status"]["recipient_id"], "5511900000001");
    assert_eq!(
        failed.payload["status"]["errors"][0]["details"],
        "to ***, too late"
    );
    for (word, expected) in [
        ("deleted", "status deleted"),
        ("in_orbit", "status in_orbit"),
        ("5511900000001", "status unknown"),
        ("", "status without a word"),
    ] {
        let items = items(&body(&json!({"statuses": [{"id": "a", "status": word}]})));
        assert_eq!(what(&items[0]), expected);
    }
}

#[test]
fn what_is_not_understood_is_ignored_by_name_and_never_an_error() {
    let ignored = |body: Value| what(&items(&body)[0]).to_owned();
    assert_eq!(ignored(json!({})), "body without changes");
    assert_eq!(ignored(json!({"entry": {}})), "body without changes");
    assert_eq!(ignored(json!({"entry": "x"})), "body without changes");
    assert_eq!(
        ignored(json!({"entry": [{"field": "account_update", "changes": [{"value": {}}]}]})),
        "account_update"
    );
    assert_eq!(
        ignored(json!({"entry": [{"changes": [{"value": {"field": "account_update"}}]}]})),
        "account_update"
    );
    assert_eq!(
        ignored(json!({"entry": [{"changes": [{"field": "Maria", "value": {}}]}]})),
        "unknown"
    );
    assert_eq!(ignored(json!({"entry": [{"changes": [{}]}]})), "unknown");
    assert_eq!(ignored(body(&json!({}))), "messages without messages");
    assert_eq!(
        ignored(body(&json!({"errors": [{"code": 130_429}]}))),
        "error 130429"
    );
    assert_eq!(
        ignored(body(
            &json!({"messages": [{"group_id": "g", "from": "1", "id": "a"}]})
        )),
        "group message"
    );
    let nameless =
        json!({"entry": [{"changes": [{"value": {"messages": [{"id": "a", "from": "5511900000001"}]}}]}]});
    assert_eq!(ignored(nameless), "messages without a phone_number_id");
    for no_object in [json!([]), json!("x"), json!(null), json!([{"entry": []}])] {
        assert_eq!(ignored(no_object), "body without changes");
    }
    assert_eq!(
        split_webhook(b"private", None, from_unix_millis(0)).unwrap_err(),
        WebhookParseError::NotJson
    );
}

#[test]
fn an_entry_a_change_and_a_message_may_come_without_their_lists() {
    let message = json!({"id": 7, "from": "5511900000001", "type": "text", "text": {"body": "oi"}});
    let value = json!({"metadata": {"phone_number_id": 100_000_000_000_001_i64}, "messages": message});
    let found = event(items(&json!({"entry": {"changes": {"field": "messages", "value": value}}})).remove(0));
    assert_eq!(found.external.as_str(), NUMBER);
}

#[test]
fn what_has_neither_an_id_nor_a_time_may_look_like_another() {
    let lookalike =
        |message: &Value| event(items(&body(&json!({"messages": [message]}))).remove(0)).lookalike;
    let said = json!({"from": "5511900000001", "type": "text", "text": {"body": "Oi"}});
    assert!(lookalike(&said));
    for (field, value) in [("id", "wamid.A"), ("timestamp", "1760000000")] {
        let mut said = said.clone();
        said[field] = json!(value);
        assert!(!lookalike(&said), "{field}");
    }
}
