//! Writes an installation into a folder.

use crate::error::MovingError;
use crate::file_copies::copy_file;
use crate::folder::{WrittenFile, begin_folder, finish_folder};
use crate::kinds::MovedKinds;
use crate::manifest::{ExportManifest, ExportedFiles, ExportedKind, FORMAT, list_path, records_path};
use crate::tallies::{Tallies, read_all};
use crate::{MovingProgress, MovingStep};
use jiff::{SignedDuration, Timestamp};
use recado_domain::RECORD_FORMAT;
use recado_domain::moving::{Dated, MovedFile, MovedRecord, RecordKind};
use recado_domain::sample::MinuteSample;
use recado_ports::ports::{Files, MovableRecords, Queues};
use recado_ports::table::{Kind, Record};
use std::collections::BTreeMap;
use std::path::Path;

/// The conditions of an export.
#[derive(Debug, Clone, Copy)]
pub struct ExportOptions {
    /// The time of the export.
    pub now: Timestamp,
    /// Time for which nothing may have worked on the installation, by its samples; `None` where a lock says so.
    pub quiet_for: Option<SignedDuration>,
}

/// The files of the records that an export writes.
struct RecordFiles {
    files: BTreeMap<RecordKind, WrittenFile>,
    tallies: Tallies,
    /// Files that records name.
    named: Vec<MovedFile>,
    newest_sample: Option<Timestamp>,
}

impl RecordFiles {
    fn create_all(kinds: MovedKinds<'_>, folder: &Path) -> Result<Self, MovingError> {
        let mut files = BTreeMap::new();
        for kind in kinds.list_all() {
            files.insert(kind, WrittenFile::create(records_path(folder, kind))?);
        }
        Ok(Self {
            files,
            tallies: Tallies::default(),
            named: Vec::new(),
            newest_sample: None,
        })
    }

    fn write_record(&mut self, kinds: MovedKinds<'_>, record: &MovedRecord) -> Result<(), MovingError> {
        let mut line = self.tallies.add_record(record)?;
        line.push(b'\n');
        if let Some(file) = self.files.get_mut(&record.kind()) {
            file.append(&line)?;
        }
        self.named.extend(kinds.list_files(record)?);
        self.newest_sample = self.newest_sample.max(sample_time(record));
        Ok(())
    }

    fn finish_all(self) -> Result<BTreeMap<String, ExportedKind>, MovingError> {
        let mut kinds = BTreeMap::new();
        for (kind, file) in self.files {
            let (_, sha256) = file.finish()?;
            let tally = self.tallies.of_kind(kind);
            kinds.insert(kind.as_str().to_owned(), ExportedKind { tally, sha256 });
        }
        Ok(kinds)
    }
}

/// Returns the time of a sample of a minute; `None` for another record.
fn sample_time(record: &MovedRecord) -> Option<Timestamp> {
    match record {
        MovedRecord::OfTable(record) if record.kind == <Dated<MinuteSample>>::KIND => {
            let sample = <Dated<MinuteSample>>::from_body(&record.body).ok()?;
            Some(sample.record.at)
        }
        _ => None,
    }
}

/// Writes all records and files of an installation into a folder. `kinds` are the kinds of the table. Nothing else may work on the
/// installation: the records are read twice, and an export during which they changed is refused. A run that was cut off is run again; it
/// keeps the files that it copied. A whole export is checked only.
pub async fn export_installation<S: MovableRecords, Q: Queues + Files>(
    store: &S,
    queues: &Q,
    kinds: &[Kind],
    folder: &Path,
    options: ExportOptions,
    progress: MovingProgress<'_>,
) -> Result<ExportManifest, MovingError> {
    if ExportManifest::is_in_folder(folder) {
        return Err(MovingError::FolderInUse(folder.to_owned()));
    }
    begin_folder(folder)?;
    let kinds = MovedKinds::new(kinds);
    let mut written = RecordFiles::create_all(kinds, folder)?;
    read_all(store, kinds, options.now, |records| {
        progress(MovingStep::Records, records.len());
        records
            .iter()
            .try_for_each(|record| written.write_record(kinds, record))
    })
    .await?;
    check_no_writers(options, written.newest_sample)?;
    let files = copy_stored_files(queues, folder, &written.named, progress).await?;
    let mut again = Tallies::default();
    read_all(store, kinds, options.now, |records| {
        progress(MovingStep::Check, records.len());
        records
            .iter()
            .try_for_each(|record| again.add_record(record).map(drop))
    })
    .await?;
    if let Some(changed) = written.tallies.find_difference(&again) {
        return Err(MovingError::Changed(changed));
    }
    let manifest = ExportManifest {
        format: FORMAT,
        records: RECORD_FORMAT,
        recado: env!("CARGO_PKG_VERSION").to_owned(),
        taken_at: options.now,
        kinds: written.finish_all()?,
        files,
    };
    manifest.write_file(folder)?;
    finish_folder(folder)?;
    Ok(manifest)
}

/// Refuses an installation that ran a short time ago: each run of `reconcile` leaves samples.
fn check_no_writers(options: ExportOptions, newest: Option<Timestamp>) -> Result<(), MovingError> {
    let (Some(wanted), Some(newest)) = (options.quiet_for, newest) else {
        return Ok(());
    };
    let quiet = options.now.duration_since(newest);
    if quiet < wanted {
        return Err(MovingError::Running(quiet.as_secs()));
    }
    Ok(())
}

async fn copy_stored_files<Q: Queues + Files>(
    queues: &Q,
    folder: &Path,
    named: &[MovedFile],
    progress: MovingProgress<'_>,
) -> Result<ExportedFiles, MovingError> {
    let mut list = WrittenFile::create(list_path(folder))?;
    let mut copied = ExportedFiles::default();
    for place in named {
        progress(MovingStep::Files, 1);
        if let Some(copy) = copy_file(queues, folder, place).await? {
            copied.count += 1;
            copied.bytes += copy.bytes;
            let mut line = serde_json::to_vec(&copy)?;
            line.push(b'\n');
            list.append(&line)?;
        }
    }
    (_, copied.sha256) = list.finish()?;
    Ok(copied)
}
