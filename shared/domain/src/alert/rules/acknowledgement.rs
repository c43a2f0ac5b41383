//! The rule of acknowledgements: the provider accepted messages, and WhatsApp did not acknowledge them.

use super::super::{AlertKind, AlertSeverity, AlertSubject, Finding, Findings};
use super::{InstallationStatus, in_seconds, installation_finding};
use crate::counting::count_things;
use crate::ids::{InstanceId, TenantId};
use jiff::Timestamp;

/// The messages of an instance that WhatsApp did not acknowledge in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnacknowledgedStatus {
    /// The instance's tenant.
    pub tenant: TenantId,
    /// The instance.
    pub instance: InstanceId,
    /// Number of the messages, at least.
    pub count: u64,
    /// Time at which the provider accepted the oldest of them.
    pub since: Timestamp,
}

/// Finds instances with messages that were not acknowledged in time.
pub(super) fn find_unacknowledged(status: &InstallationStatus, into: &mut Findings) {
    let Some(instances) = &status.unacknowledged else {
        return;
    };
    if !status.more_unacknowledged {
        into.looked_at_parts.insert(AlertKind::NotAcknowledged);
    }
    into.found
        .extend(instances.iter().filter(|one| one.count > 0).map(|one| {
            let summary = format!(
                "instance {}: WhatsApp has not acknowledged {} that the provider accepted, the oldest at {}",
                one.instance,
                count_things(one.count, "message"),
                in_seconds(one.since)
            );
            Finding {
                subject: AlertSubject {
                    tenant: Some(one.tenant.clone()),
                    instance: Some(one.instance.clone()),
                    conversation: None,
                },
                since: Some(one.since),
                ..installation_finding(AlertKind::NotAcknowledged, AlertSeverity::Warning, summary)
            }
        }));
}
