//! Moves all records to another store, and takes those of another one.

mod reading;
mod tables;
mod writing;

use super::published_events::skip_lost_numbers;
use super::table::apply_writes;
use super::table_kinds::delete_idle_records;
use crate::Embedded;
use crate::db_error::DbResult;
use crate::installation_values::{TAKING, delete_value, read_value, write_value};
use async_trait::async_trait;
use jiff::Timestamp;
use reading::read_page;
use recado_domain::moving::{MovedRecord, RecordKind};
use recado_ports::ports::{ImportBegin, MovableRecords, MovedPage, PortResult, find_used_kind};
use rusqlite::Connection;
use writing::{list_table_writes, write_records};

/// The name under which the installation keeps the name of the export that it took.
const TAKEN: &str = "import-taken";

fn begin_taking(db: &Connection, export: &str) -> DbResult<()> {
    write_value(db, TAKING, export)?;
    delete_idle_records(db)
}

fn finish_taking(db: &Connection, export: &str, now: Timestamp) -> DbResult<()> {
    // What another log gave as a place must not be a place of this one.
    skip_lost_numbers(db, now)?;
    delete_value(db, TAKING)?;
    write_value(db, TAKEN, export)
}

#[async_trait]
impl MovableRecords for Embedded {
    fn keeps_kind(&self, kind: RecordKind) -> bool {
        match kind {
            RecordKind::OfTable(name) => {
                let mut kinds = self.known_kinds().iter();
                kinds.any(|kind| kind.name == name && kind.is_moved)
            }
            _ => true,
        }
    }

    async fn read_moved_records(&self, place: Option<&str>) -> PortResult<MovedPage> {
        const WHAT: &str = "reading records that move";
        if place.is_none() {
            self.wait_for_intake(WHAT).await?;
        }
        let (place, kinds) = (place.map(str::to_owned), self.known_kinds());
        self.run_read(WHAT, move |db| read_page(db, place.as_deref(), kinds))
            .await
    }

    async fn put_moved_records(&self, records: &[MovedRecord]) -> PortResult<()> {
        let of_table = list_table_writes(records, self.known_kinds())?;
        let (records, now) = (records.to_vec(), self.current_time());
        let changing = self.inner.configs.begin_config_change();
        self.run_write("taking moved records", move |db| {
            let _held_until_committed = &changing;
            apply_writes(db, &of_table)?;
            write_records(db, &records, now)
        })
        .await
    }

    async fn begin_import(&self, export: &str) -> PortResult<ImportBegin> {
        const WHAT: &str = "beginning an import";
        let names = self.run_read(WHAT, |db| Ok((read_value(db, TAKING)?, read_value(db, TAKEN)?)));
        match names.await? {
            (Some(taking), _) if taking == export => return Ok(ImportBegin::Ready),
            (Some(_), _) => return Ok(ImportBegin::OtherExport),
            (None, Some(taken)) if taken == export => return Ok(ImportBegin::Finished),
            (None, _) => {}
        }
        if let Some(used) = find_used_kind(self).await? {
            return Ok(ImportBegin::NotEmpty(used));
        }
        let export = export.to_owned();
        self.run_write(WHAT, move |db| begin_taking(db, &export)).await?;
        Ok(ImportBegin::Ready)
    }

    async fn finish_import(&self, export: &str, now: Timestamp) -> PortResult<()> {
        let export = export.to_owned();
        self.run_write("finishing an import", move |db| finish_taking(db, &export, now))
            .await
    }
}

#[cfg(test)]
mod tests;
