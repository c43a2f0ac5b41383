use super::key::Key;
use crate::port_error::{PortError, PortResult};
use jiff::{SignedDuration, Timestamp};
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::ids::TenantId;
use recado_domain::moving::MovedFile;
use recado_domain::published_event::PublishedEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What an index entry's item holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexContent {
    /// The key of the record alone.
    Key,
    /// The record once more, so that one read finds it.
    Copy,
}

/// An item that leads to a record: by another key, or in another order. It is written and deleted with the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexEntry {
    /// The key. Its partition's name is one of [`Record::INDEXES`].
    pub key: Key,
    /// What the item holds.
    pub content: IndexContent,
    /// `true` if no other record may have this index entry.
    pub is_unique: bool,
}

impl IndexEntry {
    /// Makes an index entry that holds the record's key, and that others may not have.
    pub fn new(key: Key) -> Self {
        Self {
            key,
            content: IndexContent::Key,
            is_unique: true,
        }
    }

    /// Lets other records have the index entry, too: the one that was written last has it.
    #[must_use]
    pub fn shared(self) -> Self {
        Self {
            is_unique: false,
            ..self
        }
    }

    /// Makes an index entry that holds a copy of the record.
    pub fn with_copy(key: Key) -> Self {
        Self {
            content: IndexContent::Copy,
            ..Self::new(key)
        }
    }
}

/// A kind of record: the one place that says where its items lie and what becomes of them.
///
/// The record is stored as its JSON. All that is said here follows from the record alone.
pub trait Record: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name of the kind, for example `opt-outs`: of its partitions, and of its file in an export.
    const KIND: &'static str;
    /// The names of the partitions of its index entries, each `{kind}.{word}`.
    const INDEXES: &'static [&'static str] = &[];
    /// `true` if changes of such a record may be published: [`Self::derive_published_events`] is asked.
    const IS_PUBLISHED: bool = false;
    /// `false` if such a record means nothing elsewhere or later: an export leaves it out, and the first start on a backup deletes it.
    const IS_MOVED: bool = true;
    /// `true` if an installation makes such records although nobody uses it: an import into it deletes them.
    const IS_IDLE: bool = false;
    /// `true` if something waits for times in such a record, or is held until one: [`Self::set_times_back`] and [`Self::free_held`] are
    /// asked.
    const HAS_TIMES: bool = false;
    /// `true` if what a store keeps in memory of the configuration holds something of such a record: a write ends that.
    const IS_CONFIGURATION: bool = false;
    /// `true` if a record has such times only while it is due at some time: the others are not looked at.
    const HAS_TIMES_WHILE_DUE: bool = false;
    /// `true` if such a record tells what there is to remove of a tenant: what removes all records of the tenant leaves it.
    const GOES_LAST: bool = false;
    /// The time for which such a record stays stored after its expiry. So a clock that ran ahead has ended none once it is set back. A store
    /// that deletes by a clock of its own need not wait.
    const KEPT_EXPIRED: SignedDuration = SignedDuration::ZERO;

    /// Returns the tenant that owns the record; `None` for the installation.
    fn owner(&self) -> Option<&TenantId>;

    /// Returns the place in the partition of its owner.
    fn build_sort_key(&self) -> String;

    /// Returns the time from which the record counts as absent.
    fn compute_expiry(&self) -> Option<Timestamp> {
        None
    }

    /// Returns the time from which the record is work for `reconcile`.
    fn compute_due_time(&self) -> Option<Timestamp> {
        None
    }

    /// Returns what leads to the record.
    fn list_index_entries(&self) -> Vec<IndexEntry> {
        Vec::new()
    }

    /// Returns what is published of a change at `at`. Asked only of kinds that are published.
    fn derive_published_events(_old: Option<&Self>, _new: &Self, _at: Timestamp) -> Vec<PublishedEvent> {
        Vec::new()
    }

    /// Sets times back that a clock which ran ahead gave. Returns whether there were any. The key must stay.
    fn set_times_back(&mut self, _back: ClockRollback) -> bool {
        false
    }

    /// Frees what a process held that ended by `now`. Returns whether there was anything. The key must stay.
    fn free_held(&mut self, _now: Timestamp) -> bool {
        false
    }

    /// Lists the files that may belong to the record. Not each is stored: one may still be waited for, or be deleted.
    fn list_files(&self) -> Vec<MovedFile> {
        Vec::new()
    }

    /// Returns what is left of the record once its tenant is removed; `None` if nothing is.
    #[must_use]
    fn without_tenant(self) -> Option<Self> {
        None
    }

    /// Returns the key.
    fn key(&self) -> Key {
        Key::new(Self::KIND, self.owner(), self.build_sort_key())
    }

    /// Returns the JSON that is stored.
    fn to_body(&self) -> PortResult<String> {
        let body = serde_json::to_string(self).map_err(|error| PortError::invalid(Self::KIND, error))?;
        PortError::check_record_size(Self::KIND, body.len())?;
        Ok(body)
    }

    /// Reads a record from the JSON that is stored.
    fn from_body(body: &str) -> PortResult<Self> {
        serde_json::from_str(body).map_err(|error| PortError::invalid(Self::KIND, error))
    }

    /// Reads the record that is stored under a key. A kind may make one that tells what the key tells, where the JSON cannot be read.
    fn from_stored(_key: &Key, body: &str) -> PortResult<Self> {
        Self::from_body(body)
    }
}
