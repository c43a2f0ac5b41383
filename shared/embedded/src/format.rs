//! The format of the data folder. There are no conversions before the first release: a folder of another format is refused.

use crate::open_error::OpenError;
use recado_domain::RECORD_FORMAT;
use rusqlite::Connection;

/// The scripts that make the tables of a new database, in order.
const SCHEMA: [&str; 36] = [
    include_str!("schema.sql"),
    include_str!("configuration.sql"),
    include_str!("sends_and_traces.sql"),
    include_str!("owners.sql"),
    include_str!("notices.sql"),
    include_str!("aliases.sql"),
    include_str!("installation.sql"),
    include_str!("samples.sql"),
    include_str!("retention.sql"),
    include_str!("plain_names.sql"),
    include_str!("tenants.sql"),
    include_str!("alerts.sql"),
    include_str!("audit.sql"),
    include_str!("queue_indexes.sql"),
    include_str!("lean_rows.sql"),
    include_str!("waiting.sql"),
    include_str!("provider_keys.sql"),
    include_str!("acknowledgements.sql"),
    include_str!("knowledge.sql"),
    include_str!("effects.sql"),
    include_str!("tools.sql"),
    include_str!("usage.sql"),
    include_str!("scheduled_expiry.sql"),
    include_str!("calendars.sql"),
    include_str!("invitations.sql"),
    include_str!("opt_outs.sql"),
    include_str!("turn_places.sql"),
    include_str!("batches.sql"),
    include_str!("page_changes.sql"),
    include_str!("usage_kinds.sql"),
    include_str!("published_events.sql"),
    include_str!("usage_charges.sql"),
    include_str!("labels.sql"),
    include_str!("booked_journals.sql"),
    include_str!("message_words.sql"),
    include_str!("webhooks.sql"),
];

/// The format of this program's databases, which `PRAGMA user_version` holds. Another script makes another format, and so
/// does another format of the records.
fn current_format() -> u32 {
    RECORD_FORMAT * 1000 + u32::try_from(SCHEMA.len()).unwrap_or(999)
}

/// Makes the tables of a new database. A database of another format is refused and left unchanged.
pub(crate) fn prepare_tables(connection: &Connection) -> Result<(), OpenError> {
    prepare_with(connection, &SCHEMA)
}

/// Makes the table of a new intake log. A log of another format is refused and left unchanged.
pub(crate) fn prepare_intake(connection: &Connection) -> Result<(), OpenError> {
    prepare_with(connection, &[include_str!("intake.sql")])
}

fn prepare_with(connection: &Connection, schema: &[&str]) -> Result<(), OpenError> {
    let known = current_format();
    let found: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found == known {
        return Ok(());
    }
    let tables: u32 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    if found != 0 || tables > 0 {
        return Err(OpenError::OtherFormat { found, known });
    }
    // The format is part of the transaction: after a crash there is still a new database.
    let tables = schema.join("\n;");
    let all = format!("BEGIN IMMEDIATE;\n{tables}\n;PRAGMA user_version = {known};\nCOMMIT;");
    if let Err(error) = connection.execute_batch(&all) {
        if !connection.is_autocommit() {
            connection.execute_batch("ROLLBACK")?;
        }
        return Err(error.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_memory() -> Connection {
        Connection::open_in_memory().unwrap()
    }

    #[test]
    fn the_tables_are_made_once() {
        let connection = in_memory();
        prepare_tables(&connection).unwrap();
        connection
            .execute_batch("INSERT INTO installation VALUES ('a', 'b')")
            .unwrap();
        prepare_tables(&connection).unwrap();
        let kept = "SELECT value FROM installation WHERE name = 'a'";
        let kept: String = connection.query_row(kept, [], |row| row.get(0)).unwrap();
        assert_eq!(kept, "b");
    }

    #[test]
    fn another_format_is_refused_with_what_to_do_and_left_as_it_is() {
        let known = current_format();
        for (found, told) in [
            (9, "recado that wrote it"),
            (known - 1, "recado that wrote it"),
            (known + 1, "newer recado"),
        ] {
            let connection = in_memory();
            connection
                .execute_batch(&format!("PRAGMA user_version = {found}"))
                .unwrap();
            let refused = prepare_tables(&connection).unwrap_err().to_string();
            assert!(refused.contains(told), "{refused}");
            assert!(connection.prepare("SELECT * FROM installation").is_err());
        }
    }

    #[test]
    fn a_database_of_somebody_else_is_refused() {
        let connection = in_memory();
        connection.execute_batch("CREATE TABLE a (x)").unwrap();
        assert!(matches!(
            prepare_tables(&connection),
            Err(OpenError::OtherFormat { found: 0, .. })
        ));
    }
}
