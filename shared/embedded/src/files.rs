//! The bytes of files: one file of the data folder for each, or in memory.

use crate::Embedded;
use crate::database_threads::lock_unpoisoned;
use crate::db_error::DbError;
use crate::folder::sync_folder;
use async_trait::async_trait;
use futures::stream::{self, StreamExt};
use recado_domain::ids::hash_parts;
use recado_ports::ports::{FileBytes, FileError, Files, PortResult, VectorStore};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Number of bytes that are read or written at once.
const PIECE: usize = 256 * 1024;

/// End of the names of unfinished files.
pub(crate) const UNFINISHED: &str = ".part";

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

/// Returns the name under which the bytes of `key` lie.
fn stored_file_name(key: &str) -> String {
    hash_parts(&["file", key], 32)
}

/// Deletes what a process that ended left unfinished.
pub(crate) fn delete_unfinished(folder: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(UNFINISHED) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Bytes that are being written. They are deleted unless they are completed.
#[derive(Debug)]
struct UnfinishedFile {
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
    fn create_for_key(files: &EmbeddedFiles, key: &str) -> Result<Self, DbError> {
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

    fn append_to_file(&mut self, bytes: &[u8]) -> Result<(), DbError> {
        match &mut self.place {
            UnfinishedPlace::Memory(known) => known.extend_from_slice(bytes),
            UnfinishedPlace::Folder { file, .. } => file.write_all(bytes)?,
        }
        Ok(())
    }

    /// Gives the bytes their name, on the disk for good.
    fn complete_storing(&mut self, files: &EmbeddedFiles) -> Result<(), DbError> {
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
enum OpenedFile {
    Folder(File),
    Memory(Vec<u8>),
}

impl OpenedFile {
    fn open_stored_file(files: &EmbeddedFiles, key: &str) -> Result<Option<Self>, DbError> {
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
    fn read_piece(&mut self) -> Result<Vec<u8>, DbError> {
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

impl Embedded {
    /// Appends to an unfinished file on a thread that reads: the disk must delay neither the writer nor the executor.
    async fn append_piece(&self, unfinished: &Arc<Mutex<UnfinishedFile>>, piece: Vec<u8>) -> PortResult<()> {
        let unfinished = Arc::clone(unfinished);
        self.run_read("put_file", move |_| {
            lock_unpoisoned(&unfinished).append_to_file(&piece)
        })
        .await
    }
}

#[async_trait]
impl Files for Embedded {
    async fn put_file(&self, key: &str, _mime_type: &str, bytes: FileBytes) -> Result<(), FileError> {
        let (files, key) = (self.file_store(), key.to_owned());
        let creates = move |_: &rusqlite::Connection| UnfinishedFile::create_for_key(&files, &key);
        let unfinished = Arc::new(Mutex::new(self.run_read("put_file", creates).await?));
        let mut pieces = bytes.into_stream();
        let mut ready = Vec::new();
        while let Some(piece) = pieces.next().await {
            ready.extend(piece?);
            if ready.len() >= PIECE {
                self.append_piece(&unfinished, std::mem::take(&mut ready)).await?;
            }
        }
        self.append_piece(&unfinished, ready).await?;
        let files = self.file_store();
        let completes = move |_: &rusqlite::Connection| lock_unpoisoned(&unfinished).complete_storing(&files);
        Ok(self.run_read("put_file", completes).await?)
    }

    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        let (files, key) = (self.file_store(), key.to_owned());
        let opened = self
            .run_read("open_file", move |_| OpenedFile::open_stored_file(&files, &key))
            .await?;
        let Some(opened) = opened else { return Ok(None) };
        let state = (self.clone(), Arc::new(Mutex::new(opened)));
        let pieces = stream::try_unfold(state, |(store, opened)| async move {
            let file = Arc::clone(&opened);
            let piece = store
                .run_read("open_file", move |_| lock_unpoisoned(&file).read_piece())
                .await?;
            Ok((!piece.is_empty()).then_some((piece, (store, opened))))
        });
        Ok(Some(FileBytes::from_stream(pieces)))
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        let (files, name) = (self.file_store(), stored_file_name(key));
        let deletes = move |_: &rusqlite::Connection| match &*files {
            EmbeddedFiles::Memory(known) => {
                lock_unpoisoned(known).remove(&name);
                Ok(())
            }
            EmbeddedFiles::Folder(folder) => match fs::remove_file(folder.join(&name)) {
                Ok(()) => Ok(sync_folder(folder)?),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error.into()),
            },
        };
        self.run_read("delete_file", deletes).await
    }
}

/// On one machine all vectors stand in the snapshots.
#[async_trait]
impl VectorStore for Embedded {}

#[cfg(test)]
mod tests {
    /// Bytes are found again under their name by a later version.
    #[test]
    fn the_name_of_a_file_is_known() {
        assert_eq!(super::stored_file_name("k").len(), 64);
        assert_ne!(super::stored_file_name("k"), super::stored_file_name("l"));
    }
}
