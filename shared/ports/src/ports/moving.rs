use super::PortResult;
use crate::records::find_kind;
use async_trait::async_trait;
use recado_domain::Timestamp;
use recado_domain::moving::{MovedRecord, RecordKind};

/// A page of the records of a store, of any kinds.
#[derive(Debug, Clone, PartialEq)]
pub struct MovedPage {
    /// The records.
    pub records: Vec<MovedRecord>,
    /// The place at which the next page begins; `None` behind the last.
    pub next: Option<String>,
}

/// The answer of a store that is to take an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportBegin {
    /// The store takes this export: it was empty, or took a part of the export before.
    Ready,
    /// The store has taken the whole export before.
    Finished,
    /// The store holds a record of this kind that does not come from this export.
    NotEmpty(RecordKind),
    /// The store has taken a part of another export.
    OtherExport,
}

/// A store whose records can be moved to another one.
///
/// Nobody else may work on the store meanwhile. What it puts replaces what it has under the same key, so that an import which was
/// cut off is run again from its beginning.
#[async_trait]
pub trait MovableRecords: Send + Sync {
    /// Returns whether the store keeps records of this kind.
    fn keeps_kind(&self, kind: RecordKind) -> bool;

    /// Reads records from a place on, the first page from none. Together the pages hold each record once. What has expired may
    /// be left out.
    async fn read_moved_records(&self, place: Option<&str>) -> PortResult<MovedPage>;

    /// Stores records with all that the store makes of them by itself. No event is published, and nothing is enqueued.
    async fn put_moved_records(&self, records: &[MovedRecord]) -> PortResult<()>;

    /// Notes that the export of this name is being taken, if the store is empty or has begun to. Until
    /// [`Self::finish_import`] nothing else works on the store. What every installation makes is deleted
    /// ([`crate::table::Kind::is_idle`]).
    async fn begin_import(&self, export: &str) -> PortResult<ImportBegin>;

    /// Notes that the export of this name was taken whole.
    async fn finish_import(&self, export: &str, now: Timestamp) -> PortResult<()>;
}

/// Returns whether an installation makes records of this kind although nobody uses it.
fn is_idle_kind(kind: RecordKind) -> bool {
    match kind {
        RecordKind::IdentityKey => true,
        RecordKind::OfTable(name) => find_kind(name).is_some_and(|kind| kind.is_idle),
        _ => false,
    }
}

/// Finds a kind of which a store holds records that an unused installation does not have.
pub async fn find_used_kind(store: &dyn MovableRecords) -> PortResult<Option<RecordKind>> {
    let mut place: Option<String> = None;
    loop {
        let page = store.read_moved_records(place.as_deref()).await?;
        let mut kinds = page.records.iter().map(MovedRecord::kind);
        if let Some(used) = kinds.find(|kind| !is_idle_kind(*kind)) {
            return Ok(Some(used));
        }
        match page.next {
            Some(next) => place = Some(next),
            None => return Ok(None),
        }
    }
}
