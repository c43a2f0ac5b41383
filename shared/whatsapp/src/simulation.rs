use jiff::Timestamp;
use recado_domain::ids::{InstanceId, MessageId};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of messages that the simulated provider keeps.
const MESSAGES_MAX: usize = 1000;

/// A message that was sent to the simulated provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
