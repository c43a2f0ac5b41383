use super::*;
use crate::embedded::tests::Scratch;
use crate::{BackupProgress, Clock, Embedded, back_up_folder};
use jiff::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

fn open_empty() -> Connection {
    Connection::open_in_memory().unwrap()
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
fn a_database_of_an_older_release_runs_the_scripts_that_it_lacks() {
    let connection = open_empty();
    prepare_with(&connection, &FIRST).unwrap();
    connection
        .execute_batch("INSERT INTO a (x) VALUES ('kept')")
        .unwrap();
    prepare_with(&connection, &SECOND).unwrap();
    assert_eq!(select_texts(&connection, "SELECT y FROM a"), ["kept!"]);
    assert_eq!(
        read_version(&connection),
        Format::make_current(4).encode_version()
    );
    prepare_with(&connection, &SECOND).unwrap();
    let new = open_empty();
    prepare_with(&new, &SECOND).unwrap();
    let names = "SELECT name FROM sqlite_master ORDER BY name";
    assert_eq!(select_texts(&connection, names), select_texts(&new, names));
}

#[test]
fn a_script_that_fails_leaves_what_the_ones_before_it_made_and_the_next_start_goes_on() {
    let connection = open_empty();
    prepare_with(&connection, &FIRST).unwrap();
    let broken = [
        SECOND[0],
        SECOND[1],
        SECOND[2],
        "CREATE TABLE c (x); INSERT INTO nowhere VALUES (1)",
    ];
    prepare_with(&connection, &broken).unwrap_err();
    assert_eq!(
        read_version(&connection),
        Format::make_current(3).encode_version()
    );
    assert_eq!(
        select_texts(&connection, "SELECT name FROM sqlite_master WHERE name = 'c'").len(),
        0
    );
    prepare_with(&connection, &SECOND).unwrap();
    assert_eq!(
        read_version(&connection),
        Format::make_current(4).encode_version()
    );
}

/// What a crash leaves of a database: its file and its log.
type Image = [Option<Vec<u8>>; 2];

/// Reads the file of a database and its log, as they lie on the disk.
fn read_image(database: &Path) -> Image {
    ["", "-wal"].map(|end| fs::read(format!("{}{end}", database.display())).ok())
}

/// Returns the version and the tables that a start finds in an image.
fn open_image(image: &Image) -> (u32, Vec<String>) {
    let scratch = Scratch::new();
    fs::create_dir(&scratch.0).unwrap();
    for (name, bytes) in ["image.db", "image.db-wal"].into_iter().zip(image) {
        if let Some(bytes) = bytes {
            fs::write(scratch.0.join(name), bytes).unwrap();
        }
    }
    let opened = Connection::open(scratch.0.join("image.db")).unwrap();
    let names = "SELECT name FROM sqlite_master ORDER BY name";
    (read_version(&opened), select_texts(&opened, names))
}

#[test]
fn a_crash_before_any_statement_leaves_a_script_with_its_version_or_neither() {
    let scratch = Scratch::new();
    fs::create_dir(&scratch.0).unwrap();
    let file = scratch.0.join("recado.db");
    let mut connection = Connection::open(&file).unwrap();
    connection.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    let images = Arc::<Mutex<Vec<Image>>>::default();
    let (seen, path) = (Arc::clone(&images), file.clone());
    let look = move |_: TraceEvent<'_>| seen.lock().unwrap().push(read_image(&path));
    connection
        .trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(look))
        .unwrap();
    prepare_with(&connection, &FIRST).unwrap();
    prepare_with(&connection, &SECOND).unwrap();
    images.lock().unwrap().push(read_image(&file));
    let mut found: Vec<(u32, Vec<String>)> = images.lock().unwrap().iter().map(open_image).collect();
    assert!(found.len() > 15, "{}", found.len());
    found.dedup();
    let state = |scripts, tables: &[&str]| {
        let version = Format::make_current(scripts).encode_version();
        (
            version,
            tables.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(),
        )
    };
    let expected = [
        (0, Vec::new()),
        state(2, &["a", "b"]),
        state(3, &["a", "b"]),
        state(4, &["a", "b", "c"]),
    ];
    assert_eq!(found, expected);
}

/// Makes a data folder whose database has a format. A part of it lies in the log still if it has one.
fn write_folder(folder: &Path, journal: &str, format: u32) -> PathBuf {
    fs::create_dir(folder).unwrap();
    let file = folder.join("recado.db");
    let connection = Connection::open(&file).unwrap();
    let text =
        format!("PRAGMA journal_mode = {journal}; CREATE TABLE told (x); PRAGMA user_version = {format}");
    connection.execute_batch(&text).unwrap();
    let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    connection.set_db_config(keep_log, true).unwrap();
    file
}

/// What tells how the data of an older format comes into this program.
const MOVE: &str = "export the data with the recado that wrote it (`recado export`), and import the export into a new folder with \
                    this one (`recado import`, docs/moving.md)";

#[test]
fn a_folder_of_a_newer_or_an_older_format_is_refused_with_what_to_do_and_left_as_it_is() {
    let known = Format::make_current(SCHEMA.len()).encode_version();
    for (found, told) in [
        (known + 1, "a newer recado wrote it"),
        (known + RECORDS, "a newer recado wrote it"),
        (OLDEST_RECORD_FORMAT * RECORDS - 1, MOVE),
        (5038, MOVE),
        (9, MOVE),
        (0, MOVE),
    ] {
        for journal in ["DELETE", "WAL"] {
            let (scratch, copy) = (Scratch::new(), Scratch::new());
            let file = write_folder(&scratch.0, journal, found);
            let before = read_image(&file);
            assert_eq!(before[1].is_some(), journal == "WAL");
            let refused = Embedded::open_folder(&scratch.0, Clock::from_system()).unwrap_err();
            assert!(refused.to_string().contains(told), "{found}: {refused}");
            let progress = BackupProgress::default();
            let refused = back_up_folder(&scratch.0, &copy.0, Timestamp::now(), &progress).unwrap_err();
            assert!(refused.to_string().contains(told), "{found}: {refused}");
            assert!(!copy.0.exists(), "no backup is begun");
            assert!(read_image(&file) == before, "{found} {journal} is changed");
        }
    }
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
