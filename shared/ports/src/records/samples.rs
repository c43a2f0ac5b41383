//! Samples: one record of each minute for the installation, and one for each tenant of which something is to be told.

use super::audit::format_sort_time;
use crate::ports::PortResult;
use crate::table::{Partition, Query, Record, Table, WRITES_MAX, list_all_records, put_writes, write_always};
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::moving::Dated;
use recado_domain::sample::MinuteSample;

/// The number of samples that are read at once.
const READ_AT_ONCE: usize = 1_000;

impl Record for Dated<MinuteSample> {
    const KIND: &'static str = "samples";
    const IS_IDLE: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        self.record.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        format_sort_time(self.record.at)
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires)
    }
}

/// Stores samples until `expires`, some at a time. A stored sample of the same minute and tenant is replaced; among `samples` there is
/// one of each at most.
pub async fn put_samples(table: &dyn Table, samples: &[MinuteSample], expires: Timestamp) -> PortResult<()> {
    for some in samples.chunks(WRITES_MAX) {
        let mut writes = Vec::new();
        for sample in some {
            writes.extend(put_writes(&Dated::new(sample.clone(), expires))?);
        }
        write_always(table, <Dated<MinuteSample>>::KIND, &writes).await?;
    }
    Ok(())
}

/// Lists the samples of a tenant, or of the installation (`None`), that are not older than `since`, the oldest first.
pub async fn list_samples(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    since: Timestamp,
) -> PortResult<Vec<MinuteSample>> {
    let query = Query {
        from: Some(format_sort_time(since)),
        ..Query::new(Partition::new(<Dated<MinuteSample>>::KIND, tenant), READ_AT_ONCE)
    };
    let found = list_all_records(table, query, |_: &Dated<MinuteSample>| true).await?;
    Ok(found.into_iter().map(|sample| sample.record).collect())
}
