use crate::open_error::OpenError;
use rusqlite::Connection;

/// The migrations. Each brings a database one version further, beginning at 0; `PRAGMA user_version` holds the version.
const MIGRATIONS: [&str; 11] = [
    include_str!("schema.sql"),
    include_str!("sends_and_traces.sql"),
    include_str!("deletions.sql"),
    include_str!("owners.sql"),
    include_str!("notices.sql"),
    include_str!("aliases.sql"),
    include_str!("installation.sql"),
    include_str!("samples.sql"),
    include_str!("retention.sql"),
    include_str!("plain_names.sql"),
    include_str!("tenants.sql"),
];

/// Brings the database to this program's version. A database of a newer program is refused and left unchanged.
pub(crate) fn apply_migrations(connection: &Connection) -> Result<(), OpenError> {
    apply_migration_list(connection, &MIGRATIONS)
}

fn apply_migration_list(connection: &Connection, migrations: &[&str]) -> Result<(), OpenError> {
    let found: usize = connection.query_row("PRAGMA user_version", [], |row| row.get::<_, u32>(0))? as usize;
    if found > migrations.len() {
        return Err(OpenError::Newer {
            found,
            known: migrations.len(),
        });
    }
    for (version, migration) in migrations.iter().enumerate().skip(found) {
        // The version is part of the transaction: after a crash the version before is still there, and so is its
        // schema.
        let step = format!(
            "BEGIN IMMEDIATE;\n{migration}\n;PRAGMA user_version = {};\nCOMMIT;",
            version + 1
        );
        if let Err(error) = connection.execute_batch(&step) {
            if !connection.is_autocommit() {
                connection.execute_batch("ROLLBACK")?;
            }
            return Err(error.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(connection: &Connection) -> u32 {
        connection
            .query_row("PRAGMA user_version", [], |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn a_database_is_brought_up_to_date_once() {
        let connection = Connection::open_in_memory().unwrap();
        apply_migrations(&connection).unwrap();
        apply_migrations(&connection).unwrap();
        assert_eq!(version(&connection) as usize, MIGRATIONS.len());
        connection.prepare("SELECT body FROM conversations").unwrap();
    }

    #[test]
    fn later_migrations_keep_what_is_there() {
        let connection = Connection::open_in_memory().unwrap();
        let steps = [
            "CREATE TABLE a (x); INSERT INTO a VALUES (7)",
            "ALTER TABLE a ADD COLUMN y",
        ];
        apply_migration_list(&connection, &steps[..1]).unwrap();
        apply_migration_list(&connection, &steps).unwrap();
        let x: i64 = connection
            .query_row("SELECT x FROM a WHERE y IS NULL", [], |row| row.get(0))
            .unwrap();
        assert_eq!((x, version(&connection)), (7, 2));
    }

    #[test]
    fn groups_from_before_owners_were_known_are_nobodys() {
        let connection = Connection::open_in_memory().unwrap();
        apply_migration_list(&connection, &MIGRATIONS[..3]).unwrap();
        let group = "INSERT INTO queue_messages (queue, grp, visible_at, sent_at, body) VALUES ('inbound', 'g', 5, 5, '{}');
            INSERT INTO queue_groups (queue, grp, head, free_at) VALUES ('inbound', 'g', 1, 5)";
        connection.execute_batch(group).unwrap();
        apply_migrations(&connection).unwrap();
        let sql = "SELECT g.owner || m.owner, g.free_at FROM queue_groups g JOIN queue_messages m ON m.seq = g.head";
        let found: (String, i64) = connection
            .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(found, (String::new(), 5));
    }

    #[test]
    fn a_migration_that_fails_leaves_nothing_behind() {
        let connection = Connection::open_in_memory().unwrap();
        assert!(apply_migration_list(&connection, &["CREATE TABLE a (x); CREATE TABLE a (x)"]).is_err());
        assert_eq!(version(&connection), 0);
        apply_migration_list(&connection, &["CREATE TABLE a (x)"]).unwrap();
    }

    #[test]
    fn a_newer_database_is_refused() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA user_version = 99").unwrap();
        assert!(matches!(
            apply_migrations(&connection),
            Err(OpenError::Newer { found: 99, .. })
        ));
    }
}
