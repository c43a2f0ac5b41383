//! Moves all records to another store, and takes those of another one.
//!
//! The item of the identity key says how far an import is: until its end the table is of a format that no function works with.

mod items;
mod parsing;

use super::DynamoStore;
use super::expression::UpdateChange;
use super::identity::{FORMAT, KEY, UNFINISHED_FORMAT};
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::TableKey;
use super::table_port::{encode_item, get_body, is_live};
use crate::error::port_error;
use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use futures::stream::{self, StreamExt, TryStreamExt};
use items::list_items;
use jiff::Timestamp;
use parsing::{FoundRecord, parse_found};
use recado_domain::RECORD_FORMAT;
use recado_domain::moving::{Dated, MovedRecord, RecordKind, TableRecord};
use recado_domain::usage::{UsageSum, merge_usage_sums};
use recado_ports::ports::{
    ImportBegin, MovableRecords, MovedPage, PortError, PortResult, System, find_used_kind,
};
use recado_ports::table::{Kind, Version, Write};

/// The number of items of a page at most.
const PAGE: i32 = 500;

/// The number of records that are read or written side by side.
const AT_ONCE: usize = 16;

/// The attribute with the name of the export that the table is taking.
const TAKING: &str = "import_begun";

/// The attribute with the name of the export that the table took.
const TAKEN: &str = "import_taken";

impl<A: System> DynamoStore<A> {
    /// Reads a page of all items, and the place of the next.
    async fn scan_page(
        &self,
        what: &'static str,
        place: Option<&str>,
    ) -> PortResult<(Vec<Item>, Option<String>)> {
        let start = place.map(|place| parse_place(what, place)).transpose()?;
        let request = self
            .table
            .client
            .scan()
            .table_name(&self.table.name)
            .consistent_read(true)
            .limit(PAGE)
            .set_exclusive_start_key(start);
        let output = request.send().await.map_err(|error| port_error(what, &error))?;
        let last = output.last_evaluated_key.filter(|key| !key.is_empty());
        let next = last.as_ref().and_then(TableKey::from_item);
        let next = next.map(|key| serde_json::json!([key.pk, key.sk]).to_string());
        Ok((output.items.unwrap_or_default(), next))
    }

    /// Makes the records of an item; none if the item is no record of its own.
    async fn read_moved_item(&self, found: Item) -> PortResult<Vec<MovedRecord>> {
        const WHAT: &str = "reading a record that moves";
        if let Some(records) = self.parse_table_item(&found)? {
            return Ok(records);
        }
        match parse_found(WHAT, &found)? {
            FoundRecord::Records(records) => Ok(records),
            FoundRecord::OpenMessage(stored) => {
                let (conversation, ordinal) = (&stored.conversation, stored.ordinal);
                let current = self.read_current_message(WHAT, conversation, ordinal).await?;
                let current = current.map_or(stored, Box::new);
                Ok(vec![MovedRecord::Message(current)])
            }
            FoundRecord::PartOfSum => Ok(self.read_moved_sum(WHAT, &found).await?.into_iter().collect()),
        }
    }

    fn find_kind(&self, name: &str) -> Option<&'static Kind> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    /// Makes the record of an item of the table's port. What leads to one, does not move, or has expired, is none. `None`: the item is of
    /// another kind.
    fn parse_table_item(&self, found: &Item) -> PortResult<Option<Vec<MovedRecord>>> {
        let pk = item::get_string(found, "pk").unwrap_or_default();
        let name = pk.split_once('#').map_or(pk, |(name, _)| name);
        let Some(kind) = self.find_kind(name) else {
            let is_index = self.kinds.iter().any(|kind| kind.indexes.contains(&name));
            return Ok(is_index.then(Vec::new));
        };
        let mut records = Vec::new();
        if kind.is_moved && is_live(found, self.table.system.now()) {
            let (kind, body) = (kind.name, get_body(kind.name, found)?.to_owned());
            records.push(MovedRecord::OfTable(TableRecord { kind, body }));
        }
        Ok(Some(records))
    }

    /// Makes the items of a record of the table.
    fn list_table_items(&self, what: &'static str, record: &TableRecord) -> PortResult<Vec<Item>> {
        let unknown = || PortError::invalid(what, format!("the kind {} is not known", record.kind));
        let kind = self.find_kind(record.kind).ok_or_else(unknown)?;
        let version = Version(self.table.system.random_u64());
        let encode = |write: Write| match write {
            Write::Put(new, _) => Some(encode_item(&new, version)),
            Write::Delete(..) | Write::Check(..) => None,
        };
        let writes = kind.put_writes(&record.body)?;
        Ok(writes.into_iter().filter_map(encode).collect())
    }

    /// Reads the sum to which an item belongs. `None`: another item is the first of the sum.
    async fn read_moved_sum(&self, what: &'static str, found: &Item) -> PortResult<Option<MovedRecord>> {
        let keys = TableKey::for_shards_of_sum(found);
        let parts = self.table.get_records(what, keys, true).await?;
        let first = parts
            .iter()
            .filter_map(TableKey::from_item)
            .map(|key| key.sk)
            .min();
        if first.as_deref() != item::get_string(found, "sk") {
            return Ok(None);
        }
        let expires = parts
            .iter()
            .filter_map(|part| item::get_integer(part, "ttl"))
            .max();
        let sums: Vec<UsageSum> = parts
            .iter()
            .map(|part| item::decode_record(what, part))
            .collect::<PortResult<_>>()?;
        let sum = merge_usage_sums(sums).into_iter().next();
        let expires = expires.and_then(|second| Timestamp::from_second(second).ok());
        Ok(sum
            .zip(expires)
            .map(|(sum, expires)| MovedRecord::Usage(Box::new(Dated::new(sum, expires)))))
    }

    async fn put_moved_record(&self, record: &MovedRecord) -> PortResult<()> {
        const WHAT: &str = "taking a moved record";
        if let MovedRecord::IdentityKey(key) = record {
            let change = UpdateChange::default().set_value(KEY, text_attribute(&key.key));
            return self.update_identity_item(WHAT, &change).await;
        }
        let items = match record {
            MovedRecord::OfTable(record) => self.list_table_items(WHAT, record)?,
            record => list_items(WHAT, record, self.table.system.now())?,
        };
        for mut item in items {
            item.insert(item::MOVED.to_owned(), AttributeValue::Bool(true));
            self.table.put_always(WHAT, item).await?;
        }
        Ok(())
    }

    async fn update_identity_item(&self, what: &'static str, change: &UpdateChange) -> PortResult<()> {
        let key = TableKey::for_identity_key();
        let updated = self.table.update_record(what, key, change, None);
        let _unconditional = updated.await?;
        Ok(())
    }

    /// Returns whether an item of this `pk` is a record of an idle kind, or leads to one.
    fn is_of_idle_kind(&self, pk: &str) -> bool {
        let name = pk.split_once('#').map_or(pk, |(name, _)| name);
        let mut idle = self.kinds.iter().filter(|kind| kind.is_idle);
        idle.any(|kind| kind.name == name || kind.indexes.contains(&name))
    }

    /// Deletes what every installation makes.
    async fn delete_idle_records(&self, what: &'static str) -> PortResult<()> {
        let mut place: Option<String> = None;
        loop {
            let (mut items, next) = self.scan_page(what, place.as_deref()).await?;
            items.retain(|item| item::get_string(item, "pk").is_some_and(|pk| self.is_of_idle_kind(pk)));
            self.delete_found(items).await?;
            match next {
                Some(next) => place = Some(next),
                None => return Ok(()),
            }
        }
    }
}

fn parse_place(what: &'static str, place: &str) -> PortResult<Item> {
    let (pk, sk): (String, String) =
        serde_json::from_str(place).map_err(|error| PortError::invalid(what, error))?;
    Ok(TableKey { pk, sk }.into_key_item())
}

#[async_trait]
impl<A: System> MovableRecords for DynamoStore<A> {
    fn keeps_kind(&self, kind: RecordKind) -> bool {
        match kind {
            RecordKind::OfTable(name) => self.find_kind(name).is_some_and(|kind| kind.is_moved),
            _ => true,
        }
    }

    async fn read_moved_records(&self, place: Option<&str>) -> PortResult<MovedPage> {
        let (items, next) = self.scan_page("reading records that move", place).await?;
        let found: Vec<Vec<MovedRecord>> = stream::iter(items)
            .map(|item| self.read_moved_item(item))
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let records = found.into_iter().flatten().collect();
        Ok(MovedPage { records, next })
    }

    async fn put_moved_records(&self, records: &[MovedRecord]) -> PortResult<()> {
        stream::iter(records.to_vec())
            .map(|record| async move { self.put_moved_record(&record).await })
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
        self.configs.clear();
        Ok(())
    }

    async fn begin_import(&self, export: &str) -> PortResult<ImportBegin> {
        const WHAT: &str = "beginning an import";
        let found = self.table.get_record(WHAT, TableKey::for_identity_key()).await?;
        let name = |name| found.as_ref().and_then(|item| item::get_string(item, name));
        match (name(TAKING), name(TAKEN)) {
            (Some(taking), _) if taking == export => return Ok(ImportBegin::Ready),
            (Some(_), _) => return Ok(ImportBegin::OtherExport),
            (None, Some(taken)) if taken == export => return Ok(ImportBegin::Finished),
            (None, _) => {}
        }
        if let Some(used) = find_used_kind(self).await? {
            return Ok(ImportBegin::NotEmpty(used));
        }
        let change = UpdateChange::default()
            .set_value(FORMAT, number_attribute(UNFINISHED_FORMAT))
            .set_value(TAKING, text_attribute(export));
        self.update_identity_item(WHAT, &change).await?;
        self.delete_idle_records(WHAT).await?;
        Ok(ImportBegin::Ready)
    }

    async fn finish_import(&self, export: &str, _: Timestamp) -> PortResult<()> {
        let change = UpdateChange::default()
            .set_value(FORMAT, number_attribute(i64::from(RECORD_FORMAT)))
            .set_value(TAKEN, text_attribute(export))
            .remove_attributes(&[TAKING]);
        self.update_identity_item("finishing an import", &change).await
    }
}
