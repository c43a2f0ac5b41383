//! The results of writes that have conditions.

/// The result of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a write that lost must not be taken for one that won"]
pub enum WriteOutcome {
    /// The record was written.
    Written,
    /// Another writer changed the record since it was read: nothing was written.
    Conflict,
}

impl From<bool> for WriteOutcome {
    fn from(is_written: bool) -> Self {
        if is_written { Self::Written } else { Self::Conflict }
    }
}

/// The result of writing records together with others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// All of them are stored.
    Committed,
    /// Another writer changed the record that was to be written: nothing was written.
    Conflict,
    /// Of the writes beside the record, the conditions of those at these places did not hold: nothing was written.
    Refused(Vec<usize>),
}

impl From<CommitOutcome> for WriteOutcome {
    fn from(committed: CommitOutcome) -> Self {
        match committed {
            CommitOutcome::Committed => Self::Written,
            CommitOutcome::Conflict | CommitOutcome::Refused(_) => Self::Conflict,
        }
    }
}
