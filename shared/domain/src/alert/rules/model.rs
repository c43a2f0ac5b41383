//! The rule of models: one gives no reply to several contacts in a row.

use super::super::{AlertKind, AlertSeverity, Finding};
use super::{InstanceStatus, in_seconds, instance_finding};

/// Returns the condition that the model of an instance fails, whoever writes.
pub(super) fn failing_model_finding(one: &InstanceStatus) -> Option<Finding> {
    let run = one.state.failing_model()?;
    let summary = format!(
        "instance {}: the model fails since {}, {} times in a row: contacts get the error message",
        one.instance,
        in_seconds(run.since),
        run.count
    );
    Some(Finding {
        since: Some(run.since),
        ..instance_finding(one, AlertKind::ModelFails, AlertSeverity::Critical, summary)
    })
}
