//! Looks for the secrets that entries of the configuration name. A missing one is told of before it is needed.

use crate::named_secrets::find_all_missing;
use jiff::Timestamp;
use recado_pipeline::Deps;
use recado_pipeline::hooks::reconcile_pass::{PassMinute, ReconcilePass};
use recado_ports::ports::PortResult;

/// A secret that an entry names and that is not there is found within five minutes.
pub static PASS: ReconcilePass = ReconcilePass {
    name_in_report: "missing_secrets",
    failure_message: "secrets were not looked for",
    is_due_at: is_secret_minute,
    works_on_reading: false,
    run: |deps, minute| Box::pin(look_for_secrets(deps, minute)),
};

async fn look_for_secrets(deps: &Deps, minute: &mut PassMinute) -> PortResult<usize> {
    let missing = find_all_missing(deps).await?;
    let count = missing.len();
    minute.missing_secrets = Some(missing);
    Ok(count)
}

/// Returns `true` if this minute's pass looks for the secrets that entries name: each fifth, beside that of silent instances.
fn is_secret_minute(now: Timestamp) -> bool {
    now.as_second().div_euclid(60) % 5 == 1
}
