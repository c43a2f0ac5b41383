use crate::Embedded;
use crate::fault::Fault;
use crate::record::execute;
use recado_domain::identity::IdentityKey;
use recado_pipeline::ports::{Identity, PortResult};
use rusqlite::{Connection, OptionalExtension, params};

fn kept(connection: &Connection) -> Result<Option<IdentityKey>, Fault> {
    let sql = "SELECT value FROM installation WHERE name = 'identity-key'";
    let mut statement = connection.prepare_cached(sql)?;
    let text: Option<String> = statement.query_row([], |row| row.get(0)).optional()?;
    text.map(|text| {
        IdentityKey::from_hex(&text).ok_or_else(|| Fault::Argument("the identity key is unreadable"))
    })
    .transpose()
}

impl Identity for Embedded {
    async fn identity_key(&self) -> PortResult<Option<IdentityKey>> {
        if let Some(known) = self.identity().get() {
            return Ok(Some(known.clone()));
        }
        let found = self.read("identity_key", kept).await?;
        Ok(found.map(|key| self.identity().get_or_init(|| key).clone()))
    }

    async fn keep_identity_key(&self, new: &IdentityKey) -> PortResult<IdentityKey> {
        let new = new.clone();
        let sql = "INSERT INTO installation (name, value) VALUES ('identity-key', ?1) ON CONFLICT (name) DO NOTHING";
        let key = self
            .write("keep_identity_key", move |c| {
                execute(c, sql, params![new.to_hex()])?;
                Ok(kept(c)?.unwrap_or(new))
            })
            .await?;
        Ok(self.identity().get_or_init(|| key).clone())
    }
}
