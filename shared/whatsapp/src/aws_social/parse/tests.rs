use super::*;
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::{ExternalId, MessageId};
use recado_domain::inbound::WebhookEvent;
use recado_domain::millis::from_unix_millis;

const TOPIC: &str = "arn:aws:sns:sa-east-1:123456789012:recado";
const META: &str = "100000000000001";
const AWS: &str = "0123456789abcdef0123456789abcdef";

fn meta_entry(number: &str) -> Value {
    json!({"id": "200000000000001", "changes": [{"field": "messages", "value": {
        "messaging_product": "whatsapp", "metadata": {"phone_number_id": number},
        "messages": [{"from": "5511900000001", "id": "wamid.A", "timestamp": "1760000000", "type": "text",
            "text": {"body": "olá / \"oi\" 💻"}}]}}]})
}

fn aws_event(entry: &Value) -> Value {
    json!({
        "context": {
            "MetaWabaIds": [{"wabaId": "200000000000001", "arn": "arn:aws:social-messaging:sa-east-1:123456789012:waba/ff"}],
            "MetaPhoneNumberIds": [{"metaPhoneNumberId": META,
                "arn": format!("arn:aws:social-messaging:sa-east-1:123456789012:phone-number-id/{AWS}")}],
        },
        "whatsAppWebhookEntry": entry.to_string(),
        "aws_account_id": "123456789012",
        "message_timestamp": "2026-03-02T09:15:00.271279391Z",
    })
}

fn notification(topic: &str, event: &Value) -> Value {
    json!({"Type": "Notification", "MessageId": "m", "TopicArn": topic, "Message": event.to_string(),
        "Timestamp": "2026-03-02T09:15:00.000Z", "SignatureVersion": "1", "Signature": "s"})
}

fn items_of(body: &Value, topics: &str) -> Result<Vec<WebhookItem>, WebhookParseError> {
    split_queue_message(
        body.to_string().as_bytes(),
        &AllowedTopics::parse(topics),
        from_unix_millis(1_760_000_000_000),
    )
}

fn event(body: &Value) -> WebhookEvent {
    match items_of(body, "").unwrap().remove(0) {
        WebhookItem::Event(event) => event,
        other => panic!("not an event: {other:?}"),
    }
}

#[test]
fn a_number_is_called_by_awss_id() {
    let event = event(&notification(TOPIC, &aws_event(&meta_entry(META))));
    assert_eq!(event.provider, Provider::AwsSocial);
    assert_eq!(event.external.as_str(), AWS);
    assert_eq!(event.address.as_ref().unwrap().as_str(), "5511900000001");
    assert_eq!(event.payload["message"]["text"]["body"], "olá / \"oi\" 💻");
}

#[test]
fn a_number_that_the_context_does_not_name_keeps_metas_id() {
    assert_eq!(event(&aws_event(&meta_entry("7"))).external.as_str(), "7");
    let mut bare = aws_event(&meta_entry(META));
    for context in [
        json!(null),
        json!({}),
        json!({"MetaPhoneNumberIds": "x"}),
        json!({"MetaPhoneNumberIds": [{"metaPhoneNumberId": META}]}),
        json!({"MetaPhoneNumberIds": [{"metaPhoneNumberId": META, "arn": "arn:aws:x/"}]}),
    ] {
        bare["context"] = context;
        assert_eq!(event(&bare).external.as_str(), META);
    }
}

#[test]
fn delivered_raw_wrapped_or_as_an_object_it_is_the_same_event() {
    let raw = aws_event(&meta_entry(META));
    let mut object = raw.clone();
    object["whatsAppWebhookEntry"] = meta_entry(META);
    let mut numbered = raw.clone();
    numbered["messageId"] = json!("6d69f07a-0000-4000-8000-000000000000");
    let id = event(&raw).id;
    for same in [notification(TOPIC, &raw), object, numbered] {
        assert_eq!(event(&same).id, id);
    }
}

#[test]
fn an_event_of_another_topic_is_refused() {
    let body = notification(TOPIC, &aws_event(&meta_entry(META)));
    assert!(items_of(&body, TOPIC).is_ok());
    let refused = WebhookParseError::NotEnvelope {
        what: "its topic is not one of ours",
    };
    assert_eq!(
        items_of(&body, "arn:aws:sns:sa-east-1:123456789012:other").unwrap_err(),
        refused
    );
    let raw = aws_event(&meta_entry(META));
    assert_eq!(items_of(&raw, TOPIC).unwrap_err(), refused);
    assert!(items_of(&raw, "").is_ok());
}

#[test]
fn eventbridges_form_and_subscriptions_are_left_alone() {
    let what = |body: &Value| match items_of(body, "").unwrap().remove(0) {
        WebhookItem::Ignored { what } => what,
        other => panic!("not ignored: {other:?}"),
    };
    let bridge = json!({"version": "0", "detail-type": "WhatsApp Message Delivered", "source": "aws.social-messaging",
        "detail": {"messageId": "m", "status": "delivered"}});
    assert_eq!(what(&bridge), "event of EventBridge");
    assert_eq!(what(&notification(TOPIC, &bridge)), "event of EventBridge");
    assert_eq!(
        what(&json!({"Type": "SubscriptionConfirmation", "SubscribeURL": "https://example.org"})),
        "subscription to a topic"
    );
    assert_eq!(what(&aws_event(&json!({"id": "1"}))), "body without changes");
}

#[test]
fn what_cannot_be_read_is_an_error_that_repeats_nothing() {
    let mut broken = aws_event(&json!({}));
    broken["whatsAppWebhookEntry"] = json!("{\"private\": 5511900000001");
    let mut list = aws_event(&json!({}));
    list["whatsAppWebhookEntry"] = json!("[\"private\"]");
    for body in [
        broken.to_string(),
        list.to_string(),
        notification(TOPIC, &broken).to_string(),
        json!({"Type": "Notification", "Message": "private"}).to_string(),
        json!({"Type": "Notification", "private": 1}).to_string(),
        json!({"context": {}, "private": 1}).to_string(),
        "private".to_owned(),
        "[]".to_owned(),
    ] {
        let error =
            split_queue_message(body.as_bytes(), &AllowedTopics::default(), from_unix_millis(0)).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains("private") && !text.contains("55119"), "{text}");
    }
}

/// A send is answered with an id of AWS's own, and its statuses carry the `wamid`: our id in them ties the two.
#[test]
fn a_status_finds_its_message_by_our_id_and_else_by_metas() {
    let own = MessageId::parse("c_0123456789abcdef0123456789abcdef-1.7").unwrap();
    let status = |data: Option<&MessageId>| {
        let mut entry = meta_entry(META);
        let value = &mut entry["changes"][0]["value"];
        value.as_object_mut().unwrap().remove("messages");
        value["statuses"] = json!([{"id": "wamid.A", "status": "delivered", "timestamp": "1760000001",
            "recipient_id": "5511900000001", "biz_opaque_callback_data": data}]);
        match items_of(&notification(TOPIC, &aws_event(&entry)), "")
            .unwrap()
            .remove(0)
        {
            WebhookItem::Status(status) => status,
            other => panic!("not a status: {other:?}"),
        }
    };
    let told = status(Some(&own));
    let number = ExternalId::parse(AWS).unwrap();
    assert_eq!(
        told.key,
        DeliveryKey::from_own_id(Provider::AwsSocial, &number, &own)
    );
    assert_eq!(told.provider_message_id.as_deref(), Some("wamid.A"));
    let untold = status(None);
    let by_theirs = DeliveryKey::from_provider_id(Provider::AwsSocial, &number, "wamid.A");
    assert_eq!(untold.key, by_theirs);
}

#[test]
fn a_notice_counts_only_of_an_account_that_aws_names() {
    let told = |account: &str| {
        let entry = json!({"id": account, "changes": [{"field": "account_update", "value": {"event": "VERIFIED_ACCOUNT"}}]});
        items_of(&notification(TOPIC, &aws_event(&entry)), "")
            .unwrap()
            .remove(0)
    };
    assert!(matches!(told("200000000000001"), WebhookItem::Notice { .. }));
    assert!(matches!(told("200000000000002"), WebhookItem::Ignored { .. }));
}
