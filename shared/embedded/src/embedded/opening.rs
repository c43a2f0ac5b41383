//! Opens a data folder, and starts the threads that work on it.

use super::{DatabaseAccess, Embedded, READERS, new_wakers};
use crate::checkpoint::Checkpoints;
use crate::clock::Clock;
use crate::database_threads::{DatabaseThreads, Urgency};
use crate::folder::{DataFolder, OpenError};
use crate::installation_values::has_unfinished_import;
use crate::intake_log::{IntakeLog, last_moved};
use crate::lookups::{LOOKUPS, LookupConnections};
use crate::stored_files::{FILE, PAYLOAD, StoredFiles};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;

impl Embedded {
    /// Opens the data folder `dir`, and creates the folder and its database if they are missing (for their owner only).
    /// No other process can open the folder until the last clone is dropped or [`Self::shut_down`] returns.
    pub fn open_folder(dir: &Path, clock: Clock) -> Result<Self, OpenError> {
        Self::open_folder_if(dir, clock, |connection| {
            if has_unfinished_import(connection)? {
                return Err(OpenError::UnfinishedImport { path: dir.to_owned() });
            }
            Ok(())
        })
    }

    /// Opens the data folder `dir` as [`Self::open_folder`] does, also if an import into it was cut off.
    pub fn open_folder_to_import(dir: &Path, clock: Clock) -> Result<Self, OpenError> {
        Self::open_folder_if(dir, clock, |_| Ok(()))
    }

    fn open_folder_if(
        dir: &Path,
        clock: Clock,
        check: impl FnOnce(&Connection) -> Result<(), OpenError>,
    ) -> Result<Self, OpenError> {
        let folder = DataFolder::open_exclusive(dir)?;
        let connection = folder.open_writer()?;
        check(&connection)?;
        let readers = (0..READERS)
            .map(|_| folder.open_reader())
            .collect::<Result<_, _>>()?;
        let checkpoints = Checkpoints::start_thread(folder.open_checkpointer()?)?;
        let payloads = StoredFiles::in_folder(PAYLOAD, folder.payloads.clone());
        let files = StoredFiles::in_folder(FILE, folder.files.clone());
        let path = Some(dir.to_owned());
        let lookups = (0..LOOKUPS)
            .map(|_| folder.open_reader())
            .collect::<Result<_, _>>()?;
        let wakers = new_wakers();
        let moved = last_moved(&connection)?;
        let intake_files = folder.open_intake_files()?;
        let (stored, lock) = (folder.open_reader()?, folder.into_lock());
        // The lock is held until the last commit.
        let hold_lock = move || {
            let _held = &lock;
        };
        let writer = DatabaseThreads::start_writer(Urgency::Ordinary, connection, checkpoints, hold_lock)?;
        let [inbound, _, _] = &wakers;
        let intake = IntakeLog::start(
            intake_files,
            (moved, stored),
            Arc::clone(&writer.queue),
            Arc::clone(inbound),
            clock.clone(),
        )?;
        let front = DatabaseAccess::Threads {
            lookups: LookupConnections::new(lookups),
            readers: DatabaseThreads::start_readers(readers)?,
            intake,
            writer,
        };
        Ok(Self::new(front, clock, (payloads, files), path, wakers))
    }
}
