//! The configuration: tenants, calendars, tools, agents and instances, the alerts and the prices.
//!
//! Entries lie under their ids alone, since they are found by these. What leads to them tells the id by its key, so that no damage hides an
//! entry. The name of an instance at its provider leads to a copy, so that one read finds the instance of a message.

mod joining;
mod writing;

pub use joining::{find_config_by_external, find_config_by_id, join_instance_config};
pub use writing::{put_configuration, remove_configuration, replace_configuration};

use super::check_cursor;
use crate::ports::{Page, PageRequest, PortError, PortResult};
use crate::table::{
    Change, IndexEntry, Key, Partition, Query, Record, StoredItem, Table, find_versions, list_records,
    read_all_items,
};
use crate::unreadable_record::{UNREADABLE_INSTANCE, keep_readable};
use futures::future::{try_join, try_join_all};
use recado_domain::config::{
    Agent, AlertConfig, Calendar, ConfigDocument, ConfigEntry, ConfigNames, Entry, EntryRef, Instance, Tenant,
};
use recado_domain::ids::{ExternalId, TenantId};
use recado_domain::price::PriceList;
use recado_domain::provider::Provider;
use recado_domain::tools::Tool;
use std::collections::{BTreeMap, BTreeSet};

/// The partition that leads to the entries of a tenant, sorted by kind and id.
const OF_TENANT: &str = "configuration.of-tenant";
/// The partition that leads to the tenants by their parts of variables' names.
const BY_VARIABLE: &str = "tenants.by-variable";
/// The partition with copies of the instances, by their names at their providers.
pub const BY_EXTERNAL: &str = "instances.by-external";

/// The place of a record of which there is one.
const PLACE: &str = "installation";

/// A length that no id reaches, in bytes.
const ID_BYTES_MAX: usize = 600;

/// The number of items that are read with one query.
const ITEMS_AT_ONCE: usize = 10_000;

/// Declares the records of the kinds of entries: the name of each, and where it lies once more beside [`OF_TENANT`].
macro_rules! entry_records {
    ($($entry:ident = $name:literal $(and $beside:ident by $index:expr)?,)*) => {
        $(impl Record for $entry {
            const KIND: &'static str = $name;
            const INDEXES: &'static [&'static str] = &[OF_TENANT $(, $beside)?];
            const IS_CONFIGURATION: bool = true;
            const GOES_LAST: bool = true;

            fn owner(&self) -> Option<&TenantId> {
                None
            }

            fn build_sort_key(&self) -> String {
                self.id.to_string()
            }

            fn list_index_entries(&self) -> Vec<IndexEntry> {
                let place = format!("{}{}", prefix_of_kind($name), self.id);
                let own = IndexEntry::new(Key::new(OF_TENANT, Some(ConfigEntry::owner(self)), place)).shared();
                std::iter::once(own)$(.chain($index(self)))?.collect()
            }
        })*

        /// The names of the kinds.
        const NAMES: &[&str] = &[$($name),*];

        /// Returns the key of an entry.
        fn build_key(name: &EntryRef) -> Key {
            match name {
                $(EntryRef::$entry(id) => Key::new($name, None, id.as_str()),)*
            }
        }

        /// Reads an entry of the kind with this name.
        fn parse_entry(name: &str, body: &str) -> PortResult<Entry> {
            match name {
                $($name => <$entry as Record>::from_body(body).map(|entry| Entry::$entry(Box::new(entry))),)*
                _ => Err(PortError::invalid(WHAT, "an entry of no known kind")),
            }
        }

        /// Returns the change that stores an entry in place of what is stored.
        fn build_put(entry: Entry, stored: Option<&StoredItem>) -> PortResult<Change> {
            match entry {
                $(Entry::$entry(entry) => writing::build_entry_put(*entry, stored),)*
            }
        }

        /// Returns the change that removes a stored entry; `None` if it cannot be read.
        fn build_removal(name: &EntryRef, stored: &StoredItem) -> Option<Change> {
            match name {
                $(EntryRef::$entry(_) => writing::build_entry_removal::<$entry>(stored),)*
            }
        }
    };
}

entry_records! {
    Tenant = "tenants" and BY_VARIABLE by index_by_variable,
    Calendar = "calendars",
    Tool = "tools",
    Agent = "agents",
    Instance = "instances" and BY_EXTERNAL by index_by_external,
}

/// The name of what is read or written, for errors.
const WHAT: &str = "configuration";

/// Returns the beginning of the places of a kind's entries in [`OF_TENANT`].
fn prefix_of_kind(name: &str) -> String {
    format!("{name}#")
}

/// Returns the beginning of the places of tenants in [`BY_VARIABLE`]. No part contains a `#`.
fn prefix_of_variable(part: &str) -> String {
    format!("{part}#")
}

fn index_by_variable(tenant: &Tenant) -> [IndexEntry; 1] {
    let place = format!("{}{}", prefix_of_variable(&tenant.id.variable_part()), tenant.id);
    [IndexEntry::new(Key::new(BY_VARIABLE, None, place)).shared()]
}

fn index_by_external(instance: &Instance) -> Option<IndexEntry> {
    let external = instance.resolve_external_id()?;
    Some(IndexEntry::with_copy(key_of_external(
        instance.provider,
        &external,
    )))
}

fn key_of_external(provider: Provider, external: &ExternalId) -> Key {
    Key::new(BY_EXTERNAL, None, format!("{provider}#{external}"))
}

impl Record for AlertConfig {
    const KIND: &'static str = "alert-config";

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        PLACE.to_owned()
    }
}

impl Record for PriceList {
    const KIND: &'static str = "prices";

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        PLACE.to_owned()
    }
}

/// Reads the entry of an item, its own or a copy.
fn parse_entry_item(item: &StoredItem) -> PortResult<Entry> {
    let name = match item.key.partition.name {
        BY_EXTERNAL => <Instance as Record>::KIND,
        own => own,
    };
    parse_entry(name, &item.body)
}

/// Reads the entry of an item. One that cannot be read is passed over, so that it can be written anew.
fn read_entry_item(item: &StoredItem) -> Option<Entry> {
    let read = keep_readable(parse_entry_item(item));
    if read.is_none() && [<Instance as Record>::KIND, BY_EXTERNAL].contains(&item.key.partition.name) {
        tracing::error!("{UNREADABLE_INSTANCE}");
    }
    read
}

/// Makes the document of entries, each once, sorted by their ids.
fn sort_entries(entries: impl IntoIterator<Item = Entry>) -> ConfigDocument {
    let entries = entries.into_iter().map(|entry| (entry.entry_name(), entry));
    let entries: BTreeMap<EntryRef, Entry> = entries.collect();
    entries.into_values().collect()
}

/// Lists the keys of a tenant's entries of the kinds whose prefix this is, sorted by kind and id.
async fn list_keys_of_tenant(table: &dyn Table, tenant: &TenantId, prefix: &str) -> PortResult<Vec<Key>> {
    let own = Query::new(Partition::new(OF_TENANT, Some(tenant)), ITEMS_AT_ONCE).with_prefix(prefix);
    let entries = read_all_items(table, own).await?.into_iter();
    let key = |entry: StoredItem| {
        let (name, id) = entry.key.sort.split_once('#')?;
        let name = NAMES.iter().copied().find(|known| *known == name)?;
        Some(Key::new(name, None, id))
    };
    Ok(entries.filter_map(key).collect())
}

async fn find_entries(table: &dyn Table, keys: &[Key]) -> PortResult<ConfigDocument> {
    let (mut entries, mut installation) = (Vec::new(), ConfigDocument::default());
    if keys.is_empty() {
        return Ok(installation);
    }
    for item in table.get_many(keys).await? {
        match item.key.partition.name {
            AlertConfig::KIND => installation.alerts = keep_readable(AlertConfig::from_body(&item.body)),
            PriceList::KIND => installation.prices = keep_readable(PriceList::from_body(&item.body)),
            _ => entries.extend(read_entry_item(&item)),
        }
    }
    Ok(ConfigDocument {
        alerts: installation.alerts,
        prices: installation.prices,
        ..sort_entries(entries)
    })
}

/// Returns the configuration of `tenant` with its calendars, tools, agents and instances, or the whole configuration (`None`).
pub async fn load_configuration(table: &dyn Table, tenant: Option<&TenantId>) -> PortResult<ConfigDocument> {
    if let Some(tenant) = tenant {
        return find_entries(table, &list_keys_of_tenant(table, tenant, "").await?).await;
    }
    let installation = ConfigNames {
        alerts: true,
        prices: true,
        ..ConfigNames::default()
    };
    let kinds = NAMES
        .iter()
        .copied()
        .map(|name| Query::new(Partition::new(name, None), ITEMS_AT_ONCE));
    let kinds = try_join_all(kinds.map(|all| read_all_items(table, all)));
    let (items, installation) = try_join(kinds, find_named_entries(table, &installation)).await?;
    Ok(ConfigDocument {
        alerts: installation.alerts,
        prices: installation.prices,
        ..sort_entries(items.iter().flatten().filter_map(read_entry_item))
    })
}

/// Returns the entries that `names` names, each once. They are read by their keys, whatever the number of others.
pub async fn find_named_entries(table: &dyn Table, names: &ConfigNames) -> PortResult<ConfigDocument> {
    let externals = names.externals.iter();
    let externals = externals.map(|(provider, external)| key_of_external(*provider, external));
    let alerts = names.alerts.then(|| Key::new(AlertConfig::KIND, None, PLACE));
    let prices = names.prices.then(|| Key::new(PriceList::KIND, None, PLACE));
    let keys = names.entries.iter().map(build_key).chain(externals);
    let mut keys: BTreeSet<Key> = keys.chain(alerts).chain(prices).collect();
    for part in &names.variable_parts {
        let prefix = prefix_of_variable(part);
        let alike = Query::new(Partition::new(BY_VARIABLE, None), ITEMS_AT_ONCE).with_prefix(&prefix);
        for entry in read_all_items(table, alike).await? {
            let id = entry.key.sort.strip_prefix(&prefix).unwrap_or_default();
            keys.insert(Key::new(<Tenant as Record>::KIND, None, id));
        }
    }
    let keys: Vec<Key> = keys.into_iter().collect();
    find_entries(table, &keys).await
}

/// Lists the entries of a kind of `tenant`, or of all tenants (`None`), sorted by their ids. The cursor is the id of the last one that was
/// looked at.
pub async fn list_entries<T: Record>(
    table: &dyn Table,
    tenant: Option<&TenantId>,
    page: &PageRequest,
) -> PortResult<Page<T>> {
    check_cursor(T::KIND, page, |text| text.len() <= ID_BYTES_MAX)?;
    let Some(tenant) = tenant else {
        let all = Query::new(Partition::new(T::KIND, None), page.limit);
        return list_records(table, all, page, |_| true).await;
    };
    let mut keys = list_keys_of_tenant(table, tenant, &prefix_of_kind(T::KIND)).await?;
    let is_behind = |key: &Key| page.cursor.as_ref().is_none_or(|cursor| key.sort > *cursor);
    keys.retain(is_behind);
    let has_more = keys.len() > page.limit.max(1);
    keys.truncate(page.limit.max(1));
    let found = find_versions::<T>(table, &keys).await?.into_iter();
    Ok(Page {
        items: found.map(|found| found.record).collect(),
        next_cursor: keys.pop().filter(|_| has_more).map(|last| last.sort),
    })
}
