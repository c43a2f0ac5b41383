use super::*;
use crate::embedded::tests::Scratch;
use crate::folder::UNFINISHED_RESTORE;
use crate::{Clock, Embedded};
use futures::executor::block_on;
use recado_domain::identity::IdentityKey;
use recado_ports::ports::{Conversations, Queues};
use rusqlite::Connection;
use serde_json::json;
use std::fs;
use std::io::Write;
use std::time::Duration;

/// The progress that nobody looks at.
fn unseen() -> BackupProgress {
    BackupProgress::default()
}

fn now() -> Timestamp {
    "2026-11-24T03:00:00Z".parse().unwrap()
}

/// A data folder with a store on it, a large body, a file and a secret.
fn filled(scratch: &Scratch) -> Embedded {
    let store = scratch.store();
    let insert = |c: &Connection| {
        c.execute(
            "INSERT INTO events (id, due, payload, body, correlation) VALUES ('e', 1, 'large', '{}', 'k')",
            [],
        )?;
        Ok(())
    };
    block_on(store.run_write("test", insert)).unwrap();
    fs::write(scratch.0.join("payloads/large"), "a large body").unwrap();
    fs::write(scratch.0.join("payloads/forgotten"), "of no event").unwrap();
    fs::write(scratch.0.join("files/picture"), "bytes").unwrap();
    fs::write(scratch.0.join("files/half.0.part"), "by").unwrap();
    fs::write(scratch.0.join("webhook-secret"), "s").unwrap();
    store
}

#[test]
fn a_folder_in_use_is_copied_and_a_data_folder_is_made_of_the_copy() {
    let (scratch, copy, other) = (Scratch::new(), Scratch::new(), Scratch::new());
    let store = filled(&scratch);
    let key = block_on(store.keep_identity_key(&recado_testkit::builders::identity_key)).unwrap();
    let made = back_up_folder(&scratch.0, &copy.0, now(), &unseen()).unwrap();
    let paths: Vec<&str> = made.files.iter().map(|file| file.path.as_str()).collect();
    let expected = [
        "files/picture",
        "intake.db",
        "payloads/large",
        "recado.db",
        "webhook-secret",
    ];
    assert_eq!(paths, expected);
    assert_eq!(check_backup(&copy.0, &unseen()).unwrap(), made);
    assert_eq!(restore_backup(&copy.0, &other.0, &unseen()).unwrap(), made);
    let restored = other.store();
    let new = || IdentityKey::from_bytes([1; 32]);
    assert_eq!(block_on(restored.keep_identity_key(&new)).unwrap(), key);
    assert_eq!(
        fs::read_to_string(other.0.join("payloads/large")).unwrap(),
        "a large body"
    );
    let resumed = block_on(restored.resume_from_backup()).unwrap();
    assert_eq!(resumed.unwrap().taken_at, now());
    assert!(block_on(restored.find_restore_time()).unwrap().is_some());
    assert_eq!(
        block_on(restored.resume_from_backup()).unwrap(),
        None,
        "only once"
    );
    assert_eq!(
        block_on(store.resume_from_backup()).unwrap(),
        None,
        "the original goes on"
    );
}

#[test]
fn what_is_acknowledged_is_in_the_copy_while_more_comes() {
    let (scratch, copy, other) = (Scratch::new(), Scratch::new(), Scratch::new());
    let store = scratch.store();
    let job = |number: u32| {
        serde_json::from_value(json!({
            "job": "turn", "conversation": "c_0123456789abcdef0123456789abcdef-1", "tenant": "t", "ordinal": number,
            "correlation": "k",
        }))
        .unwrap()
    };
    let enqueue = |number: u32| {
        block_on(store.enqueue_turns_job(&job(number), Duration::ZERO)).unwrap();
    };
    (0..50).for_each(enqueue);
    std::thread::scope(|scope| {
        scope.spawn(|| (50..400).for_each(enqueue));
        back_up_folder(&scratch.0, &copy.0, now(), &unseen()).unwrap();
    });
    restore_backup(&copy.0, &other.0, &unseen()).unwrap();
    let restored = Connection::open(other.0.join("recado.db")).unwrap();
    let count: u32 = restored
        .query_row("SELECT count(*) FROM queue_messages", [], |row| row.get(0))
        .unwrap();
    assert!(count >= 50, "{count}");
}

#[test]
fn a_backup_that_was_changed_cut_off_or_added_to_is_refused() {
    let (scratch, copy) = (Scratch::new(), Scratch::new());
    let _store = filled(&scratch);
    back_up_folder(&scratch.0, &copy.0, now(), &unseen()).unwrap();
    let refused = |told: &str| {
        let to = Scratch::new();
        let error = restore_backup(&copy.0, &to.0, &unseen()).unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
        assert!(!to.0.exists(), "nothing is restored of it");
    };
    let picture = copy.0.join("files/picture");
    fs::write(&picture, "BYTES").unwrap();
    refused("files/picture is not as it was written");
    fs::remove_file(&picture).unwrap();
    refused("files/picture is missing");
    fs::write(&picture, "bytes").unwrap();
    fs::write(copy.0.join("files/other"), "x").unwrap();
    refused("files/other does not belong to it");
    fs::remove_file(copy.0.join("files/other")).unwrap();
    check_backup(&copy.0, &unseen()).unwrap();
    fs::remove_file(copy.0.join("backup.json")).unwrap();
    refused("no whole backup");
}

#[test]
fn a_backup_of_a_format_that_is_not_opened_is_not_restored() {
    let (scratch, copy, other) = (Scratch::new(), Scratch::new(), Scratch::new());
    let _store = filled(&scratch);
    back_up_folder(&scratch.0, &copy.0, now(), &unseen()).unwrap();
    // As a program of before the first release left it.
    let database = Connection::open(copy.0.join("recado.db")).unwrap();
    database.execute_batch("PRAGMA user_version = 5038").unwrap();
    drop(database);
    fs::remove_file(copy.0.join("backup.json")).unwrap();
    BackupManifest::describe_and_write(&copy.0, now(), &unseen()).unwrap();
    let refused = restore_backup(&copy.0, &other.0, &unseen()).unwrap_err();
    assert!(matches!(refused, BackupError::OtherFormat(_)), "{refused}");
    assert!(refused.to_string().contains("(`recado export`)"), "{refused}");
    assert!(!other.0.exists(), "nothing is restored of it");
}

#[test]
fn neither_a_backup_nor_a_restore_writes_into_a_folder_with_something_in_it() {
    let (scratch, copy, other) = (Scratch::new(), Scratch::new(), Scratch::new());
    assert!(matches!(
        back_up_folder(&scratch.0, &copy.0, now(), &unseen()),
        Err(BackupError::NoDataFolder(_))
    ));
    let _store = filled(&scratch);
    back_up_folder(&scratch.0, &copy.0, now(), &unseen()).unwrap();
    for to in [&copy.0, &scratch.0] {
        assert!(matches!(
            back_up_folder(&scratch.0, to, now(), &unseen()),
            Err(BackupError::NotEmpty(_))
        ));
    }
    fs::create_dir(&other.0).unwrap();
    let mut file = fs::File::create(other.0.join("mine")).unwrap();
    file.write_all(b"kept").unwrap();
    assert!(matches!(
        restore_backup(&copy.0, &other.0, &unseen()),
        Err(BackupError::NotEmpty(_))
    ));
    assert_eq!(fs::read_dir(&other.0).unwrap().count(), 1);
}

#[test]
fn a_start_refuses_a_folder_into_which_a_restore_was_cut_off() {
    let scratch = Scratch::new();
    fs::create_dir(&scratch.0).unwrap();
    fs::write(scratch.0.join(UNFINISHED_RESTORE), "").unwrap();
    let refused = Embedded::open_folder(&scratch.0, Clock::from_system()).unwrap_err();
    assert!(refused.to_string().contains("cut off"), "{refused}");
    assert!(!scratch.0.join("recado.db").exists());
}

#[test]
fn the_progress_counts_each_byte_that_is_copied_and_read() {
    let (scratch, copy, other) = (Scratch::new(), Scratch::new(), Scratch::new());
    let _store = filled(&scratch);
    fs::write(scratch.0.join("files/film"), vec![7; 3_000_000]).unwrap();
    let (making, checking, restoring) = (unseen(), unseen(), unseen());
    let made = back_up_folder(&scratch.0, &copy.0, now(), &making).unwrap();
    let bytes = made.count_bytes();
    assert!(bytes > 3_000_000);
    assert!(making.count_bytes() > bytes + 3_000_000);
    check_backup(&copy.0, &checking).unwrap();
    assert_eq!((checking.count_bytes(), checking.percent_done()), (bytes, 100));
    restore_backup(&copy.0, &other.0, &restoring).unwrap();
    assert_eq!(
        (restoring.count_bytes(), restoring.percent_done()),
        (3 * bytes, 100)
    );
    assert_eq!(unseen().percent_done(), 0);
}

#[test]
fn a_database_of_many_pages_is_copied_as_it_was_at_one_moment() {
    let (scratch, copy) = (Scratch::new(), Scratch::new());
    let store = scratch.store();
    let fill = |c: &Connection| {
        c.execute_batch(
            "CREATE TABLE ballast (bytes BLOB);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
             INSERT INTO ballast SELECT zeroblob(8000) FROM n;",
        )?;
        Ok(())
    };
    block_on(store.run_write("test", fill)).unwrap();
    let snapshot = open_snapshot(&scratch.0).unwrap();
    let change = |c: &Connection| {
        c.execute_batch("UPDATE ballast SET bytes = zeroblob(8001)")?;
        Ok(())
    };
    block_on(store.run_write("test", change)).unwrap();
    fs::create_dir(&copy.0).unwrap();
    snapshot.copy_into(&copy.0, now(), &unseen()).unwrap();
    let copied = Connection::open(copy.0.join("recado.db")).unwrap();
    let counted = "SELECT count(*) FROM ballast WHERE length(bytes) = 8000";
    let kept: u32 = copied.query_row(counted, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1000);
}
