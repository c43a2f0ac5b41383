//! Reads the records of all tables, page by page.

use super::tables::{MovedTable, TABLES};
use crate::db_error::{DbError, DbResult};
use crate::sql_records::to_sql_limit;
use recado_ports::ports::MovedPage;
use recado_ports::table::Kind;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};
use serde::{Deserialize, Serialize};

/// The number of rows of a page at most.
const PAGE: usize = 500;

/// A place among the rows of all tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct RowPlace {
    /// The number of the table.
    table: usize,
    /// The key of the last row before it; `None` before the first.
    after: Option<Vec<KeyPart>>,
}

/// A column of the key of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum KeyPart {
    Number(i64),
    Text(String),
}

impl KeyPart {
    fn from_column(column: ValueRef<'_>) -> DbResult<Self> {
        match column {
            ValueRef::Integer(number) => Ok(Self::Number(number)),
            other => Ok(Self::Text(
                other.as_str().map_err(rusqlite::Error::from)?.to_owned(),
            )),
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Number(number) => Value::Integer(number),
            Self::Text(text) => Value::Text(text),
        }
    }
}

/// Reads the page that begins at a place; the first page without one.
pub(super) fn read_page(db: &Connection, place: Option<&str>, kinds: &[Kind]) -> DbResult<MovedPage> {
    let place = match place {
        Some(text) => serde_json::from_str(text).map_err(|_| DbError::Cursor)?,
        None => RowPlace {
            table: 0,
            after: None,
        },
    };
    let table = TABLES.get(place.table).ok_or(DbError::Cursor)?;
    let (records, last) = read_rows(db, table, place.after, kinds)?;
    let next = match last {
        Some(after) => Some(RowPlace {
            table: place.table,
            after: Some(after),
        }),
        None => (place.table + 1 < TABLES.len()).then_some(RowPlace {
            table: place.table + 1,
            after: None,
        }),
    };
    let next = next.map(|next| serde_json::to_string(&next)).transpose()?;
    Ok(MovedPage { records, next })
}

type ReadRows = (Vec<recado_domain::moving::MovedRecord>, Option<Vec<KeyPart>>);

/// Reads rows of a table behind a key. Also returns the key of the last one, if there may be more.
fn read_rows(
    db: &Connection,
    table: &MovedTable,
    after: Option<Vec<KeyPart>>,
    kinds: &[Kind],
) -> DbResult<ReadRows> {
    let key = table.key.join(", ");
    let places = vec!["?"; table.key.len()].join(", ");
    let condition = after
        .as_ref()
        .map_or_else(String::new, |_| format!("WHERE ({key}) > ({places})"));
    let (name, columns) = (table.name, table.columns);
    let sql = format!("SELECT {columns}, {key} FROM {name} {condition} ORDER BY {key} LIMIT ?");
    let mut values: Vec<Value> = after.into_iter().flatten().map(KeyPart::into_value).collect();
    values.push(to_sql_limit(PAGE).into());
    let mut statement = db.prepare(&sql)?;
    let first_key = statement.column_count() - table.key.len();
    let mut rows = statement.query(params_from_iter(values))?;
    let (mut records, mut count, mut last) = (Vec::new(), 0, None);
    while let Some(row) = rows.next()? {
        match (table.parse)(row, kinds) {
            Ok(record) => records.extend(record),
            Err(error) if error.is_of_one_row() => {
                let key = read_key(row, first_key, table.key.len())?;
                return Err(DbError::Row {
                    table: table.name,
                    key: serde_json::to_string(&key)?,
                    error: Box::new(error),
                });
            }
            Err(error) => return Err(error),
        }
        count += 1;
        if count == PAGE {
            last = Some(read_key(row, first_key, table.key.len())?);
        }
    }
    Ok((records, last))
}

fn read_key(row: &Row<'_>, first: usize, count: usize) -> DbResult<Vec<KeyPart>> {
    (first..first + count)
        .map(|column| KeyPart::from_column(row.get_ref(column)?))
        .collect()
}
