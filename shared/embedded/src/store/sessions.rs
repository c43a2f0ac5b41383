use crate::Embedded;
use crate::sql_records::{encode_json, execute_sql, query_readable};
use jiff::Timestamp;
use recado_domain::access::{ConsoleSession, TokenHash};
use recado_ports::ports::{PortResult, Sessions};
use rusqlite::params;

/// Returns the session `?1`, unless it had expired at `?2`.
const FIND: &str = "SELECT body FROM sessions WHERE hash = ?1 AND expires > ?2";

impl Sessions for Embedded {
    async fn put_session(&self, session: &ConsoleSession) -> PortResult<()> {
        let session = session.clone();
        self.run_write("put_session", move |c| {
            let sql = "INSERT OR REPLACE INTO sessions (hash, expires, body) VALUES (?1, ?2, ?3)";
            let expires = session.expires_at.as_millisecond();
            let values = params![session.hash.as_str(), expires, encode_json(&session)?];
            execute_sql(c, sql, values).map(drop)
        })
        .await
    }

    async fn find_session(&self, hash: &TokenHash) -> PortResult<Option<ConsoleSession>> {
        let (hash, now) = (hash.clone(), self.current_time());
        self.run_lookup("session", move |c| {
            query_readable(c, FIND, params![hash.as_str(), now.as_millisecond()])
        })
        .await
    }

    async fn renew_session(&self, hash: &TokenHash, expires: Timestamp) -> PortResult<()> {
        let (hash, now) = (hash.clone(), self.current_time());
        self.run_write("renew_session", move |c| {
            let found: Option<ConsoleSession> =
                query_readable(c, FIND, params![hash.as_str(), now.as_millisecond()])?;
            let Some(session) = found else {
                return Ok(());
            };
            let session = ConsoleSession {
                expires_at: expires,
                ..session
            };
            let sql = "UPDATE sessions SET expires = ?2, body = ?3 WHERE hash = ?1";
            let values = params![hash.as_str(), expires.as_millisecond(), encode_json(&session)?];
            execute_sql(c, sql, values).map(drop)
        })
        .await
    }

    async fn delete_session(&self, hash: &TokenHash) -> PortResult<()> {
        let hash = hash.clone();
        self.run_write("delete_session", move |c| {
            execute_sql(c, "DELETE FROM sessions WHERE hash = ?1", [hash.as_str()]).map(drop)
        })
        .await
    }
}
