use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::execute_sql;
use async_trait::async_trait;
use recado_domain::identity::IdentityKey;
use recado_ports::ports::{IdentityKeyStore, PortResult};
use rusqlite::{Connection, OptionalExtension, params};

/// The name of the identity key in the table `installation`.
pub(super) const IDENTITY_KEY: &str = "identity-key";

fn select_identity_key(connection: &Connection) -> Result<Option<IdentityKey>, DbError> {
    let sql = "SELECT value FROM installation WHERE name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let text: Option<String> = statement.query_row([IDENTITY_KEY], |row| row.get(0)).optional()?;
    text.map(|text| {
        IdentityKey::from_hex(&text).ok_or_else(|| DbError::Argument("the identity key is unreadable"))
    })
    .transpose()
}

#[async_trait]
impl IdentityKeyStore for Embedded {
    async fn find_identity_key(&self) -> PortResult<Option<IdentityKey>> {
        if let Some(known) = self.identity_cell().get() {
            return Ok(Some(known.clone()));
        }
        let found = self.run_lookup("identity_key", select_identity_key).await?;
        Ok(found.map(|key| self.identity_cell().get_or_init(|| key).clone()))
    }

    async fn put_identity_key_if_absent(&self, new: &IdentityKey) -> PortResult<IdentityKey> {
        let new = new.clone();
        let sql = "INSERT INTO installation (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
        let key = self
            .run_write("keep_identity_key", move |c| {
                execute_sql(c, sql, params![IDENTITY_KEY, new.to_hex()])?;
                Ok(select_identity_key(c)?.unwrap_or_else(|| new.clone()))
            })
            .await?;
        Ok(self.identity_cell().get_or_init(|| key).clone())
    }
}
