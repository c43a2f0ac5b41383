use recado_ports::ports::PortError;
use rusqlite::ErrorCode;
use serde_json::error::Category;

/// The words that tell a person what helps where the disk has no room.
pub const FULL_DISK_REMEDY: &str = "Make room on the disk, and start again";

/// Returns the database's own error behind the error of an operation that may succeed later.
fn find_cause(error: &PortError) -> Option<&DbError> {
    match error {
        PortError::Unavailable { source, .. } => source.downcast_ref(),
        _ => None,
    }
}

/// Returns whether the disk refused the write that failed with `error`. Nothing of it is stored then, and another try may succeed.
pub(crate) fn is_refused_by_disk(error: &PortError) -> bool {
    match find_cause(error) {
        Some(DbError::Commit(_)) => true,
        Some(DbError::Sql(error)) => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure)
        ),
        _ => false,
    }
}

/// Returns whether the disk had no room for the write that failed with `error`.
pub fn is_disk_full(error: &PortError) -> bool {
    match find_cause(error) {
        Some(DbError::Commit(why)) => why.contains("disk is full"),
        Some(DbError::Sql(error)) => error.sqlite_error_code() == Some(ErrorCode::DiskFull),
        _ => false,
    }
}

/// The result of a database operation.
pub(crate) type DbResult<T> = Result<T, DbError>;

/// The error of a database operation. The name of the operation is added later.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DbError {
    /// SQLite reported an error.
    #[error("SQLite: {0}")]
    Sql(#[from] rusqlite::Error),
    /// A stored record could not be read. The parser's own text is left out: it repeats values, which are personal
    /// data.
    #[error("a record is not the JSON it should be ({category:?} error at column {column})")]
    Record {
        /// The kind of JSON error.
        category: Category,
        /// The column in the text at which the error was found.
        column: usize,
    },
    /// A row could not be read where none may be left out.
    #[error("the row of `{table}` with the key {key} cannot be read: {error}")]
    Row {
        /// The table.
        table: &'static str,
        /// The columns of its key.
        key: String,
        /// The reason.
        error: Box<DbError>,
    },
    /// A file could not be read or written.
    #[error("file: {0}")]
    File(#[from] std::io::Error),
    /// The cursor did not come from this list.
    #[error("this is not a cursor of this list")]
    Cursor,
    /// An argument that the operation does not accept.
    #[error("{0}")]
    Argument(&'static str),
    /// A record of so many bytes is larger than the store accepts.
    #[error("a record of {0} bytes is too large")]
    TooLarge(usize),
    /// The operation panicked, which is a bug.
    #[error("the operation panicked")]
    Panicked,
    /// The commit that this operation shared with others failed.
    #[error("the commit failed: {0}")]
    Commit(String),
    /// The operation came after [`crate::Embedded::shut_down`].
    #[error("the store is closed")]
    Closed,
}

impl From<serde_json::Error> for DbError {
    fn from(error: serde_json::Error) -> Self {
        Self::Record {
            category: error.classify(),
            column: error.column(),
        }
    }
}

impl DbError {
    /// Returns whether the error tells of the row that was read, and not of the database: the next row may be readable.
    pub(crate) fn is_of_one_row(&self) -> bool {
        match self {
            Self::Record { .. } | Self::Row { .. } | Self::Argument(_) => true,
            Self::Sql(error) => {
                error.sqlite_error_code().is_none() && !matches!(error, rusqlite::Error::QueryReturnedNoRows)
            }
            _ => false,
        }
    }

    /// Returns whether another try cannot succeed.
    pub(crate) fn is_lasting(&self) -> bool {
        match self {
            Self::Record { .. }
            | Self::Row { .. }
            | Self::Cursor
            | Self::Argument(_)
            | Self::Panicked
            | Self::TooLarge(_) => true,
            Self::File(_) | Self::Commit(_) | Self::Closed => false,
            Self::Sql(error) => match error.sqlite_error_code() {
                // The error is not SQLite's own: the value is not of the column's type.
                None => true,
                Some(code) => matches!(
                    code,
                    ErrorCode::ConstraintViolation
                        | ErrorCode::DatabaseCorrupt
                        | ErrorCode::NotADatabase
                        | ErrorCode::TypeMismatch
                        | ErrorCode::TooBig
                ),
            },
        }
    }

    /// Converts the error to the port's error. `what` names the operation. The error is retryable if another try may
    /// succeed.
    pub(crate) fn into_port_error(self, what: &'static str) -> PortError {
        if let Self::TooLarge(bytes) = &self {
            return PortError::TooLarge { what, bytes: *bytes };
        }
        if self.is_lasting() {
            PortError::invalid(what, self)
        } else {
            PortError::unavailable(what, self)
        }
    }
}
