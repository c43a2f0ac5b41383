//! Events as a provider's webhooks bring them.

use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::StatusUpdate;
use recado_domain::event::{EventKind, event_id};
use recado_domain::ids::ExternalId;
use recado_domain::inbound::WebhookEvent;
use recado_domain::provider::Provider;
use serde_json::{Value, json};

/// A message as a provider's webhook tells it.
#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    /// The provider's id.
    pub id: &'a str,
    /// The words.
    pub text: &'a str,
    /// From the business's side.
    pub from_me: bool,
    /// When, by the provider's clock.
    pub sent_at: Option<Timestamp>,
}

impl Said<'_> {
    /// Its event.
    pub fn event(&self, provider: Provider, external: &ExternalId, address: &ContactAddress) -> WebhookEvent {
        let payload = json!({
            "id": self.id, "text": self.text, "from_me": self.from_me, "address": address.as_str(),
            "sent_at": self.sent_at.map(jiff::Timestamp::as_millisecond),
        });
        WebhookEvent {
            id: event_id(provider, external, EventKind::Message, self.id),
            provider,
            external: external.clone(),
            kind: EventKind::Message,
            address: Some(address.clone()),
            payload,
            lookalike: false,
        }
    }
}

/// An event that says what the connection is; only that it came counts.
pub fn connection_event(provider: Provider, external: &ExternalId, number: u64, open: bool) -> WebhookEvent {
    WebhookEvent {
        id: event_id(
            provider,
            external,
            EventKind::Connection,
            &format!("{number}-{open}"),
        ),
        provider,
        external: external.clone(),
        kind: EventKind::Connection,
        address: None,
        payload: json!({ "open": open }),
        lookalike: false,
    }
}

/// An accepted message failed after all.
pub fn failed_event(
    provider: Provider,
    external: &ExternalId,
    update: &StatusUpdate,
    address: &ContactAddress,
) -> WebhookEvent {
    let mut payload = serde_json::to_value(update).unwrap_or(Value::Null);
    payload["to"] = Value::from(address.as_str());
    WebhookEvent {
        id: event_id(
            provider,
            external,
            EventKind::Failed,
            update
                .provider_message_id
                .as_deref()
                .unwrap_or(update.key.as_str()),
        ),
        provider,
        external: external.clone(),
        kind: EventKind::Failed,
        address: Some(address.clone()),
        payload,
        lookalike: false,
    }
}
