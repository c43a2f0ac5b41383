//! Copies of a folder whose files come and go, and are never changed.

use super::error::BackupError;
use super::progress::BackupProgress;
use crate::folder::{UNFINISHED, create_folder, sync_folder};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A copy of a folder, to which files are added until it is whole.
pub(super) struct FolderCopy<'p> {
    from: PathBuf,
    to: PathBuf,
    copied: BTreeSet<String>,
    progress: &'p BackupProgress,
}

impl<'p> FolderCopy<'p> {
    pub(super) fn begin(from: &Path, to: &Path, progress: &'p BackupProgress) -> Result<Self, BackupError> {
        create_folder(to).map_err(|source| BackupError::of_file(to, source))?;
        Ok(Self {
            from: from.to_owned(),
            to: to.to_owned(),
            copied: BTreeSet::new(),
            progress,
        })
    }

    /// Lists the files that are whole.
    pub(super) fn list_names(&self) -> Result<BTreeSet<String>, BackupError> {
        let failed = |source| BackupError::of_file(&self.from, source);
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(&self.from).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if !name.ends_with(UNFINISHED) {
                names.insert(name);
            }
        }
        Ok(names)
    }

    /// Copies all files that are there. Those that go meanwhile are left out.
    pub(super) fn copy_all(&mut self) -> Result<(), BackupError> {
        for name in self.list_names()? {
            self.copy_one(&name)?;
        }
        Ok(())
    }

    /// Copies what is missing of `wanted`, and removes every other file from the copy. Returns `false` if a file is gone.
    pub(super) fn copy_only(&mut self, wanted: &BTreeSet<String>) -> Result<bool, BackupError> {
        for name in wanted {
            if !self.copied.contains(name) && !self.copy_one(name)? {
                return Ok(false);
            }
        }
        let other: Vec<String> = self.copied.difference(wanted).cloned().collect();
        for name in other {
            let path = self.to.join(&name);
            fs::remove_file(&path).map_err(|source| BackupError::of_file(&path, source))?;
            self.copied.remove(&name);
        }
        Ok(true)
    }

    /// Copies a file. Returns `false` if it is gone.
    fn copy_one(&mut self, name: &str) -> Result<bool, BackupError> {
        match copy_file(&self.from.join(name), &self.to.join(name), self.progress) {
            Ok(()) => {
                self.copied.insert(name.to_owned());
                Ok(true)
            }
            Err(BackupError::File { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Copies a file with its mode.
pub(super) fn copy_file(from: &Path, to: &Path, progress: &BackupProgress) -> Result<(), BackupError> {
    let copied = fs::copy(from, to);
    let bytes = copied.map_err(|source| BackupError::of_file(from, source))?;
    progress.add_bytes(bytes);
    Ok(())
}

/// Makes a folder for its owner only. One that is there must be empty.
pub(super) fn begin_folder(path: &Path) -> Result<(), BackupError> {
    let failed = |source| BackupError::of_file(path, source);
    create_folder(path).map_err(failed)?;
    if fs::read_dir(path).map_err(failed)?.next().is_some() {
        return Err(BackupError::NotEmpty(path.to_owned()));
    }
    sync_folder(path).map_err(failed)
}
