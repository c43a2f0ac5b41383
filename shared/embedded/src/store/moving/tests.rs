use super::tables::{TABLES, UNMOVED_TABLES};
use crate::{Clock, Embedded};
use futures::executor::block_on;
use recado_domain::moving::{MovedRecord, RecordKind, TableRecord};
use recado_ports::ports::{MovableRecords, PortError};
use recado_ports::records::configuration::put_configuration;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use std::collections::BTreeSet;

#[test]
fn every_table_moves_or_is_named_as_one_that_does_not() {
    let store = Embedded::in_memory(Clock::from_system()).unwrap();
    let read = |c: &rusqlite::Connection| {
        let sql =
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
        let mut statement = c.prepare(sql)?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        Ok(names.collect::<Result<BTreeSet<_>, _>>()?)
    };
    let stored = block_on(store.run_read("test", read)).unwrap();
    let moved = TABLES.iter().map(|table| table.name);
    let named: BTreeSet<String> = moved.chain(UNMOVED_TABLES).map(str::to_owned).collect();
    assert_eq!(stored, named, "a table that nobody named would be left behind");
}

/// Reads all records, and returns what ends the reading before its end.
async fn read_until_error(store: &Embedded) -> String {
    let mut place = None;
    loop {
        match store.read_moved_records(place.as_deref()).await {
            Ok(page) => place = Some(page.next.expect("the record comes before the end")),
            Err(PortError::Invalid { source, .. }) => return source.to_string(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn a_record_that_cannot_be_read_ends_the_reading_by_its_name() {
    let (store, fixture) = (Embedded::in_memory(Clock::from_system()).unwrap(), Fixture::new());
    let told = block_on(async {
        succeed(put_configuration(&store, &fixture.document())).await;
        let spoil = |c: &rusqlite::Connection| {
            Ok(c.execute("UPDATE records SET body = '{' WHERE partition = 'agents#'", [])?)
        };
        assert_eq!(succeed(store.run_write("spoil", spoil)).await, 1);
        read_until_error(&store).await
    });
    assert!(
        told.contains("`records`") && told.contains(fixture.bound.agent.id.as_str()),
        "{told}"
    );
}

#[test]
fn a_record_of_the_table_moves_only_if_its_kind_is_known_and_reads_it() {
    for (partition, why) in [
        ("strangers#clinic", "unknown kind"),
        ("opt-outs#clinic", "cannot read"),
    ] {
        let store = Embedded::in_memory(Clock::from_system()).unwrap();
        let insert = move |c: &rusqlite::Connection| {
            let sql = "INSERT INTO records (partition, sort, version, body) VALUES (?1, 'a', 1, '{}')";
            Ok(c.execute(sql, [partition])?)
        };
        let told = block_on(async {
            assert_eq!(succeed(store.run_write("insert", insert)).await, 1);
            read_until_error(&store).await
        });
        assert!(
            told.contains("`records`") && told.contains(partition) && told.contains(why),
            "{told}"
        );
    }
    let store = Embedded::in_memory(Clock::from_system()).unwrap();
    let kind = "strangers";
    assert!(!store.keeps_kind(RecordKind::OfTable(kind)));
    let body = "{}".to_owned();
    let stranger = MovedRecord::OfTable(TableRecord { kind, body });
    let refused = block_on(store.put_moved_records(&[stranger])).unwrap_err();
    assert!(matches!(refused, PortError::Invalid { .. }), "{refused:?}");
}
