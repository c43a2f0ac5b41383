//! Writes and removes entries.
//!
//! Each write of an entry, and each removal of one, writes the tenant's item anew, as it is, on condition that it was not written since it
//! was read. What an entry refers to is its tenant's. So of two writers of a tenant the later one begins anew, and sees what the other did.

use super::{
    BY_EXTERNAL, ITEMS_AT_ONCE, OF_TENANT, WHAT, build_key, build_put, build_removal, find_named_entries,
    list_keys_of_tenant, load_configuration, parse_entry_item, prefix_of_kind, read_entry_item, sort_entries,
};
use crate::ports::{PortError, PortResult, WriteOutcome};
use crate::retry_write::{WriteAttempt, repeat_lost_write};
use crate::table::{
    Change, Condition, Key, NewItem, Partition, Query, Record, StoredItem, Table, Versioned, WRITES_MAX,
    Write, parse_item, put_record, put_writes, read_all_items,
};
use crate::unreadable_record::keep_readable;
use recado_domain::config::{
    AlertConfig, ConfigDocument, ConfigNames, ConfigRemoval, Entry, EntryRef, Instance,
};
use recado_domain::ids::TenantId;
use recado_domain::price::PriceList;
use std::collections::{BTreeMap, BTreeSet};

/// The size of a transaction at most, in bytes of its bodies (the limit of `DynamoDB` is 4 MB).
const BYTES_MAX: usize = 3_000_000;

/// The end of an attempt to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteEnd {
    Written,
    /// The stored entries are not as they are known, or a reference would lead to nothing.
    Conflict,
    /// An instance that stays has a name that another one is to have.
    NameTaken,
    /// There is too much for one transaction.
    TooMuch,
}

/// A write of entries in one transaction.
struct EntryWrite<'a> {
    change: &'a ConfigDocument,
    removal: &'a ConfigRemoval,
    /// The entries as they must be stored; `None` if they may be anything.
    known: Option<&'a ConfigDocument>,
    /// The instances whose names at their providers others may have from now on.
    given_up: &'a BTreeSet<EntryRef>,
}

/// Writes and removes a few entries (at most 15) in one transaction. If one of them is no longer stored as `known` has it, nothing is
/// written. The caller has validated the change.
pub async fn replace_configuration(
    table: &dyn Table,
    change: &ConfigDocument,
    removal: &ConfigRemoval,
    known: &ConfigDocument,
) -> PortResult<WriteOutcome> {
    let given_up = list_given_up(change, removal);
    let write = EntryWrite {
        change,
        removal,
        known: Some(known),
        given_up: &given_up,
    };
    match repeat_lost_write((), |()| write.attempt_write(table)).await? {
        Some(WriteEnd::Written) => Ok(WriteOutcome::Written),
        Some(WriteEnd::TooMuch) => Err(PortError::invalid(WHAT, "too many entries")),
        Some(WriteEnd::Conflict | WriteEnd::NameTaken) | None => Ok(WriteOutcome::Conflict),
    }
}

/// Creates or replaces the entries in `change`, and leaves all others unchanged. One change may exchange the names of two instances at
/// their providers. Many entries take several transactions: what is referred to comes before what refers to it. The caller has validated
/// `change`.
pub async fn put_configuration(table: &dyn Table, change: &ConfigDocument) -> PortResult<()> {
    write_in_parts(table, change, &ConfigRemoval::default()).await?;
    if let Some(alerts) = &change.alerts {
        put_record::<AlertConfig>(table, alerts).await?;
    }
    if let Some(prices) = &change.prices {
        put_record::<PriceList>(table, prices).await?;
    }
    Ok(())
}

/// Removes the entries that `removal` names, and leaves all others unchanged. What is not configured counts as removed. What refers to
/// others goes before them. The caller has made sure that nothing else refers to them any more.
pub async fn remove_configuration(table: &dyn Table, removal: &ConfigRemoval) -> PortResult<()> {
    write_in_parts(table, &ConfigDocument::default(), removal).await
}

/// The name of an entry, and the entry as it is to be stored. `None`: it is removed.
type EntryStep = (EntryRef, Option<Entry>);

/// Writes and removes entries in as few transactions as halving them leads to.
async fn write_in_parts(
    table: &dyn Table,
    change: &ConfigDocument,
    removal: &ConfigRemoval,
) -> PortResult<()> {
    let given_up = list_given_up(change, removal);
    let entries = change.list_entries().into_iter();
    let puts = entries.map(|entry| (entry.entry_name(), Some(entry)));
    let removals = removal.list_entry_names().into_iter().map(|name| (name, None));
    let whole: Vec<EntryStep> = puts.chain(removals).collect();
    let mut parts = if whole.is_empty() { Vec::new() } else { vec![whole] };
    while let Some(mut part) = parts.pop() {
        let puts = part.iter().filter_map(|(_, entry)| entry.clone());
        let removed = part.iter().filter(|(_, entry)| entry.is_none());
        let removals = removed.map(|(name, _)| name.clone());
        let (change, removal): (ConfigDocument, ConfigRemoval) = (puts.collect(), removals.collect());
        let write = EntryWrite {
            change: &change,
            removal: &removal,
            known: None,
            given_up: &given_up,
        };
        match repeat_lost_write((), |()| write.attempt_write(table)).await? {
            Some(WriteEnd::Written) => {}
            Some(WriteEnd::TooMuch) if part.len() > 1 => {
                let behind = part.split_off(part.len() / 2);
                parts.extend([behind, part]);
            }
            Some(WriteEnd::TooMuch) => return Err(PortError::invalid(WHAT, "an entry is too large")),
            Some(WriteEnd::NameTaken) => {
                return Err(PortError::invalid(
                    WHAT,
                    "another instance has the name at the provider",
                ));
            }
            Some(WriteEnd::Conflict) | None => return Err(PortError::contended(WHAT)),
        }
    }
    Ok(())
}

/// Lists the instances that are written or removed.
fn list_given_up(change: &ConfigDocument, removal: &ConfigRemoval) -> BTreeSet<EntryRef> {
    let (written, removed) = (change.list_entry_names(), removal.list_entry_names());
    let is_instance = |name: &EntryRef| matches!(name, EntryRef::Instance(_));
    written.into_iter().chain(removed).filter(is_instance).collect()
}

impl EntryWrite<'_> {
    async fn attempt_write(&self, table: &dyn Table) -> PortResult<WriteAttempt<WriteEnd>> {
        let names = ConfigNames::of_written(self.change, self.removal);
        // An entry takes two writes at least.
        if names.entries.len() * 2 > WRITES_MAX {
            return Ok(WriteAttempt::Done(WriteEnd::TooMuch));
        }
        // The tenants are read before what refers to their entries, so that what changes then is noticed.
        let mut stored = StoredEntries::default();
        let tenants = self.change.list_owners().into_iter().map(EntryRef::Tenant);
        let first = names.entries.iter().cloned().chain(tenants);
        stored.read_more(table, first.collect()).await?;
        let before = stored.to_document();
        let owners = before.list_owners().into_iter().map(EntryRef::Tenant);
        stored.read_more(table, owners.collect()).await?;
        let is_known = self.known.is_none_or(|known| before.agrees_about(known, &names));
        if !is_known || self.breaks_references(table, &before).await? {
            return Ok(WriteAttempt::Done(WriteEnd::Conflict));
        }
        let changes = self.list_changes(&stored)?;
        let Some(mut writes) = judge_external_names(table, changes, self.given_up).await? else {
            return Ok(WriteAttempt::Done(WriteEnd::NameTaken));
        };
        let left = self.list_left_deletions(table, &writes).await?;
        for write in stored.list_touches().into_iter().chain(left) {
            writes.entry(write.key().clone()).or_insert(write);
        }
        if self.known.is_some() {
            for write in list_installation_writes(self.change)? {
                writes.insert(write.key().clone(), write);
            }
        }
        let writes: Vec<Write> = writes.into_values().collect();
        if writes.len() > WRITES_MAX || count_bytes(&writes) > BYTES_MAX {
            return Ok(WriteAttempt::Done(WriteEnd::TooMuch));
        }
        let written = table.write(&writes).await?.is_ok();
        Ok(WriteAttempt::after_write(written, WriteEnd::Written))
    }

    /// Returns whether the change refers to what is not there, or what stays to what is removed. `before` has what is removed as it is
    /// stored.
    async fn breaks_references(&self, table: &dyn Table, before: &ConfigDocument) -> PortResult<bool> {
        let referred = ConfigNames::of_referred(self.change);
        let found = find_named_entries(table, &referred).await?;
        if !found.holds_references_of(self.change) {
            return Ok(true);
        }
        let removed: BTreeSet<EntryRef> = self.removal.list_entry_names().into_iter().collect();
        let entries = before.list_entries();
        // Nothing refers to an instance.
        let may_be_needed =
            |entry: &&Entry| !matches!(entry, Entry::Instance(_)) && removed.contains(&entry.entry_name());
        let owners = entries.iter().filter(may_be_needed).map(Entry::entry_owner);
        let mut tenants: BTreeSet<TenantId> = owners.cloned().collect();
        tenants.extend(self.removal.list_tenants().into_iter().cloned());
        for tenant in &tenants {
            let stored = load_configuration(table, Some(tenant)).await?;
            if stored.refers_to_removed(self.removal, self.change) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lists the writes of each entry, with its name.
    fn list_changes(&self, stored: &StoredEntries) -> PortResult<Vec<(EntryRef, Vec<Write>)>> {
        let mut changes = Vec::new();
        for entry in self.change.list_entries() {
            let name = entry.entry_name();
            let change = build_put(entry, stored.0.get(&name))?;
            changes.push((name, change.writes));
        }
        for name in self.removal.list_entry_names() {
            if let Some(found) = stored.0.get(&name) {
                let alone = Write::Delete(found.key.clone(), Condition::Version(found.version));
                let change = build_removal(&name, found);
                changes.push((name, change.map_or_else(|| vec![alone], |change| change.writes)));
            }
        }
        Ok(changes)
    }

    /// Lists the deletions of what is left of removed tenants: entries that cannot be read, since nothing else refers to them any more, and
    /// what leads to these. `writes` has the others.
    async fn list_left_deletions(
        &self,
        table: &dyn Table,
        writes: &BTreeMap<Key, Write>,
    ) -> PortResult<Vec<Write>> {
        let (mut left, mut instances) = (Vec::new(), BTreeSet::new());
        for tenant in self.removal.list_tenants() {
            for own in list_keys_of_tenant(table, tenant, "").await? {
                let place = format!("{}{}", prefix_of_kind(own.partition.name), own.sort);
                let entry = Key::new(OF_TENANT, Some(tenant), place);
                if own.partition.name == <Instance as Record>::KIND && !writes.contains_key(&own) {
                    instances.insert(own.clone());
                }
                left.extend([own, entry].map(Write::delete_any));
            }
        }
        if !instances.is_empty() {
            // Such an entry does not tell its name at its provider, so its copy is sought among all.
            let all = Query::new(Partition::new(BY_EXTERNAL, None), ITEMS_AT_ONCE);
            for copy in read_all_items(table, all).await? {
                if find_holder(&copy).is_some_and(|holder| instances.contains(&build_key(&holder))) {
                    left.push(Write::Delete(copy.key, Condition::Version(copy.version)));
                }
            }
        }
        Ok(left)
    }
}

/// The items of entries as they are stored.
#[derive(Debug, Default)]
struct StoredEntries(BTreeMap<EntryRef, StoredItem>);

impl StoredEntries {
    /// Reads further entries. Those that were read before stay as they are.
    async fn read_more(&mut self, table: &dyn Table, names: BTreeSet<EntryRef>) -> PortResult<()> {
        let names = names.into_iter().filter(|name| !self.0.contains_key(name));
        let by_key: BTreeMap<Key, EntryRef> = names.map(|name| (build_key(&name), name)).collect();
        if by_key.is_empty() {
            return Ok(());
        }
        let keys: Vec<Key> = by_key.keys().cloned().collect();
        for item in table.get_many(&keys).await? {
            if let Some(name) = by_key.get(&item.key) {
                self.0.insert(name.clone(), item);
            }
        }
        Ok(())
    }

    /// Makes the document of those that can be read.
    fn to_document(&self) -> ConfigDocument {
        sort_entries(self.0.values().filter_map(read_entry_item))
    }

    /// Lists the writes that store the tenants as they are, if nobody wrote them since. What cannot be read stays.
    fn list_touches(&self) -> Vec<Write> {
        let is_tenant = |(name, item): &(&EntryRef, &StoredItem)| {
            matches!(name, EntryRef::Tenant(_)) && parse_entry_item(item).is_ok()
        };
        let tenants = self.0.iter().filter(is_tenant);
        let touch = |(_, item): (&EntryRef, &StoredItem)| {
            let same = NewItem {
                key: item.key.clone(),
                body: item.body.clone(),
                expires: item.expires,
                due: None,
            };
            Write::Put(same, Condition::Version(item.version))
        };
        tenants.map(touch).collect()
    }
}

/// Returns the change that stores an entry in place of what is stored, also of one that cannot be read.
pub(super) fn build_entry_put<T: Record>(entry: T, stored: Option<&StoredItem>) -> PortResult<Change> {
    let versioned = match stored {
        None => Versioned::new(entry),
        Some(item) => match keep_readable(parse_item::<T>(item)) {
            Some(found) => Versioned::replacing(Some(found), entry),
            None => Versioned::in_place_of(entry, item),
        },
    };
    Change::save(&versioned)
}

/// Returns the change that removes a stored entry; `None` if it cannot be read.
pub(super) fn build_entry_removal<T: Record>(stored: &StoredItem) -> Option<Change> {
    keep_readable(parse_item::<T>(stored)).map(|found| Change::remove(&found))
}

/// Merges changes of entries. A name of an instance at its provider is taken from nobody but those who give it up, and deleted of nobody
/// else. `None`: another instance has one of the names.
async fn judge_external_names(
    table: &dyn Table,
    changes: Vec<(EntryRef, Vec<Write>)>,
    given_up: &BTreeSet<EntryRef>,
) -> PortResult<Option<BTreeMap<Key, Write>>> {
    let all = changes.iter().flat_map(|(_, writes)| writes);
    let named = all.map(Write::key).filter(|key| is_external_name(key));
    let named: BTreeSet<Key> = named.cloned().collect();
    let mut found: BTreeMap<Key, StoredItem> = BTreeMap::new();
    if !named.is_empty() {
        let keys: Vec<Key> = named.into_iter().collect();
        let items = table.get_many(&keys).await?.into_iter();
        found.extend(items.map(|item| (item.key.clone(), item)));
    }
    let mut writes = BTreeMap::new();
    for (name, change) in changes {
        for write in change {
            let key = write.key().clone();
            let stored = found.get(&key);
            let holder = stored.and_then(find_holder);
            let condition = stored.map_or(Condition::Absent, |item| Condition::Version(item.version));
            let write = match write {
                other if !is_external_name(&key) => other,
                Write::Put(item, _) => {
                    let others = holder.filter(|holder| *holder != name && !given_up.contains(holder));
                    // What an entry left that could not be read when it was deleted is nobody's.
                    if let Some(other) = others
                        && table.get(&build_key(&other)).await?.is_some()
                    {
                        return Ok(None);
                    }
                    Write::Put(item, condition)
                }
                _ if holder.as_ref() == Some(&name) => Write::Delete(key.clone(), condition),
                _ => continue,
            };
            if matches!(write, Write::Put(..)) || !writes.contains_key(&key) {
                writes.insert(key, write);
            }
        }
    }
    Ok(Some(writes))
}

fn is_external_name(key: &Key) -> bool {
    key.partition.name == BY_EXTERNAL
}

/// Returns the instance that has a name at its provider. One that cannot be read has none.
fn find_holder(item: &StoredItem) -> Option<EntryRef> {
    keep_readable(parse_entry_item(item)).map(|entry| entry.entry_name())
}

/// Lists the writes of the change's alerts and prices.
fn list_installation_writes(change: &ConfigDocument) -> PortResult<Vec<Write>> {
    let mut writes = Vec::new();
    if let Some(alerts) = &change.alerts {
        writes.extend(put_writes::<AlertConfig>(alerts)?);
    }
    if let Some(prices) = &change.prices {
        writes.extend(put_writes::<PriceList>(prices)?);
    }
    Ok(writes)
}

fn count_bytes(writes: &[Write]) -> usize {
    let size = |write: &Write| match write {
        Write::Put(item, _) => item.body.len(),
        Write::Delete(..) | Write::Check(..) => 0,
    };
    writes.iter().map(size).sum()
}
