//! The copies of files in an export: each under the hash of its key, and a list that names them.

use crate::error::MovingError;
use crate::folder::{FILES, WrittenFile, measure_file, open_file};
use crate::manifest::{check_file, list_path};
use crate::tallies::write_sorted_json;
use futures::StreamExt;
use futures::stream;
use recado_domain::ids::hash_parts;
use recado_domain::moving::MovedFile;
use recado_ports::ports::{FileBytes, FileError, Files, PortError, PortResult, Queues};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// The number of bytes of a file that travel at once.
const PIECE: usize = 256 * 1024;

/// A file of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileCopy {
    /// The store of the file, and its key.
    pub(crate) place: MovedFile,
    /// The number of bytes.
    pub(crate) bytes: u64,
    /// The checksum.
    pub(crate) sha256: String,
}

/// Returns the name of the copy of a file, within the export.
fn copy_name(place: &MovedFile) -> String {
    let store = match place {
        MovedFile::File { .. } => "file",
        MovedFile::Payload(_) => "payload",
    };
    format!("{FILES}/{}", hash_parts(&[store, place.key()], 32))
}

/// Copies a file into the export, unless an earlier run did so; `None` if the store has no such file.
pub(crate) async fn copy_file<Q: Queues + Files>(
    queues: &Q,
    folder: &Path,
    place: &MovedFile,
) -> Result<Option<FileCopy>, MovingError> {
    let path = folder.join(copy_name(place));
    let known = measure_file(&path)?;
    let measured = match (known, place) {
        (Some(known), _) => known,
        (None, MovedFile::File { key, .. }) => match queues.open_file(key).await? {
            Some(bytes) => write_bytes(path, bytes).await?,
            None => return Ok(None),
        },
        (None, MovedFile::Payload(key)) => match queues.find_payload(key).await? {
            Some(payload) => {
                let mut file = WrittenFile::create(path)?;
                file.append(&write_sorted_json(payload)?)?;
                file.finish()?
            }
            None => return Ok(None),
        },
    };
    let (bytes, sha256) = measured;
    let place = place.clone();
    Ok(Some(FileCopy { place, bytes, sha256 }))
}

async fn write_bytes(path: PathBuf, bytes: FileBytes) -> Result<(u64, String), MovingError> {
    let mut file = WrittenFile::create(path)?;
    let mut pieces = bytes.into_stream();
    while let Some(piece) = pieces.next().await {
        file.append(&piece?)?;
    }
    file.finish()
}

/// Reads the list of an export's files.
pub(crate) fn read_list(
    folder: &Path,
) -> Result<impl Iterator<Item = Result<FileCopy, MovingError>> + use<>, MovingError> {
    let path = list_path(folder);
    let lines = open_file(&path)?.lines();
    Ok(lines.map(move |line| {
        let line = line.map_err(|source| MovingError::of_file(&path, source))?;
        let name = path.display().to_string();
        serde_json::from_str(&line)
            .map_err(|error| MovingError::damaged(name, format!("cannot be read ({error})")))
    }))
}

impl FileCopy {
    /// Checks the copy by its checksum.
    pub(crate) fn check_copy(&self, folder: &Path) -> Result<(), MovingError> {
        check_file(folder, &copy_name(&self.place), &self.sha256)
    }

    /// Puts the file into a store, unless the store has it.
    pub(crate) async fn put_copy<Q: Queues + Files>(
        &self,
        queues: &Q,
        folder: &Path,
    ) -> Result<(), MovingError> {
        if self.is_in_store(queues).await? {
            return Ok(());
        }
        let path = folder.join(copy_name(&self.place));
        match &self.place {
            MovedFile::File { key, mime_type } => {
                let bytes = read_pieces(open_file(&path)?);
                queues.put_file(key, mime_type, bytes).await?;
            }
            MovedFile::Payload(key) => {
                let payload: Value = serde_json::from_reader(open_file(&path)?)?;
                queues.put_payload(key, &payload).await?;
            }
        }
        Ok(())
    }

    /// Returns whether a store has the file as it is in the export.
    pub(crate) async fn is_in_store<Q: Queues + Files>(&self, queues: &Q) -> Result<bool, MovingError> {
        let found = match &self.place {
            MovedFile::File { key, .. } => match queues.open_file(key).await? {
                Some(bytes) => hash_bytes(bytes).await?,
                None => return Ok(false),
            },
            MovedFile::Payload(key) => match queues.find_payload(key).await? {
                Some(payload) => hex::encode(Sha256::digest(write_sorted_json(payload)?)),
                None => return Ok(false),
            },
        };
        Ok(found == self.sha256)
    }
}

async fn hash_bytes(bytes: FileBytes) -> Result<String, MovingError> {
    let (mut hash, mut pieces) = (Sha256::new(), bytes.into_stream());
    while let Some(piece) = pieces.next().await {
        hash.update(piece?);
    }
    Ok(hex::encode(hash.finalize()))
}

fn read_pieces(file: BufReader<File>) -> FileBytes {
    FileBytes::from_stream(stream::try_unfold(file, |mut file| async move {
        let piece = read_piece(&mut file).map_err(FileError::Store)?;
        Ok((!piece.is_empty()).then_some((piece, file)))
    }))
}

fn read_piece(file: &mut BufReader<File>) -> PortResult<Vec<u8>> {
    let mut piece = Vec::new();
    let read = file.take(PIECE as u64).read_to_end(&mut piece);
    read.map_err(|error| PortError::unavailable("reading a file of the export", error))?;
    Ok(piece)
}
