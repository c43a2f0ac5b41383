use super::PortResult;
use jiff::Timestamp;
use recado_domain::access::{ConsoleSession, TokenHash};
use std::future::Future;

/// A store of the sessions of the console. It holds their hashes, never their texts.
pub trait Sessions: Send + Sync {
    /// Stores a new session.
    fn put_session(&self, session: &ConsoleSession) -> impl Future<Output = PortResult<()>> + Send;

    /// Returns the session with this hash by a strong read; `None` if there is none, or it has expired.
    fn find_session(
        &self,
        hash: &TokenHash,
    ) -> impl Future<Output = PortResult<Option<ConsoleSession>>> + Send;

    /// Gives a session another expiry. A session that ended meanwhile does not begin again.
    fn renew_session(
        &self,
        hash: &TokenHash,
        expires: Timestamp,
    ) -> impl Future<Output = PortResult<()>> + Send;

    /// Ends a session: it is gone when this returns. One that is gone already is no error.
    fn delete_session(&self, hash: &TokenHash) -> impl Future<Output = PortResult<()>> + Send;
}
