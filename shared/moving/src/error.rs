use recado_domain::moving::RecordKind;
use recado_ports::ports::{FileError, PortError};
use std::io;
use std::path::{Path, PathBuf};

/// The reason why an installation was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MovingError {
    /// The folder to write into holds something else.
    #[error("{} is not empty: name a new folder", .0.display())]
    FolderInUse(PathBuf),
    /// The folder has no manifest.
    #[error("{} is no whole export: it has no manifest.json. Run the export again", .0.display())]
    NoManifest(PathBuf),
    /// The export is of another format.
    #[error(
        "the export is of format {found}, and this program reads {known}: import it with the recado that wrote it"
    )]
    OtherFormat {
        /// The format of the export.
        found: String,
        /// The formats that this program reads.
        known: String,
    },
    /// A file of the export is not as it was written.
    #[error("the export is damaged: {path} {what}. Copy it again, or export again")]
    Damaged {
        /// The file, within the export.
        path: String,
        /// The fault.
        what: String,
    },
    /// Something works on the installation.
    #[error("the installation ran until {0} s ago: stop its functions first (docs/moving.md)")]
    Running(i64),
    /// The records changed while they were read.
    #[error("the {} changed during the export: stop everything that works on the installation, and export again", .0.as_str())]
    Changed(RecordKind),
    /// The new store holds something.
    #[error("the new installation is not empty: it has {}. Import into a new one", .0.as_str())]
    NotEmpty(RecordKind),
    /// The new store took a part of another export.
    #[error(
        "another export is being taken into this installation: finish that one, or use a new installation"
    )]
    OtherExport,
    /// The new store holds other records than the export.
    #[error("the {} of the new installation are not those of the export: {found} and {expected}", kind.as_str())]
    NotEqual {
        /// The kind.
        kind: RecordKind,
        /// The number and digest that were found.
        found: String,
        /// The number and digest that were expected.
        expected: String,
    },
    /// A file is not in the new store, or not as it was.
    #[error("the file {0} is not in the new installation as it was")]
    FileNotEqual(String),
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// A store failed.
    #[error(transparent)]
    Store(#[from] PortError),
    /// A store of files failed.
    #[error(transparent)]
    Files(#[from] FileError),
    /// A record cannot be written as JSON.
    #[error("a record cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

impl MovingError {
    /// Makes the error of a file or folder.
    pub(crate) fn of_file(path: &Path, source: io::Error) -> Self {
        Self::Folder {
            path: path.to_owned(),
            source,
        }
    }

    /// Makes the error of a damaged file of an export.
    pub(crate) fn damaged(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.into(),
            what: what.into(),
        }
    }
}
