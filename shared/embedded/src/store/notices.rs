use crate::Embedded;
use crate::fault::Fault;
use crate::record::{all, encode, execute, limit};
use jiff::Timestamp;
use recado_domain::notice::{NOTICES_MAX, Notice};
use recado_domain::provider::Provider;
use recado_pipeline::ports::{Notices, PortResult};
use rusqlite::{Connection, params};

/// Keeps a notice, unless it is there, and of the account only so many as are ever shown.
fn put(connection: &Connection, notice: &Notice, expires: Timestamp, now: Timestamp) -> Result<(), Fault> {
    let (provider, account) = (notice.provider.as_str(), notice.account.as_str());
    let (at, until) = (notice.at.as_millisecond(), expires.as_millisecond());
    // One that has expired counts as absent: it comes anew.
    let gone = "DELETE FROM notices WHERE provider = ?1 AND account = ?2 AND expires <= ?3";
    execute(connection, gone, params![provider, account, now.as_millisecond()])?;
    let new = "INSERT OR IGNORE INTO notices (provider, account, id, at, expires, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let id = notice.id.as_str();
    execute(
        connection,
        new,
        params![provider, account, id, at, until, encode(notice)?],
    )?;
    let older = "DELETE FROM notices WHERE provider = ?1 AND account = ?2 AND id IN
        (SELECT id FROM notices WHERE provider = ?1 AND account = ?2 ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?3)";
    execute(connection, older, params![provider, account, limit(NOTICES_MAX)])?;
    Ok(())
}

fn newest(
    connection: &Connection,
    provider: Provider,
    account: &str,
    now: Timestamp,
) -> Result<Vec<Notice>, Fault> {
    let sql = "SELECT body FROM notices WHERE provider = ?1 AND account = ?2 AND expires > ?3
        ORDER BY at DESC, id DESC LIMIT ?4";
    let now = now.as_millisecond();
    all(
        connection,
        sql,
        params![provider.as_str(), account, now, limit(NOTICES_MAX)],
    )
}

impl Notices for Embedded {
    async fn put_notice(&self, notice: &Notice, expires: Timestamp) -> PortResult<()> {
        let (notice, now) = (notice.clone(), self.now());
        self.write("put_notice", move |c| put(c, &notice, expires, now))
            .await
    }

    async fn notices(&self, provider: Provider, account: &str) -> PortResult<Vec<Notice>> {
        let (account, now) = (account.to_owned(), self.now());
        self.read("notices", move |c| newest(c, provider, &account, now))
            .await
    }
}
