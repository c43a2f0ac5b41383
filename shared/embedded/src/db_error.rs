use recado_pipeline::ports::PortError;
use rusqlite::ErrorCode;
use serde_json::error::Category;

/// Why an operation failed, before it is known which one it was.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DbError {
    /// The database.
    #[error("SQLite: {0}")]
    Sql(#[from] rusqlite::Error),
    /// A record. The parser's own text is left out: it repeats values, which are personal data.
    #[error("a record is not the JSON it should be ({category:?} error at column {column})")]
    Record {
        /// What kind of error.
        category: Category,
        /// Where.
        column: usize,
    },
    /// A file.
    #[error("file: {0}")]
    File(#[from] std::io::Error),
    /// A cursor that this list never gave.
    #[error("this is not a cursor of this list")]
    Cursor,
    /// Something that the operation does not take.
    #[error("{0}")]
    Argument(&'static str),
    /// A record of so many bytes is more than is kept.
    #[error("a record of {0} bytes is too large")]
    TooLarge(usize),
    /// A bug.
    #[error("the operation panicked")]
    Panicked,
    /// The commit that this operation shared with others.
    #[error("the commit failed: {0}")]
    Commit(String),
    /// It came after [`crate::Embedded::shut_down`].
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
    /// Says which operation it was, and whether trying again may help.
    pub(crate) fn into_port_error(self, what: &'static str) -> PortError {
        let lasting = match &self {
            Self::TooLarge(bytes) => return PortError::TooLarge { what, bytes: *bytes },
            Self::Record { .. } | Self::Cursor | Self::Argument(_) | Self::Panicked => true,
            Self::File(_) | Self::Commit(_) | Self::Closed => false,
            Self::Sql(error) => match error.sqlite_error_code() {
                // Not SQLite's: a value that is not of the column's type.
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
        };
        if lasting {
            PortError::invalid(what, self)
        } else {
            PortError::unavailable(what, self)
        }
    }
}
