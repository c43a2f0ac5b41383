//! The record of the configuration file that was applied last. By it a start tells an edited file from changes by people.

use super::{ConfigDocument, ConfigEntry, EntryRef};
use crate::ids::hash_parts;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Fields of stored entries of which a document says nothing.
pub const FIELDS_OF_NO_DOCUMENT: [&str; 6] = [
    "named_by_tenant",
    "previous_secret_until",
    "removing_since",
    "secret_salt",
    "secret_version",
    "tenant_since",
];

/// What the configuration file said of each entry when it was applied last, by the entry's name ([`name_entry`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AppliedFile(BTreeMap<String, AppliedEntry>);

/// An entry of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AppliedEntry {
    /// Hash of the entry in the file that the last start read. `None`: no start has read it yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started: Option<String>,
    /// Hash of the entry in the file that was applied last.
    document: String,
    /// Hash of the entry as it was stored then. `None`: it is no part of the stored configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stored: Option<String>,
    /// `true` if the file names the tenant's webhook endpoints. They are no part of `stored` otherwise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    names_webhooks: bool,
}

/// An entry of the file that a start left as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptEntry {
    /// The kind and the id, such as `agent ana`.
    pub name: String,
    /// `true` if it is stored no more.
    pub is_removed: bool,
}

/// The place that an entry comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntrySource {
    /// The file that the installation starts with. The entry is as it was applied.
    File,
    /// The file names the entry, and it was changed otherwise since.
    ChangedSince,
    /// The API or the console: the file does not name the entry.
    Api,
}

impl EntrySource {
    /// Returns the word of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::ChangedSince => "changed_since",
            Self::Api => "api",
        }
    }
}

impl AppliedFile {
    /// Splits `document`. First the entries that were edited since the last start and since the file was applied last; then
    /// those that were not, and are now stored otherwise.
    pub fn split_document(
        &self,
        document: &ConfigDocument,
        stored: &ConfigDocument,
    ) -> (ConfigDocument, Vec<KeptEntry>) {
        let (mut unedited, mut kept) = (BTreeSet::new(), Vec::new());
        let stored = list_entries(stored);
        for (name, written) in list_entries(document) {
            let hash = hash_entry(&written, true);
            let Some(known) = self.0.get(&name) else { continue };
            let is_latest = known.document == hash;
            if !is_latest && known.started.as_ref() != Some(&hash) {
                continue;
            }
            unedited.insert(name.clone());
            let now = stored.get(&name);
            if known.stored.is_some() && !(is_latest && known.is_stored_as(now)) {
                let is_removed = now.is_none();
                kept.push(KeptEntry { name, is_removed });
            }
        }
        (document.without_entries(&unedited), kept)
    }

    /// Lists those of these entries that are not `stored` as the file made them.
    pub fn list_changed_otherwise(
        &self,
        names: impl IntoIterator<Item = String>,
        stored: &ConfigDocument,
    ) -> Vec<KeptEntry> {
        let stored = list_entries(stored);
        let is_changed = |name: &String| match (self.0.get(name), stored.get(name)) {
            (Some(known), now) => !known.is_stored_as(now),
            (None, now) => now.is_some(),
        };
        let changed = names.into_iter().filter(is_changed);
        changed
            .map(|name| KeptEntry {
                is_removed: !stored.contains_key(&name),
                name,
            })
            .collect()
    }

    /// Returns where a stored entry comes from.
    pub fn find_source<T: ConfigEntry>(&self, entry: &T) -> EntrySource {
        let value = serde_json::to_value(entry).unwrap_or_default();
        match self.0.get(&name_entry(T::KIND, entry.entry_id())) {
            None => EntrySource::Api,
            Some(known) if known.is_stored_as(Some(&value)) => EntrySource::File,
            Some(_) => EntrySource::ChangedSince,
        }
    }

    /// Notes that the entries of `document` were applied, and are `stored` so. The names of `kept` are left out. With `at_start`,
    /// entries that the file no longer names are forgotten.
    pub fn note_applied(
        &mut self,
        document: &ConfigDocument,
        stored: &ConfigDocument,
        kept: &[KeptEntry],
        at_start: bool,
    ) {
        let (written, stored) = (list_entries(document), list_entries(stored));
        if at_start {
            self.0.retain(|name, _| written.contains_key(name));
        }
        let kept: BTreeSet<&str> = kept.iter().map(|kept| kept.name.as_str()).collect();
        for (name, value) in &written {
            if kept.contains(name.as_str()) {
                continue;
            }
            let noted = self.0.entry(name.clone()).or_default();
            noted.document = hash_entry(value, true);
            noted.names_webhooks = names_webhooks(value);
            noted.stored = stored
                .get(name)
                .map(|value| hash_entry(value, noted.names_webhooks));
            if at_start {
                noted.started = Some(noted.document.clone());
            }
        }
    }
}

impl AppliedEntry {
    fn is_stored_as(&self, now: Option<&Value>) -> bool {
        self.stored == now.map(|value| hash_entry(value, self.names_webhooks))
    }
}

/// Names an entry for people: its kind and id, or the kind alone where there is one of it.
pub fn name_entry(kind: &str, id: &str) -> String {
    if kind == id {
        return kind.to_owned();
    }
    format!("{kind} {id}")
}

fn name_ref(entry: &EntryRef) -> String {
    name_entry(entry.kind_word(), entry.id_text())
}

fn names_webhooks(entry: &Value) -> bool {
    entry.get("webhooks").is_some()
}

/// Hashes an entry without what no document says of it.
fn hash_entry(entry: &Value, with_webhooks: bool) -> String {
    let mut entry = entry.clone();
    if let Some(fields) = entry.as_object_mut() {
        fields.retain(|name, _| {
            !FIELDS_OF_NO_DOCUMENT.contains(&name.as_str()) && (with_webhooks || name != "webhooks")
        });
    }
    hash_parts(&[&entry.to_string()], 8)
}

/// Lists the entries of a document by their names.
fn list_entries(document: &ConfigDocument) -> BTreeMap<String, Value> {
    let entries = document.list_entries().into_iter();
    let named = entries.map(|entry| (name_ref(&entry.entry_name()), entry.to_json()));
    let mut all: BTreeMap<String, Value> = named.collect();
    let lists = [
        (
            "alerts",
            document.alerts.is_some(),
            serde_json::to_value(&document.alerts),
        ),
        (
            "prices",
            document.prices.is_some(),
            serde_json::to_value(&document.prices),
        ),
        (
            "occasions",
            !document.occasions.is_empty(),
            serde_json::to_value(&document.occasions),
        ),
        (
            "invitation templates",
            !document.invitation_templates.is_empty(),
            serde_json::to_value(&document.invitation_templates),
        ),
    ];
    let named = lists.into_iter().filter(|(_, is_named, _)| *is_named);
    all.extend(named.map(|(name, _, value)| (name.to_owned(), value.unwrap_or_default())));
    all
}

impl ConfigDocument {
    /// Returns the names of the document's entries.
    pub fn name_all_entries(&self) -> Vec<String> {
        list_entries(self).into_keys().collect()
    }

    /// Returns the document without the entries of these names.
    #[must_use]
    pub fn without_entries(&self, names: &BTreeSet<String>) -> ConfigDocument {
        let is_left = |name: &str| !names.contains(name);
        let mut left = self.clone();
        left.retain_entries(|name| is_left(&name_ref(name)));
        left.alerts = left.alerts.filter(|_| is_left("alerts"));
        left.prices = left.prices.filter(|_| is_left("prices"));
        left.occasions.retain(|_| is_left("occasions"));
        left.invitation_templates
            .retain(|_| is_left("invitation templates"));
        left
    }
}

#[cfg(test)]
mod tests;
