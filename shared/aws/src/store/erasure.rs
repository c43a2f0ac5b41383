use super::DynamoStore;
use super::deliveries::ERASED;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, TableKey};
use super::records;
use super::table::RecordQuery;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::{EventRecord, EventState};
use recado_domain::ids::{IdempotencyKey, InstanceId};
use recado_domain::instance::InFlightSend;
use recado_domain::millis::add_duration;
use recado_domain::scheduled::ScheduledMessage;
use recado_pipeline::ports::{ErasableRecords, PortResult, System};
use std::collections::BTreeSet;

impl<A: System> DynamoStore<A> {
    /// Reads all open records of a kind. The index holds their keys, the records come from the table.
    pub(super) async fn read_open_of_kind(&self, what: &'static str, kind: char) -> PortResult<Vec<Item>> {
        let mut found = Vec::new();
        for shard in 0..keys::SHARDS {
            let key = keys::open_shard(kind, shard);
            let query = RecordQuery {
                index: Some("open"),
                keys: Expression::new("#open_shard = :shard").with_text(":shard", key),
                filter: None,
                reverse: false,
                limit: None,
            };
            let open = self.table.query_records(what, &query).await?;
            let keys = open.iter().filter_map(|item| {
                let text = |name| item::get_string(item, name).map(str::to_owned);
                Some(TableKey {
                    pk: text("pk")?,
                    sk: text("sk")?,
                })
            });
            found.extend(self.table.get_records(what, keys.collect(), true).await?);
        }
        Ok(found)
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
        let mut found = Vec::new();
        for item in self.read_open_of_kind(WHAT, 'E').await? {
            let record = records::parse_event_record(WHAT, &item)?;
            if record.state == EventState::Pending && groups.contains(&record.job.group) {
                found.push(record);
            }
        }
        Ok(found)
    }

    async fn list_pending_scheduled(&self, instance: &InstanceId) -> PortResult<Vec<ScheduledMessage>> {
        const WHAT: &str = "listing scheduled messages";
        let mut found = Vec::new();
        for item in self.read_open_of_kind(WHAT, 'S').await? {
            let scheduled: ScheduledMessage = item::decode_record(WHAT, &item)?;
            if scheduled.instance == *instance && scheduled.send_due_at().is_some() {
                found.push(scheduled);
            }
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

    async fn delete_idempotency_key(&self, scope: &str, key: &IdempotencyKey) -> PortResult<()> {
        self.delete_any("deleting a client's key", TableKey::for_client_key(scope, key))
            .await
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
