use jiff::Timestamp;
use recado_domain::ids::{ExternalId, InstanceId, MessageId};
use recado_domain::provider::Provider;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of messages that the simulated provider keeps.
const MESSAGES_MAX: usize = 1000;

/// A message that was sent to the simulated provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedMessage {
    /// Recado's message id.
    pub message_id: MessageId,
    /// Instance that sent the message.
    pub instance_id: InstanceId,
    /// Address of the recipient.
    pub to: String,
    /// Text of the message.
    pub text: String,
    /// Message id of the simulated provider: `sim-` and 16 hexadecimal digits.
    pub provider_message_id: String,
    /// Time of the send.
    pub sent_at: Timestamp,
}

/// The last 1000 messages that were sent to the simulated provider. All clones share the same list.
#[derive(Clone, Default)]
pub struct SimulatedOutbox {
    messages: Arc<Mutex<VecDeque<SimulatedMessage>>>,
}

impl SimulatedOutbox {
    /// Adds a message, and drops the oldest one if the list is full.
    pub fn add_message(&self, message: SimulatedMessage) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() == MESSAGES_MAX {
            messages.pop_front();
        }
        messages.push_back(message);
    }

    /// Returns the messages in the order in which they were sent.
    pub fn list_messages(&self) -> Vec<SimulatedMessage> {
        self.list_messages_of(|_| true)
    }

    /// Returns the messages of the instances that `wanted` accepts, in the order in which they were sent.
    pub fn list_messages_of(&self, wanted: impl Fn(&InstanceId) -> bool) -> Vec<SimulatedMessage> {
        let messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let accepted = messages.iter().filter(|message| wanted(&message.instance_id));
        accepted.cloned().collect()
    }
}

impl std::fmt::Debug for SimulatedOutbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SimulatedOutbox(***)")
    }
}

/// A message of a contact that is only simulated.
#[derive(Debug, Clone, Copy)]
pub struct SimulatedInbound<'a> {
    /// The contact's number, in digits.
    pub phone: &'a str,
    /// The name that the contact gives itself.
    pub name: &'a str,
    /// The text of the message.
    pub text: &'a str,
    /// The provider's id of the message.
    pub id: &'a str,
    /// Time at which the message was written.
    pub at: Timestamp,
}

/// Writes the webhook that `provider` would post for a message to its instance `external`. Returns `None` if the provider's
/// events do not come as webhooks.
pub fn write_simulated_webhook(
    provider: Provider,
    external: &ExternalId,
    message: &SimulatedInbound<'_>,
) -> Option<Value> {
    let SimulatedInbound {
        phone,
        name,
        text,
        id,
        at,
    } = message;
    match provider {
        Provider::Evolution => Some(json!({
            "event": "messages.upsert",
            "instance": external,
            "data": {
                "key": {"remoteJid": format!("{phone}@s.whatsapp.net"), "fromMe": false, "id": id},
                "pushName": name,
                "message": {"conversation": text},
                "messageType": "conversation",
                "messageTimestamp": at.as_second(),
            },
            "date_time": at.to_string(),
        })),
        Provider::Meta | Provider::Dialog360 => Some(json!({
            "object": "whatsapp_business_account",
            "entry": [{"changes": [{"field": "messages", "value": {
                "messaging_product": "whatsapp",
                "metadata": {"phone_number_id": external},
                "contacts": [{"wa_id": phone, "profile": {"name": name}}],
                "messages": [{
                    "from": phone,
                    "id": id,
                    "timestamp": at.as_second().to_string(),
                    "type": "text",
                    "text": {"body": text},
                }],
            }}]}],
        })),
        Provider::AwsSocial => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::contact::ContactAddress;
    use recado_domain::inbound::WebhookItem;

    #[test]
    fn the_oldest_of_more_than_a_thousand_is_forgotten() {
        let outbox = SimulatedOutbox::default();
        for number in 0..=MESSAGES_MAX {
            outbox.clone().add_message(SimulatedMessage {
                message_id: MessageId::parse("m").unwrap(),
                instance_id: InstanceId::parse("suporte-01").unwrap(),
                to: "+5511900000001".to_owned(),
                text: number.to_string(),
                provider_message_id: format!("sim-{number}"),
                sent_at: Timestamp::UNIX_EPOCH,
            });
        }
        let list = outbox.list_messages();
        assert_eq!(
            (list.len(), list[0].text.as_str(), list[999].text.as_str()),
            (1000, "1", "1000")
        );
    }

    #[test]
    fn a_simulated_message_is_read_as_one_of_its_provider() {
        let external = ExternalId::parse("100000000000001").unwrap();
        let message = SimulatedInbound {
            phone: "5511900000001",
            name: "Maria",
            text: "Oi!",
            id: "wamid.sim",
            at: Timestamp::UNIX_EPOCH,
        };
        for provider in [Provider::Evolution, Provider::Meta, Provider::Dialog360] {
            let body = write_simulated_webhook(provider, &external, &message).unwrap();
            let items = crate::split_webhook(provider, body.to_string().as_bytes(), Timestamp::UNIX_EPOCH);
            let items = items.unwrap();
            let [WebhookItem::Event(event)] = items.as_slice() else {
                panic!("{provider}: {items:?}");
            };
            assert_eq!((event.provider, &event.external), (provider, &external));
            let address = event.address.as_ref().map(ContactAddress::as_str).unwrap();
            assert!(address.contains("5511900000001"), "{address}");
        }
        assert!(write_simulated_webhook(Provider::AwsSocial, &external, &message).is_none());
    }
}
