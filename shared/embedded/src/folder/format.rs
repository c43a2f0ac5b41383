//! The format of the data folder: the scripts that make and change its tables. A folder of an older released format is
//! brought to this program's when it is opened; any other is refused and left as it is.

use super::open_error::OpenError;
use recado_domain::{OLDEST_RECORD_FORMAT, RECORD_FORMAT};
use rusqlite::Connection;

/// The scripts that make the tables, in order. A new database runs them all, an older one those that it lacks. A script of a
/// release is never changed: whoever changes a table or a record adds one.
const SCHEMA: [&str; 1] = [include_str!("schema.sql")];

/// The scripts that make the table of the intake log, as those of [`SCHEMA`].
const INTAKE: [&str; 1] = [include_str!("intake.sql")];

/// The formats that a `PRAGMA user_version` parts into: of the records, in thousands, and of the tables.
const RECORDS: u32 = 1000;

/// The format of a database: of its records, and how many scripts made its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Format {
    records: u32,
    scripts: usize,
}

impl Format {
    /// Returns the format of a database that ran so many scripts and has records of this program.
    fn make_current(scripts: usize) -> Self {
        Self {
            records: RECORD_FORMAT,
            scripts,
        }
    }

    /// Reads the format out of a `PRAGMA user_version`.
    fn parse_version(version: u32) -> Self {
        Self {
            records: version / RECORDS,
            scripts: (version % RECORDS) as usize,
        }
    }

    /// Returns the `PRAGMA user_version` that says this format.
    fn encode_version(self) -> u32 {
        self.records * RECORDS + u32::try_from(self.scripts).unwrap_or(RECORDS - 1)
    }
}

/// Makes the tables of a new database, or brings those of an older release to this format. Any other database is refused
/// and left unchanged.
pub(crate) fn prepare_tables(connection: &Connection) -> Result<(), OpenError> {
    prepare_with(connection, &SCHEMA)
}

/// Makes or changes the table of the intake log, as [`prepare_tables`] does.
pub(crate) fn prepare_intake(connection: &Connection) -> Result<(), OpenError> {
    prepare_with(connection, &INTAKE)
}

/// Checks that [`prepare_tables`] would accept the database, and only reads it.
pub(crate) fn check_tables(connection: &Connection) -> Result<(), OpenError> {
    find_format(connection, Format::make_current(SCHEMA.len())).map(drop)
}

/// Checks that [`prepare_intake`] would accept the database, and only reads it.
pub(crate) fn check_intake(connection: &Connection) -> Result<(), OpenError> {
    find_format(connection, Format::make_current(INTAKE.len())).map(drop)
}

/// Brings a database to the format of `schema`.
fn prepare_with(connection: &Connection, schema: &[&str]) -> Result<(), OpenError> {
    let known = Format::make_current(schema.len());
    let Some(found) = find_format(connection, known)? else {
        return run_script(connection, &schema.join("\n;"), known);
    };
    if found == known {
        return Ok(());
    }
    for (number, script) in schema.iter().enumerate().skip(found.scripts) {
        let scripts = number + 1;
        run_script(connection, script, Format { scripts, ..found })?;
    }
    // Only now: another program refuses a database that is half converted, and this one goes on with it.
    run_script(connection, "", known)?;
    tracing::info!(
        from = found.encode_version(),
        to = known.encode_version(),
        "the database was brought to this format"
    );
    Ok(())
}

/// Reads the format of a database, and refuses those that are not opened. `None`: the database is new.
fn find_format(connection: &Connection, known: Format) -> Result<Option<Format>, OpenError> {
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if version == 0 && tables == 0 {
        return Ok(None);
    }
    let found = Format::parse_version(version);
    // First, since the tables of before the first release were made by more scripts.
    if found.records < OLDEST_RECORD_FORMAT || found.scripts == 0 {
        return Err(OpenError::OlderFormat {
            found: version,
            known: known.encode_version(),
        });
    }
    if found.records > known.records || found.scripts > known.scripts {
        return Err(OpenError::NewerFormat {
            found: version,
            known: known.encode_version(),
        });
    }
    Ok(Some(found))
}

/// Runs a script, and sets the format that it makes in the same transaction: after a crash neither is there.
fn run_script(connection: &Connection, script: &str, made: Format) -> Result<(), OpenError> {
    let version = made.encode_version();
    let all = format!("BEGIN IMMEDIATE;\n{script}\n;PRAGMA user_version = {version};\nCOMMIT;");
    if let Err(error) = connection.execute_batch(&all) {
        if !connection.is_autocommit() {
            connection.execute_batch("ROLLBACK")?;
        }
        return Err(error.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
