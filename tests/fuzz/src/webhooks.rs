//! Splits a webhook body and reads every event in it, as the webhook function and the processor do.

use recado_domain::event::{EventPayload, InboundJob};
use recado_domain::ids::CorrelationId;
use recado_domain::inbound::{InboundEvent, WebhookEvent, WebhookItem};
use recado_domain::millis;
use recado_domain::provider::Provider;
use recado_whatsapp::{interpret_event, split_webhook};
use serde_json::json;

/// Reads a body of a provider.
pub(crate) fn read_body(provider: Provider, body: &[u8]) {
    if let Ok(items) = split_webhook(provider, body, millis::from_unix_millis(1_772_443_000_000)) {
        assert!(!items.is_empty(), "a body without a result");
        for item in &items {
            if let WebhookItem::Event(event) = item {
                read(event);
            }
        }
    }
}

/// Reads a contact card within a webhook.
pub(crate) fn read_vcard(vcard: &[u8]) {
    let card = json!({"displayName": "", "vcard": String::from_utf8_lossy(vcard)});
    let body = json!({"event": "messages.upsert", "instance": "line", "data": {
        "key": {"remoteJid": "5511900000001@s.whatsapp.net", "fromMe": false, "id": "A1"},
        "messageTimestamp": 1_772_443_000, "messageType": "contactMessage",
        "message": {"contactMessage": card}}});
    read_body(Provider::Evolution, body.to_string().as_bytes());
}

fn read(event: &WebhookEvent) {
    let job = InboundJob {
        event: event.id.clone(),
        provider: event.provider,
        external: event.external.clone(),
        kind: event.kind,
        group: "group".to_owned(),
        correlation: CorrelationId::parse("fuzz").expect("an id"),
        parent: None,
        received_at: millis::from_unix_millis(1_772_443_000_000),
        payload: EventPayload::Inline(event.payload.clone()),
        lookalike: false,
        has_file: false,
        redrive: None,
    };
    if let InboundEvent::Message(message) = interpret_event(&job, &event.payload) {
        // What a model and an operator read, and what is stored.
        let _ = (message.context.render_text(), message.content.render_text());
        let stored = serde_json::to_string(&message.content).expect("content is JSON");
        let again = serde_json::from_str(&stored).expect("content is read again");
        assert_eq!(
            message.content, again,
            "content changed on its way through the store"
        );
    }
}
