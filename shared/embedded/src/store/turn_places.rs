use crate::Embedded;
use crate::sql_records::{encode_json, execute_sql, query_one};
use recado_domain::ids::TenantId;
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
            let before = places.rev.saturating_sub(1);
            let sql = if before == 0 {
                "INSERT OR IGNORE INTO turn_places (tenant, rev, body) VALUES (?1, ?2 + 1, ?3)"
            } else {
                "UPDATE turn_places SET rev = ?2 + 1, body = ?3 WHERE tenant = ?1 AND rev = ?2"
            };
            let before = i64::try_from(before).unwrap_or(i64::MAX - 1);
            let written = execute_sql(c, sql, params![tenant.as_str(), before, encode_json(&places)?])?;
            Ok(if written == 0 {
                WriteOutcome::Conflict
            } else {
                WriteOutcome::Written
            })
        })
        .await
    }
}
