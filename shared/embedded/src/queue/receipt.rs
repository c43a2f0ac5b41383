//! The receipt of a message that was received, and the message that a worker handles.

use super::groups::GroupKey;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use std::sync::atomic::{AtomicBool, Ordering};

/// The right to delete or postpone a message that was received. The next receive of the same message makes another
/// receipt.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt {
    pub(super) queue: QueueName,
    pub(super) seq: i64,
    pub(super) receive: u32,
    pub(super) group: Option<GroupKey>,
    /// The end of the visibility time with which the message was received.
    pub(super) hidden_until: i64,
}

/// The queue message that a worker handles.
#[derive(Debug)]
pub(crate) struct HandledMessage {
    receipt: Receipt,
    acknowledged: AtomicBool,
}

impl HandledMessage {
    pub(crate) fn new(receipt: &Receipt) -> Self {
        Self {
            receipt: receipt.clone(),
            acknowledged: AtomicBool::new(false),
        }
    }

    /// Returns the receipt of the message.
    pub(super) fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// Notes that a transaction deleted the message.
    pub(super) fn note_acknowledgement(&self) {
        self.acknowledged.store(true, Ordering::Release);
    }

    /// Returns whether nobody else can receive the message yet.
    pub(super) fn is_held(&self, now: Timestamp) -> bool {
        now.as_millisecond() < self.receipt.hidden_until
    }

    /// Returns whether a transaction deleted the message.
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.acknowledged.load(Ordering::Acquire)
    }
}
