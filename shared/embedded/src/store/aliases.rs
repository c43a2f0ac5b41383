use crate::Embedded;
use crate::record::{encode, execute, one};
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use recado_pipeline::ports::{Aliases, PortResult};
use rusqlite::params;

impl Aliases for Embedded {
    async fn alias(&self, other: &ThreadId) -> PortResult<Option<ContactAddress>> {
        let other = other.clone();
        let sql = "SELECT body FROM aliases WHERE id = ?1";
        self.read("alias", move |c| one(c, sql, params![other.as_str()]))
            .await
    }

    async fn learn_alias(&self, other: &ThreadId, address: &ContactAddress) -> PortResult<()> {
        let (other, address) = (other.clone(), address.clone());
        let sql = "INSERT INTO aliases (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET body = excluded.body";
        self.write("learn_alias", move |c| {
            execute(c, sql, params![other.as_str(), encode(&address)?]).map(|_rows| ())
        })
        .await
    }
}
