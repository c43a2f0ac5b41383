//! Dead letters: copies of what was given up, sorted by the time of the failure. Of one id there is one letter.

use super::audit::format_sort_time;
use super::check_cursor;
use crate::ports::{Page, PageRequest, PortError, PortResult};
use crate::retry_write::{WriteAttempt, retry_lost_write};
use crate::table::{
    Condition, IndexEntry, Key, Partition, Query, Record, StoredItem, Table, Write, find_by_index,
    list_records, parse_index_entry, put_writes,
};
use crate::unreadable_record::keep_readable;
use jiff::Timestamp;
use recado_domain::access::Scope;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::millis::from_unix_millis;
use recado_domain::reason::Reason;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The partition in which a letter is found by its id. Each write of a letter requires this item as it was read, and changes it.
pub const BY_ID: &str = "dead-letters.by-id";
/// The partition in which all letters are listed.
const ALL: &str = "dead-letters.all";
/// The partition in which the letters of an owner are counted without being read.
const COUNTED: &str = "dead-letters.counted";

/// The number of letters that are counted with one read.
const COUNTED_AT_ONCE: usize = 10_000;

/// The length of an id at most, in bytes. A longer one is of no letter, and no key holds it.
const ID_BYTES_MAX: usize = 600;

/// A letter's place tells what its other keys are made of. So none of them is lost with a record that cannot be read.
impl Record for DeadLetter {
    const KIND: &'static str = "dead-letters";
    const INDEXES: &'static [&'static str] = &[BY_ID, ALL, COUNTED];

    fn owner(&self) -> Option<&TenantId> {
        self.tenant.as_ref()
    }

    fn build_sort_key(&self) -> String {
        let instance = self.instance.as_ref().map_or("", InstanceId::as_str);
        format!("{}#{}#{instance}", format_sort_time(self.at), self.id)
    }

    fn list_index_entries(&self) -> Vec<IndexEntry> {
        let [_, all, counted] = list_letter_keys(self.key());
        [build_index_key(&self.id), all, counted]
            .map(IndexEntry::new)
            .into()
    }

    /// A letter whose JSON cannot be read says so, and has the fields that can be read.
    fn from_stored(key: &Key, body: &str) -> PortResult<Self> {
        let error = match Self::from_body(body) {
            Ok(dead_letter) => return Ok(dead_letter),
            Err(error) => error,
        };
        let Some(place) = parse_letter_place(&key.sort) else {
            return Err(error);
        };
        tracing::error!(dead_letter = place.id, %error, "the record of a dead letter cannot be read");
        let fields: Option<Value> = serde_json::from_str(body).ok().filter(Value::is_object);
        let fields = fields.unwrap_or_else(|| Value::Object(Map::new()));
        let (id, record) = (place.id.to_owned(), body.to_owned());
        Ok(Self {
            tenant: key.partition.owner.clone(),
            instance: place.instance,
            ..Self::from_damaged_record(id, place.at, &fields, record)
        })
    }
}

/// The parts of a letter's place.
struct LetterPlace<'a> {
    at: Timestamp,
    id: &'a str,
    instance: Option<InstanceId>,
}

fn parse_letter_place(sort: &str) -> Option<LetterPlace<'_>> {
    let (time, rest) = sort.split_once('#')?;
    let (id, instance) = rest.rsplit_once('#')?;
    let instance = (!instance.is_empty()).then(|| InstanceId::parse(instance));
    let place = LetterPlace {
        at: from_unix_millis(time.parse().ok()?),
        id,
        instance: instance.transpose().ok()?,
    };
    (format_sort_time(place.at) == time && is_id_of_letter(id)).then_some(place)
}

fn is_id_of_letter(text: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&text.len())
}

/// Returns the key of what leads to the letter with this id.
pub fn build_index_key(id: &str) -> Key {
    Key::new(BY_ID, None, id)
}

/// Returns the key of a letter, and those of what leads to it but [`build_index_key`].
fn list_letter_keys(own: Key) -> [Key; 3] {
    let all = Key::new(ALL, None, own.sort.clone());
    let counted = Key::new(COUNTED, own.partition.owner.as_ref(), own.sort.clone());
    [own, all, counted]
}

/// Returns the key of the letter to which `known` leads: the item under [`build_index_key`]. `None`: there is none, or it cannot be read.
fn find_letter_key(known: Option<&StoredItem>) -> Option<Key> {
    keep_readable(parse_index_entry::<DeadLetter>(known?))
}

/// Returns whether a letter is of a later failure than the one to which `known` leads, the item under [`build_index_key`].
pub fn is_later_failure(dead_letter: &DeadLetter, known: Option<&StoredItem>) -> bool {
    let own = find_letter_key(known);
    let stored = own.as_ref().and_then(|own| parse_letter_place(&own.sort));
    stored.is_none_or(|stored| stored.at.as_millisecond() < dead_letter.at.as_millisecond())
}

/// Returns the writes that store a letter in place of the one to which `known` leads. They require that `known`, the item under
/// [`build_index_key`], is still there.
pub fn build_replacement(dead_letter: &DeadLetter, known: Option<&StoredItem>) -> PortResult<Vec<Write>> {
    let mut writes = put_writes(dead_letter)?;
    for write in &mut writes {
        if let Write::Put(item, condition) = write
            && item.key.partition.name == BY_ID
        {
            *condition = known.map_or(Condition::Absent, |known| Condition::Version(known.version));
        }
    }
    for key in find_letter_key(known).into_iter().flat_map(list_letter_keys) {
        if writes.iter().all(|write| *write.key() != key) {
            writes.push(Write::delete_any(key));
        }
    }
    Ok(writes)
}

/// Conditions for a list of dead letters. A field that is `None` sets no condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadLetterFilter {
    /// Tenant of the dead letter.
    pub tenant: Option<TenantId>,
    /// `true`: only dead letters of nobody, whose tenant is not known.
    pub of_nobody: bool,
    /// Queue from which the dead letter came.
    pub queue: Option<QueueName>,
    /// Reason of the dead letter.
    pub reason: Option<Reason>,
    /// Instance of the dead letter.
    pub instance: Option<InstanceId>,
    /// Earliest time of the failure (included).
    pub since: Option<Timestamp>,
    /// Time before which the failure happened (not included).
    pub until: Option<Timestamp>,
}

impl DeadLetterFilter {
    /// Makes the filter for all dead letters of a tenant.
    pub fn of_tenant(tenant: &TenantId) -> Self {
        Self {
            tenant: Some(tenant.clone()),
            ..Self::default()
        }
    }

    /// Limits the filter to the tenant of `scope`, if it has one.
    #[must_use]
    pub fn within_scope(mut self, scope: &Scope) -> Self {
        self.tenant = scope.tenant().cloned().or(self.tenant);
        self
    }

    /// Returns `true` if `dead_letter` meets all conditions.
    pub fn matches_letter(&self, dead_letter: &DeadLetter) -> bool {
        self.tenant
            .as_ref()
            .is_none_or(|tenant| Some(tenant) == dead_letter.tenant.as_ref())
            && !(self.of_nobody && dead_letter.tenant.is_some())
            && self.queue.is_none_or(|queue| queue == dead_letter.queue)
            && self.reason.is_none_or(|reason| reason == dead_letter.reason)
            && self
                .instance
                .as_ref()
                .is_none_or(|instance| Some(instance) == dead_letter.instance.as_ref())
            && self.since.is_none_or(|since| dead_letter.at >= since)
            && self.until.is_none_or(|until| dead_letter.at < until)
    }
}

/// Numbers of dead letters by instance. `None` stands for those whose instance is not known. An instance without a dead
/// letter is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadLetterCounts(pub BTreeMap<Option<InstanceId>, u64>);

impl DeadLetterCounts {
    /// Returns the number of one instance's dead letters, or of all (`None`).
    pub fn count_of(&self, instance: Option<&InstanceId>) -> u64 {
        match instance {
            None => self.0.values().sum(),
            Some(id) => self.0.get(&Some(id.clone())).copied().unwrap_or_default(),
        }
    }
}

/// Stores a dead letter. A stored dead letter with the same id is replaced if it is of an earlier failure. `false`, and nothing is stored:
/// there is the dead letter of this failure already, or of a later one. (A worker that was delayed for long may store the dead letter of a
/// failure that was redriven meanwhile and followed by another.)
pub async fn put_dead_letter(table: &dyn Table, dead_letter: &DeadLetter) -> PortResult<bool> {
    retry_lost_write(PortError::contended(DeadLetter::KIND), (), |()| async {
        let known = table.get(&build_index_key(&dead_letter.id)).await?;
        if !is_later_failure(dead_letter, known.as_ref()) {
            return PortResult::Ok(WriteAttempt::Done(false));
        }
        let writes = build_replacement(dead_letter, known.as_ref())?;
        let written = table.write(&writes).await?.is_ok();
        Ok(WriteAttempt::after_write(written, true))
    })
    .await
}

/// Returns one dead letter; `None` if it does not exist.
pub async fn find_dead_letter(table: &dyn Table, id: &str) -> PortResult<Option<DeadLetter>> {
    if !is_id_of_letter(id) {
        return Ok(None);
    }
    let found = find_by_index::<DeadLetter>(table, &build_index_key(id)).await?;
    Ok(found.map(|found| found.record))
}

/// Returns the time of the failure whose dead letter has this id; `None` if there is none. It takes one small read.
pub async fn find_failure_time(table: &dyn Table, id: &str) -> PortResult<Option<Timestamp>> {
    if !is_id_of_letter(id) {
        return Ok(None);
    }
    let own = find_letter_key(table.get(&build_index_key(id)).await?.as_ref());
    let place = own.as_ref().and_then(|own| parse_letter_place(&own.sort));
    Ok(place.map(|place| place.at))
}

/// Removes the dead letter of the failure at `failed_at`. `false`: it does not exist, or it is of another failure.
pub async fn remove_dead_letter(table: &dyn Table, id: &str, failed_at: Timestamp) -> PortResult<bool> {
    if !is_id_of_letter(id) {
        return Ok(false);
    }
    retry_lost_write(PortError::contended(DeadLetter::KIND), (), |()| async {
        let known = table.get(&build_index_key(id)).await?;
        let own = find_letter_key(known.as_ref());
        let is_of_failure = |own: &Key| {
            parse_letter_place(&own.sort)
                .is_some_and(|place| place.at.as_millisecond() == failed_at.as_millisecond())
        };
        let (Some(known), Some(own)) = (known, own.filter(is_of_failure)) else {
            return PortResult::Ok(WriteAttempt::Done(false));
        };
        let mut writes = vec![Write::Delete(known.key, Condition::Version(known.version))];
        writes.extend(list_letter_keys(own).map(Write::delete_any));
        let written = table.write(&writes).await?.is_ok();
        Ok(WriteAttempt::after_write(written, true))
    })
    .await
}

/// Lists the dead letters that match `filter`, the newest first.
pub async fn list_dead_letters(
    table: &dyn Table,
    filter: &DeadLetterFilter,
    page: &PageRequest,
) -> PortResult<Page<DeadLetter>> {
    check_cursor(DeadLetter::KIND, page, |text| parse_letter_place(text).is_some())?;
    let is_of_owner = filter.tenant.is_some() || filter.of_nobody;
    let name = if is_of_owner { DeadLetter::KIND } else { ALL };
    let partition = Partition::new(name, filter.tenant.as_ref());
    let query = Query {
        from: filter.since.map(format_sort_time),
        // Behind its time a letter's place has its id: this is before the letters of `until`.
        to: filter.until.map(format_sort_time),
        ..Query::new(partition, page.limit).in_reverse()
    };
    let is_wanted = |dead_letter: &DeadLetter| filter.matches_letter(dead_letter);
    list_records(table, query, page, is_wanted).await
}

/// Counts the dead letters of `tenant`, or all (`None`), by instance, in one pass.
pub async fn count_dead_letters(
    table: &dyn Table,
    tenant: Option<&TenantId>,
) -> PortResult<DeadLetterCounts> {
    let name = if tenant.is_some() { COUNTED } else { ALL };
    let mut query = Query::new(Partition::new(name, tenant), COUNTED_AT_ONCE);
    let mut counts = DeadLetterCounts::default();
    loop {
        let page = table.page(&query).await?;
        for item in &page.items {
            let instance = parse_letter_place(&item.key.sort).and_then(|place| place.instance);
            *counts.0.entry(instance).or_default() += 1;
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(counts),
        }
    }
}
