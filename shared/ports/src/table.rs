//! The table: the store of every record that is not on the path of a message.
//!
//! A store offers it by [`Table`], in few verbs over items of text. A kind of record says by [`Record`] where its items lie, when they
//! expire and what leads to them, and functions here read and write it. What goes over all kinds (export, removal of a tenant) goes over
//! a list of [`Kind`].

mod item;
mod key;
mod kind;
mod lists;
mod record;
mod typed;

use async_trait::async_trait;
pub use item::{Condition, ItemPage, NewItem, Query, Refusal, StoredItem, Version, Write, WriteResult};
pub use key::{Key, Partition};
pub use kind::{Kind, RemovedContent};
pub use lists::{
    delete_page, find_by_index, find_many, find_versions, list_records, list_versions, parse_index_entry,
};
pub use record::{IndexContent, IndexEntry, Record};
pub use typed::{
    Change, SaveOutcome, Versioned, commit_change, delete_record, find_or_new, find_readable, find_record,
    find_with_version, put_record, remove_record, save_record, save_record_with, write_record,
};

pub(crate) use kind::put_writes;
pub(crate) use lists::{list_all_records, list_all_versions, read_all_items};
pub(crate) use typed::{parse_item, remove_latest_record, write_always};

use crate::port_error::PortResult;
use jiff::Timestamp;

/// The number of writes that [`Table::write`] takes at most.
pub const WRITES_MAX: usize = 90;

/// A table of items.
///
/// An item that has expired counts as absent in every verb, also in conditions; the store deletes it some time later. All reads are
/// strong but those that say otherwise.
#[async_trait]
pub trait Table: Send + Sync {
    /// Returns an item; `None` if there is none.
    async fn get(&self, key: &Key) -> PortResult<Option<StoredItem>>;

    /// Returns an item that may be as old as [`crate::settings::Settings::config_ttl`], in one read at most.
    async fn get_cached(&self, key: &Key) -> PortResult<Option<StoredItem>>;

    /// Returns those of these items that exist, in any order, in few requests.
    async fn get_many(&self, keys: &[Key]) -> PortResult<Vec<StoredItem>>;

    /// Makes all of these writes at once, or none of them: at most [`WRITES_MAX`], and each to another key. An error means that they may
    /// have been made.
    async fn write(&self, writes: &[Write]) -> PortResult<WriteResult>;

    /// Returns a page of the items of a partition, in the order of their keys.
    async fn page(&self, query: &Query) -> PortResult<ItemPage>;

    /// Counts the items that a query would return without its limit.
    async fn count(&self, query: &Query) -> PortResult<u64>;

    /// Lists the items of a kind that are due at `now`, at most `limit`: those that are due for the longest time come first. The list may
    /// be some seconds old.
    async fn list_due(&self, kind: &Kind, now: Timestamp, limit: usize) -> PortResult<Vec<Key>>;
}
