//! The port of the table: each item with its version and its JSON, in the partition and under the `sk` that its key names.
//!
//! All items of a write get one version, by which a request that was sent again knows its own effect.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{Item, get_integer, get_string, keep_readable, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use super::lists::ListSource;
use super::record_query::RecordQuery;
use super::transaction::{FailedConditions, TransactionAction};
use crate::cache::CacheLookup;
use crate::error::port_error;
use async_trait::async_trait;
use aws_sdk_dynamodb::types::Select;
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use recado_ports::ports::{PortError, PortResult, System};
use recado_ports::table::{
    Condition, ItemPage, Key, Kind, NewItem, Query, Refusal, StoredItem, Table, Version, Write, WriteResult,
};

#[async_trait]
impl<A: System> Table for DynamoStore<A> {
    async fn get(&self, key: &Key) -> PortResult<Option<StoredItem>> {
        let place = TableKey::for_table_item(key);
        let found = self.table.get_record(key.partition.name, place).await?;
        let now = self.table.system.now();
        let found = found.filter(|item| is_live(item, now));
        found.map(|item| decode_item(key.clone(), &item)).transpose()
    }

    async fn get_cached(&self, key: &Key) -> PortResult<Option<StoredItem>> {
        let (place, now) = (TableKey::for_table_item(key), self.table.system.now());
        if let CacheLookup::Hit(known) = self.items.get(&place, now) {
            return Ok(known.filter(|item| item.expires.is_none_or(|expires| now < expires)));
        }
        let found = self.get(key).await?;
        self.items
            .insert_entry(place, found.clone(), self.table.system.now());
        Ok(found)
    }

    async fn get_many(&self, keys: &[Key]) -> PortResult<Vec<StoredItem>> {
        let names: Vec<&'static str> = keys.iter().map(|key| key.partition.name).collect();
        let Some(&first) = names.first() else {
            return Ok(Vec::new());
        };
        let places = keys.iter().map(TableKey::for_table_item).collect();
        let found = self.table.get_records(first, places, true).await?;
        Ok(decode_live(&found, &names, self.table.system.now()))
    }

    async fn write(&self, writes: &[Write]) -> PortResult<WriteResult> {
        let version = Version(self.table.system.random_u64());
        let written = match writes {
            [] => Ok(Ok(())),
            [only] => self.write_single(only, version).await,
            _ => self.write_together(writes, version).await,
        };
        // After an error, too: the items may have been written.
        self.forget_table_items(writes);
        if Kind::touches_configuration(self.kinds, writes) {
            self.configs.clear();
        }
        let puts = writes.iter().filter(|write| matches!(write, Write::Put(..)));
        Ok(written?.map(|()| vec![version; puts.count()]))
    }

    async fn page(&self, query: &Query) -> PortResult<ItemPage> {
        let name = query.partition.name;
        let (found, next) = match build_request(query) {
            Some((asked, start)) => self.table.query_page(name, &asked, start).await?,
            None => (Vec::new(), None),
        };
        Ok(ItemPage {
            items: decode_live(&found, &[name], self.table.system.now()),
            next: next.as_ref().and_then(TableKey::from_item).map(|key| key.sk),
        })
    }

    async fn count(&self, query: &Query) -> PortResult<u64> {
        let Some((mut asked, mut start)) = build_request(query) else {
            return Ok(0);
        };
        let live = Expression::new("attribute_not_exists(#ttl) OR #ttl > :now");
        asked.filter = Some(live.with_number(":now", self.table.system.now().as_second()));
        let request = self.table.build_query(&asked).select(Select::Count);
        let mut count = 0;
        loop {
            let page = request.clone().set_exclusive_start_key(start).send().await;
            let page = page.map_err(|error| port_error(query.partition.name, &error))?;
            count += u64::try_from(page.count).unwrap_or_default();
            start = page.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() {
                return Ok(count);
            }
        }
    }

    async fn list_due(&self, kind: &Kind, now: Timestamp, limit: usize) -> PortResult<Vec<Key>> {
        let mut due: Vec<(i64, Key)> = Vec::new();
        for shard in keys::list_due_shards(kind.name) {
            let query = ListSource::Open(shard).query_range(i64::MIN, now.as_millisecond());
            let query = query.up_to(limit);
            let place = |item: &Item| Some((get_integer(item, "open_due")?, parse_key(kind.name, item)?));
            let (enough, mut start) = (due.len().saturating_add(limit), None);
            loop {
                let (found, next) = self.table.query_page(kind.name, &query, start).await?;
                let found: Vec<(i64, Key)> = found.iter().filter_map(place).collect();
                // The index knows nothing of expiry.
                let keys: Vec<Key> = found.iter().map(|(_, key)| key.clone()).collect();
                let live = self.get_many(&keys).await?;
                let is_live = |key: &Key| live.iter().any(|item| item.key == *key);
                due.extend(found.into_iter().filter(|(_, key)| is_live(key)));
                if next.is_none() || due.len() >= enough {
                    break;
                }
                start = next;
            }
        }
        due.sort_by_key(|(at, _)| *at);
        due.truncate(limit);
        Ok(due.into_iter().map(|(_, key)| key).collect())
    }
}

impl<A: System> DynamoStore<A> {
    /// Returns the actions that make these writes, in their order. What is kept in memory of their items must be
    /// [forgotten](Self::forget_table_items) afterwards.
    pub(super) fn build_table_actions(&self, writes: &[Write]) -> Vec<TransactionAction> {
        let (version, now) = (Version(self.table.system.random_u64()), self.table.system.now());
        let actions = writes.iter().map(|write| to_action(write, version, now));
        actions.collect()
    }

    /// Forgets what is kept in memory of the items of these writes.
    pub(super) fn forget_table_items(&self, writes: &[Write]) {
        for write in writes {
            self.items.remove_key(&TableKey::for_table_item(write.key()));
        }
    }

    async fn write_single(&self, write: &Write, version: Version) -> PortResult<Result<(), Refusal>> {
        let key = write.key();
        let (what, place) = (key.partition.name, TableKey::for_table_item(key));
        let condition = to_expression(write.condition(), self.table.system.now());
        let is_done = match (write, condition) {
            (Write::Put(new, _), condition) => {
                let item = encode_item(new, version);
                self.table.put_record(what, item, condition).await?.is_ok()
            }
            (Write::Delete(..), condition) => {
                let condition = condition.unwrap_or_else(require_nothing);
                self.table.delete_record(what, place, condition).await?.is_ok()
            }
            (Write::Check(_, required), _) => {
                let found = self.get(key).await?.map(|item| item.version);
                match required {
                    Condition::Always => true,
                    Condition::Absent => found.is_none(),
                    Condition::Version(version) => found == Some(*version),
                }
            }
        };
        Ok(if is_done { Ok(()) } else { Err(Refusal(vec![0])) })
    }

    async fn write_together(&self, writes: &[Write], version: Version) -> PortResult<Result<(), Refusal>> {
        let now = self.table.system.now();
        let what = writes.first().map_or("items", |write| write.key().partition.name);
        let actions = writes.iter().map(|write| to_action(write, version, now));
        let Err(failed) = self.table.run_transaction(what, actions.collect()).await? else {
            return Ok(Ok(()));
        };
        let found = |place: usize| failed.for_action(place).and_then(|found| found.0.as_ref());
        let is_own = (0..writes.len()).any(|place| found(place).and_then(stored_version) == Some(version));
        if is_own {
            return Ok(Ok(()));
        }
        Ok(Err(Refusal(list_refused_writes(&failed, 0, writes.len()))))
    }
}

/// Returns the places of those of `count` writes whose conditions did not hold. Their actions began at `first` of a transaction.
pub(super) fn list_refused_writes(failed: &FailedConditions, first: usize, count: usize) -> Vec<usize> {
    let is_refused = |place: &usize| failed.for_action(first + place).is_some();
    (0..count).filter(is_refused).collect()
}

/// Returns the condition of a request; `None` if nothing is required. What has expired is absent.
fn to_expression(condition: Condition, now: Timestamp) -> Option<Expression> {
    let expression = match condition {
        Condition::Always => return None,
        Condition::Absent => Expression::new("attribute_not_exists(#pk) OR #ttl <= :now"),
        Condition::Version(version) => {
            Expression::new("#version = :version AND (attribute_not_exists(#ttl) OR #ttl > :now)")
                .with_text(":version", version.0.to_string())
        }
    };
    Some(expression.with_number(":now", now.as_second()))
}

/// Returns the condition of a request that must have one.
fn require_nothing() -> Expression {
    Expression::new("attribute_exists(#pk) OR attribute_not_exists(#pk)")
}

pub(super) fn to_action(write: &Write, version: Version, now: Timestamp) -> TransactionAction {
    let key = TableKey::for_table_item(write.key());
    let condition = to_expression(write.condition(), now);
    match write {
        Write::Put(new, _) => TransactionAction::Put(encode_item(new, version), condition),
        Write::Delete(..) => TransactionAction::Delete(key, condition),
        Write::Check(..) => TransactionAction::Check(key, condition.unwrap_or_else(require_nothing)),
    }
}

/// Makes the request for what a query asks, with the key behind which it begins. `None`: there is no such item.
///
/// `DynamoDB` refuses an empty text, a range that ends before it begins, and a start outside of the range.
fn build_request(query: &Query) -> Option<(RecordQuery, Option<Item>)> {
    let from = query.from.as_deref().filter(|from| !from.is_empty());
    let (to, after) = (query.to.as_deref(), query.after.as_deref());
    if to.is_some_and(|to| to.is_empty() || from.is_some_and(|from| from > to)) {
        return None;
    }
    let is_below = after.is_some_and(|after| after.is_empty() || from.is_some_and(|from| after < from));
    let is_above = after.is_some_and(|after| to.is_some_and(|to| after > to));
    let (is_before, is_behind) = if query.reverse {
        (is_above, is_below)
    } else {
        (is_below, is_above)
    };
    if is_behind {
        return None;
    }
    let pk = query.partition.to_string();
    let mut asked = RecordQuery::for_partition(pk.as_str(), None, Some(query.limit));
    asked.reverse = query.reverse;
    let range = match (from, to) {
        (None, None) => "",
        (Some(_), None) => " AND #sk >= :from",
        (None, Some(_)) => " AND #sk <= :to",
        (Some(_), Some(_)) => " AND #sk BETWEEN :from AND :to",
    };
    asked.keys.text.push_str(range);
    for (name, bound) in [(":from", from), (":to", to)] {
        let bound = bound.map(|bound| (name.to_owned(), text_attribute(bound)));
        asked.keys.values.extend(bound);
    }
    let start = after.filter(|_| !is_before).map(|after| TableKey {
        pk,
        sk: after.to_owned(),
    });
    Some((asked, start.map(TableKey::into_key_item)))
}

/// Encodes an item with its version, which is a text, since it may be greater than other numbers are.
pub(super) fn encode_item(new: &NewItem, version: Version) -> Item {
    let key = TableKey::for_table_item(&new.key);
    let mut item = Item::from([
        ("version".to_owned(), text_attribute(version.0.to_string())),
        ("body".to_owned(), text_attribute(new.body.as_str())),
    ]);
    if let Some(expires) = new.expires {
        // Rounded up to a second.
        let second = expires.as_millisecond().saturating_add(999).div_euclid(1000);
        item.insert("ttl".to_owned(), number_attribute(second));
    }
    if let Some(due) = new.due {
        let shard = keys::due_shard(new.key.partition.name, &key);
        item.insert("open_shard".to_owned(), text_attribute(shard));
        item.insert("open_due".to_owned(), number_attribute(due.as_millisecond()));
    }
    key.into_item(item)
}

/// Returns whether an item has not expired.
pub(super) fn is_live(item: &Item, now: Timestamp) -> bool {
    get_integer(item, "ttl").is_none_or(|ttl| now.as_second() < ttl)
}

/// Returns the record of an item of a kind, as JSON.
pub(super) fn get_body<'a>(kind: &'static str, item: &'a Item) -> PortResult<&'a str> {
    get_string(item, "body").ok_or_else(|| PortError::invalid(kind, "an item without a body"))
}

fn stored_version(item: &Item) -> Option<Version> {
    get_string(item, "version")?.parse().ok().map(Version)
}

fn decode_item(key: Key, item: &Item) -> PortResult<StoredItem> {
    let kind = key.partition.name;
    let version = stored_version(item).ok_or_else(|| PortError::invalid(kind, "an item without a version"));
    Ok(StoredItem {
        version: version?,
        // A kind takes one that is no text for a record that cannot be read.
        body: get_body(kind, item).unwrap_or_default().to_owned(),
        expires: get_integer(item, "ttl").and_then(|ttl| Timestamp::from_second(ttl).ok()),
        key,
    })
}

/// Decodes those items of partitions of these names that have not expired and can be read.
fn decode_live(found: &[Item], names: &[&'static str], now: Timestamp) -> Vec<StoredItem> {
    let decode = |item: &Item| {
        let key = names.iter().find_map(|&name| parse_key(name, item))?;
        keep_readable(decode_item(key, item))
    };
    let live = found.iter().filter(|item| is_live(item, now));
    live.filter_map(decode).collect()
}

fn parse_key(name: &'static str, item: &Item) -> Option<Key> {
    let TableKey { pk, sk } = TableKey::from_item(item)?;
    let owner = pk.strip_prefix(name)?.strip_prefix('#')?;
    let owner = Some(owner).filter(|owner| !owner.is_empty());
    let owner = owner.map(TenantId::parse).transpose().ok()?;
    Some(Key::new(name, owner.as_ref(), sk))
}
