use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, query_all};
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::sample::MinuteSample;
use recado_ports::ports::{PortResult, Samples};
use rusqlite::{Connection, params};

/// Returns the `tenant` column of a sample. No tenant has an empty id.
fn tenant_column(tenant: Option<&TenantId>) -> &str {
    tenant.map_or("", TenantId::as_str)
}

pub(super) fn upsert_samples(
    c: &Connection,
    samples: &[MinuteSample],
    expires: Timestamp,
) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO samples (tenant, at, expires, body) VALUES (?1, ?2, ?3, ?4)";
    for sample in samples {
        let (tenant, at) = (tenant_column(sample.tenant.as_ref()), sample.at.as_millisecond());
        execute_sql(
            c,
            sql,
            params![tenant, at, expires.as_millisecond(), encode_json(sample)?],
        )?;
    }
    Ok(())
}

impl Samples for Embedded {
    async fn put_samples(&self, samples: &[MinuteSample], expires: Timestamp) -> PortResult<()> {
        let samples = samples.to_vec();
        self.run_write("put_samples", move |c| upsert_samples(c, &samples, expires))
            .await
    }

    async fn list_samples(
        &self,
        tenant: Option<&TenantId>,
        since: Timestamp,
    ) -> PortResult<Vec<MinuteSample>> {
        let (tenant, now) = (tenant_column(tenant).to_owned(), self.current_time());
        let sql = "SELECT body FROM samples WHERE tenant = ?1 AND at >= ?2 AND expires > ?3 ORDER BY at";
        self.run_read("samples", move |c| {
            query_all(
                c,
                sql,
                params![tenant, since.as_millisecond(), now.as_millisecond()],
            )
        })
        .await
    }
}
