//! Calls of ports in tests.

use std::fmt::Debug;
use std::panic::Location;

/// Returns the result of `call`, and ends the test if it is an error.
///
/// # Panics
/// On an error.
#[track_caller]
pub fn succeed<T, E: Debug>(call: impl Future<Output = Result<T, E>>) -> impl Future<Output = T> {
    let caller = Location::caller();
    async move {
        call.await
            .unwrap_or_else(|error| panic!("the call at {caller} failed: {error:?}"))
    }
}
