//! A message that certainly has an outgoing side.

use super::Message;
use crate::outbox::Outbox;
use std::ops::Deref;

/// An outgoing message: a [`Message`] whose `out` is set. It is made once, where the handling of the message begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Outgoing(Message);

impl Outgoing {
    /// Returns `message` as an outgoing message. `None` if it came in or was typed on the phone.
    pub fn from_message(message: Message) -> Option<Self> {
        message.out.is_some().then_some(Self(message))
    }

    /// Returns the outgoing side of the message.
    #[expect(clippy::expect_used, reason = "`from_message` is the only constructor")]
    pub fn outbox(&self) -> &Outbox {
        self.0.out.as_ref().expect("an outgoing message")
    }

    /// Returns the outgoing side of the message, to change it.
    #[expect(clippy::expect_used, reason = "`from_message` is the only constructor")]
    pub fn outbox_mut(&mut self) -> &mut Outbox {
        self.0.out.as_mut().expect("an outgoing message")
    }

    /// Stores the provider's id of the message.
    pub fn set_provider_message_id(&mut self, id: Option<String>) {
        self.0.provider_message_id = id;
    }

    /// Returns the message's record.
    pub fn into_message(self) -> Message {
        self.0
    }
}

impl Deref for Outgoing {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.0
    }
}
