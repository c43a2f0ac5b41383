//! Reads and writes single records of a kind.

use super::Table;
use super::item::{Condition, Refusal, StoredItem, Version, Write};
use super::key::Key;
use super::kind::{build_index_writes, delete_left_entries, put_item, put_writes};
use super::record::{IndexContent, IndexEntry, Record};
use crate::port_error::{PortError, PortResult};
use crate::retry_write::{WriteAttempt, retry_lost_write};
use crate::unreadable_record::keep_readable;
use crate::write_outcome::{CommitOutcome, WriteOutcome};
use jiff::Timestamp;
use recado_domain::ids::TenantId;

/// A record with what its next write needs to know of the stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The record, which the caller may change. Its key must stay.
    pub record: T,
    /// The version that is stored; `None`: there must be none.
    version: Option<Version>,
    /// The index entries that are stored, and their expiry.
    entries: Vec<IndexEntry>,
    expiry: Option<Timestamp>,
}

impl<T: Record> Versioned<T> {
    /// Makes a record that is not stored yet.
    pub fn new(record: T) -> Self {
        Self {
            record,
            version: None,
            entries: Vec::new(),
            expiry: None,
        }
    }

    /// Makes the record that is to be stored in place of a known one. Without that it is a new one.
    pub(crate) fn replacing(known: Option<Self>, record: T) -> Self {
        match known {
            Some(known) => Self { record, ..known },
            None => Self::new(record),
        }
    }

    fn stored(record: T, version: Version) -> Self {
        let (entries, expiry) = (record.list_index_entries(), record.compute_expiry());
        Self {
            record,
            version: Some(version),
            entries,
            expiry,
        }
    }

    /// Makes the record that is to be stored in place of one that cannot be read. What leads to that one is not known.
    pub(crate) fn in_place_of(record: T, item: &StoredItem) -> Self {
        Self {
            version: Some(item.version),
            ..Self::new(record)
        }
    }

    /// Returns whether the record was read from the store.
    pub fn is_stored(&self) -> bool {
        self.version.is_some()
    }

    /// Returns the write that changes nothing, and requires that the stored record is still the one that was read.
    pub fn require_unchanged(&self) -> Write {
        Write::Check(self.record.key(), self.condition())
    }

    /// Notes that the record is stored as it is, with this version.
    pub(crate) fn note_saved(&mut self, version: Option<Version>) {
        self.version = version;
        self.entries = self.record.list_index_entries();
        self.expiry = self.record.compute_expiry();
    }

    fn condition(&self) -> Condition {
        self.version.map_or(Condition::Absent, Condition::Version)
    }
}

/// The end of an attempt to save a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that lost must not be taken for one that won"]
pub enum SaveOutcome {
    /// The record is stored.
    Saved,
    /// Another writer changed the stored record, or what was written beside it: nothing was written.
    Conflict,
    /// Another record has the index entry at this place of [`Record::list_index_entries`]: nothing was written.
    Taken(usize),
}

/// Of a kind whose index entries follow from the key, no other record has one.
impl From<SaveOutcome> for WriteOutcome {
    fn from(saved: SaveOutcome) -> Self {
        match saved {
            SaveOutcome::Saved => Self::Written,
            SaveOutcome::Conflict | SaveOutcome::Taken(_) => Self::Conflict,
        }
    }
}

/// The writes that save or remove a record, to be made together with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The writes. The first is that of the record itself.
    pub writes: Vec<Write>,
    /// The place in the record's index entries of each write behind the first; `None` where an index entry is deleted.
    places: Vec<Option<usize>>,
}

impl Change {
    /// Returns the writes that store a record, if the stored one is that which was read.
    pub fn save<T: Record>(versioned: &Versioned<T>) -> PortResult<Self> {
        let record = &versioned.record;
        let mut change = Self {
            writes: vec![put_item(record, versioned.condition())?],
            places: Vec::new(),
        };
        let entries = record.list_index_entries();
        let is_stored = |entry: &IndexEntry| versioned.entries.contains(entry);
        let condition = |place: usize| match &entries[place] {
            entry if entry.is_unique && !is_stored(entry) => Condition::Absent,
            _ => Condition::Always,
        };
        let same_expiry = versioned.expiry == record.compute_expiry();
        for (place, write) in build_index_writes(record, condition)?.into_iter().enumerate() {
            let entry = &entries[place];
            if !(is_stored(entry) && same_expiry && entry.content == IndexContent::Key) {
                change.writes.push(write);
                change.places.push(Some(place));
            }
        }
        let left = delete_left_entries(&versioned.entries, &entries);
        change.places.extend(left.iter().map(|_| None));
        change.writes.extend(left);
        Ok(change)
    }

    /// Returns the writes that delete a record that was read, with its index entries.
    pub fn remove<T: Record>(versioned: &Versioned<T>) -> Self {
        let own = Write::Delete(versioned.record.key(), versioned.condition());
        let entries = delete_left_entries(&versioned.entries, &[]);
        let writes: Vec<Write> = std::iter::once(own).chain(entries).collect();
        let places = vec![None; writes.len() - 1];
        Self { writes, places }
    }

    /// Tells what became of this change where a list of writes was refused. They were refused at the places `refused` of the list, and this
    /// change was made as those from `first` on. `None`: none of its own writes was refused.
    pub fn refused_by(&self, refused: &[usize], first: usize) -> Option<SaveOutcome> {
        let own = refused.iter().filter_map(|place| place.checked_sub(first));
        let own: Vec<usize> = own.filter(|place| *place < self.writes.len()).collect();
        if own.is_empty() {
            return None;
        }
        let is_record_refused = own.contains(&0);
        let taken = own.iter().filter(|_| !is_record_refused);
        let mut taken = taken.filter_map(|place| self.places.get(place.checked_sub(1)?).copied().flatten());
        Some(taken.next().map_or(SaveOutcome::Conflict, SaveOutcome::Taken))
    }
}

/// Reads a record by its owner and place, with its version. `None`: there is none.
pub async fn find_with_version<T: Record>(
    table: &dyn Table,
    owner: Option<&TenantId>,
    sort: &str,
) -> PortResult<Option<Versioned<T>>> {
    let found = table.get(&Key::new(T::KIND, owner, sort)).await?;
    found.map(|item| parse_item(&item)).transpose()
}

/// Reads a record as [`find_with_version`] does. One that cannot be read is logged and counts as absent.
pub async fn find_readable<T: Record>(
    table: &dyn Table,
    owner: Option<&TenantId>,
    sort: &str,
) -> PortResult<Option<Versioned<T>>> {
    let found = table.get(&Key::new(T::KIND, owner, sort)).await?;
    Ok(found.and_then(|item| keep_readable(parse_item(&item))))
}

/// Reads the record with the key of `new`. Where there is none, or one that cannot be read, it is `new`, which the next write stores in
/// that place. For kinds without index entries.
pub async fn find_or_new<T: Record>(table: &dyn Table, new: T) -> PortResult<Versioned<T>> {
    let Some(item) = table.get(&new.key()).await? else {
        return Ok(Versioned::new(new));
    };
    Ok(keep_readable(parse_item(&item)).unwrap_or_else(|| Versioned::in_place_of(new, &item)))
}

/// Reads the record of an item, with its version.
pub(crate) fn parse_item<T: Record>(item: &StoredItem) -> PortResult<Versioned<T>> {
    let record = T::from_stored(&item.key, &item.body)?;
    Ok(Versioned::stored(record, item.version))
}

/// Reads a record by its owner and place. `None`: there is none.
pub async fn find_record<T: Record>(
    table: &dyn Table,
    owner: Option<&TenantId>,
    sort: &str,
) -> PortResult<Option<T>> {
    let found = find_with_version(table, owner, sort).await?;
    Ok(found.map(|found| found.record))
}

/// Stores a record with its index entries, whatever is there. For kinds whose index entries follow from the key alone.
pub async fn put_record<T: Record>(table: &dyn Table, record: &T) -> PortResult<()> {
    write_always(table, T::KIND, &put_writes(record)?).await
}

/// Makes writes of a kind that have no conditions.
pub(crate) async fn write_always(table: &dyn Table, kind: &'static str, writes: &[Write]) -> PortResult<()> {
    let written = table.write(writes).await?;
    written.map(drop).map_err(|_| PortError::contended(kind))
}

/// Stores a record if the stored one is that which was read. Afterwards `versioned` may be changed and saved again.
pub async fn save_record<T: Record>(
    table: &dyn Table,
    versioned: &mut Versioned<T>,
) -> PortResult<SaveOutcome> {
    save_record_with(table, versioned, Vec::new()).await
}

/// Stores a record as [`save_record`] does. For kinds of which no other record may have an index entry.
pub async fn write_record<T: Record>(
    table: &dyn Table,
    versioned: &mut Versioned<T>,
) -> PortResult<WriteOutcome> {
    save_record(table, versioned).await.map(WriteOutcome::from)
}

/// Stores a record as [`save_record`] does, together with other writes.
pub async fn save_record_with<T: Record>(
    table: &dyn Table,
    versioned: &mut Versioned<T>,
    others: Vec<Write>,
) -> PortResult<SaveOutcome> {
    let mut change = Change::save(versioned)?;
    change.writes.extend(others);
    match table.write(&change.writes).await? {
        Ok(versions) => {
            versioned.note_saved(versions.first().copied());
            Ok(SaveOutcome::Saved)
        }
        Err(refusal) => Ok(change.refused_by(&refusal.0, 0).unwrap_or(SaveOutcome::Conflict)),
    }
}

/// Deletes a record that was read, with its index entries. `false`: it is another by now, or gone.
pub async fn remove_record<T: Record>(table: &dyn Table, versioned: &Versioned<T>) -> PortResult<bool> {
    Ok(table.write(&Change::remove(versioned).writes).await?.is_ok())
}

/// Deletes a record that was read, with its index entries, as long as it `is_meant`. Another writer may change it meanwhile. One that is gone counts
/// as deleted.
pub(crate) async fn remove_latest_record<T: Record>(
    table: &dyn Table,
    found: Option<Versioned<T>>,
    is_meant: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<()> {
    let keep_meant = &|found: Option<Versioned<T>>| found.filter(|found| is_meant(&found.record));
    let Some(first) = keep_meant(found) else {
        return Ok(());
    };
    retry_lost_write(PortError::contended(T::KIND), first, |known| async move {
        if remove_record(table, &known).await? {
            return PortResult::Ok(WriteAttempt::Done(()));
        }
        let sort = known.record.build_sort_key();
        let again = keep_meant(find_with_version(table, known.record.owner(), &sort).await?);
        Ok(again.map_or(WriteAttempt::Done(()), WriteAttempt::Lost))
    })
    .await
}

/// Deletes the record of this owner and place, whatever it is, if there is one. For kinds without index entries.
pub async fn delete_record<T: Record>(
    table: &dyn Table,
    owner: Option<&TenantId>,
    sort: &str,
) -> PortResult<()> {
    let write = Write::delete_any(Key::new(T::KIND, owner, sort));
    write_always(table, T::KIND, &[write]).await
}

/// Makes a change together with the writes `beside`, in one transaction. [`CommitOutcome::Refused`] tells of the writes beside alone, and
/// takes precedence over [`CommitOutcome::Conflict`].
pub async fn commit_change(
    table: &dyn Table,
    change: &Change,
    beside: &[Write],
) -> PortResult<CommitOutcome> {
    let writes = [change.writes.as_slice(), beside].concat();
    let Err(Refusal(refused)) = table.write(&writes).await? else {
        return Ok(CommitOutcome::Committed);
    };
    let places = refused.iter();
    let places: Vec<usize> = places
        .filter_map(|place| place.checked_sub(change.writes.len()))
        .collect();
    Ok(if places.is_empty() {
        CommitOutcome::Conflict
    } else {
        CommitOutcome::Refused(places)
    })
}
