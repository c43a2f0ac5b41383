use crate::folder::OpenError;
use std::io;
use std::path::{Path, PathBuf};

/// The reason why a backup cannot be made, checked or restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The folder is no data folder.
    #[error("{} holds no data of Recado: name its folder with --data (RECADO_DATA)", .0.display())]
    NoDataFolder(PathBuf),
    /// The folder to write into holds something already.
    #[error("{} is not empty: name a new folder", .0.display())]
    NotEmpty(PathBuf),
    /// The folder has no manifest.
    #[error("{} is no whole backup: it has no backup.json. A backup that was cut off is of no use: remove it", .0.display())]
    NoManifest(PathBuf),
    /// A file of the backup is not as it was written.
    #[error("the backup is damaged: {path} {what}. Take another one")]
    Damaged {
        /// The file, within the backup.
        path: String,
        /// The fault of the file.
        what: &'static str,
    },
    /// The database is of a format that this program does not open.
    #[error(transparent)]
    OtherFormat(OpenError),
    /// Files came and went all the time.
    #[error("the data folder changed all the time, so no moment was found for a backup: try again")]
    Busy,
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The database reported an error.
    #[error("the database: {0}")]
    Database(#[from] rusqlite::Error),
}

impl BackupError {
    /// Makes the error of a file or folder.
    pub(super) fn of_file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }

    /// Makes the error of a folder `data` that cannot be opened.
    pub(super) fn of_data_folder(data: &Path, error: OpenError) -> Self {
        match error {
            OpenError::Database { cause } => Self::Database(cause),
            OpenError::NewerFormat { .. } | OpenError::OlderFormat { .. } => Self::OtherFormat(error),
            _ => Self::NoDataFolder(data.to_owned()),
        }
    }
}
