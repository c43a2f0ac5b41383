//! Makes trends of the samples that `reconcile` stores each minute.

use crate::trend::{SampledMinutes, TrendPeriod, Trends};
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::config::Instance;
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_ports::ports::PortResult;
use recado_ports::records::configuration::load_configuration;
use recado_ports::records::samples::list_samples;

/// Time before the period from which samples are read too: the first of the period is compared with the last of these.
const BEFORE: SignedDuration = SignedDuration::from_mins(5);

/// The trends that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrendRequest {
    /// Only of this tenant.
    pub tenant: Option<TenantId>,
    /// Only of this instance.
    pub instance: Option<InstanceId>,
    /// Number of hours up to now.
    pub hours: u32,
    /// Length of each part of the period, in minutes.
    pub step_minutes: u32,
}

/// The trends with the period that they are made of.
#[derive(Debug, Clone, PartialEq)]
pub struct TrendReport {
    /// The period.
    pub period: TrendPeriod,
    /// Time of the request.
    pub now: Timestamp,
    /// The trends.
    pub trends: Trends,
}

/// Makes the trends of what a request names, within the caller's scope. Returns `None` if its tenant or its instance does
/// not exist there.
pub async fn read_trends(
    deps: &Deps,
    caller: &Caller,
    request: &TrendRequest,
) -> PortResult<Option<TrendReport>> {
    let wanted = request.tenant.as_ref().or(caller.scope.tenant());
    if wanted.is_some_and(|tenant| !caller.scope.covers(tenant)) {
        return Ok(None);
    }
    let configured = load_configuration(deps.store(), wanted).await?;
    let named = |instance: &&Instance| request.instance.as_ref().is_none_or(|id| *id == instance.id);
    let one = configured.instances.iter().find(named);
    let known = match (&request.instance, wanted) {
        (Some(_), _) => one.is_some(),
        (None, Some(tenant)) => configured.tenants.iter().any(|one| one.id == *tenant),
        (None, None) => true,
    };
    if !known {
        return Ok(None);
    }
    let now = deps.system().now();
    let period = TrendPeriod::ending_at(now, request.hours, request.step_minutes);
    // A tenant's samples list more of its instances than the installation's.
    let one = request.instance.as_ref().and(one);
    let tenant = wanted.or(one.map(|instance| &instance.tenant));
    let since = add_duration(period.from, -BEFORE);
    let of_all = list_samples(deps.store(), None, since).await?;
    let minutes = match tenant {
        Some(tenant) => {
            let own = list_samples(deps.store(), Some(tenant), since).await?;
            SampledMinutes::of_tenant(&of_all, own)
        }
        None => SampledMinutes::of_installation(of_all),
    };
    // Nothing is sampled of an instance that is disabled.
    let instances = configured.enabled_instances().filter(named);
    let ids = instances.map(|instance| &instance.id);
    let trends = minutes.make_trends(period, request.instance.as_ref(), ids);
    Ok(Some(TrendReport { period, now, trends }))
}
