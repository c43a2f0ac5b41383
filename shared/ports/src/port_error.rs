//! The failures of ports.

/// A failure of a store or a queue.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The store or queue could not be reached, was throttled or timed out: trying again later may help. The operation
    /// may or may not have taken effect.
    #[error("{what} is unavailable")]
    Unavailable {
        /// Name of the operation or record that was affected.
        what: &'static str,
        /// Cause of the failure.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Stored or given data cannot be read or written: trying again does not help.
    #[error("{what} holds or was given something unreadable")]
    Invalid {
        /// Name of the operation or record that was affected.
        what: &'static str,
        /// Cause of the failure.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The given record is larger than [`RECORD_BYTES_MAX`]: trying again does not help.
    #[error("{what} was given {bytes} bytes, and a record holds {RECORD_BYTES_MAX} at most")]
    TooLarge {
        /// Name of the operation or record that was affected.
        what: &'static str,
        /// Size of the record's JSON, in bytes.
        bytes: usize,
    },
}

/// Maximum size of a record's JSON in bytes, the same for every backend. A DynamoDB item holds 400 KB, including its
/// names and keys.
pub const RECORD_BYTES_MAX: usize = 360_000;

impl PortError {
    /// Returns [`PortError::TooLarge`] if `bytes` is more than [`RECORD_BYTES_MAX`].
    pub fn check_record_size(what: &'static str, bytes: usize) -> PortResult<()> {
        if bytes > RECORD_BYTES_MAX {
            return Err(Self::TooLarge { what, bytes });
        }
        Ok(())
    }

    /// Returns a [`PortError::Unavailable`] with the cause `source`.
    pub fn unavailable(
        what: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Unavailable {
            what,
            source: source.into(),
        }
    }

    /// Returns the error of a conditional write of `what` that other writers kept winning: the caller comes back later.
    pub fn contended(what: &'static str) -> Self {
        Self::unavailable(what, "others kept writing it")
    }

    /// Returns a [`PortError::Invalid`] with the cause `source`.
    pub fn invalid(what: &'static str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Invalid {
            what,
            source: source.into(),
        }
    }

    /// Returns `true` if trying again later may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

/// The result of a port's operation.
pub type PortResult<T> = Result<T, PortError>;
