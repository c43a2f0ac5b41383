//! The places of the bytes of files: one file of the data folder for each, or in memory.

use crate::database_threads::lock_unpoisoned;
use crate::db_error::{DbError, DbResult};
use crate::folder::{UNFINISHED, sync_folder};
use recado_domain::ids::hash_parts;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes that are read or written at once.
pub(crate) const PIECE: usize = 256 * 1024;

/// The counter that numbers the unfinished files of this process.
static UNFINISHED_COUNTER: AtomicU64 = AtomicU64::new(0);

/// The place of the bytes of files.
#[derive(Debug)]
pub(crate) enum EmbeddedFiles {
    /// One file for each, in this folder.
    Folder(PathBuf),
    /// In memory, by name.
    Memory(Mutex<BTreeMap<String, Vec<u8>>>),
}

impl EmbeddedFiles {
    /// Deletes the bytes of `key`, if there are any.
    pub(crate) fn delete_bytes(&self, key: &str) -> DbResult<()> {
        let name = stored_file_name(key);
        match self {
            Self::Memory(known) => {
                lock_unpoisoned(known).remove(&name);
                Ok(())
            }
            Self::Folder(folder) => match fs::remove_file(folder.join(name)) {
                Ok(()) => Ok(sync_folder(folder)?),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error.into()),
            },
        }
    }
}

/// Returns the name under which the bytes of `key` lie.
fn stored_file_name(key: &str) -> String {
    hash_parts(&["file", key], 32)
}

/// Bytes that are being written. They are deleted unless they are completed.
#[derive(Debug)]
pub(crate) struct UnfinishedFile {
    place: UnfinishedPlace,
    name: String,
}

#[derive(Debug)]
enum UnfinishedPlace {
    Folder {
        file: File,
        path: PathBuf,
        completed: bool,
    },
    Memory(Vec<u8>),
}

impl Drop for UnfinishedFile {
    fn drop(&mut self) {
        if let UnfinishedPlace::Folder {
            path,
            completed: false,
            ..
        } = &self.place
        {
            // What stays is deleted at the next start.
            let _ = fs::remove_file(path);
        }
    }
}

impl UnfinishedFile {
    /// Creates a file for the bytes of `key`.
    pub(crate) fn create_for_key(files: &EmbeddedFiles, key: &str) -> DbResult<Self> {
        let name = stored_file_name(key);
        let place = match files {
            EmbeddedFiles::Memory(_) => UnfinishedPlace::Memory(Vec::new()),
            EmbeddedFiles::Folder(folder) => {
                let number = UNFINISHED_COUNTER.fetch_add(1, Ordering::Relaxed);
                let path = folder.join(format!("{name}.{number}{UNFINISHED}"));
                let mut options = OpenOptions::new();
                options.create(true).truncate(true).write(true);
                #[cfg(unix)]
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                UnfinishedPlace::Folder {
                    file: options.open(&path)?,
                    path,
                    completed: false,
                }
            }
        };
        Ok(Self { place, name })
    }

    /// Writes the next bytes.
    pub(crate) fn append_to_file(&mut self, bytes: &[u8]) -> DbResult<()> {
        match &mut self.place {
            UnfinishedPlace::Memory(known) => known.extend_from_slice(bytes),
            UnfinishedPlace::Folder { file, .. } => file.write_all(bytes)?,
        }
        Ok(())
    }

    /// Gives the bytes their name, on the disk for good.
    pub(crate) fn complete_storing(&mut self, files: &EmbeddedFiles) -> DbResult<()> {
        match (&mut self.place, files) {
            (UnfinishedPlace::Memory(bytes), EmbeddedFiles::Memory(known)) => {
                lock_unpoisoned(known).insert(self.name.clone(), std::mem::take(bytes));
            }
            (
                UnfinishedPlace::Folder {
                    file,
                    path,
                    completed,
                },
                EmbeddedFiles::Folder(folder),
            ) => {
                file.sync_all()?;
                fs::rename(&*path, folder.join(&self.name))?;
                *completed = true;
                sync_folder(folder)?;
            }
            _ => return Err(DbError::Argument("a file of another store")),
        }
        Ok(())
    }
}

/// Bytes that are being read.
#[derive(Debug)]
pub(crate) enum OpenedFile {
    Folder(File),
    Memory(Vec<u8>),
}

impl OpenedFile {
    /// Opens the bytes of `key`. `None` if there are none.
    pub(crate) fn open_stored_file(files: &EmbeddedFiles, key: &str) -> DbResult<Option<Self>> {
        let name = stored_file_name(key);
        match files {
            EmbeddedFiles::Memory(known) => Ok(lock_unpoisoned(known).get(&name).cloned().map(Self::Memory)),
            EmbeddedFiles::Folder(folder) => match File::open(folder.join(name)) {
                Ok(file) => Ok(Some(Self::Folder(file))),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Reads the next piece; it is empty at the end.
    pub(crate) fn read_piece(&mut self) -> DbResult<Vec<u8>> {
        match self {
            Self::Memory(bytes) => Ok(std::mem::take(bytes)),
            Self::Folder(file) => {
                let mut piece = Vec::new();
                file.take(PIECE as u64).read_to_end(&mut piece)?;
                Ok(piece)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    /// Bytes are found again under their name by a later version.
    #[test]
    fn the_name_of_a_file_is_known() {
        assert_eq!(super::stored_file_name("k").len(), 64);
        assert_ne!(super::stored_file_name("k"), super::stored_file_name("l"));
    }
}
