//! Samples: one item per minute and tenant, and one per minute for the installation. They expire after two days.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, number_attribute};
use super::keys::{self, TableKey};
use super::table::RecordQuery;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_domain::sample::MinuteSample;
use recado_ports::ports::{PortResult, Samples, System};

/// Number of samples that are written side by side.
const WRITES_AT_ONCE: usize = 16;

impl<A: System> DynamoStore<A> {
    async fn put_sample(&self, sample: MinuteSample, expires: Timestamp) -> PortResult<()> {
        const WHAT: &str = "keeping a sample";
        let mut record = item::encode_record(WHAT, &sample)?;
        record.insert("ttl".to_owned(), number_attribute(expires.as_second()));
        let item = TableKey::for_sample(&sample).into_item(record);
        let _unconditional = self.table.put_record(WHAT, item, None).await?;
        Ok(())
    }
}

impl<A: System> Samples for DynamoStore<A> {
    async fn put_samples(&self, samples: &[MinuteSample], expires: Timestamp) -> PortResult<()> {
        stream::iter(samples.to_vec())
            .map(|sample| self.put_sample(sample, expires))
            .buffer_unordered(WRITES_AT_ONCE)
            .try_collect()
            .await
    }

    async fn list_samples(
        &self,
        tenant: Option<&TenantId>,
        since: Timestamp,
    ) -> PortResult<Vec<MinuteSample>> {
        const WHAT: &str = "reading samples";
        let keys = Expression::new("#pk = :pk AND #sk >= :since")
            .with_text(":pk", keys::samples_pk(tenant))
            .with_text(":since", keys::sample_sk(since));
        let query = RecordQuery {
            index: None,
            keys,
            filter: None,
            reverse: false,
            limit: None,
        };
        let now = self.table.system.now();
        let found = self.table.query_records(WHAT, &query).await?;
        let kept = found.into_iter().filter_map(|item| item::unexpired(item, now));
        Ok(item::decode_readable(WHAT, kept))
    }
}
