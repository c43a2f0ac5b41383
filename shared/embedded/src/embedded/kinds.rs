//! The kinds of records that the table knows.

use super::Embedded;
use crate::database_threads::lock_unpoisoned;
use recado_ports::table::Kind;

impl Embedded {
    /// Sets the kinds of records that the table knows: tests have kinds of their own.
    #[must_use]
    pub fn with_kinds(self, kinds: &'static [Kind]) -> Self {
        *lock_unpoisoned(&self.inner.kinds) = kinds;
        self
    }

    /// Returns the kinds of records that the table knows.
    pub(crate) fn known_kinds(&self) -> &'static [Kind] {
        *lock_unpoisoned(&self.inner.kinds)
    }
}
