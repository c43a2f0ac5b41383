use super::PortResult;
use recado_domain::config::AppliedFile;
use std::future::Future;

/// A store of what the configuration file said when it was applied last.
pub trait AppliedFiles: Send + Sync {
    /// Returns what the file said; nothing if none was applied.
    fn read_applied_file(&self) -> impl Future<Output = PortResult<AppliedFile>> + Send;

    /// Replaces what the file said.
    fn save_applied_file(&self, applied: AppliedFile) -> impl Future<Output = PortResult<()>> + Send;
}
