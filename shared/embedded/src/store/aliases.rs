use crate::Embedded;
use crate::sql_records::{encode_json, execute_sql, query_one};
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use recado_pipeline::ports::{ContactAliases, PortResult};
use rusqlite::params;

impl ContactAliases for Embedded {
    async fn find_alias(&self, other: &ThreadId) -> PortResult<Option<ContactAddress>> {
        let other = other.clone();
        let sql = "SELECT body FROM aliases WHERE id = ?1";
        self.run_lookup("alias", move |c| query_one(c, sql, params![other.as_str()]))
            .await
    }

    async fn save_alias(&self, other: &ThreadId, address: &ContactAddress) -> PortResult<()> {
        let (other, address) = (other.clone(), address.clone());
        let sql = "INSERT INTO aliases (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET body = excluded.body";
        self.run_write("learn_alias", move |c| {
            execute_sql(c, sql, params![other.as_str(), encode_json(&address)?]).map(|_rows| ())
        })
        .await
    }
}
