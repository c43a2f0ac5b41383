//! The time for which events are recognized again.

use jiff::SignedDuration;
use recado_domain::config::Tenant;
use recado_domain::retention::RetentionPeriod;
use recado_ports::Deps;

/// Returns the time for which an applied event of `tenant` is recognized again: the tenant's own, or the installation's.
pub(crate) fn event_period(deps: &Deps, tenant: Option<&Tenant>) -> SignedDuration {
    let own = tenant.and_then(|tenant| tenant.retention.events);
    own.map_or(deps.settings().event_ttl, RetentionPeriod::to_duration)
}
