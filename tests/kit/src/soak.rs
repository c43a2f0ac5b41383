//! A running `recado` under load and faults, and what the audit says afterwards.
//!
//! [`load`] writes to it as contacts do and repeats each webhook until it is acknowledged, as providers do; [`process`]
//! kills it and starts it again; [`provider_faults`] makes the provider fail; [`console`] reads its records for the
//! [`audit`](crate::audit), and [`counted`] its metrics. [`crashes`] is all of that together, [`isolation`] whether one customer's trouble is another's.

pub mod console;
pub mod counted;
pub mod crashes;
pub mod isolation;
pub mod load;
pub mod process;
pub mod provider_faults;

use std::future::Future;
use std::time::{Duration, Instant};

/// The master of the webhook secrets of a run.
pub const MASTER: &str = "master-of-this-run";
/// The operators' token of a run.
pub const TOKEN: &str = "token-of-this-run-of-32-characters";
/// What the agent of a run says when the model fails.
pub const ERROR_MESSAGE: &str = "Desculpe, pode repetir?";

/// How often a wait looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Waits until `look` finds what it looks for, at most for `limit`.
///
/// # Panics
/// When it does not come.
pub async fn eventually<T, F: Future<Output = Option<T>>>(
    limit: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(began.elapsed() < limit, "waited {limit:?} in vain for {what}");
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
