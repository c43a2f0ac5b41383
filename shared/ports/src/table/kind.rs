use super::item::{Condition, NewItem, Write};
use super::key::Key;
use super::record::{IndexContent, IndexEntry, Record};
use crate::port_error::{PortError, PortResult};
use jiff::{SignedDuration, Timestamp};
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::moving::MovedFile;
use recado_domain::published_event::PublishedEvent;
use serde_json::json;

/// What is left of an item once its tenant is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemovedContent {
    /// Nothing: the item and its index entries are deleted.
    Nothing,
    /// The item stays as it is.
    Same,
    /// The item stays with another content: these writes make it.
    Other(Vec<Write>),
}

/// A kind of record, for what goes over the items of all kinds and does not know their types.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// The name: [`Record::KIND`].
    pub name: &'static str,
    /// The names of the partitions of its index entries: [`Record::INDEXES`].
    pub indexes: &'static [&'static str],
    /// `true` if changes may be published: [`Record::IS_PUBLISHED`].
    pub is_published: bool,
    /// `false` if an export leaves such records out, and the first start on a backup deletes them: [`Record::IS_MOVED`].
    pub is_moved: bool,
    /// `true` if an installation makes such records although nobody uses it: [`Record::IS_IDLE`].
    pub is_idle: bool,
    /// `true` if something waits for times in such records, or is held until one: [`Record::HAS_TIMES`].
    pub has_times: bool,
    /// `true` if only what is due at some time has such times: [`Record::HAS_TIMES_WHILE_DUE`].
    pub has_times_while_due: bool,
    /// `true` if a write ends what a store keeps in memory of the configuration: [`Record::IS_CONFIGURATION`].
    pub is_configuration: bool,
    /// `true` if what removes all records of a tenant leaves such records: [`Record::GOES_LAST`].
    pub goes_last: bool,
    /// The least time for which what expired stays stored: [`Record::KEPT_EXPIRED`].
    pub kept_expired: SignedDuration,
    put: fn(&str) -> PortResult<Vec<Write>>,
    index_keys: fn(&Key, &str) -> PortResult<Vec<Key>>,
    without_tenant: fn(&str) -> PortResult<RemovedContent>,
    derive_published_events: fn(Option<&str>, &str, Timestamp) -> PortResult<Vec<PublishedEvent>>,
    item: fn(&str) -> PortResult<NewItem>,
    set_times_back: fn(&str, ClockRollback) -> PortResult<Option<Vec<Write>>>,
    free_held: fn(&str, Timestamp) -> PortResult<Option<Vec<Write>>>,
    list_files: fn(&str) -> PortResult<Vec<MovedFile>>,
}

impl Kind {
    /// Describes the kind of a record.
    pub const fn of<T: Record>() -> Self {
        Self {
            name: T::KIND,
            indexes: T::INDEXES,
            is_published: T::IS_PUBLISHED,
            is_moved: T::IS_MOVED,
            is_idle: T::IS_IDLE,
            has_times: T::HAS_TIMES,
            has_times_while_due: T::HAS_TIMES_WHILE_DUE,
            is_configuration: T::IS_CONFIGURATION,
            goes_last: T::GOES_LAST,
            kept_expired: T::KEPT_EXPIRED,
            put: |body| put_writes(&T::from_body(body)?),
            index_keys: |key, body| {
                Ok(T::from_stored(key, body)?
                    .list_index_entries()
                    .into_iter()
                    .map(|entry| entry.key)
                    .collect())
            },
            without_tenant: remove_content::<T>,
            derive_published_events: derive_published_events::<T>,
            item: |body| build_item(&T::from_body(body)?),
            set_times_back: |body, back| change_record::<T>(body, |record| record.set_times_back(back)),
            free_held: |body, now| change_record::<T>(body, |record| record.free_held(now)),
            list_files: |body| Ok(T::from_body(body)?.list_files()),
        }
    }

    /// Returns the item of the record with this JSON. Its body is the JSON as this program writes it.
    pub fn build_item(&self, body: &str) -> PortResult<NewItem> {
        (self.item)(body)
    }

    /// Returns the writes that store the record with this JSON and its index entries, whatever is there.
    pub fn put_writes(&self, body: &str) -> PortResult<Vec<Write>> {
        (self.put)(body)
    }

    /// Returns the writes that delete an item, given its body, with its index entries. Those of a record that cannot be read are not known.
    pub fn delete_writes(&self, key: Key, body: &str) -> Vec<Write> {
        let entries = (self.index_keys)(&key, body).unwrap_or_default();
        let all = std::iter::once(key).chain(entries);
        all.map(Write::delete_any).collect()
    }

    /// Returns what is left of an item once its tenant is removed. Of a record that cannot be read nothing is.
    pub fn remove_content(&self, body: &str) -> RemovedContent {
        (self.without_tenant)(body).unwrap_or(RemovedContent::Nothing)
    }

    /// Returns what is published of a change at `at`.
    pub fn derive_published_events(
        &self,
        old: Option<&str>,
        new: &str,
        at: Timestamp,
    ) -> PortResult<Vec<PublishedEvent>> {
        (self.derive_published_events)(old, new, at)
    }

    /// Returns the writes that store a record with times set back that lie ahead; `None` if none does.
    pub fn set_times_back(&self, body: &str, back: ClockRollback) -> PortResult<Option<Vec<Write>>> {
        (self.set_times_back)(body, back)
    }

    /// Returns the writes that free what a process held that ended by `now`. `None` if it held nothing.
    pub fn free_held(&self, body: &str, now: Timestamp) -> PortResult<Option<Vec<Write>>> {
        (self.free_held)(body, now)
    }

    /// Lists the files that may belong to the record with this JSON.
    pub fn list_files(&self, body: &str) -> PortResult<Vec<MovedFile>> {
        (self.list_files)(body)
    }

    /// Returns whether one of these writes is to a record of the configuration.
    pub fn touches_configuration(kinds: &[Self], writes: &[Write]) -> bool {
        let is_touched = |kind: &Self| writes.iter().any(|write| write.key().partition.name == kind.name);
        kinds.iter().any(|kind| kind.is_configuration && is_touched(kind))
    }
}

fn change_record<T: Record>(
    body: &str,
    change: impl FnOnce(&mut T) -> bool,
) -> PortResult<Option<Vec<Write>>> {
    let mut record = T::from_body(body)?;
    let entries = record.list_index_entries();
    if !change(&mut record) {
        return Ok(None);
    }
    let mut writes = put_writes(&record)?;
    writes.extend(delete_left_entries(&entries, &record.list_index_entries()));
    Ok(Some(writes))
}

/// Returns the writes that store a record and its index entries, whatever is there.
pub(crate) fn put_writes<T: Record>(record: &T) -> PortResult<Vec<Write>> {
    let mut writes = vec![put_item(record, Condition::Always)?];
    writes.extend(build_index_writes(record, |_| Condition::Always)?);
    Ok(writes)
}

fn remove_content<T: Record>(body: &str) -> PortResult<RemovedContent> {
    let record = T::from_body(body)?;
    Ok(match record.without_tenant() {
        None => RemovedContent::Nothing,
        Some(left) if left.to_body()? == body => RemovedContent::Same,
        Some(left) => RemovedContent::Other(put_writes(&left)?),
    })
}

fn derive_published_events<T: Record>(
    old: Option<&str>,
    new: &str,
    at: Timestamp,
) -> PortResult<Vec<PublishedEvent>> {
    // An old record that cannot be read is none: what is told once more is better than what is never told.
    let old = old.and_then(|old| T::from_body(old).ok());
    Ok(T::derive_published_events(old.as_ref(), &T::from_body(new)?, at))
}

/// Returns the write of a record's item.
pub(super) fn put_item<T: Record>(record: &T, condition: Condition) -> PortResult<Write> {
    Ok(Write::Put(build_item(record)?, condition))
}

fn build_item<T: Record>(record: &T) -> PortResult<NewItem> {
    Ok(NewItem {
        key: record.key(),
        body: record.to_body()?,
        expires: record.compute_expiry(),
        due: record.compute_due_time(),
    })
}

/// Returns the writes of a record's index entries, each with the condition that its place in the list asks for.
pub(super) fn build_index_writes<T: Record>(
    record: &T,
    condition_of: impl Fn(usize) -> Condition,
) -> PortResult<Vec<Write>> {
    let entries = record.list_index_entries().into_iter().enumerate();
    let write = |(place, entry): (usize, IndexEntry)| {
        let item = NewItem {
            body: match entry.content {
                IndexContent::Copy => record.to_body()?,
                IndexContent::Key => {
                    // An index entry may lie in the partition of the installation, and the record in that of a tenant.
                    let names = json!({"owner": record.owner(), "sort": record.build_sort_key()});
                    serde_json::to_string(&names).map_err(|error| PortError::invalid(T::KIND, error))?
                }
            },
            key: entry.key,
            expires: record.compute_expiry(),
            due: None,
        };
        Ok(Write::Put(item, condition_of(place)))
    };
    entries.map(write).collect()
}

/// Returns the writes that delete those of a record's stored index entries that it has no more.
pub(super) fn delete_left_entries(stored: &[IndexEntry], entries: &[IndexEntry]) -> Vec<Write> {
    let is_left = |entry: &&IndexEntry| entries.iter().all(|kept| kept.key != entry.key);
    let left = stored.iter().filter(is_left);
    left.map(|entry| Write::delete_any(entry.key.clone())).collect()
}
