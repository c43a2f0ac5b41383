//! Events as a provider's webhooks bring them.

use super::CLOUD;
use crate::person::Shows;
use jiff::Timestamp;
use recado_domain::contact::ContactAddress;
use recado_domain::delivery::StatusUpdate;
use recado_domain::event::{EventKind, derive_event_id};
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

/// The file that a webhook holds: the beginning of a PNG, as Base64.
const INLINE_FILE: &str = "iVBORw0KGgo=";

/// Whether the webhook of this message holds its file. Its provider gives it to nobody then.
pub(super) fn holds_file(text: &str) -> bool {
    text.ends_with("-inline-photo")
}

impl Said<'_> {
    /// Its event, in the chat of the person who has this number.
    pub fn event_in(
        &self,
        provider: Provider,
        external: &ExternalId,
        number: &ContactAddress,
        shows: Shows,
    ) -> WebhookEvent {
        let (address, also) = shows.names(number);
        let mut event = self.event(provider, external, &address);
        if let Some(also) = also {
            event.payload["also"] = also.as_str().into();
        }
        event
    }

    /// Its event.
    pub fn event(&self, provider: Provider, external: &ExternalId, address: &ContactAddress) -> WebhookEvent {
        let payload = json!({
            "id": self.id, "text": self.text, "from_me": self.from_me, "address": address.as_str(),
            "sent_at": self.sent_at.map(jiff::Timestamp::as_millisecond),
        });
        WebhookEvent {
            id: derive_event_id(provider, external, EventKind::Message, self.id),
            provider,
            external: external.clone(),
            kind: EventKind::Message,
            address: Some(address.clone()),
            payload,
            lookalike: false,
            file: holds_file(self.text).then(|| INLINE_FILE.to_owned()),
        }
    }
}

/// A message that was sent before is changed, as a provider's webhook tells it.
#[derive(Debug, Clone, Copy)]
pub struct Changed<'a> {
    /// The change as a message of its own: its new words.
    pub said: Said<'a>,
    /// The provider's id of the message.
    pub target: &'a str,
    /// Whether it is taken back.
    pub deletes: bool,
    /// Whether the body tells the two sides exchanged, as a linked phone's may.
    pub crossed: bool,
}

impl Changed<'_> {
    /// Its event. A linked phone's tells no id of its own, and the queue orders it by itself.
    pub fn event(&self, provider: Provider, external: &ExternalId, address: &ContactAddress) -> WebhookEvent {
        let mut event = self.said.event(provider, external, address);
        event.payload["target"] = self.target.into();
        event.payload["deletes"] = self.deletes.into();
        if provider != CLOUD {
            event.payload["id"] = Value::Null;
            event.address = ContactAddress::parse(&format!("{}@change", self.target));
            if self.crossed {
                event.payload["told_as"] = "5500999999999@s.whatsapp.net".into();
            }
        }
        event
    }
}

/// An event that says what the connection is; only that it came counts.
pub fn connection_event(provider: Provider, external: &ExternalId, number: u64, open: bool) -> WebhookEvent {
    WebhookEvent {
        id: derive_event_id(
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
        file: None,
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
        id: derive_event_id(
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
        file: None,
    }
}
