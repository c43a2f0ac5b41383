//! Rows of the store, behind its back.

use futures::executor::block_on;
use recado_embedded::Embedded;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params};

/// The columns that hold a record.
const RECORDS: &str = "('body', 'value')";

/// Lists the kinds of records: the tables of the store that have a column with a record.
pub fn list_kinds(store: &Embedded) -> Vec<String> {
    let sql = format!(
        "SELECT DISTINCT m.name FROM sqlite_schema m, pragma_table_info(m.name) p
         WHERE m.type = 'table' AND m.sql LIKE 'CREATE TABLE%' AND m.name NOT GLOB '*_words_*' AND p.name IN {RECORDS}
         ORDER BY 1"
    );
    in_rows(store, |rows| {
        let mut select = rows.prepare(&sql)?;
        select.query_map([], |row| row.get(0))?.collect()
    })
}

/// Lists the tables whose times are set back with the clock.
pub fn list_timed_tables() -> Vec<&'static str> {
    Embedded::list_corrected_tables_for_test()
}

/// Does `work` with the connection of the store.
pub(super) fn in_rows<T>(store: &Embedded, work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> T {
    let done = store.open_rows_for_test(work).expect("a store in memory");
    done.expect("the rows are reached")
}

/// The way in which a record is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Its end is lost.
    CutOff,
    /// It is another JSON than it was.
    Replaced,
}

/// Damages the record of a row of a table: the one of this place among them. Returns the row as text; `None` if there is none.
pub(super) fn damage_row(store: &Embedded, table: &str, place: u64, damage: Damage) -> Option<String> {
    in_rows(store, |rows| {
        let column: String = rows.query_row(
            &format!("SELECT name FROM pragma_table_info(?1) WHERE name IN {RECORDS}"),
            [table],
            |row| row.get(0),
        )?;
        let count: i64 = rows.query_row(
            &format!("SELECT count(*) FROM {table} WHERE {column} LIKE '{{%'"),
            [],
            |row| row.get(0),
        )?;
        if count == 0 {
            return Ok(None);
        }
        let place = i64::try_from(place >> 1).unwrap_or(0) % count;
        let select = format!("SELECT {column}, * FROM {table} WHERE {column} LIKE '{{%' LIMIT 1 OFFSET ?1");
        let (body, told) = rows.query_row(&select, [place], |row| {
            let columns = row.as_ref().column_count();
            let told = (1..columns).map(|at| row.get::<_, Value>(at).map(|value| format!("{value:?}")));
            let told: rusqlite::Result<Vec<String>> = told.collect();
            Ok((row.get::<_, String>(0)?, told?.join(" ")))
        })?;
        let half = body.chars().count() / 2;
        let bad = match damage {
            Damage::CutOff => body.chars().take(half).collect(),
            Damage::Replaced => "{\"damaged\":true}".to_owned(),
        };
        without_triggers(rows, table, |rows| {
            let update = format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1");
            rows.execute(&update, params![body, bad]).map(drop)
        })?;
        Ok(Some(told))
    })
}

/// Changes a table whose triggers may refuse it.
fn without_triggers(
    rows: &Connection,
    table: &str,
    change: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let sql = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 AND sql LIKE '%RAISE(%' LIMIT 1";
    let trigger: Option<(String, String)> = rows
        .query_row(sql, [table], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    if let Some((name, _)) = &trigger {
        rows.execute_batch(&format!("DROP TRIGGER {name}"))?;
    }
    change(rows)?;
    trigger.map_or(Ok(()), |(_, sql)| rows.execute_batch(&sql))
}

/// Does `work`, after which the tables have the rows that they had before.
pub(super) fn without_tables(store: &Embedded, tables: &[&str], work: impl FnOnce()) {
    for table in tables {
        let sql = format!(
            "DROP TABLE IF EXISTS temp.kept_{table}; CREATE TEMP TABLE kept_{table} AS SELECT * FROM main.{table}"
        );
        in_rows(store, |rows| rows.execute_batch(&sql));
    }
    work();
    for table in tables {
        let sql = format!(
            "DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM temp.kept_{table}; DROP TABLE temp.kept_{table}"
        );
        in_rows(store, |rows| rows.execute_batch(&sql));
    }
}

/// Corrects the times of the store to its clock, but for those of these tables.
pub(super) fn correct_times(store: &Embedded, left_out: &[&str]) {
    without_tables(store, left_out, || {
        block_on(store.adjust_to_set_back_clock()).expect("the times are corrected");
    });
}
