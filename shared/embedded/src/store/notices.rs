use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, query_all, to_sql_limit};
use jiff::Timestamp;
use recado_domain::notice::{NOTICES_MAX, Notice};
use recado_domain::provider::Provider;
use recado_ports::ports::{Notices, PortResult};
use rusqlite::{Connection, params};

/// Stores a notice, unless it is known, and deletes the account's oldest ones: only as many are kept as are ever shown.
fn insert_notice(
    connection: &Connection,
    notice: &Notice,
    expires: Timestamp,
    now: Timestamp,
) -> Result<(), DbError> {
    let (provider, account) = (notice.provider.as_str(), notice.account.as_str());
    // A notice that has expired counts as absent, so the same notice can be stored again.
    let gone = "DELETE FROM notices WHERE provider = ?1 AND account = ?2 AND expires <= ?3";
    execute_sql(connection, gone, params![provider, account, now.as_millisecond()])?;
    put_notice_row(connection, notice, expires)?;
    let older = "DELETE FROM notices WHERE provider = ?1 AND account = ?2 AND id IN
        (SELECT id FROM notices WHERE provider = ?1 AND account = ?2 ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?3)";
    execute_sql(
        connection,
        older,
        params![provider, account, to_sql_limit(NOTICES_MAX)],
    )?;
    Ok(())
}

/// Stores a notice, unless it is known.
pub(super) fn put_notice_row(
    connection: &Connection,
    notice: &Notice,
    expires: Timestamp,
) -> Result<usize, DbError> {
    let sql = "INSERT OR IGNORE INTO notices (provider, account, id, at, expires, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![
        notice.provider.as_str(),
        notice.account.as_str(),
        notice.id.as_str(),
        notice.at.as_millisecond(),
        expires.as_millisecond(),
        encode_json(notice)?
    ];
    execute_sql(connection, sql, values)
}

fn select_newest(
    connection: &Connection,
    provider: Provider,
    account: &str,
    now: Timestamp,
) -> Result<Vec<Notice>, DbError> {
    let sql = "SELECT body FROM notices WHERE provider = ?1 AND account = ?2 AND expires > ?3
        ORDER BY at DESC, id DESC LIMIT ?4";
    let now = now.as_millisecond();
    query_all(
        connection,
        sql,
        params![provider.as_str(), account, now, to_sql_limit(NOTICES_MAX)],
    )
}

impl Notices for Embedded {
    async fn put_notice(&self, notice: &Notice, expires: Timestamp) -> PortResult<()> {
        let (notice, now) = (notice.clone(), self.current_time());
        self.run_acknowledged_write(None, "put_notice", move |c| {
            insert_notice(c, &notice, expires, now)
        })
        .await
    }

    async fn list_notices(&self, provider: Provider, account: &str) -> PortResult<Vec<Notice>> {
        let (account, now) = (account.to_owned(), self.current_time());
        self.run_read("notices", move |c| select_newest(c, provider, &account, now))
            .await
    }
}
