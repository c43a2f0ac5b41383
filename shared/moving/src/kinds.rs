//! The kinds of records that move: those for which stores have methods, and those of the table.

use jiff::Timestamp;
use recado_domain::moving::{MovedFile, MovedRecord, RecordKind, TableRecord};
use recado_ports::ports::{PortError, PortResult};
use recado_ports::table::Kind;

/// All kinds of records that move.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MovedKinds<'a> {
    of_table: &'a [Kind],
}

impl<'a> MovedKinds<'a> {
    pub(crate) fn new(of_table: &'a [Kind]) -> Self {
        Self { of_table }
    }

    /// Lists the kinds, in the order in which they are written: what refers to another record comes after it.
    pub(crate) fn list_all(self) -> impl Iterator<Item = RecordKind> {
        let of_table = self.of_table.iter().filter(|kind| kind.is_moved);
        let of_table = of_table.map(|kind| RecordKind::OfTable(kind.name));
        RecordKind::ALL.iter().copied().chain(of_table)
    }

    /// Finds a kind by its name.
    pub(crate) fn find_by_name(self, name: &str) -> Option<RecordKind> {
        self.list_all().find(|kind| kind.as_str() == name)
    }

    /// Returns a record as this program writes it; `None` if it has expired at `now`, or does not move. A record of the table that cannot
    /// be read is an error, and so is one of a kind that is not known.
    pub(crate) fn keep_unexpired(
        self,
        record: MovedRecord,
        now: Timestamp,
    ) -> PortResult<Option<MovedRecord>> {
        match record {
            MovedRecord::OfTable(TableRecord { kind, body }) => {
                let known = self.find_table_kind(kind)?;
                let item = known.build_item(&body)?;
                let is_kept = known.is_moved && item.expires.is_none_or(|expires| expires > now);
                let body = item.body;
                Ok(is_kept.then_some(MovedRecord::OfTable(TableRecord { kind, body })))
            }
            other => Ok(other.is_kept_at(now).then_some(other)),
        }
    }

    /// Lists the files that may belong to a record.
    pub(crate) fn list_files(self, record: &MovedRecord) -> PortResult<Vec<MovedFile>> {
        match record {
            MovedRecord::OfTable(record) => self.find_table_kind(record.kind)?.list_files(&record.body),
            other => Ok(other.list_files()),
        }
    }

    fn find_table_kind(self, name: &'static str) -> PortResult<&'a Kind> {
        let found = self.of_table.iter().find(|kind| kind.name == name);
        found.ok_or_else(|| PortError::invalid(name, "it is no kind of records that moves"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_ports::records::KINDS;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_has_a_name_of_its_own_and_is_found_by_it() {
        let kinds = MovedKinds::new(&KINDS);
        let names: BTreeSet<&str> = kinds.list_all().map(RecordKind::as_str).collect();
        let moved = KINDS.iter().filter(|kind| kind.is_moved);
        assert_eq!(names.len(), RecordKind::ALL.len() + moved.count());
        for kind in kinds.list_all() {
            assert_eq!(kinds.find_by_name(kind.as_str()), Some(kind));
        }
    }
}
