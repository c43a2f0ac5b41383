//! What an event's body says, as the simulated providers write it.

use super::CLOUD;
use super::provider::FakeServices;
use recado_domain::contact::ContactAddress;
use recado_domain::content::{Content, Media, MediaKind};
use recado_domain::context::MessageContext;
use recado_domain::event::{EventKind, InboundJob};
use recado_domain::inbound::{FailedDelivery, InboundEvent, InboundMessage};
use recado_domain::millis::from_unix_millis;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use serde_json::Value;

impl FakeServices {
    /// Reads a webhook's event.
    pub(super) fn read(&self, job: &InboundJob, payload: &Value) -> InboundEvent {
        match job.kind {
            EventKind::Connection => {
                let open = payload["open"].as_bool().unwrap_or(true);
                let instances = self.fake_world.instances();
                for instance in instances.iter().filter(|id| id.as_str() == job.external.as_str()) {
                    self.fake_world
                        .line(instance, |line| line.last_event_says_open = open);
                }
                InboundEvent::ConnectionChanged
            }
            EventKind::Failed => match serde_json::from_value(payload.clone()) {
                Ok(update) => InboundEvent::Failed(FailedDelivery {
                    update,
                    to: payload["to"].as_str().and_then(ContactAddress::parse),
                    error: "131026".to_owned(),
                    reason: Reason::WhatsappPermanentError,
                }),
                Err(_) => InboundEvent::Ignored {
                    what: "unreadable".to_owned(),
                },
            },
            EventKind::Message => {
                if payload["text"] == "poison" && !self.injector.common.is_calm() {
                    self.injector.common.note(|| "poison".to_owned());
                    self.injector.common.disturb();
                    self.injector.life.end();
                }
                message_of(job.provider, payload)
            }
        }
    }
}

/// A text; or a picture or a voice note whose caption names it. A reply that ends with such a name is a text.
fn content_of(text: &str) -> Content {
    let named = text.rsplit_once('-').filter(|_| !text.starts_with("re "));
    let kind = match named {
        Some((_, "photo")) => MediaKind::Image,
        Some((_, "voice")) => MediaKind::Voice,
        _ => return Content::from_text(text),
    };
    Content::Media(Media {
        source: Some(text.to_owned()),
        caption: Some(text.to_owned()),
        ..Media::from_kind(kind)
    })
}

fn message_of(provider: Provider, payload: &Value) -> InboundEvent {
    let told_as = payload["told_as"].as_str();
    let address = told_as.or_else(|| payload["address"].as_str());
    let Some(address) = address.and_then(ContactAddress::parse) else {
        return InboundEvent::Ignored {
            what: "no address".to_owned(),
        };
    };
    let text = payload["text"].as_str().unwrap_or_default();
    let content = match text.strip_prefix("reaction ") {
        Some(_) => Content::Reaction {
            emoji: Some("👍".to_owned()),
            target: None,
        },
        None => content_of(text),
    };
    let content = match payload["target"].as_str().map(str::to_owned) {
        None => content,
        target if payload["deletes"] == true => Content::Deletion { target },
        target => Content::Edit {
            target,
            content: Box::new(content),
        },
    };
    let is_change = payload["target"].is_string() && provider != CLOUD;
    let message = Box::new(InboundMessage {
        numberless_identity: payload["also"].as_str().and_then(ContactAddress::parse),
        phone: address.phone_number(),
        address,
        name: None,
        provider_message_id: payload["id"].as_str().map(str::to_owned),
        from_me: payload["from_me"] == true || told_as.is_some(),
        sent_at: payload["sent_at"].as_i64().map(from_unix_millis),
        content,
        context: MessageContext::default(),
        not_owed: None,
        thread: None,
    });
    if is_change {
        return InboundEvent::Change(message);
    }
    InboundEvent::Message(message)
}
