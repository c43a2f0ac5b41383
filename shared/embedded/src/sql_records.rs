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
pub(crate) fn query_first<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> DbResult<Option<T>> {
    Ok(db.prepare_cached(sql)?.query_row(params, read).optional()?)
}

/// Returns the first column of the first row that the query finds, if there is one.
pub(crate) fn query_value<T: FromSql>(
    db: &Connection,
    sql: &str,
    params: impl Params,
) -> DbResult<Option<T>> {
    query_first(db, sql, params, |row| row.get(0))
}

/// Returns what `parse` makes of all rows that [can be read](keep_readable).
pub(crate) fn query_rows<T>(
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
pub(crate) fn run_sql(db: &Connection, sql: &str, params: impl Params) -> DbResult<()> {
    execute_sql(db, sql, params).map(drop)
}

/// Returns a page of the records that a query finds. It selects a time, an id and a record of each row, and limits their number by
/// its last value. The time and the id of the last row that was looked at are the cursor.
pub(crate) fn query_page<T: DeserializeOwned>(
    db: &Connection,
    sql: &str,
    mut values: Vec<Value>,
    limit: usize,
) -> DbResult<Page<T>> {
    // One row more than wanted shows whether there is another page.
    values.push(to_sql_limit(limit.saturating_add(1)).into());
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let (mut items, mut next_cursor, mut last) = (Vec::new(), None, None);
    while let Some(row) = rows.next()? {
        if items.len() == limit {
            next_cursor = last;
            break;
        }
        items.extend(keep_readable(name_table(sql), decode_column(row, 2))?);
        last = Some(format!("{}.{}", row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
    }
    Ok(Page { items, next_cursor })
}

/// Parses a cursor of [`query_page`].
pub(crate) fn parse_cursor(cursor: &str) -> DbResult<(i64, &str)> {
    let (at, id) = cursor.split_once('.').ok_or(DbError::Cursor)?;
    Ok((at.parse().map_err(|_| DbError::Cursor)?, id))
}

/// A list of records, the newest first, filtered by columns. Its cursor is the time and the id of the last record
/// shown.
pub(crate) struct NewestFirstQuery {
    table: &'static str,
    time: &'static str,
    conditions: Vec<String>,
    values: Vec<Value>,
    most: usize,
}

impl NewestFirstQuery {
    /// Starts a list of the rows of `table`, sorted by the column `time` and then by `id`.
    pub(crate) fn for_table(table: &'static str, time: &'static str, page: &PageRequest) -> DbResult<Self> {
        let mut list = Self {
            table,
            time,
            conditions: Vec::new(),
            values: Vec::new(),
            most: page.limit.min(10_000),
        };
        if let Some(cursor) = &page.cursor {
            let (at, id) = parse_cursor(cursor)?;
            list.conditions.push(format!("({time}, id) < (?, ?)"));
            list.values.extend([at.into(), id.to_owned().into()]);
        }
        Ok(list)
    }

    /// Keeps only rows whose `column` is `value`. Without a value nothing is filtered.
    pub(crate) fn where_equal(mut self, column: &'static str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.conditions.push(format!("{column} = ?"));
            self.values.push(value.to_owned().into());
        }
        self
    }

    /// Keeps only rows whose `column` is not `value`. Without a value nothing is filtered.
    pub(crate) fn where_not_equal(mut self, column: &'static str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.conditions.push(format!("{column} <> ?"));
            self.values.push(value.to_owned().into());
        }
        self
    }

    /// Keeps only rows whose id the query `ids` finds by `value`. Without a value nothing is filtered.
    pub(crate) fn where_id_in(mut self, ids: &'static str, value: Option<&str>) -> Self {
        if let Some(value) = value {
            self.conditions.push(format!("id IN ({ids})"));
            self.values.push(value.to_owned().into());
        }
        self
    }

    /// Runs the query and returns the page of the records in the column `body`.
    pub(crate) fn fetch_page<T: DeserializeOwned>(self, db: &Connection) -> DbResult<Page<T>> {
        let (table, time) = (self.table, self.time);
        let conditions = if self.conditions.is_empty() {
            "1".to_owned()
        } else {
            self.conditions.join(" AND ")
        };
        let sql = format!(
            "SELECT {time}, id, body FROM {table} WHERE {conditions} ORDER BY {time} DESC, id DESC LIMIT ?"
        );
        query_page(db, &sql, self.values, self.most)
    }
}
