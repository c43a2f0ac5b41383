//! Counts and digests of records, by kind.

use crate::error::MovingError;
use crate::kinds::MovedKinds;
use jiff::Timestamp;
use recado_domain::moving::{KindTally, MovedRecord, RecordKind};
use recado_ports::ports::MovableRecords;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The tallies of all kinds of which there are records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tallies(pub(crate) BTreeMap<RecordKind, KindTally>);

impl Tallies {
    /// Adds a record, and returns its JSON.
    pub(crate) fn add_record(&mut self, record: &MovedRecord) -> Result<Vec<u8>, MovingError> {
        let text = write_sorted_json(record.to_json()?)?;
        let hash: [u8; 32] = Sha256::digest(&text).into();
        self.0.entry(record.kind()).or_default().add_record(&hash);
        Ok(text)
    }

    /// Returns the tally of a kind.
    pub(crate) fn of_kind(&self, kind: RecordKind) -> KindTally {
        self.0.get(&kind).copied().unwrap_or_default()
    }

    /// Returns a kind whose tallies differ.
    pub(crate) fn find_difference(&self, other: &Self) -> Option<RecordKind> {
        let mut kinds = self.0.keys().chain(other.0.keys()).copied();
        kinds.find(|kind| self.of_kind(*kind) != other.of_kind(*kind))
    }
}

/// Writes JSON with its keys sorted: the same value has the same bytes. Numbers keep all their digits, which RFC 8785 would round.
pub(crate) fn write_sorted_json(mut value: Value) -> Result<Vec<u8>, MovingError> {
    value.sort_all_objects();
    Ok(serde_json::to_vec(&value)?)
}

/// Reads all records of a store that are kept at `now`, and gives each page to `take`.
pub(crate) async fn read_all(
    store: &dyn MovableRecords,
    kinds: MovedKinds<'_>,
    now: Timestamp,
    mut take: impl FnMut(&[MovedRecord]) -> Result<(), MovingError>,
) -> Result<(), MovingError> {
    let mut place: Option<String> = None;
    loop {
        let page = store.read_moved_records(place.as_deref()).await?;
        let mut kept = Vec::with_capacity(page.records.len());
        for record in page.records {
            kept.extend(kinds.keep_unexpired(record, now)?);
        }
        take(&kept)?;
        match page.next {
            Some(next) => place = Some(next),
            None => return Ok(()),
        }
    }
}
