use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, query_one};
use recado_domain::contact::ContactAddress;
use recado_domain::ids::ThreadId;
use recado_ports::ports::{ContactAliases, PortResult};
use rusqlite::{Connection, params};

pub(super) fn upsert_alias(
    connection: &Connection,
    other: &ThreadId,
    address: &ContactAddress,
) -> Result<(), DbError> {
    let sql =
        "INSERT INTO aliases (id, body) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET body = excluded.body";
    execute_sql(connection, sql, params![other.as_str(), encode_json(address)?]).map(drop)
}

impl ContactAliases for Embedded {
    async fn find_alias(&self, other: &ThreadId) -> PortResult<Option<ContactAddress>> {
        let other = other.clone();
        let sql = "SELECT body FROM aliases WHERE id = ?1";
        self.run_lookup("alias", move |c| query_one(c, sql, params![other.as_str()]))
            .await
    }

    async fn save_alias(&self, other: &ThreadId, address: &ContactAddress) -> PortResult<()> {
        let (other, address) = (other.clone(), address.clone());
        self.run_write("learn_alias", move |c| upsert_alias(c, &other, &address))
            .await
    }
}
