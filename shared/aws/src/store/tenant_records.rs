use super::DynamoStore;
use super::item::{self, Item};
use super::keys::{self, TableKey};
use super::record_query::RecordQuery;
use super::table_port::get_body;
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::config::Instance;
use recado_domain::ids::TenantId;
use recado_ports::ports::{PortResult, System};
use recado_ports::table::{Key, Kind, Partition, RemovedContent, Table};

/// Number of records that are deleted or changed side by side.
const DELETIONS_AT_ONCE: usize = 16;

/// Lists the partitions of the table that hold a tenant's records alone. The kinds of the table's port lie elsewhere.
pub(super) fn list_partitions(tenant: &TenantId, instances: &[Instance]) -> Vec<String> {
    let of_instances = instances.iter().map(|instance| keys::instance_pk(&instance.id));
    std::iter::once(keys::usage_partition_key(tenant))
        .chain(of_instances)
        .collect()
}

impl<A: System> DynamoStore<A> {
    /// Deletes the records of a partition, at most `limit`. Returns how many.
    pub(super) async fn delete_partition(&self, pk: String, limit: usize) -> PortResult<usize> {
        const WHAT: &str = "finding a tenant's records";
        let query = RecordQuery::for_partition(pk, None, Some(limit));
        let found = self.table.query_records(WHAT, &query).await?;
        self.delete_found(found).await
    }

    /// Deletes a tenant's records of a kind, or takes out of them what must go, at most `limit`. Returns how many.
    pub(super) async fn remove_of_kind(
        &self,
        kind: &Kind,
        tenant: &TenantId,
        limit: usize,
    ) -> PortResult<usize> {
        let partition = Partition::new(kind.name, Some(tenant));
        let query = RecordQuery::for_partition(partition.to_string(), None, Some(limit));
        let (mut changed, mut is_some_left, mut start) = (0, false, None);
        loop {
            let (found, next) = self.table.query_page(kind.name, &query, start).await?;
            let mut parts = Vec::new();
            for item in &found {
                let body = get_body(kind.name, item).unwrap_or_default();
                let left = kind.remove_content(body);
                is_some_left |= !matches!(left, RemovedContent::Nothing);
                match left {
                    RemovedContent::Nothing => {
                        let sort = item::get_string(item, "sk").unwrap_or_default();
                        parts.push(kind.delete_writes(Key::new(kind.name, Some(tenant), sort), body));
                    }
                    RemovedContent::Same => {}
                    RemovedContent::Other(writes) => parts.push(writes),
                }
            }
            parts.truncate(limit - changed);
            changed += parts.len();
            // The writes have no conditions, so they are not refused.
            stream::iter(parts)
                .map(|writes| async move { self.write(&writes).await.map(drop) })
                .buffer_unordered(DELETIONS_AT_ONCE)
                .try_collect::<()>()
                .await?;
            if changed == limit {
                return Ok(changed);
            }
            match next {
                Some(next) => start = Some(next),
                None => break,
            }
        }
        if !is_some_left {
            // What leads to records that could not be read.
            for &name in kind.indexes {
                let part = Partition::new(name, Some(tenant)).to_string();
                changed += self.delete_partition(part, limit).await?;
            }
        }
        Ok(changed)
    }

    /// Deletes records. Returns how many.
    pub(super) async fn delete_found(&self, found: Vec<Item>) -> PortResult<usize> {
        let found: Vec<TableKey> = found.iter().filter_map(TableKey::from_item).collect();
        let count = found.len();
        stream::iter(found)
            .map(|key| self.delete_any("deleting a tenant's record", key))
            .buffer_unordered(DELETIONS_AT_ONCE)
            .try_collect::<()>()
            .await?;
        Ok(count)
    }
}
