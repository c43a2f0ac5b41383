//! A cache for values that a warm function keeps for some time.

use jiff::Timestamp;
use recado_domain::millis::add_millis;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The number of entries at most, more than any function needs at a time. When it is reached, the expired entries are
/// removed, and if that does not suffice, all.
const ENTRIES_MAX: usize = 4096;

/// Values by key, each kept for some time. A missing value is remembered too, for a shorter time. Clones share their
/// entries.
#[derive(Debug, Clone)]
pub(crate) struct Cache<K, V> {
    entries: Arc<Mutex<HashMap<K, CacheEntry<V>>>>,
    found: Duration,
    missed: Duration,
}

/// The result of a look-up in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CacheLookup<V> {
    /// Nothing is known about the key: the caller must read the value itself.
    Miss,
    /// The value, or `None` if the value is known to be missing.
    Hit(Option<V>),
}

#[derive(Debug)]
struct CacheEntry<V> {
    value: Option<V>,
    until: Timestamp,
}

impl<K: Eq + Hash, V: Clone> Cache<K, V> {
    /// Creates a cache that keeps values for `found`, and remembers for `missed` that there is none.
    pub(crate) fn new(found: Duration, missed: Duration) -> Self {
        Self {
            entries: Arc::default(),
            found,
            missed,
        }
    }

    fn lock_entries(&self) -> MutexGuard<'_, HashMap<K, CacheEntry<V>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the entry of `key` at `now`.
    pub(crate) fn get(&self, key: &K, now: Timestamp) -> CacheLookup<V> {
        let entries = self.lock_entries();
        match entries.get(key).filter(|entry| now < entry.until) {
            Some(entry) => CacheLookup::Hit(entry.value.clone()),
            None => CacheLookup::Miss,
        }
    }

    /// Stores the value that was found at `now`; `None` if there is none.
    pub(crate) fn insert_entry(&self, key: K, value: Option<V>, now: Timestamp) {
        let kept = if value.is_some() { self.found } else { self.missed };
        if kept.is_zero() {
            return;
        }
        let until = add_millis(now, i64::try_from(kept.as_millis()).unwrap_or(i64::MAX));
        let mut entries = self.lock_entries();
        if entries.len() >= ENTRIES_MAX {
            entries.retain(|_, entry| now < entry.until);
            if entries.len() >= ENTRIES_MAX {
                entries.clear();
            }
        }
        entries.insert(key, CacheEntry { value, until });
    }

    /// Removes the entry of one key.
    pub(crate) fn remove_key(&self, key: &K) {
        self.lock_entries().remove(key);
    }

    /// Removes all entries.
    pub(crate) fn clear(&self) {
        self.lock_entries().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn what_was_found_is_kept_longer_than_that_nothing_was() {
        let cache = Cache::new(Duration::from_secs(30), Duration::from_secs(3));
        cache.insert_entry("a", Some(1), from_unix_millis(0));
        cache.insert_entry("b", None, from_unix_millis(0));
        assert_eq!(
            cache.get(&"a", from_unix_millis(29_999)),
            CacheLookup::Hit(Some(1))
        );
        assert_eq!(cache.get(&"a", from_unix_millis(30_000)), CacheLookup::Miss);
        assert_eq!(cache.get(&"b", from_unix_millis(2_999)), CacheLookup::Hit(None));
        assert_eq!(cache.get(&"b", from_unix_millis(3_000)), CacheLookup::Miss);
        cache.remove_key(&"a");
        assert_eq!(cache.get(&"a", from_unix_millis(0)), CacheLookup::Miss);
    }

    #[test]
    fn a_cache_of_no_duration_keeps_nothing_and_a_full_one_stays_bounded() {
        let none = Cache::new(Duration::ZERO, Duration::ZERO);
        none.insert_entry(1, Some(1), from_unix_millis(0));
        assert_eq!(none.get(&1, from_unix_millis(0)), CacheLookup::Miss);
        let full = Cache::new(Duration::from_secs(1), Duration::ZERO);
        for key in 0..=ENTRIES_MAX {
            full.insert_entry(key, Some(key), from_unix_millis(0));
        }
        assert!(full.entries.lock().unwrap().len() <= ENTRIES_MAX);
        assert_eq!(
            full.get(&ENTRIES_MAX, from_unix_millis(0)),
            CacheLookup::Hit(Some(ENTRIES_MAX))
        );
    }
}
