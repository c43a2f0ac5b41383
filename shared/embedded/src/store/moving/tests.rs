use super::tables::{TABLES, UNMOVED_TABLES};
use crate::{Clock, Embedded};
use futures::executor::block_on;
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
