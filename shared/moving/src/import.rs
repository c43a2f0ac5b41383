//! Takes an export into a store.

use crate::error::MovingError;
use crate::file_copies::read_list;
use crate::folder::open_file;
use crate::former_conversations::{PARTS_SINCE, nest_former_fields};
use crate::key_owners::KeyOwners;
use crate::kinds::MovedKinds;
use crate::manifest::{ExportManifest, records_path};
use crate::tallies::{Tallies, read_all};
use crate::{MovingProgress, MovingStep};
use jiff::Timestamp;
use recado_domain::moving::{KindTally, MovedRecord, RecordKind};
use recado_ports::ports::{Files, ImportBegin, MovableRecords, PortError, Queues};
use recado_ports::table::Kind;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::BufRead;
use std::path::Path;

/// The number of records that are put at once.
const BATCH: usize = 200;

/// The result of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportReport {
    /// The description of the export.
    pub manifest: ExportManifest,
    /// The number of records that the store has now.
    pub records: u64,
    /// The numbers of records by kinds that this store does not keep.
    pub left_out: BTreeMap<&'static str, u64>,
    /// The number of records that expired since the export.
    pub expired: u64,
    /// `true` if an earlier run had taken everything.
    pub was_finished: bool,
}

/// Takes a whole export into an empty store, and compares all with it. `kinds` are the kinds of the table. A run that was cut off is run
/// again: it goes on in the same store.
pub async fn import_installation<S: MovableRecords, Q: Queues + Files>(
    store: &S,
    queues: &Q,
    kinds: &[Kind],
    folder: &Path,
    now: Timestamp,
    progress: MovingProgress<'_>,
) -> Result<ImportReport, MovingError> {
    let kinds = MovedKinds::new(kinds);
    let (manifest, name) = ExportManifest::read_file(folder)?;
    manifest.check_records(kinds, folder)?;
    let mut report = ImportReport {
        records: 0,
        left_out: BTreeMap::new(),
        expired: 0,
        was_finished: false,
        manifest,
    };
    match store.begin_import(&name).await? {
        ImportBegin::Ready => {}
        ImportBegin::NotEmpty(kind) => return Err(MovingError::NotEmpty(kind)),
        ImportBegin::OtherExport => return Err(MovingError::OtherExport),
        ImportBegin::Finished => {
            report.was_finished = true;
            return Ok(report);
        }
    }
    // Files come first, so that no record names one that is missing.
    for copy in read_list(folder)? {
        let copy = copy?;
        copy.check_copy(folder)?;
        copy.put_copy(queues, folder).await?;
        progress(MovingStep::Files, 1);
    }
    let expected = put_records(store, kinds, folder, now, &mut report, progress).await?;
    check_records(store, kinds, &expected, now, progress).await?;
    for copy in read_list(folder)? {
        let copy = copy?;
        if !copy.is_in_store(queues).await? {
            return Err(MovingError::FileNotEqual(copy.sha256));
        }
    }
    store.finish_import(&name, now).await?;
    Ok(report)
}

/// Puts all records that are kept at `now`. Returns their tallies.
async fn put_records<S: MovableRecords>(
    store: &S,
    kinds: MovedKinds<'_>,
    folder: &Path,
    now: Timestamp,
    report: &mut ImportReport,
    progress: MovingProgress<'_>,
) -> Result<Tallies, MovingError> {
    let mut expected = Tallies::default();
    let mut owners = KeyOwners::read_key_scopes(folder)?;
    for kind in kinds.list_all() {
        let listed = report.manifest.kinds.get(kind.as_str());
        if !store.keeps_kind(kind) {
            let count = listed.map_or(0, |listed| listed.tally.count);
            if count > 0 {
                report.left_out.insert(kind.as_str(), count);
            }
            continue;
        }
        let mut records = Vec::with_capacity(BATCH);
        if listed.is_some() {
            for record in read_records(kinds, folder, (kind, report.manifest.records), now)? {
                let Some(record) = record? else {
                    report.expired += 1;
                    continue;
                };
                let record = owners.complete_record(record)?;
                expected.add_record(&record)?;
                records.push(record);
                if records.len() == BATCH {
                    store.put_moved_records(&records).await?;
                    progress(MovingStep::Records, records.len());
                    records.clear();
                }
            }
        }
        store.put_moved_records(&records).await?;
        progress(MovingStep::Records, records.len());
    }
    report.records = expected.0.values().map(|tally| tally.count).sum();
    Ok(expected)
}

/// Reads the records of a kind, which are of `format`. One that has expired at `now` is `None`.
fn read_records<'a>(
    kinds: MovedKinds<'a>,
    folder: &Path,
    (kind, format): (RecordKind, u32),
    now: Timestamp,
) -> Result<impl Iterator<Item = Result<Option<MovedRecord>, MovingError>> + use<'a>, MovingError> {
    let path = records_path(folder, kind);
    let lines = open_file(&path)?.lines().enumerate();
    let is_former = kind == RecordKind::Conversation && format < PARTS_SINCE;
    Ok(lines.map(move |(number, line)| {
        let line = line.map_err(|source| MovingError::of_file(&path, source))?;
        let damaged = |why: String| {
            let what = format!("has a line {} that cannot be read ({why})", number + 1);
            MovingError::damaged(kind.as_str(), what)
        };
        let line = if is_former {
            nest_former_fields(&line).map_err(|error| damaged(error.to_string()))?
        } else {
            line
        };
        let record = kind
            .parse_record(&line)
            .map_err(|error| damaged(error.to_string()))?;
        kinds
            .keep_unexpired(record, now)
            .map_err(|error| damaged(describe_cause(&error)))
    }))
}

/// Describes what is wrong with a record, which the error itself does not say.
fn describe_cause(error: &PortError) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

/// Compares what the store has with what it should have.
async fn check_records<S: MovableRecords>(
    store: &S,
    kinds: MovedKinds<'_>,
    expected: &Tallies,
    now: Timestamp,
    progress: MovingProgress<'_>,
) -> Result<(), MovingError> {
    let mut found = Tallies::default();
    read_all(store, kinds, now, |records| {
        progress(MovingStep::Check, records.len());
        records
            .iter()
            .try_for_each(|record| found.add_record(record).map(drop))
    })
    .await?;
    match expected.find_difference(&found) {
        None => Ok(()),
        Some(kind) => Err(MovingError::NotEqual {
            kind,
            found: describe_tally(found.of_kind(kind)),
            expected: describe_tally(expected.of_kind(kind)),
        }),
    }
}

fn describe_tally(tally: KindTally) -> String {
    format!("{} records with the digest {}", tally.count, tally.digest)
}
