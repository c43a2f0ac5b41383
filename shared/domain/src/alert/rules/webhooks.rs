//! The rule of webhook endpoints: one of a tenant fails for an hour, or was switched off.

use super::super::{AlertKind, AlertSeverity, AlertSubject, Finding, Findings};
use super::{InstallationStatus, in_seconds, installation_finding};
use crate::ids::{TenantId, WebhookEndpointId};
use jiff::Timestamp;

/// A webhook endpoint that fails for some time or was switched off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingEndpoint {
    /// The tenant.
    pub tenant: TenantId,
    /// The endpoint.
    pub endpoint: WebhookEndpointId,
    /// Time since which every post fails.
    pub since: Timestamp,
    /// `true` if nothing is posted any more.
    pub is_switched_off: bool,
}

/// Finds endpoints that fail. All of a tenant that fail alike are one condition, which names the first.
pub(super) fn find_failing_endpoints(status: &InstallationStatus, into: &mut Findings) {
    let Some(endpoints) = &status.failing_endpoints else {
        return;
    };
    into.looked_at.insert(AlertKind::WebhookFails);
    for one in endpoints {
        let (tenant, endpoint, since) = (&one.tenant, &one.endpoint, in_seconds(one.since));
        let of = format!("webhook endpoint {endpoint} of tenant {tenant}");
        let summary = format!("{of}: every post fails since {since}");
        into.found
            .push(endpoint_finding(one, AlertSeverity::Warning, summary));
        if one.is_switched_off {
            let summary = format!("{of} was switched off: every post failed since {since}");
            into.found
                .push(endpoint_finding(one, AlertSeverity::Critical, summary));
        }
    }
}

fn endpoint_finding(one: &FailingEndpoint, severity: AlertSeverity, summary: String) -> Finding {
    Finding {
        subject: AlertSubject {
            tenant: Some(one.tenant.clone()),
            ..AlertSubject::default()
        },
        since: Some(one.since),
        ..installation_finding(AlertKind::WebhookFails, severity, summary)
    }
}
