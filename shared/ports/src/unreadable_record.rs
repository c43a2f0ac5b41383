//! Counts records that cannot be read. Stores find them, and pass over them.

use crate::port_error::PortResult;
use metrics::counter;

/// Number of records that could not be read and were passed over.
pub const RECORDS_UNREADABLE: &str = "recado_records_unreadable_total";

/// Counts a record that could not be read and was passed over.
pub fn count_unreadable_record() {
    counter!(RECORDS_UNREADABLE).increment(1);
}

/// Returns `None` for a record that cannot be read, which is logged and counted: it must not keep the others from being found.
/// Every reader of several records asks this.
pub fn keep_readable<T>(read: PortResult<T>) -> Option<T> {
    read.inspect_err(|error| {
        tracing::error!(%error, "a record cannot be read and is passed over");
        count_unreadable_record();
    })
    .ok()
}

/// The words that stores log of an instance whose entry cannot be read, beside the error.
pub const UNREADABLE_INSTANCE: &str = "the entry of an instance cannot be read: once it is written anew, its provider must be told \
    the new webhook secret (`recado connect`)";
