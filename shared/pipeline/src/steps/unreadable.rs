//! Passes over records that cannot be read.

use recado_ports::ports::PortResult;
use recado_ports::unreadable_record::count_unreadable_record;

/// Returns `None` for a record that cannot be read, which is logged and counted: what concerns others must go on without it. An outage
/// of the store stays an error.
pub fn pass_over_unreadable<T>(found: PortResult<Option<T>>) -> PortResult<Option<T>> {
    match found {
        Err(error) if !error.is_retryable() => {
            tracing::error!(%error, "a record cannot be read and is passed over");
            count_unreadable_record();
            Ok(None)
        }
        found => found,
    }
}
