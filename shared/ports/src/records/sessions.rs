//! The sessions of the console. The store holds their hashes, never their texts.

use crate::ports::PortResult;
use crate::table::{Record, Table, Versioned, delete_record, find_readable, save_record};
use jiff::Timestamp;
use recado_domain::access::{ConsoleSession, TokenHash};
use recado_domain::ids::TenantId;

impl Record for ConsoleSession {
    const KIND: &'static str = "sessions";
    // Who signed out since a backup must not be signed in again.
    const IS_MOVED: bool = false;

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        self.hash.as_str().to_owned()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires_at)
    }
}

/// Returns the session with this hash by a strong read; `None` if there is none, or it has expired. One that cannot be read counts as
/// ended: its person signs in again.
pub async fn find_session(
    table: &dyn Table,
    hash: &TokenHash,
) -> PortResult<Option<Versioned<ConsoleSession>>> {
    find_readable(table, None, hash.as_str()).await
}

/// Gives a session another expiry. A session that ended since it was read does not begin again.
pub async fn renew_session(
    table: &dyn Table,
    mut session: Versioned<ConsoleSession>,
    expires: Timestamp,
) -> PortResult<()> {
    session.record.expires_at = expires;
    // Where it is another by now, it ended, or another request renewed it.
    let _renewed = save_record(table, &mut session).await?;
    Ok(())
}

/// Ends a session: it is gone when this returns. One that is gone already is no error.
pub async fn delete_session(table: &dyn Table, hash: &TokenHash) -> PortResult<()> {
    delete_record::<ConsoleSession>(table, None, hash.as_str()).await
}
