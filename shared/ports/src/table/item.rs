use super::key::{Key, Partition};
use jiff::Timestamp;

/// The version of a stored item. Each write gives the item another one, at random, so what is deleted and made again is another thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(pub u64);

/// A stored item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// The key.
    pub key: Key,
    /// The version.
    pub version: Version,
    /// The record, as JSON. Of what is stored and is no text, any text that is no JSON.
    pub body: String,
    /// Time from which the item counts as absent, in whole seconds; `None` if it does not expire.
    pub expires: Option<Timestamp>,
}

/// An item that is to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewItem {
    /// The key.
    pub key: Key,
    /// The record, as JSON: at most [`RECORD_BYTES_MAX`](crate::ports::RECORD_BYTES_MAX) bytes.
    pub body: String,
    /// Time from which the item counts as absent. Stores round it up to a second.
    pub expires: Option<Timestamp>,
    /// Time from which [`Table::list_due`](super::Table::list_due) lists the item; `None` if it waits for nothing.
    pub due: Option<Timestamp>,
}

/// What must hold of the stored item for a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// Nothing.
    Always,
    /// There is no item.
    Absent,
    /// The item has this version.
    Version(Version),
}

/// A write to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Stores an item, in place of one that is there.
    Put(NewItem, Condition),
    /// Deletes an item. With [`Condition::Always`] one that does not exist counts as deleted.
    Delete(Key, Condition),
    /// Changes nothing, but requires the condition.
    Check(Key, Condition),
}

impl Write {
    /// Returns the write that deletes an item, whatever it is, if there is one.
    pub fn delete_any(key: Key) -> Self {
        Self::Delete(key, Condition::Always)
    }

    /// Returns the key.
    pub fn key(&self) -> &Key {
        match self {
            Self::Put(item, _) => &item.key,
            Self::Delete(key, _) | Self::Check(key, _) => key,
        }
    }

    /// Returns the condition.
    pub fn condition(&self) -> Condition {
        match self {
            Self::Put(_, condition) | Self::Delete(_, condition) | Self::Check(_, condition) => *condition,
        }
    }
}

/// The places, in the list of writes, of those whose conditions did not hold. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal(pub Vec<usize>);

/// The result of writes that were made together. If they were made, the versions that the items of [`Write::Put`] got, in their order.
pub type WriteResult = Result<Vec<Version>, Refusal>;

/// Items of a partition that are to be read, in the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The partition.
    pub partition: Partition,
    /// The first `sort` that is wanted; `None` for no bound.
    pub from: Option<String>,
    /// The last `sort` that is wanted; `None` for no bound.
    pub to: Option<String>,
    /// `true` to read from the last item to the first.
    pub reverse: bool,
    /// The `sort` behind which the page begins: [`ItemPage::next`] of the page before.
    pub after: Option<String>,
    /// The number of items that are looked at, from 1.
    pub limit: usize,
}

impl Query {
    /// Asks for the first items of a partition.
    pub fn new(partition: Partition, limit: usize) -> Self {
        Self {
            partition,
            from: None,
            to: None,
            reverse: false,
            after: None,
            limit: limit.max(1),
        }
    }

    /// Asks only for items whose `sort` begins with `prefix`.
    #[must_use]
    pub fn with_prefix(self, prefix: &str) -> Self {
        Self {
            from: Some(prefix.to_owned()),
            // No key holds a character behind this one.
            to: Some(format!("{prefix}\u{10FFFF}")),
            ..self
        }
    }

    /// Asks for the last items first.
    #[must_use]
    pub fn in_reverse(self) -> Self {
        Self {
            reverse: true,
            ..self
        }
    }
}

/// A page of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPage {
    /// The items. There may be fewer than the limit, or none, although more follow.
    pub items: Vec<StoredItem>,
    /// The `sort` behind which the next page begins; `None` on the last page.
    pub next: Option<String>,
}
