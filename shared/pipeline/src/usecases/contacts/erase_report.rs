//! The numbers of an erasure.

use crate::steps::conversation_erasure::ErasedPart;
use jiff::Timestamp;

/// The result of an erasure, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EraseReport {
    /// Conversations that were erased. The newest one of each thread is a tombstone now.
    pub conversations: usize,
    /// Messages that were erased.
    pub messages: usize,
    /// Events that were not applied yet, or were given up.
    pub events: usize,
    /// Dead letters and their copies.
    pub dead_letters: usize,
    /// Messages that were to be sent later.
    pub scheduled: usize,
    /// Guests of occasions, with their invitations.
    pub guests: usize,
    /// Time until which a message of the contact is being sent. The rest is erased when the request is repeated then.
    pub waits_until: Option<Timestamp>,
}

impl EraseReport {
    pub(super) fn count_conversation(&mut self, part: &ErasedPart) {
        self.messages += part.messages;
        self.conversations += usize::from(part.is_whole);
    }
}
