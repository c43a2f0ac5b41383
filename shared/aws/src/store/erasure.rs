use super::DynamoStore;
use super::deliveries::ERASED;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, TableKey};
use super::records;
use super::table::RecordQuery;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;
use jiff::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventRecord, EventState};
use recado_domain::ids::InstanceId;
use recado_domain::instance::InFlightSend;
use recado_domain::millis::add_duration;
use recado_ports::ports::{ErasableRecords, PortResult, System};
use std::collections::BTreeSet;

/// The number of FIFO groups whose events one query finds. A condition has 100 values at most.
const GROUPS_AT_ONCE: usize = 50;

impl<A: System> DynamoStore<A> {
    /// Reads the pending events that `theirs` lets through. The index holds each event's job, so that the database leaves the
    /// others out; the records come from the table.
    pub(super) async fn read_pending_events(
        &self,
        what: &'static str,
        theirs: &Expression,
    ) -> PortResult<Vec<EventRecord>> {
        let shard = |number: u32| async move {
            let query = RecordQuery {
                index: Some("open"),
                keys: Expression::new("#open_shard = :shard")
                    .with_text(":shard", keys::open_shard('E', number)),
                filter: Some(theirs.clone()),
                reverse: false,
                limit: None,
            };
            self.table.query_records(what, &query).await
        };
        let open = try_join_all((0..keys::SHARDS).map(shard)).await?;
        let items = self
            .get_indexed_records(open.into_iter().flatten().collect())
            .await?;
        let records = items.iter().map(|item| records::parse_event_record(what, item));
        let mut records: Vec<EventRecord> = records.filter_map(item::keep_readable).collect();
        records.retain(|record| record.state == EventState::Pending);
        Ok(records)
    }

    pub(super) async fn delete_any(&self, what: &'static str, key: TableKey) -> PortResult<()> {
        let exists = Expression::new("attribute_exists(#pk)");
        let _absent = self.table.delete_record(what, key, exists).await?;
        Ok(())
    }
}

impl<A: System> ErasableRecords for DynamoStore<A> {
    async fn list_pending_events(&self, groups: &BTreeSet<String>) -> PortResult<Vec<EventRecord>> {
        const WHAT: &str = "listing pending events";
        let groups: Vec<&String> = groups.iter().collect();
        let mut found = Vec::new();
        for some in groups.chunks(GROUPS_AT_ONCE) {
            let names: Vec<String> = (0..some.len()).map(|number| format!(":g{number}")).collect();
            let theirs = Expression::new(format!("#job.#group IN ({})", names.join(", ")));
            let values = names.iter().zip(some);
            let theirs = values.fold(theirs, |theirs, (name, group)| {
                theirs.with_text(name, group.as_str())
            });
            found.extend(self.read_pending_events(WHAT, &theirs).await?);
        }
        Ok(found)
    }

    async fn erase_deliveries(&self, keys: &[DeliveryKey], expires: Timestamp) -> PortResult<()> {
        for key in keys {
            let item = Item::from([
                (ERASED.to_owned(), AttributeValue::Bool(true)),
                ("ttl".to_owned(), item::number_attribute(expires.as_second())),
            ]);
            let item = TableKey::for_delivery(key).into_item(item);
            let _unconditional = self.table.put_record("erasing a delivery", item, None).await?;
        }
        Ok(())
    }

    async fn replace_in_flight(&self, instance: &InstanceId, erased: &InFlightSend) -> PortResult<()> {
        const WHAT: &str = "erasing a note";
        let mut note = item::encode_record(WHAT, erased)?;
        let kept = add_duration(erased.claimed_at, InFlightSend::RETENTION);
        note.insert("ttl".to_owned(), item::number_attribute(kept.as_second()));
        let note = TableKey::for_in_flight(instance, erased).into_item(note);
        let exists = Expression::new("attribute_exists(#pk)");
        let _gone = self.table.put_record(WHAT, note, Some(exists)).await?;
        Ok(())
    }

    /// Nothing is left to do: the table has no files of ours.
    async fn overwrite_deleted(&self) -> PortResult<()> {
        Ok(())
    }
}
