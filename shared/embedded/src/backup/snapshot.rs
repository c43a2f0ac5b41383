//! One state of both databases, held by transactions that read.

use super::error::BackupError;
use super::progress::BackupProgress;
use crate::folder::{create_file, open_reading};
use crate::intake_log::last_moved;
use crate::restored::note_backup_time;
use jiff::Timestamp;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeSet;
use std::path::Path;

/// The number of pages that are copied at once: the transaction holds the state over all of them.
const PAGES: i32 = 512;

/// The state of both databases at one moment. Writers go on beside it.
pub(super) struct PinnedSnapshot {
    intake: Connection,
    records: Connection,
}

/// Begins to read both databases, the intake log first.
pub(super) fn open_snapshot(data: &Path) -> Result<PinnedSnapshot, BackupError> {
    let pin = |name: &str| -> Result<Connection, BackupError> {
        let connection = open_reading(&data.join(name));
        let connection = connection.map_err(|error| BackupError::of_data_folder(data, error))?;
        connection.execute_batch("BEGIN")?;
        // A transaction reads from its first read on.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(connection)
    };
    Ok(PinnedSnapshot {
        intake: pin("intake.db")?,
        records: pin("recado.db")?,
    })
}

impl PinnedSnapshot {
    /// Lists the files of the large bodies that are still needed.
    pub(super) fn list_payloads(&self) -> Result<BTreeSet<String>, BackupError> {
        let moved = last_moved(&self.records)?;
        let waiting = "SELECT payload FROM intake WHERE payload IS NOT NULL AND seq > ?1";
        let recorded = "SELECT payload FROM events WHERE payload IS NOT NULL AND ?1 = ?1";
        let mut names = BTreeSet::new();
        for (connection, sql) in [(&self.intake, waiting), (&self.records, recorded)] {
            let mut statement = connection.prepare(sql)?;
            for name in statement.query_map([moved], |row| row.get(0))? {
                names.insert(name?);
            }
        }
        Ok(names)
    }

    /// Copies both databases into the folder `to`. The copy of the records says when it was taken.
    pub(super) fn copy_into(
        &self,
        to: &Path,
        now: Timestamp,
        progress: &BackupProgress,
    ) -> Result<(), BackupError> {
        copy_database(&self.intake, &to.join("intake.db"), progress, |_| Ok(()))?;
        copy_database(&self.records, &to.join("recado.db"), progress, |copy| {
            note_backup_time(copy, now)
        })
    }
}

/// Copies all pages of a database. Whatever writes to it meanwhile, its transaction reads one state.
fn copy_pages(
    from: &Connection,
    copy: &mut Connection,
    progress: &BackupProgress,
) -> Result<(), BackupError> {
    let page_bytes: u32 = from.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let copying = Backup::new(from, copy)?;
    let mut copied = 0_u64;
    loop {
        let step = copying.step(PAGES)?;
        let pages = copying.progress();
        let done = u64::try_from(pages.pagecount - pages.remaining).unwrap_or_default();
        progress.add_bytes(done.saturating_sub(copied) * u64::from(page_bytes));
        copied = done;
        match step {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => return Err(BackupError::Busy),
        }
    }
}

/// Copies a database into a file, changes the copy, and checks it.
fn copy_database(
    from: &Connection,
    to: &Path,
    progress: &BackupProgress,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), BackupError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    create_file(to).map_err(|source| BackupError::of_file(to, source))?;
    let mut copy = Connection::open_with_flags(to, flags)?;
    copy_pages(from, &mut copy, progress)?;
    // One file, without a log beside it. The next start sets it again.
    copy.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    copy.execute_batch("PRAGMA synchronous = FULL")?;
    change(&copy)?;
    let found: String = copy.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        let path = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let what = "was damaged before it was copied";
        return Err(BackupError::Damaged { path, what });
    }
    copy.close().map_err(|(_, error)| error.into())
}
