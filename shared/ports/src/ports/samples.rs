use super::PortResult;
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::sample::MinuteSample;
use std::future::Future;

/// A store of samples: one record per minute for the installation, and one for each tenant of which something is to be
/// told.
pub trait Samples: Send + Sync {
    /// Stores samples until `expires`. A stored sample of the same minute and tenant is replaced.
    fn put_samples(
        &self,
        samples: &[MinuteSample],
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Lists the samples of a tenant, or of the installation (`None`), that are not older than `since`, the oldest
    /// first. Expired samples are left out.
    fn list_samples(
        &self,
        tenant: Option<&TenantId>,
        since: Timestamp,
    ) -> impl Future<Output = PortResult<Vec<MinuteSample>>> + Send;
}
