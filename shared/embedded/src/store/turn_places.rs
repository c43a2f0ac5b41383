use crate::Embedded;
use crate::sql_records::{encode_json, execute_sql, query_one, to_sql_integer};
use recado_domain::ids::TenantId;
use recado_domain::revision::is_first_write;
use recado_domain::turn_places::TurnPlaces;
use recado_ports::ports::{PortResult, TurnPlaceRecords, WriteOutcome};
use rusqlite::params;

impl TurnPlaceRecords for Embedded {
    async fn find_turn_places(&self, tenant: &TenantId) -> PortResult<Option<TurnPlaces>> {
        let tenant = tenant.clone();
        self.run_read("find_turn_places", move |c| {
            query_one(
                c,
                "SELECT body FROM turn_places WHERE tenant = ?1",
                [tenant.as_str()],
            )
        })
        .await
    }

    async fn save_turn_places(&self, tenant: &TenantId, places: &TurnPlaces) -> PortResult<WriteOutcome> {
        let (tenant, places) = (tenant.clone(), places.clone());
        self.run_write("save_turn_places", move |c| {
            let sql = if is_first_write(places.rev) {
                "INSERT OR IGNORE INTO turn_places (tenant, rev, body) VALUES (?1, ?2, ?3)"
            } else {
                "UPDATE turn_places SET rev = ?2, body = ?3 WHERE tenant = ?1 AND rev = ?2 - 1"
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
