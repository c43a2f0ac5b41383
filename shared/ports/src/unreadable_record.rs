//! Counts records that cannot be read. Stores find them, and pass over them.

use metrics::counter;

/// Number of records that could not be read and were passed over.
pub const RECORDS_UNREADABLE: &str = "recado_records_unreadable_total";

/// Counts a record that could not be read and was passed over.
pub fn count_unreadable_record() {
    counter!(RECORDS_UNREADABLE).increment(1);
}
