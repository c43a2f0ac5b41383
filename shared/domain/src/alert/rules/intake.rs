//! The rule of the log of new events: what was acknowledged must be recorded soon.

use super::super::{AlertKind, AlertSeverity, Finding};
use super::{InstallationStatus, in_seconds, installation_finding};
use jiff::{SignedDuration, Timestamp};

/// The log of new events, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntakeStatus {
    /// When the webhook of the oldest event came that is acknowledged and not recorded yet; `None` if none waits.
    pub oldest: Option<Timestamp>,
}

/// Age from which an event that is acknowledged and not recorded is told of. Ordinarily it takes milliseconds.
const INTAKE_WAIT_MAX: SignedDuration = SignedDuration::from_mins(1);

/// Returns the alert on events that were acknowledged and are not recorded: nobody answers them, of whatever tenant.
pub(super) fn find_held_intake(status: &InstallationStatus, now: Timestamp) -> Option<Finding> {
    let since = status.intake?.oldest?;
    if now.duration_since(since) < INTAKE_WAIT_MAX {
        return None;
    }
    let summary = format!(
        "webhooks that were acknowledged since {} are not recorded",
        in_seconds(since)
    );
    Some(Finding {
        since: Some(since),
        ..installation_finding(AlertKind::SlowProcessing, AlertSeverity::Critical, summary)
    })
}
