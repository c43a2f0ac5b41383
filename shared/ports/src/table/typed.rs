//! Reads and writes records of a kind.

use super::Table;
use super::item::{Condition, Item, Query, Refusal, Version, Write};
use super::key::Key;
use super::kind::{Kind, delete_left_leads, lead_writes, put_item};
use super::record::{Lead, LeadContent, Record};
use crate::ports::{CommitOutcome, Page, PageRequest, PortError, PortResult, WriteOutcome};
use crate::unreadable_record::keep_readable;
use jiff::Timestamp;
use recado_domain::ids::TenantId;
use serde::Deserialize;
use std::collections::HashMap;

/// A record with what its next write needs to know of the stored one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    /// The record, which the caller may change. Its key must stay.
    pub record: T,
    /// The version that is stored; `None`: there must be none.
    version: Option<Version>,
    /// The leads that are stored, and their expiry.
    leads: Vec<Lead>,
    expiry: Option<Timestamp>,
}

impl<T: Record> Versioned<T> {
    /// Makes a record that is not stored yet.
    pub fn new(record: T) -> Self {
        Self {
            record,
            version: None,
            leads: Vec::new(),
            expiry: None,
        }
    }

    fn stored(record: T, version: Version) -> Self {
        let (leads, expiry) = (record.leads(), record.expiry());
        Self {
            record,
            version: Some(version),
            leads,
            expiry,
        }
    }

    /// Returns whether the record was read from the store.
    pub fn is_stored(&self) -> bool {
        self.version.is_some()
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
    /// Another record has the lead at this place of [`Record::leads`]: nothing was written.
    Taken(usize),
}

/// Of a kind whose leads follow from the key, no other record has one.
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
    /// The place in the record's leads of each write behind the first; `None` where a lead is deleted.
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
        let leads = record.leads();
        let is_stored = |lead: &Lead| versioned.leads.contains(lead);
        let condition = |place: usize| match &leads[place] {
            lead if lead.is_unique && !is_stored(lead) => Condition::Absent,
            _ => Condition::Always,
        };
        let same_expiry = versioned.expiry == record.expiry();
        for (place, write) in lead_writes(record, condition)?.into_iter().enumerate() {
            let lead = &leads[place];
            if !(is_stored(lead) && same_expiry && lead.content == LeadContent::Key) {
                change.writes.push(write);
                change.places.push(Some(place));
            }
        }
        let left = delete_left_leads(&versioned.leads, &leads);
        change.places.extend(left.iter().map(|_| None));
        change.writes.extend(left);
        Ok(change)
    }

    /// Returns the writes that delete a record that was read, with its leads.
    pub fn remove<T: Record>(versioned: &Versioned<T>) -> Self {
        let own = Write::Delete(versioned.record.key(), versioned.condition());
        let leads = versioned.leads.iter();
        let leads = leads.map(|lead| Write::Delete(lead.key.clone(), Condition::Always));
        let writes: Vec<Write> = std::iter::once(own).chain(leads).collect();
        let places = vec![None; writes.len() - 1];
        Self { writes, places }
    }

    /// Tells what became of this change, which was made as the writes from `first` on of a list that was refused at `refused`. `None`:
    /// none of its own writes was refused.
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
/// that place. For kinds without leads.
pub async fn find_or_new<T: Record>(table: &dyn Table, new: T) -> PortResult<Versioned<T>> {
    let Some(item) = table.get(&new.key()).await? else {
        return Ok(Versioned::new(new));
    };
    Ok(keep_readable(parse_item(&item)).unwrap_or_else(|| Versioned {
        version: Some(item.version),
        ..Versioned::new(new)
    }))
}

fn parse_item<T: Record>(item: &Item) -> PortResult<Versioned<T>> {
    let record = T::from_stored(&item.key, &item.body)?;
    Ok(Versioned::stored(record, item.version))
}

/// Reads a record by its owner and place. `None`: there is none.
pub async fn find_record<T: Record>(
    table: &dyn Table,
    owner: Option<&TenantId>,
    sort: &str,
) -> PortResult<Option<T>> {
    let found = table.get(&Key::new(T::KIND, owner, sort)).await?;
    found
        .map(|item| T::from_stored(&item.key, &item.body))
        .transpose()
}

/// Reads those records of an owner that exist and can be read, in the order of `sorts`.
pub async fn find_many<T: Record>(
    table: &dyn Table,
    owner: Option<&TenantId>,
    sorts: &[String],
) -> PortResult<Vec<T>> {
    let keys: Vec<Key> = sorts.iter().map(|sort| Key::new(T::KIND, owner, sort)).collect();
    let found = find_versions::<T>(table, &keys).await?;
    Ok(found.into_iter().map(|found| found.record).collect())
}

/// Reads the records under these keys with their versions, in the order of `keys`. Those that do not exist or cannot be read are left out.
pub async fn find_versions<T: Record>(table: &dyn Table, keys: &[Key]) -> PortResult<Vec<Versioned<T>>> {
    let mut found = read_by_key(table, keys).await?;
    Ok(keys.iter().filter_map(|key| found.remove(key)).collect())
}

/// Stores a record with its leads, whatever is there. For kinds whose leads follow from the key alone.
pub async fn put_record<T: Record>(table: &dyn Table, record: &T) -> PortResult<()> {
    let mut writes = vec![put_item(record, Condition::Always)?];
    writes.extend(lead_writes(record, |_| Condition::Always)?);
    table
        .write(&writes)
        .await?
        .map_err(|_| PortError::contended(T::KIND))?;
    Ok(())
}

/// Stores a record if the stored one is that which was read. Afterwards `versioned` may be changed and saved again.
pub async fn save_record<T: Record>(
    table: &dyn Table,
    versioned: &mut Versioned<T>,
) -> PortResult<SaveOutcome> {
    save_record_with(table, versioned, Vec::new()).await
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
            versioned.version = versions.first().copied();
            versioned.leads = versioned.record.leads();
            versioned.expiry = versioned.record.expiry();
            Ok(SaveOutcome::Saved)
        }
        Err(refusal) => Ok(change.refused_by(&refusal.0, 0).unwrap_or(SaveOutcome::Conflict)),
    }
}

/// Deletes a record that was read, with its leads. `false`: it is another by now, or gone.
pub async fn remove_record<T: Record>(table: &dyn Table, versioned: &Versioned<T>) -> PortResult<bool> {
    Ok(table.write(&Change::remove(versioned).writes).await?.is_ok())
}

/// Deletes the record of this owner and place, whatever it is, if there is one. For kinds without leads.
pub async fn delete_record<T: Record>(
    table: &dyn Table,
    owner: Option<&TenantId>,
    sort: &str,
) -> PortResult<()> {
    let write = Write::Delete(Key::new(T::KIND, owner, sort), Condition::Always);
    table
        .write(&[write])
        .await?
        .map_err(|_| PortError::contended(T::KIND))?;
    Ok(())
}

/// Deletes the records that `query` finds, as many as its limit says, with their leads. Returns how many. The partition must be one of the
/// kind's own.
pub async fn delete_page<T: Record>(table: &dyn Table, mut query: Query) -> PortResult<usize> {
    let (kind, limit) = (Kind::of::<T>(), query.limit);
    let mut deleted = 0;
    loop {
        let page = table.page(&query).await?;
        for item in page.items {
            let writes = kind.delete_writes(item.key, &item.body);
            table
                .write(&writes)
                .await?
                .map_err(|_| PortError::contended(T::KIND))?;
            deleted += 1;
        }
        if page.next.is_none() || deleted >= limit {
            return Ok(deleted);
        }
        query.after = page.next;
        query.limit = limit - deleted;
    }
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

/// Lists the records of a partition that `query` finds and `is_wanted` accepts, as many as `page` asks for. The partition must be one of
/// the kind's own. The cursor of a page is the place of the last record that was looked at.
pub async fn list_records<T: Record>(
    table: &dyn Table,
    query: Query,
    page: &PageRequest,
    is_wanted: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<Page<T>> {
    let found = list_versions::<T>(table, query, page, is_wanted).await?;
    Ok(Page {
        items: found.items.into_iter().map(|found| found.record).collect(),
        next_cursor: found.next_cursor,
    })
}

/// Lists records as [`list_records`] does, with their versions.
pub async fn list_versions<T: Record>(
    table: &dyn Table,
    query: Query,
    page: &PageRequest,
    is_wanted: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<Page<Versioned<T>>> {
    let (mut found, mut query) = (Vec::new(), page_query(query, page));
    loop {
        let items = table.page(&query).await?;
        for item in &items.items {
            let record = keep_readable(parse_item::<T>(item)).filter(|found| is_wanted(&found.record));
            found.extend(record.map(|record| (item.key.sort.clone(), record)));
        }
        if found.len() > page.limit || items.next.is_none() {
            return Ok(cut_page(found, page, items.next.is_some()));
        }
        query.after = items.next;
    }
}

/// Reads the record that the lead at `key` leads to. `None`: there is no such lead, or its record is gone.
pub async fn find_led<T: Record>(table: &dyn Table, key: &Key) -> PortResult<Option<Versioned<T>>> {
    let mut seen = None;
    loop {
        let Some(lead) = table.get(key).await? else {
            return Ok(None);
        };
        // A lead that changed between the two reads leads to another record.
        if seen == Some(lead.version) {
            return Ok(None);
        }
        if let Some(item) = table.get(&parse_lead::<T>(&lead)?).await? {
            return parse_item(&item).map(Some);
        }
        seen = Some(lead.version);
    }
}

/// Lists the records to which the leads lead that `query` finds, as [`list_records`] does.
pub async fn list_led<T: Record>(
    table: &dyn Table,
    query: Query,
    page: &PageRequest,
    is_wanted: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<Page<T>> {
    let found = list_led_versions::<T>(table, query, page, is_wanted).await?;
    Ok(Page {
        items: found.items.into_iter().map(|found| found.record).collect(),
        next_cursor: found.next_cursor,
    })
}

/// Lists records as [`list_led`] does, with their versions.
pub async fn list_led_versions<T: Record>(
    table: &dyn Table,
    query: Query,
    page: &PageRequest,
    is_wanted: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<Page<Versioned<T>>> {
    let (mut found, mut query) = (Vec::new(), page_query(query, page));
    loop {
        let leads = table.page(&query).await?;
        let places = leads.items.iter().filter_map(|lead| {
            let own = keep_readable(parse_lead::<T>(lead))?;
            Some((lead.key.sort.clone(), own))
        });
        let places: Vec<(String, Key)> = places.collect();
        let keys: Vec<Key> = places.iter().map(|(_, own)| own.clone()).collect();
        let mut records = read_by_key::<T>(table, &keys).await?;
        for (sort, own) in places {
            let record = records.remove(&own).filter(|found| is_wanted(&found.record));
            found.extend(record.map(|record| (sort, record)));
        }
        if found.len() > page.limit || leads.next.is_none() {
            return Ok(cut_page(found, page, leads.next.is_some()));
        }
        query.after = leads.next;
    }
}

/// The key of the record to which a lead leads.
#[derive(Deserialize)]
struct LedKey {
    owner: Option<TenantId>,
    sort: String,
}

/// Returns the key of the record to which a lead leads.
pub fn parse_lead<T: Record>(lead: &Item) -> PortResult<Key> {
    let own: LedKey = serde_json::from_str(&lead.body).map_err(|error| PortError::invalid(T::KIND, error))?;
    Ok(Key::new(T::KIND, own.owner.as_ref(), own.sort))
}

async fn read_by_key<T: Record>(table: &dyn Table, keys: &[Key]) -> PortResult<HashMap<Key, Versioned<T>>> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let found = table.get_many(keys).await?.into_iter();
    let read = |item: Item| Some((item.key.clone(), keep_readable(parse_item(&item))?));
    Ok(found.filter_map(read).collect())
}

/// Asks for one item more than the page holds, behind the page's cursor.
fn page_query(query: Query, page: &PageRequest) -> Query {
    Query {
        after: page.cursor.clone(),
        limit: page.limit.max(1).saturating_add(1),
        ..query
    }
}

fn cut_page<T>(mut found: Vec<(String, T)>, page: &PageRequest, more_follow: bool) -> Page<T> {
    let limit = page.limit.max(1);
    let has_more = found.len() > limit || more_follow;
    found.truncate(limit);
    let next_cursor = found.last().filter(|_| has_more).map(|(sort, _)| sort.clone());
    Page {
        items: found.into_iter().map(|(_, record)| record).collect(),
        next_cursor,
    }
}
