use super::*;
use crate::interpret_event;
use crate::meta::parse::{AddressedNumbers, read_addressed_numbers};
use recado_domain::content::{Content, MediaKind};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus};
use recado_domain::event::{EventKind, EventPayload, InboundJob};
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::{InboundEvent, InboundMessage, WebhookEvent};
use recado_domain::millis::from_unix_millis;
use recado_domain::reason::Reason;

const NUMBER: &str = "100000000000001";

fn number() -> ExternalId {
    ExternalId::parse(NUMBER).unwrap()
}

fn items(body: &Value) -> Vec<WebhookItem> {
    let body = body.to_string();
    split_webhook(
        body.as_bytes(),
        Some(&number()),
        from_unix_millis(1_760_000_000_000),
    )
    .unwrap()
}

fn event(body: &Value) -> WebhookEvent {
    match items(body).remove(0) {
        WebhookItem::Event(event) => event,
        other => panic!("not an event: {other:?}"),
    }
}

fn ignored(body: &Value) -> String {
    match items(body).remove(0) {
        WebhookItem::Ignored { what } => what,
        other => panic!("not ignored: {other:?}"),
    }
}

fn read(event: &WebhookEvent) -> InboundEvent {
    let job = InboundJob {
        event: event.id.clone(),
        provider: event.provider,
        external: event.external.clone(),
        kind: event.kind,
        group: "g".to_owned(),
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

/// What a message of an on-premise body says.
fn message(fields: &Value) -> InboundMessage {
    let mut message = json!({"from": "5511900000001", "id": "A41", "timestamp": "1760000000"});
    message
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    match read(&event(&json!({"messages": [message]}))) {
        InboundEvent::Message(message) => *message,
        other => panic!("not a message: {other:?}"),
    }
}

fn cloud(numbers: &[Option<&str>]) -> Value {
    let changes: Vec<Value> = numbers
        .iter()
        .map(|number| {
            let metadata = number.map(|id| json!({"phone_number_id": id}));
            json!({"field": "messages", "value": {"metadata": metadata, "messages": [
                {"from": "5511900000001", "id": format!("wamid.{number:?}"), "type": "text", "text": {"body": "oi"}}]}})
        })
        .collect();
    json!({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": changes}]})
}

#[test]
fn a_cloud_body_says_which_numbers_it_is_about() {
    let said = |body: &Value| read_addressed_numbers(body.to_string().as_bytes()).unwrap();
    let numbers = |ids: &[&str]| {
        AddressedNumbers::Numbers(ids.iter().map(|id| ExternalId::parse(id).unwrap()).collect())
    };
    assert_eq!(said(&cloud(&[Some("1"), Some("1")])), numbers(&["1"]));
    assert_eq!(said(&cloud(&[Some("1"), Some("2")])), numbers(&["1", "2"]));
    for unnamed in [
        cloud(&[Some("1"), None]),
        cloud(&[]),
        json!({}),
        json!([]),
        json!("x"),
        json!({"messages": [{"from": "5511900000001"}]}),
        json!({"entry": [{"changes": [{"field": "account_update", "value": {}}]}]}),
    ] {
        assert_eq!(said(&unnamed), AddressedNumbers::Unnamed, "{unnamed}");
    }
    assert_eq!(
        read_addressed_numbers(b"private").unwrap_err(),
        WebhookParseError::NotJson
    );
}

#[test]
fn json_that_is_no_object_is_left_alone_and_no_error() {
    for body in ["[]", r#""x""#, "1"] {
        let items = split_webhook(body.as_bytes(), Some(&number()), from_unix_millis(0)).unwrap();
        assert!(
            matches!(&items[..], [WebhookItem::Ignored { what }] if what == "body without changes"),
            "{body}"
        );
    }
    assert_eq!(
        split_webhook(b"x", None, from_unix_millis(0)).unwrap_err(),
        WebhookParseError::NotJson
    );
}

#[test]
fn a_cloud_body_is_metas_by_another_name() {
    let body = cloud(&[Some("100000000000002")]).to_string();
    let item = split_webhook(body.as_bytes(), None, from_unix_millis(0))
        .unwrap()
        .remove(0);
    let WebhookItem::Event(event) = item else {
        panic!("not an event: {item:?}")
    };
    assert_eq!(event.provider, Provider::Dialog360);
    assert_eq!(event.external.as_str(), "100000000000002");
}

#[test]
fn the_number_in_the_url_counts_whatever_the_body_says() {
    assert_eq!(event(&cloud(&[Some("100000000000002")])).external, number());
    let on_premise =
        json!({"messages": [{"from": "5511900000001", "id": "A", "type": "text", "text": {"body": "oi"}}]});
    assert_eq!(event(&on_premise).external, number());
    let nameless = split_webhook(on_premise.to_string().as_bytes(), None, from_unix_millis(0)).unwrap();
    assert!(
        matches!(&nameless[0], WebhookItem::Ignored { what } if what == "messages without a phone_number_id")
    );
}

#[test]
fn an_on_premise_message_may_come_without_contacts_or_with_one() {
    let alone = message(&json!({"type": "text", "text": {"body": "oi"}}));
    assert_eq!(
        (alone.name, alone.phone.as_deref()),
        (None, Some("+5511900000001"))
    );
    let both = json!({"contacts": [{"profile": {"name": "Maria"}, "wa_id": "5511900000001"}],
        "messages": [{"from": "5511900000001", "id": "A", "type": "text", "text": {"body": "oi"}}]});
    let InboundEvent::Message(named) = read(&event(&both)) else {
        panic!("not a message")
    };
    assert_eq!(named.name.as_deref(), Some("Maria"));
}

#[test]
fn a_user_without_a_number_is_known_by_from_bsuid() {
    let body = json!({"contacts": [{"profile": {"name": "Maria"}, "user_id": "BR.100000001"}],
        "messages": [{"from_bsuid": "BR.100000001", "id": "A", "type": "text", "text": {"body": "oi"}}]});
    assert_eq!(event(&body).address.unwrap().as_str(), "BR.100000001");
    let contact = json!({"contacts": [{"bsuid": "BR.100000001"}], "messages": [{"id": "A", "type": "text", "text": {"body": "oi"}}]});
    assert_eq!(event(&contact).address.unwrap().as_str(), "BR.100000001");
}

#[test]
fn groups_and_messages_of_nobody_are_left_alone() {
    let text = json!({"body": "oi"});
    assert_eq!(
        ignored(
            &json!({"messages": [{"from": "5511900000001", "group_id": "9", "id": "A", "type": "text", "text": text}]})
        ),
        "group message"
    );
    assert_eq!(
        ignored(
            &json!({"contacts": [{"profile": {"name": "Maria"}}], "messages": [{"id": "A", "type": "text", "text": text}]})
        ),
        "message without a sender"
    );
    assert_eq!(
        ignored(&json!({"event": "channel_created", "data": {}})),
        "body without changes"
    );
}

#[test]
fn a_media_id_counts_before_its_link_and_a_file_that_was_not_downloaded_has_neither() {
    let media = |fields: Value| match message(&fields).content {
        Content::Media(media) => media,
        other => panic!("not media: {other:?}"),
    };
    let link = "https://example.org/v1/media/41";
    let whole = media(
        json!({"type": "image", "image": {"file": "/tmp/41", "id": "m41", "link": link, "mime_type": "image/jpeg"}}),
    );
    assert_eq!(whole.source.as_deref(), Some("m41"));
    let linked = media(json!({"type": "video", "video": {"file": "/tmp/41", "link": link}}));
    assert_eq!(linked.source.as_deref(), Some(link));
    let missing = media(json!({"type": "document",
        "document": {"mime_type": "application/pdf", "filename": "a.pdf", "status": "undownloaded"}}));
    assert_eq!(
        (missing.source, missing.file_name.as_deref()),
        (None, Some("a.pdf"))
    );
    let voice =
        media(json!({"type": "voice", "voice": {"id": "m41", "mime_type": "audio/ogg; codecs=opus"}}));
    assert_eq!(voice.media, MediaKind::Voice);
}

#[test]
fn a_disappearing_message_is_what_it_holds() {
    let text = message(&json!({"type": "ephemeral", "text": {"body": "oi"}}));
    assert_eq!(text.content, Content::from_text("oi"));
    let empty = message(&json!({"type": "ephemeral"}));
    assert!(matches!(empty.content, Content::Unsupported { kind, .. } if kind == "ephemeral"));
}

#[test]
fn a_template_button_may_have_no_payload() {
    for button in [json!({"payload": null, "text": "Sim"}), json!({"text": "Sim"})] {
        let content = message(&json!({"type": "button", "button": button})).content;
        assert!(matches!(content, Content::Choice { title, id: None, .. } if title == "Sim"));
    }
}

#[test]
fn a_message_twice_in_one_body_is_one_event() {
    let message = json!({"from": "5511900000001", "id": "A", "type": "text", "text": {"body": "oi"}});
    let items = items(&json!({"messages": [message, message]}));
    assert!(matches!(&items[0], WebhookItem::Event(_)));
    assert!(matches!(&items[1], WebhookItem::Ignored { what } if what == "repeated in the body"));
}

#[test]
fn a_status_may_lack_its_time_and_its_recipient() {
    let body = json!({"statuses": [{"id": "gBGGFlAAAA", "status": "read"}]});
    let item = items(&body).remove(0);
    let WebhookItem::Status(status) = item else {
        panic!("not a status: {item:?}")
    };
    assert_eq!(status.status, DeliveryStatus::Read);
    assert_eq!(status.at, from_unix_millis(1_760_000_000_000));
    let key = DeliveryKey::from_provider_id(Provider::Dialog360, &number(), "gBGGFlAAAA");
    assert_eq!(status.key, key);
    assert_eq!(
        ignored(&json!({"statuses": [{"id": "gBGGFlAAAA", "status": "deleted"}]})),
        "status deleted"
    );
}

#[test]
fn a_failure_names_its_recipient_wherever_it_stands_and_its_reason_as_meta_does() {
    let body = json!({"statuses": [{"id": "gBGGFlAAAA", "status": "failed", "timestamp": "1760000001",
        "message": {"recipient_id": "5511900000001"}, "errors": [{"code": 470, "title": "Message failed to send"}]}]});
    let event = event(&body);
    assert_eq!(event.kind, EventKind::Failed);
    assert_eq!(event.address.as_ref().unwrap().as_str(), "5511900000001");
    let InboundEvent::Failed(failed) = read(&event) else {
        panic!("not a failure")
    };
    assert_eq!(failed.reason, Reason::WindowClosed);
}

#[test]
fn fields_that_are_no_lists_or_no_objects_are_read_without_a_panic() {
    for odd in [
        json!({"messages": "x"}),
        json!({"messages": [1, null, "x"]}),
        json!({"statuses": {"id": "a", "status": "read", "errors": 5, "message": 7}}),
        json!({"contacts": 1}),
        json!({"messages": {"from": "5511900000001", "id": "A", "type": 7}}),
        json!({"entry": "x", "messages": []}),
    ] {
        assert!(!items(&odd).is_empty(), "{odd}");
    }
}

#[test]
fn words_that_stand_where_their_object_should_be_are_words() {
    let said = message(&json!({"text": "confirm"}));
    assert_eq!(said.content, Content::from_text("confirm"));
    assert_eq!(
        message(&json!({"type": "text", "text": "confirm"})).content,
        said.content
    );
    assert!(matches!(
        message(&json!({"text": 7})).content,
        Content::Unsupported { .. }
    ));
}
