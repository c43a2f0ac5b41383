//! Looks for the secrets that entries of the configuration name. A missing one is told of before it is needed.

use crate::hooks::reconcile_pass::{PassMinute, ReconcilePass};
use crate::steps::named_secrets::find_all_missing;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_ports::Deps;
use recado_ports::ports::PortResult;

/// A secret that an entry names and that is not there is found within five minutes.
pub(crate) struct MissingSecrets;

#[async_trait]
impl ReconcilePass for MissingSecrets {
    fn name_in_report(&self) -> &'static str {
        "missing_secrets"
    }

    fn failure_message(&self) -> &'static str {
        "secrets were not looked for"
    }

    fn is_due_at(&self, now: Timestamp) -> bool {
        is_secret_minute(now)
    }

    async fn run_for_minute(&self, deps: &Deps, minute: &mut PassMinute) -> PortResult<usize> {
        let missing = Box::pin(find_all_missing(deps)).await?;
        let count = missing.len();
        minute.missing_secrets = Some(missing);
        Ok(count)
    }
}

/// Returns `true` if this minute's pass looks for the secrets that entries name: each fifth, beside that of silent instances.
fn is_secret_minute(now: Timestamp) -> bool {
    now.as_second().div_euclid(60) % 5 == 1
}
