//! The folder of an export. It holds personal data: only its owner reads it.

use crate::error::MovingError;
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file that says that a folder is that of an export which is not whole.
const UNFINISHED: &str = "export-begun";

/// The end of the names of files that are not whole.
const PART: &str = ".part";

/// The number of bytes that are read at once.
const PIECE: usize = 256 * 1024;

/// The folders within an export.
pub(crate) const RECORDS: &str = "records";
pub(crate) const FILES: &str = "files";

/// Begins an export, or goes on with one that was cut off.
pub(crate) fn begin_folder(folder: &Path) -> Result<(), MovingError> {
    let failed = |source| MovingError::of_file(folder, source);
    create_private_folder(folder)?;
    let mut entries = fs::read_dir(folder).map_err(failed)?;
    let mark = folder.join(UNFINISHED);
    if entries.next().is_some() && !mark.exists() {
        return Err(MovingError::FolderInUse(folder.to_owned()));
    }
    create_private_file(&mark)?;
    for part in [RECORDS, FILES] {
        create_private_folder(&folder.join(part))?;
    }
    sync_folder(folder)
}

/// Notes that the export is whole.
pub(crate) fn finish_folder(folder: &Path) -> Result<(), MovingError> {
    for part in [RECORDS, FILES] {
        sync_folder(&folder.join(part))?;
    }
    let mark = folder.join(UNFINISHED);
    fs::remove_file(&mark).map_err(|source| MovingError::of_file(&mark, source))?;
    sync_folder(folder)
}

fn create_private_folder(path: &Path) -> Result<(), MovingError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(path);
    created.map_err(|source| MovingError::of_file(path, source))
}

fn create_private_file(path: &Path) -> Result<File, MovingError> {
    let mut options = OpenOptions::new();
    let opened = options
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path);
    opened.map_err(|source| MovingError::of_file(path, source))
}

fn sync_folder(path: &Path) -> Result<(), MovingError> {
    let synced = File::open(path).and_then(|folder| folder.sync_all());
    synced.map_err(|source| MovingError::of_file(path, source))
}

/// A file that is being written. It has its name once it is whole and on the disk.
pub(crate) struct WrittenFile {
    path: PathBuf,
    writer: BufWriter<File>,
    hash: Sha256,
    bytes: u64,
}

impl WrittenFile {
    pub(crate) fn create(path: PathBuf) -> Result<Self, MovingError> {
        let writer = BufWriter::new(create_private_file(&part_of(&path))?);
        Ok(Self {
            path,
            writer,
            hash: Sha256::new(),
            bytes: 0,
        })
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), MovingError> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        let written = self.writer.write_all(bytes);
        written.map_err(|source| MovingError::of_file(&self.path, source))
    }

    /// Gives the file its name. Returns the number of its bytes, and its SHA-256.
    pub(crate) fn finish(mut self) -> Result<(u64, String), MovingError> {
        let failed = |source| MovingError::of_file(&self.path, source);
        self.writer.flush().map_err(failed)?;
        self.writer.get_ref().sync_all().map_err(failed)?;
        fs::rename(part_of(&self.path), &self.path).map_err(failed)?;
        Ok((self.bytes, hex::encode(self.hash.finalize())))
    }
}

fn part_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(PART);
    PathBuf::from(name)
}

/// Opens a file of the export.
pub(crate) fn open_file(path: &Path) -> Result<BufReader<File>, MovingError> {
    let opened = File::open(path);
    opened
        .map(|file| BufReader::with_capacity(PIECE, file))
        .map_err(|source| MovingError::of_file(path, source))
}

/// Returns the number of bytes of a file, and its SHA-256; `None` if there is no such file.
pub(crate) fn measure_file(path: &Path) -> Result<Option<(u64, String)>, MovingError> {
    let failed = |source| MovingError::of_file(path, source);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let (mut hash, mut bytes, mut piece) = (Sha256::new(), 0, vec![0; PIECE]);
    loop {
        let count = file.read(&mut piece).map_err(failed)?;
        if count == 0 {
            return Ok(Some((bytes, hex::encode(hash.finalize()))));
        }
        hash.update(piece.get(..count).unwrap_or_default());
        bytes += count as u64;
    }
}
