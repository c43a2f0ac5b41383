use super::*;
use crate::embedded::tests::Scratch;
use std::path::Path;
use std::process::Command;

fn open_empty() -> Connection {
    Connection::open_in_memory().unwrap()
}

fn open_with_version(version: u32) -> Connection {
    let connection = open_empty();
    let text = format!("CREATE TABLE told (x); PRAGMA user_version = {version}");
    connection.execute_batch(&text).unwrap();
    connection
}

fn read_version(connection: &Connection) -> u32 {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get(0))
        .unwrap()
}

/// The lines of `SELECT`s of one text column.
fn select_texts(connection: &Connection, sql: &str) -> Vec<String> {
    let mut select = connection.prepare(sql).unwrap();
    let rows = select.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Scripts of a release, and of the one after it.
const FIRST: [&str; 2] = ["CREATE TABLE a (x)", "CREATE TABLE b (x)"];
const SECOND: [&str; 4] = [
    FIRST[0],
    FIRST[1],
    "ALTER TABLE a ADD COLUMN y TEXT; UPDATE a SET y = x || '!'",
    "CREATE TABLE c (x)",
];

#[test]
fn the_tables_are_made_once() {
    let connection = open_empty();
    prepare_tables(&connection).unwrap();
    connection
        .execute_batch("INSERT INTO installation VALUES ('a', 'b')")
        .unwrap();
    prepare_tables(&connection).unwrap();
    let kept = select_texts(&connection, "SELECT value FROM installation WHERE name = 'a'");
    assert_eq!(kept, ["b"]);
}

#[test]
fn the_link_of_an_older_release_leads_from_the_providers_id_to_its_delivery() {
    let connection = open_empty();
    prepare_with(&connection, &SCHEMA[..35], 35).unwrap();
    let rows = "INSERT INTO deliveries (key, expires, body, provider_key) VALUES
        ('a-own', 9, '{}', 'b-theirs'), ('c-own', 9, 'erased', 'd-theirs'), ('e-evolution', 9, '{}', NULL)";
    connection.execute_batch(rows).unwrap();
    prepare_tables(&connection).unwrap();
    let sql = "SELECT key || ' ' || expires || ' ' || body FROM deliveries ORDER BY key";
    let leading = r#"b-theirs 9 {"same_as":"a-own"}"#;
    let expected = ["a-own 9 {}", leading, "c-own 9 erased", "e-evolution 9 {}"];
    assert_eq!(select_texts(&connection, sql), expected);
}

#[test]
fn a_database_of_an_older_release_runs_the_scripts_that_it_lacks() {
    let connection = open_empty();
    prepare_with(&connection, &FIRST, 2).unwrap();
    connection
        .execute_batch("INSERT INTO a (x) VALUES ('kept')")
        .unwrap();
    prepare_with(&connection, &SECOND, 2).unwrap();
    assert_eq!(select_texts(&connection, "SELECT y FROM a"), ["kept!"]);
    assert_eq!(
        read_version(&connection),
        Format::make_current(4).encode_version()
    );
    prepare_with(&connection, &SECOND, 2).unwrap();
    let new = open_empty();
    prepare_with(&new, &SECOND, 2).unwrap();
    let names = "SELECT name FROM sqlite_master ORDER BY name";
    assert_eq!(select_texts(&connection, names), select_texts(&new, names));
}

#[test]
fn a_script_that_fails_leaves_what_the_ones_before_it_made_and_the_next_start_goes_on() {
    let connection = open_empty();
    prepare_with(&connection, &FIRST, 2).unwrap();
    let broken = [
        SECOND[0],
        SECOND[1],
        SECOND[2],
        "CREATE TABLE c (x); INSERT INTO nowhere VALUES (1)",
    ];
    prepare_with(&connection, &broken, 2).unwrap_err();
    assert_eq!(
        read_version(&connection),
        Format::make_current(3).encode_version()
    );
    assert_eq!(
        select_texts(&connection, "SELECT name FROM sqlite_master WHERE name = 'c'").len(),
        0
    );
    prepare_with(&connection, &SECOND, 2).unwrap();
    assert_eq!(
        read_version(&connection),
        Format::make_current(4).encode_version()
    );
}

#[test]
fn a_newer_or_an_unreleased_format_is_refused_with_what_to_do_and_left_as_it_is() {
    let known = Format::make_current(SCHEMA.len()).encode_version();
    let [first, _] = FIRST_RELEASE;
    let unreleased = Format::make_current(first - 1).encode_version();
    for (found, told) in [
        (known + 1, "a newer recado wrote it"),
        (known + RECORDS, "a newer recado wrote it"),
        (unreleased, "before 0.2.0"),
        (known - RECORDS, "before 0.2.0"),
        (9, "before 0.2.0"),
    ] {
        let connection = open_with_version(found);
        let refused = prepare_tables(&connection).unwrap_err().to_string();
        assert!(refused.contains(told), "{found}: {refused}");
        assert_eq!(read_version(&connection), found);
        assert_eq!(
            select_texts(&connection, "SELECT name FROM sqlite_master"),
            ["told"]
        );
    }
}

#[test]
fn a_database_of_somebody_else_is_refused() {
    let connection = open_with_version(0);
    assert!(matches!(
        prepare_tables(&connection),
        Err(OpenError::UnreleasedFormat { found: 0, .. })
    ));
}

/// Each table and index with its columns.
fn describe_tables(connection: &Connection) -> Vec<String> {
    let columns = "SELECT type || ' ' || name || ': ' || coalesce((SELECT group_concat(name || ' ' || type || \"notnull\" || pk)
        FROM pragma_table_info(made.name)), (SELECT group_concat(coalesce(name, 'expression')) FROM pragma_index_info(made.name)), '')
        FROM sqlite_master AS made ORDER BY 1";
    select_texts(connection, columns)
}

#[test]
fn a_database_of_each_release_gets_the_tables_of_a_new_one() {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats");
    for (file, prepare) in [
        (
            "recado.db",
            prepare_tables as fn(&Connection) -> Result<(), OpenError>,
        ),
        ("intake.db", prepare_intake),
    ] {
        let new = open_empty();
        prepare(&new).unwrap();
        for release in std::fs::read_dir(&releases).unwrap() {
            let archive = release.unwrap().path().join("folder.tar.gz");
            let scratch = Scratch::new();
            std::fs::create_dir_all(&scratch.0).unwrap();
            let unpacked = Command::new("tar")
                .arg("-xzf")
                .arg(&archive)
                .arg("-C")
                .arg(&scratch.0)
                .arg(file)
                .status();
            assert!(unpacked.unwrap().success(), "{}", archive.display());
            let kept = Connection::open(scratch.0.join(file)).unwrap();
            prepare(&kept).unwrap();
            assert_eq!(
                describe_tables(&kept),
                describe_tables(&new),
                "{}",
                archive.display()
            );
        }
    }
}
