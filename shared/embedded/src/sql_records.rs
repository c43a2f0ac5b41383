//! Stores records in columns: as JSON text, times as integers of milliseconds, and lists with a cursor.

use crate::db_error::{DbError, DbResult};
use jiff::Timestamp;
use recado_domain::millis;
use recado_ports::ports::{Page, PageRequest};
use recado_ports::unreadable_record::count_unreadable_record;
use rusqlite::types::{FromSql, Value, ValueRef};
use rusqlite::{Connection, OptionalExtension, Params, Row, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Encodes a record for a `body` column.
pub(crate) fn encode_json<T: Serialize>(record: &T) -> DbResult<String> {
    Ok(serde_json::to_string(record)?)
}

/// Decodes a record from a `body` column.
pub(crate) fn decode_json<T: DeserializeOwned>(body: &str) -> DbResult<T> {
    Ok(serde_json::from_str(body)?)
}

/// Converts a count for a column. Counts here start at 0 and grow by one: none gets beyond 2⁶³.
pub(crate) fn to_sql_integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts a column to a count.
pub(crate) fn count_from_sql(column: i64) -> u64 {
    u64::try_from(column).unwrap_or(0)
}

/// Converts a limit for SQL.
pub(crate) fn to_sql_limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// Makes a page of records of which one more than the limit was read. A page may hold fewer, if some could not be read.
pub(crate) fn make_page<T>(
    found: FoundRecords<T>,
    limit: usize,
    cursor_of: impl Fn(&T) -> String,
) -> Page<T> {
    let has_more = found.has_more_than(limit);
    let mut items = found.records;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| has_more).map(cursor_of);
    Page { items, next_cursor }
}

/// Returns the time `after` later than `at`, in milliseconds.
pub(crate) fn millis_after(at: Timestamp, after: Duration) -> i64 {
    let wait = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
    millis::add_millis(at, wait).as_millisecond()
}

/// Returns the record in the first column of the only row, if there is one.
pub(crate) fn query_one<T: DeserializeOwned>(
    db: &Connection,
    sql: &str,
    params: impl Params,
) -> DbResult<Option<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    rows.next()?.map(|row| decode_column(row, 0)).transpose()
}

/// Returns what `read` makes of the first row that the query finds, if there is one.
pub(crate) fn query_first_row<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> DbResult<Option<T>> {
    Ok(db.prepare_cached(sql)?.query_row(params, read).optional()?)
}

/// Returns the first column of the first row that the query finds, if there is one.
pub(crate) fn query_one_value<T: FromSql>(
    db: &Connection,
    sql: &str,
    params: impl Params,
) -> DbResult<Option<T>> {
    query_first_row(db, sql, params, |row| row.get(0))
}

/// Returns what `parse` makes of all rows that [can be read](keep_readable).
pub(crate) fn query_all_rows<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    mut parse: impl FnMut(&Row<'_>) -> DbResult<T>,
) -> DbResult<Vec<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.extend(keep_readable(name_table(sql), parse(row))?);
    }
    Ok(found)
}

/// Returns the record in the first row that the query finds; `None` also for one that [cannot be read](keep_readable).
pub(crate) fn query_readable<T: DeserializeOwned>(
    db: &Connection,
    sql: &str,
    params: impl Params,
) -> DbResult<Option<T>> {
    match query_one(db, sql, params) {
        Ok(found) => Ok(found),
        Err(error) => keep_readable(name_table(sql), Err(error)),
    }
}

/// The records of several rows, without those that could not be read.
pub(crate) struct FoundRecords<T> {
    pub(crate) records: Vec<T>,
    skipped: usize,
}

impl<T> FoundRecords<T> {
    /// Returns whether more rows than `limit` were found, those that could not be read included.
    pub(crate) fn has_more_than(&self, limit: usize) -> bool {
        self.records.len() + self.skipped > limit
    }
}

/// Returns the records in the first column of all rows that [can be read](keep_readable).
pub(crate) fn query_all<T: DeserializeOwned>(
    db: &Connection,
    sql: &str,
    params: impl Params,
) -> DbResult<Vec<T>> {
    Ok(query_found(db, sql, params)?.records)
}

/// Returns the records in the first column of all rows, and how many of them could not be read.
pub(crate) fn query_found<T: DeserializeOwned>(
    db: &Connection,
    sql: &str,
    params: impl Params,
) -> DbResult<FoundRecords<T>> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let (mut records, mut skipped) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        match keep_readable(name_table(sql), decode_column(row, 0))? {
            Some(record) => records.push(record),
            None => skipped += 1,
        }
    }
    Ok(FoundRecords { records, skipped })
}

/// Returns `None` for a row that cannot be read, which is logged and counted: it must not keep the others from being found.
/// Every reader of several rows asks this. An error of the database itself stays one: so SQL asks `json_valid` before `json_extract`,
/// which would end the whole query.
pub(crate) fn keep_readable<T>(table: &str, read: DbResult<T>) -> DbResult<Option<T>> {
    match read {
        Ok(record) => Ok(Some(record)),
        Err(error) if error.is_of_one_row() => {
            tracing::error!(table, %error, "a record cannot be read and is passed over");
            count_unreadable_record();
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the first table that a query names.
pub(crate) fn name_table(sql: &str) -> &str {
    let behind = sql.split_once("FROM ").map_or("", |(_, behind)| behind);
    behind.split_whitespace().next().unwrap_or_default()
}

/// Returns the text in a column, with a mark in place of bytes that are no text. `None`: there is nothing.
pub(crate) fn read_lossy_text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Text(text) | ValueRef::Blob(text) => Some(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Integer(_) | ValueRef::Real(_) => Some(String::new()),
    })
}

/// Decodes the record in a column of a row, without a copy of its text.
pub(crate) fn decode_column<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> DbResult<T> {
    decode_json(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

/// Returns whether the query finds a row.
pub(crate) fn row_exists(db: &Connection, sql: &str, params: impl Params) -> DbResult<bool> {
    Ok(db.prepare_cached(sql)?.exists(params)?)
}

/// Runs a statement and returns the number of rows that it changed.
pub(crate) fn execute_sql(db: &Connection, sql: &str, params: impl Params) -> DbResult<usize> {
    Ok(db.prepare_cached(sql)?.execute(params)?)
}

/// Runs a statement, whatever number of rows it changes.
pub(crate) fn run_sql_statement(db: &Connection, sql: &str, params: impl Params) -> DbResult<()> {
    execute_sql(db, sql, params).map(drop)
}

/// A list of records, filtered by columns and read page by page. Its cursor is the time and the id of the last row that was looked
/// at.
pub(crate) struct PagedQuery {
    table: &'static str,
    time: &'static str,
    order: &'static str,
    conditions: String,
    values: Vec<Value>,
    limit: usize,
}

impl PagedQuery {
    /// Starts a list of the rows of `table` that have a `time`, the newest first. Those of one time are sorted by `id`.
    pub(crate) fn newest_first(
        table: &'static str,
        time: &'static str,
        page: &PageRequest,
    ) -> DbResult<Self> {
        Self::begin(table, time, page, ("<", "DESC"))
    }

    /// Starts a list of the rows of `table` that have a `time`, the oldest first. Those of one time are sorted by `id`.
    pub(crate) fn oldest_first(
        table: &'static str,
        time: &'static str,
        page: &PageRequest,
    ) -> DbResult<Self> {
        Self::begin(table, time, page, (">", "ASC"))
    }

    fn begin(
        table: &'static str,
        time: &'static str,
        page: &PageRequest,
        (behind, order): (&str, &'static str),
    ) -> DbResult<Self> {
        let (mut conditions, mut values) = (format!("{time} IS NOT NULL"), Vec::new());
        if let Some(cursor) = &page.cursor {
            let (at, id) = cursor.split_once('.').ok_or(DbError::Cursor)?;
            let at: i64 = at.parse().map_err(|_| DbError::Cursor)?;
            conditions = format!("{conditions} AND ({time}, id) {behind} (?, ?)");
            values.extend([at.into(), id.to_owned().into()]);
        }
        Ok(Self {
            table,
            time,
            order,
            conditions,
            values,
            limit: page.limit.min(10_000),
        })
    }

    /// Keeps only rows that meet `condition`, which has one value. Without a value nothing is filtered.
    pub(crate) fn filter(mut self, condition: &str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.conditions.extend([" AND ", condition]);
            self.values.push(value.to_owned().into());
        }
        self
    }

    /// Runs the query and returns the page of the records in the column `body`.
    pub(crate) fn fetch_page<T: DeserializeOwned>(mut self, db: &Connection) -> DbResult<Page<T>> {
        let (table, time, order) = (self.table, self.time, self.order);
        let conditions = &self.conditions;
        let sql = format!(
            "SELECT {time}, id, body FROM {table} WHERE {conditions} ORDER BY {time} {order}, id {order} LIMIT ?"
        );
        // One row more than wanted shows whether there is another page.
        self.values.push(to_sql_limit(self.limit + 1).into());
        let mut statement = db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(self.values))?;
        let (mut items, mut next_cursor, mut last) = (Vec::new(), None, None);
        while let Some(row) = rows.next()? {
            if items.len() == self.limit {
                next_cursor = last;
                break;
            }
            items.extend(keep_readable(table, decode_column(row, 2))?);
            last = Some(format!("{}.{}", row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        }
        Ok(Page { items, next_cursor })
    }
}
