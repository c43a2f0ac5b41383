//! Joins a configuration document with a change of it.

use super::{ConfigDocument, ConfigEntry};
use std::collections::HashMap;

impl ConfigDocument {
    /// Returns this document with `change` applied: items with the same id are replaced, new items are
    /// added. The alerts are replaced as a whole, and so are the prices.
    #[must_use]
    pub fn with_changes(&self, change: &ConfigDocument) -> ConfigDocument {
        let mut merged = self.clone();
        upsert_items(&mut merged.tenants, &change.tenants);
        upsert_items(&mut merged.calendars, &change.calendars);
        upsert_items(&mut merged.tools, &change.tools);
        upsert_items(&mut merged.agents, &change.agents);
        upsert_items(&mut merged.instances, &change.instances);
        if change.alerts.is_some() {
            merged.alerts.clone_from(&change.alerts);
        }
        if change.prices.is_some() {
            merged.prices.clone_from(&change.prices);
        }
        merged
    }
}

fn upsert_items<T: ConfigEntry>(into: &mut Vec<T>, from: &[T]) {
    let places = into.iter().enumerate();
    let mut places: HashMap<String, usize> = places
        .map(|(place, entry)| (entry.entry_id().to_owned(), place))
        .collect();
    for item in from {
        if let Some(place) = places.get(item.entry_id()) {
            into[*place] = item.clone();
        } else {
            places.insert(item.entry_id().to_owned(), into.len());
            into.push(item.clone());
        }
    }
}
