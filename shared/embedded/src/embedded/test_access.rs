//! Lets tests reach the rows of a database in memory: to damage one, to copy all, and to put a copy back.

use super::{DatabaseAccess, Embedded};
use crate::restored::note_backup_time;
use crate::stored_files::BytesByName;
use crate::threads::lock_unpoisoned;
use crate::timed_tables::TIMED_TABLES;
use jiff::Timestamp;
use rusqlite::Connection;
use rusqlite::backup::Backup;
use std::sync::Mutex;
use std::time::Duration;

/// All records, queues, large bodies and files of a store in memory, at one moment.
#[derive(Debug)]
pub struct StoreCopy {
    records: Mutex<Connection>,
    payloads: BytesByName,
    files: BytesByName,
    taken_at: Timestamp,
}

impl Embedded {
    /// Gives `work` the connection of a store in memory. `None`: the store is in a folder.
    pub fn open_rows_for_test<T>(&self, work: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        let _change = self.inner.configs.begin_config_change();
        let DatabaseAccess::Inline(connection) = &self.inner.access else {
            return None;
        };
        Some(work(&mut lock_unpoisoned(connection)))
    }

    /// Lists the tables whose times are corrected after the clock was set back.
    pub fn list_corrected_tables_for_test() -> Vec<&'static str> {
        TIMED_TABLES.iter().map(|table| table.name).collect()
    }

    /// Copies a store in memory, as a backup copies a folder.
    pub fn copy_for_test(&self) -> rusqlite::Result<Option<StoreCopy>> {
        let taken_at = self.current_time();
        let copied = self.open_rows_for_test(|from| -> rusqlite::Result<Connection> {
            let mut copy = Connection::open_in_memory()?;
            copy_all(from, &mut copy)?;
            note_backup_time(&copy, taken_at)?;
            Ok(copy)
        });
        let Some(records) = copied.transpose()? else {
            return Ok(None);
        };
        let copy = |known: &mut BytesByName| known.clone();
        let payloads = self.payload_store().open_memory_for_test(copy);
        let files = self.file_store().open_memory_for_test(copy);
        Ok(Some(StoreCopy {
            records: Mutex::new(records),
            payloads: payloads.unwrap_or_default(),
            files: files.unwrap_or_default(),
            taken_at,
        }))
    }

    /// Puts a copy in the place of all that the store in memory has. The next start finds a backup.
    pub fn restore_for_test(&self, copy: &StoreCopy) -> rusqlite::Result<()> {
        let put_back = |to: &mut Connection| copy_all(&lock_unpoisoned(&copy.records), to);
        self.open_rows_for_test(put_back).transpose()?;
        let (payloads, files) = (self.payload_store(), self.file_store());
        payloads.open_memory_for_test(|known| known.clone_from(&copy.payloads));
        files.open_memory_for_test(|known| known.clone_from(&copy.files));
        Ok(())
    }
}

impl StoreCopy {
    /// Returns the time at which the copy was taken.
    pub fn taken_at(&self) -> Timestamp {
        self.taken_at
    }
}

fn copy_all(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    Backup::new(from, to)?.run_to_completion(i32::MAX, Duration::ZERO, None)
}
