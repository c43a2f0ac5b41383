//! Calls of ports: made in tests, and passed on by wrappers.

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

/// Writes the methods of a port that only pass their call on, within the `impl` of the port for a wrapper.
///
/// The wrapper holds the port in its field `inner`. Its method `around` takes the name of the method and the call on
/// `inner`, a future, and returns the result of the call. With `directly:` in front, `around` is left out.
#[macro_export]
macro_rules! delegate_calls {
    (directly: $($method:ident($($argument:ident: $type:ty),*) -> $returned:ty;)+) => {$(
        async fn $method(&self $(, $argument: $type)*) -> recado_pipeline::ports::PortResult<$returned> {
            self.inner.$method($($argument),*).await
        }
    )+};
    ($($method:ident($($argument:ident: $type:ty),*) -> $returned:ty;)+) => {$(
        async fn $method(&self $(, $argument: $type)*) -> recado_pipeline::ports::PortResult<$returned> {
            self.around(stringify!($method), self.inner.$method($($argument),*)).await
        }
    )+};
}
