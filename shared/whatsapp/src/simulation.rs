use jiff::Timestamp;
use recado_domain::ids::{InstanceId, MessageId};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How many messages the simulated provider remembers.
const MESSAGES_MAX: usize = 1000;

/// A message that the simulated provider took.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulatedMessage {
    /// Our id.
    pub message_id: MessageId,
    /// From which instance.
    pub instance_id: InstanceId,
    /// To whom.
    pub to: String,
    /// What.
    pub text: String,
    /// The id that the simulated provider gave it: `sim-` and 16 hexadecimal digits.
    pub provider_message_id: String,
    /// When.
    pub sent_at: Timestamp,
}

/// What the simulated provider took: the last 1000 messages. Clones share them.
#[derive(Clone, Default)]
pub struct SimulatedOutbox {
    messages: Arc<Mutex<VecDeque<SimulatedMessage>>>,
}

impl SimulatedOutbox {
    /// Takes a message.
    pub fn add_message(&self, message: SimulatedMessage) {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if messages.len() == MESSAGES_MAX {
            messages.pop_front();
        }
        messages.push_back(message);
    }

    /// What it took, in the order in which it was sent.
    pub fn list_messages(&self) -> Vec<SimulatedMessage> {
        self.messages
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .cloned()
            .collect()
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
