//! The places of large bodies and of files: one file of the data folder for each, or in memory.

use crate::db_error::{DbError, DbResult};
use crate::folder::{UNFINISHED, sync_folder};
use crate::threads::lock_unpoisoned;
use jiff::Timestamp;
use recado_domain::ids::hash_parts;
use recado_domain::millis;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of bytes that are read or written at once.
pub(crate) const PIECE: usize = 256 * 1024;

/// The age from which a body without a recorded event is deleted, in milliseconds. After a day its event will not be
/// recorded any more: the process that wanted it crashed.
const UNCLAIMED_MS: i64 = 24 * 3_600_000;

/// The store of large bodies, as it is part of the names in it.
pub(crate) const PAYLOAD: &str = "payload";

/// The store of the bytes of files, as it is part of the names in it.
pub(crate) const FILE: &str = "file";

/// The counter that numbers the unfinished files of this process.
static UNFINISHED_COUNTER: AtomicU64 = AtomicU64::new(0);

/// Stored bytes by name.
pub(crate) type BytesByName = BTreeMap<String, Vec<u8>>;

/// The store of large bodies, or that of the bytes of files.
#[derive(Debug)]
pub(crate) struct StoredFiles {
    /// The kind of stored bytes, as it is part of each name.
    sort: &'static str,
    place: FilePlace,
}

#[derive(Debug)]
enum FilePlace {
    /// One file for each, in this folder.
    Folder(PathBuf),
    Memory(Mutex<BytesByName>),
}

/// Returns the file name of the large body under `key`. The key is hashed, since it may hold characters that file names may
/// not.
pub(crate) fn payload_file_name(key: &str) -> String {
    hash_parts(&[PAYLOAD, key], 32)
}

/// Returns `None` where there is no file.
fn none_if_missing<T>(read: io::Result<T>) -> DbResult<Option<T>> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl StoredFiles {
    /// Creates a store whose files lie in a folder.
    pub(crate) fn in_folder(sort: &'static str, folder: PathBuf) -> Self {
        let place = FilePlace::Folder(folder);
        Self { sort, place }
    }

    /// Creates a store in memory.
    pub(crate) fn in_memory(sort: &'static str) -> Self {
        let place = FilePlace::Memory(Mutex::default());
        Self { sort, place }
    }

    /// Returns the name under which the bytes of `key` lie.
    fn name_key(&self, key: &str) -> String {
        hash_parts(&[self.sort, key], 32)
    }

    /// Stores a text under `key`: completely and on the disk, or not at all.
    pub(crate) fn write_text(&self, key: &str, text: &str) -> DbResult<()> {
        let mut unfinished = UnfinishedFile::create_for_key(self, key)?;
        unfinished.append_to_file(text.as_bytes())?;
        unfinished.complete_storing(self)
    }

    /// Returns the text under `key`. `None` if there is none.
    pub(crate) fn read_text(&self, key: &str) -> DbResult<Option<String>> {
        let name = self.name_key(key);
        match &self.place {
            FilePlace::Memory(known) => {
                let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into_owned();
                Ok(lock_unpoisoned(known).get(&name).map(text))
            }
            FilePlace::Folder(folder) => none_if_missing(fs::read_to_string(folder.join(name))),
        }
    }

    /// Deletes the bytes of `key`, if there are any.
    pub(crate) fn delete_bytes(&self, key: &str) -> DbResult<()> {
        let name = self.name_key(key);
        match &self.place {
            FilePlace::Memory(known) => {
                lock_unpoisoned(known).remove(&name);
            }
            FilePlace::Folder(folder) => {
                if none_if_missing(fs::remove_file(folder.join(name)))?.is_some() {
                    sync_folder(folder)?;
                }
            }
        }
        Ok(())
    }

    /// Deletes files older than a day that are not `needed`, at most `most`. Returns how many were deleted.
    pub(crate) fn delete_unclaimed(
        &self,
        now: Timestamp,
        most: usize,
        mut needed: impl FnMut(&str) -> DbResult<bool>,
    ) -> DbResult<usize> {
        let FilePlace::Folder(folder) = &self.place else {
            return Ok(0);
        };
        let before = millis::add_millis(now, -UNCLAIMED_MS);
        let mut removed = 0;
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let changed = Timestamp::try_from(entry.metadata()?.modified()?).unwrap_or(now);
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if changed < before && !needed(name)? {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
            if removed == most {
                break;
            }
        }
        Ok(removed)
    }

    /// Gives `work` what a store in memory holds.
    #[cfg(feature = "test-access")]
    pub(crate) fn open_memory_for_test<T>(&self, work: impl FnOnce(&mut BytesByName) -> T) -> Option<T> {
        match &self.place {
            FilePlace::Memory(known) => Some(work(&mut lock_unpoisoned(known))),
            FilePlace::Folder(_) => None,
        }
    }
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
            // On a full disk each repeat of a webhook would leave some. What a crash leaves is deleted at the next start, or after a
            // day.
            let _ = fs::remove_file(path);
        }
    }
}

impl UnfinishedFile {
    /// Creates a file for the bytes of `key`.
    pub(crate) fn create_for_key(files: &StoredFiles, key: &str) -> DbResult<Self> {
        let name = files.name_key(key);
        let place = match &files.place {
            FilePlace::Memory(_) => UnfinishedPlace::Memory(Vec::new()),
            FilePlace::Folder(folder) => {
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
    pub(crate) fn complete_storing(&mut self, files: &StoredFiles) -> DbResult<()> {
        match (&mut self.place, &files.place) {
            (UnfinishedPlace::Memory(bytes), FilePlace::Memory(known)) => {
                lock_unpoisoned(known).insert(self.name.clone(), std::mem::take(bytes));
            }
            (
                UnfinishedPlace::Folder {
                    file,
                    path,
                    completed,
                },
                FilePlace::Folder(folder),
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
    pub(crate) fn open_stored_file(files: &StoredFiles, key: &str) -> DbResult<Option<Self>> {
        let name = files.name_key(key);
        match &files.place {
            FilePlace::Memory(known) => Ok(lock_unpoisoned(known).get(&name).cloned().map(Self::Memory)),
            FilePlace::Folder(folder) => {
                Ok(none_if_missing(File::open(folder.join(name)))?.map(Self::Folder))
            }
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
    use super::*;

    /// Bytes are found again under their names by a later version.
    #[test]
    fn the_name_of_a_body_is_known() {
        let known = "a4f9520b994bea58e419268b1125903f71456988e1efd09f73215aa780a63837";
        assert_eq!(payload_file_name("k"), known);
        assert_eq!(StoredFiles::in_memory(PAYLOAD).name_key("k"), known);
        assert_ne!(StoredFiles::in_memory(FILE).name_key("k"), known);
    }

    #[test]
    fn a_body_that_cannot_be_stored_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("recado-bodies-{}", std::process::id()));
        // A folder in the place of the body: no file can be given its name.
        fs::create_dir_all(folder.join(payload_file_name("k"))).unwrap();
        let stored = StoredFiles::in_folder(PAYLOAD, folder.clone()).write_text("k", "{}");
        let left = fs::read_dir(&folder).unwrap().count();
        fs::remove_dir_all(&folder).unwrap();
        assert!(stored.is_err());
        assert_eq!(left, 1, "only the folder that was in the way");
    }
}
