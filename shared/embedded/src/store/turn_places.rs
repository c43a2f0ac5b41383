use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, query_readable, to_sql_integer};
use recado_domain::ids::TenantId;
use recado_domain::revision::is_first_write;
use recado_domain::turn_places::TurnPlaces;
use recado_ports::ports::{PortResult, TurnPlaceRecords, WriteOutcome};
use rusqlite::{Connection, params};

/// Returns the places of a tenant's turns. A record that cannot be read counts as none, so that the next turn writes it anew.
fn select_places(connection: &Connection, tenant: &TenantId) -> Result<Option<TurnPlaces>, DbError> {
    let sql = "SELECT body FROM turn_places WHERE tenant = ?1";
    query_readable(connection, sql, [tenant.as_str()])
}

impl TurnPlaceRecords for Embedded {
    async fn find_turn_places(&self, tenant: &TenantId) -> PortResult<Option<TurnPlaces>> {
        let tenant = tenant.clone();
        self.run_read("find_turn_places", move |c| select_places(c, &tenant))
            .await
    }

    async fn save_turn_places(&self, tenant: &TenantId, places: &TurnPlaces) -> PortResult<WriteOutcome> {
        let (tenant, places) = (tenant.clone(), places.clone());
        self.run_write("save_turn_places", move |c| {
            let sql = if !is_first_write(places.rev) {
                "UPDATE turn_places SET rev = ?2, body = ?3 WHERE tenant = ?1 AND rev = ?2 - 1"
            } else if select_places(c, &tenant)?.is_some() {
                return Ok(WriteOutcome::Conflict);
            } else {
                "INSERT OR REPLACE INTO turn_places (tenant, rev, body) VALUES (?1, ?2, ?3)"
            };
            let rev = to_sql_integer(places.rev);
            let written = execute_sql(c, sql, params![tenant.as_str(), rev, encode_json(&places)?])?;
            Ok(if written == 0 {
                WriteOutcome::Conflict
            } else {
                WriteOutcome::Written
            })
        })
        .await
    }
}
