//! Somebody who writes to an instance.

use jiff::Timestamp;
use recado_testkit::builders::{address, fresh};

/// A contact that no other test has.
#[derive(Debug, Clone)]
pub(crate) struct Contact {
    /// As Evolution writes it.
    pub(crate) jid: String,
    /// Its number in digits.
    pub(crate) number: String,
}

impl Contact {
    pub(crate) fn new() -> Self {
        let jid = address().as_str().to_owned();
        let number = jid.split('@').next().unwrap().to_owned();
        Self { jid, number }
    }
}

/// A provider's id of a message, which no other message has.
pub(crate) fn message_id() -> String {
    fresh("wa")
}

/// An id that follows one request everywhere.
pub(crate) fn correlation_id() -> String {
    fresh("test")
}

/// The time as providers write it.
pub(crate) fn seconds() -> i64 {
    Timestamp::now().as_second()
}
