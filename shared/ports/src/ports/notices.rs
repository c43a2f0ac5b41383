use super::PortResult;
use jiff::Timestamp;
use recado_domain::notice::Notice;
use recado_domain::provider::Provider;
use std::future::Future;

/// A store of the notices that providers send about accounts.
pub trait Notices: Send + Sync {
    /// Stores a notice until `expires`, by one conditional write. If a notice with the same id exists, nothing changes.
    fn put_notice(&self, notice: &Notice, expires: Timestamp) -> impl Future<Output = PortResult<()>> + Send;

    /// Lists an account's notices, the newest first, [at most 50](recado_domain::notice::NOTICES_MAX). Expired notices
    /// are left out.
    fn list_notices(
        &self,
        provider: Provider,
        account: &str,
    ) -> impl Future<Output = PortResult<Vec<Notice>>> + Send;
}
