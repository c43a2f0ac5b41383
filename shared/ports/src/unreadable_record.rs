//! Counts records that cannot be read. Stores find them, and pass over them.

use metrics::counter;

/// Number of records that could not be read and were passed over.
pub const RECORDS_UNREADABLE: &str = "recado_records_unreadable_total";

/// Counts a record that could not be read and was passed over.
pub fn count_unreadable_record() {
    counter!(RECORDS_UNREADABLE).increment(1);
}

/// The words that stores log of an instance whose entry cannot be read, beside the error.
pub const UNREADABLE_INSTANCE: &str = "the entry of an instance cannot be read: once it is written anew, its provider must be told \
    the new webhook secret (`recado connect`)";
