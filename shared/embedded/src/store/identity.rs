use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::installation_values::read_value;
use crate::sql_records::execute_sql;
use recado_domain::identity::IdentityKey;
use recado_ports::ports::PortResult;
use rusqlite::{Connection, params};

/// The name of the identity key in the table `installation`.
pub(super) const IDENTITY_KEY: &str = "identity-key";

fn select_identity_key(db: &Connection) -> DbResult<Option<IdentityKey>> {
    let text = read_value(db, IDENTITY_KEY)?;
    text.map(|text| {
        IdentityKey::from_hex(&text).ok_or_else(|| DbError::Argument("the identity key is unreadable"))
    })
    .transpose()
}

impl Embedded {
    /// Returns the identity key; stores what `make` makes if there is none yet.
    pub(super) async fn find_or_store_identity_key(
        &self,
        make: &(dyn Fn() -> IdentityKey + Sync),
    ) -> PortResult<IdentityKey> {
        if let Some(known) = self.inner.identity.get() {
            return Ok(known.clone());
        }
        if let Some(found) = self.run_lookup("identity_key", select_identity_key).await? {
            return Ok(self.inner.identity.get_or_init(|| found).clone());
        }
        let new = make();
        let sql = "INSERT INTO installation (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
        let key = self
            .run_write("keep_identity_key", move |db| {
                execute_sql(db, sql, params![IDENTITY_KEY, new.to_hex()])?;
                Ok(select_identity_key(db)?.unwrap_or_else(|| new.clone()))
            })
            .await?;
        Ok(self.inner.identity.get_or_init(|| key).clone())
    }
}
