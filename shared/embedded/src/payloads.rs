use crate::database_threads::lock_unpoisoned;
use crate::db_error::DbResult;
use crate::folder::sync_folder;
use jiff::Timestamp;
use recado_domain::ids::hash_parts;
use recado_domain::millis;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The age from which a body without a recorded event is deleted, in milliseconds. After a day its event will not be
/// recorded any more: the process that wanted it crashed.
const UNCLAIMED_MS: i64 = 24 * 3_600_000;

/// The bodies that are too large for a queue message.
#[derive(Debug)]
pub(crate) enum EmbeddedPayloads {
    /// One file for each body, in this folder.
    Folder(PathBuf),
    /// In memory, by name.
    Memory(Mutex<BTreeMap<String, String>>),
}

/// Returns the file name of the body under `key`. The key is hashed, since it may hold characters that file names may
/// not.
pub(crate) fn payload_file_name(key: &str) -> String {
    hash_parts(&["payload", key], 32)
}

/// The counter that numbers the unfinished files of this process.
static PART_FILE_COUNTER: AtomicU64 = AtomicU64::new(0);

impl EmbeddedPayloads {
    /// Stores `json` under `key`: completely and on the disk, or not at all.
    pub(crate) fn write_payload(&self, key: &str, json: &str) -> DbResult<()> {
        let name = payload_file_name(key);
        match self {
            Self::Memory(bodies) => {
                lock_unpoisoned(bodies).insert(name, json.to_owned());
            }
            Self::Folder(folder) => {
                let number = PART_FILE_COUNTER.fetch_add(1, Ordering::Relaxed);
                let unfinished = folder.join(format!("{name}.{}-{number}.part", std::process::id()));
                let written = write_unfinished(&unfinished, json)
                    .and_then(|()| fs::rename(&unfinished, folder.join(name)))
                    .and_then(|()| sync_folder(folder));
                if written.is_err() {
                    // On a full disk each repeat of the webhook would leave some. What a crash leaves is deleted after a day.
                    let _ = fs::remove_file(&unfinished);
                }
                written?;
            }
        }
        Ok(())
    }

    /// Returns the body under `key`. `None` if there is none.
    pub(crate) fn read_payload(&self, key: &str) -> DbResult<Option<String>> {
        let name = payload_file_name(key);
        match self {
            Self::Memory(bodies) => Ok(lock_unpoisoned(bodies).get(&name).cloned()),
            Self::Folder(folder) => match fs::read_to_string(folder.join(name)) {
                Ok(json) => Ok(Some(json)),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Deletes the body under `key`, if there is one.
    pub(crate) fn delete_payload(&self, key: &str) -> DbResult<()> {
        let name = payload_file_name(key);
        match self {
            Self::Memory(bodies) => {
                lock_unpoisoned(bodies).remove(&name);
                Ok(())
            }
            Self::Folder(folder) => match fs::remove_file(folder.join(name)) {
                Ok(()) => Ok(sync_folder(folder)?),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Deletes files older than a day that are not `needed`, at most `most`. Returns how many were deleted.
    pub(crate) fn delete_unclaimed(
        &self,
        now: Timestamp,
        most: usize,
        mut needed: impl FnMut(&str) -> DbResult<bool>,
    ) -> DbResult<usize> {
        let Self::Folder(folder) = self else { return Ok(0) };
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
}

/// Writes `json` to a new file, which is on the disk when this returns.
fn write_unfinished(path: &Path, json: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(json.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    /// A body is found again under its name by a later version.
    #[test]
    fn the_name_of_a_body_is_known() {
        let known = "a4f9520b994bea58e419268b1125903f71456988e1efd09f73215aa780a63837";
        assert_eq!(super::payload_file_name("k"), known);
    }

    #[test]
    fn a_body_that_cannot_be_stored_leaves_nothing() {
        let folder = std::env::temp_dir().join(format!("recado-bodies-{}", std::process::id()));
        // A folder in the place of the body: no file can be given its name.
        std::fs::create_dir_all(folder.join(super::payload_file_name("k"))).unwrap();
        let stored = super::EmbeddedPayloads::Folder(folder.clone()).write_payload("k", "{}");
        let left = std::fs::read_dir(&folder).unwrap().count();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(stored.is_err());
        assert_eq!(left, 1, "only the folder that was in the way");
    }
}
