//! Reads and deletes several records of a kind: by their keys, by pages, and by what leads to them.

use super::Table;
use super::item::{Query, StoredItem};
use super::key::Key;
use super::kind::Kind;
use super::record::Record;
use super::typed::{Versioned, parse_item, write_always};
use crate::page::{Page, PageRequest};
use crate::port_error::{PortError, PortResult};
use crate::unreadable_record::keep_readable;
use recado_domain::ids::TenantId;
use serde::Deserialize;
use std::collections::HashMap;

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
    let mut found = read_records_by_key(table, keys).await?;
    Ok(keys.iter().filter_map(|key| found.remove(key)).collect())
}

/// Reads all items that a query finds.
pub(crate) async fn read_all_items(table: &dyn Table, mut query: Query) -> PortResult<Vec<StoredItem>> {
    let mut found = Vec::new();
    loop {
        let page = table.page(&query).await?;
        found.extend(page.items);
        match page.next {
            Some(next) => query.after = Some(next),
            None => return Ok(found),
        }
    }
}

/// Lists the records that `query` finds and `is_wanted` accepts, as many as `page` asks for. In a partition of another name than that of
/// the kind lie index entries: they lead to the records. The cursor of a page is the place of the last item that was looked at.
pub async fn list_records<T: Record>(
    table: &dyn Table,
    query: Query,
    page: &PageRequest,
    is_wanted: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<Page<T>> {
    let found = list_versions::<T>(table, query, page, is_wanted).await?;
    Ok(found.map(|found| found.record))
}

/// Lists records as [`list_records`] does, with their versions.
pub async fn list_versions<T: Record>(
    table: &dyn Table,
    query: Query,
    page: &PageRequest,
    is_wanted: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<Page<Versioned<T>>> {
    let (mut found, mut query) = (Vec::new(), build_page_query(query, page));
    loop {
        let items = table.page(&query).await?;
        let records = if query.partition.name == T::KIND {
            let read = |item: &StoredItem| Some((item.key.sort.clone(), keep_readable(parse_item(item))?));
            items.items.iter().filter_map(read).collect()
        } else {
            read_indexed_records(table, &items.items).await?
        };
        found.extend(records.into_iter().filter(|(_, found)| is_wanted(&found.record)));
        if found.len() > page.limit || items.next.is_none() {
            return Ok(cut_found_page(found, page, items.next.is_some()));
        }
        query.after = items.next;
    }
}

/// Lists all records that `query` finds and `is_wanted` accepts, with their versions: as many at once as the query's limit says.
pub(crate) async fn list_all_versions<T: Record>(
    table: &dyn Table,
    query: Query,
    is_wanted: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<Vec<Versioned<T>>> {
    let (mut all, mut page) = (Vec::new(), PageRequest::first(query.limit));
    loop {
        let found = list_versions(table, query.clone(), &page, &is_wanted).await?;
        all.extend(found.items);
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return Ok(all),
        }
    }
}

/// Lists all records as [`list_all_versions`] does, without their versions.
pub(crate) async fn list_all_records<T: Record>(
    table: &dyn Table,
    query: Query,
    is_wanted: impl Fn(&T) -> bool + Send + Sync,
) -> PortResult<Vec<T>> {
    let found = list_all_versions(table, query, is_wanted).await?;
    Ok(found.into_iter().map(|found| found.record).collect())
}

/// Reads the records to which index entries lead, each with the place of its index entry.
async fn read_indexed_records<T: Record>(
    table: &dyn Table,
    entries: &[StoredItem],
) -> PortResult<Vec<(String, Versioned<T>)>> {
    let place = |entry: &StoredItem| {
        Some((
            entry.key.sort.clone(),
            keep_readable(parse_index_entry::<T>(entry))?,
        ))
    };
    let places: Vec<(String, Key)> = entries.iter().filter_map(place).collect();
    let keys: Vec<Key> = places.iter().map(|(_, own)| own.clone()).collect();
    let mut records = read_records_by_key::<T>(table, &keys).await?;
    let indexed = places.into_iter();
    Ok(indexed
        .filter_map(|(sort, own)| Some((sort, records.remove(&own)?)))
        .collect())
}

/// Reads the record that the index entry at `key` leads to. `None`: there is no such index entry, or its record is gone.
pub async fn find_by_index<T: Record>(table: &dyn Table, key: &Key) -> PortResult<Option<Versioned<T>>> {
    let mut seen = None;
    loop {
        let Some(entry) = table.get(key).await? else {
            return Ok(None);
        };
        // An index entry that changed between the two reads leads to another record.
        if seen == Some(entry.version) {
            return Ok(None);
        }
        if let Some(item) = table.get(&parse_index_entry::<T>(&entry)?).await? {
            return parse_item(&item).map(Some);
        }
        seen = Some(entry.version);
    }
}

/// The key of the record to which an index entry leads.
#[derive(Deserialize)]
struct IndexedKey {
    owner: Option<TenantId>,
    sort: String,
}

/// Returns the key of the record to which an index entry leads.
pub fn parse_index_entry<T: Record>(entry: &StoredItem) -> PortResult<Key> {
    let own: IndexedKey =
        serde_json::from_str(&entry.body).map_err(|error| PortError::invalid(T::KIND, error))?;
    Ok(Key::new(T::KIND, own.owner.as_ref(), own.sort))
}

async fn read_records_by_key<T: Record>(
    table: &dyn Table,
    keys: &[Key],
) -> PortResult<HashMap<Key, Versioned<T>>> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let found = table.get_many(keys).await?.into_iter();
    let read = |item: StoredItem| Some((item.key.clone(), keep_readable(parse_item(&item))?));
    Ok(found.filter_map(read).collect())
}

/// Asks for one item more than the page holds, behind the page's cursor.
fn build_page_query(query: Query, page: &PageRequest) -> Query {
    Query {
        after: page.cursor.clone(),
        limit: page.limit.max(1).saturating_add(1),
        ..query
    }
}

fn cut_found_page<T>(mut found: Vec<(String, T)>, page: &PageRequest, more_follow: bool) -> Page<T> {
    let limit = page.limit.max(1);
    let has_more = found.len() > limit || more_follow;
    found.truncate(limit);
    let next_cursor = found.last().filter(|_| has_more).map(|(sort, _)| sort.clone());
    Page {
        items: found.into_iter().map(|(_, record)| record).collect(),
        next_cursor,
    }
}

/// Deletes the records that `query` finds, as many as its limit says, with their index entries. Returns how many. The partition must be one of the
/// kind's own.
pub async fn delete_page<T: Record>(table: &dyn Table, mut query: Query) -> PortResult<usize> {
    let (kind, limit) = (Kind::of::<T>(), query.limit);
    let mut deleted = 0;
    loop {
        let page = table.page(&query).await?;
        for item in page.items {
            let writes = kind.delete_writes(item.key, &item.body);
            write_always(table, T::KIND, &writes).await?;
            deleted += 1;
        }
        if page.next.is_none() || deleted >= limit {
            return Ok(deleted);
        }
        query.after = page.next;
        query.limit = limit - deleted;
    }
}
