//! The kinds of records that the table knows.

use super::Embedded;
use crate::database_threads::lock_unpoisoned;
use recado_ports::table::Kind;

impl Embedded {
    /// Sets the kinds of records that the table knows: tests have kinds of their own.
    pub fn set_kinds(&self, kinds: &'static [Kind]) {
        *lock_unpoisoned(&self.inner.kinds) = kinds;
    }

    /// Returns the kinds of records that the table knows.
    pub(crate) fn known_kinds(&self) -> &'static [Kind] {
        *lock_unpoisoned(&self.inner.kinds)
    }
}
