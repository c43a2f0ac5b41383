use super::PortResult;
use jiff::Timestamp;
use recado_domain::notice::Notice;
use recado_domain::provider::Provider;
use std::future::Future;

/// What providers told of accounts.
pub trait Notices: Send + Sync {
    /// Keeps a notice until `expires`, by one conditional write. One with its id is there: nothing changes.
    fn put_notice(&self, notice: &Notice, expires: Timestamp) -> impl Future<Output = PortResult<()>> + Send;

    /// An account's notices, the newest first, [at most 50](recado_domain::notice::NOTICES_MAX); expired ones are absent.
    fn list_notices(
        &self,
        provider: Provider,
        account: &str,
    ) -> impl Future<Output = PortResult<Vec<Notice>>> + Send;
}
