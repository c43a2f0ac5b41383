use super::*;
use crate::sql_records::execute_sql;
use futures::executor::block_on;
use futures::future::join_all;
use recado_ports::ports::{PortError, Queues};
use recado_ports::table::{Condition, Partition, Query, Record, Table, Write};
use recado_testkit::own_kinds::Slip;
use serde_json::json;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

mod pages;

/// A folder of its own, removed at the end.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("recado-embedded-{}-{number}", std::process::id())))
    }

    /// Opens the store in it. A process that another test begins at that moment holds every lock of this one until it
    /// runs its own program, so this waits for it.
    pub(crate) fn store(&self) -> Embedded {
        let begun = Instant::now();
        loop {
            match Embedded::open_folder(&self.0, Clock::from_system()) {
                Err(OpenError::InUse { .. }) if begun.elapsed() < Duration::from_secs(30) => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                opened => return opened.unwrap(),
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The one write that stores a slip.
fn slip(name: &str) -> [Write; 1] {
    [Slip::new(None, name, "text").put(Condition::Always)]
}

async fn is_stored(store: &Embedded, name: &str) -> bool {
    let key = Slip::new(None, name, "text").key();
    store.get(&key).await.unwrap().is_some()
}

async fn count_slips(store: &Embedded) -> u64 {
    let all = Query::new(Partition::new(Slip::KIND, None), 1);
    store.count(&all).await.unwrap()
}

#[test]
fn what_was_acknowledged_is_there_after_a_reopening_without_close() {
    let scratch = Scratch::new();
    let store = scratch.store();
    block_on(store.write(&slip("a"))).unwrap().unwrap();
    block_on(store.put_payload("b/c", &json!({"x": [1, 2]}))).unwrap();
    drop(store);
    let store = scratch.store();
    assert!(block_on(is_stored(&store, "a")));
    assert_eq!(
        block_on(store.find_payload("b/c")).unwrap(),
        Some(json!({"x": [1, 2]}))
    );
    assert_eq!(block_on(store.find_payload("b")).unwrap(), None);
}

/// Where the process to be killed writes.
const VICTIM_FOLDER: &str = "RECADO_TEST_VICTIM_FOLDER";

/// Not a test of its own: the process that the next test kills. It tells each write after its acknowledgement.
#[test]
#[ignore = "the next test starts it"]
fn victim() {
    let Some(folder) = std::env::var_os(VICTIM_FOLDER) else {
        return;
    };
    let store = Embedded::open_folder(Path::new(&folder), Clock::from_system()).unwrap();
    for n in 0.. {
        block_on(store.write(&slip(&n.to_string()))).unwrap().unwrap();
        eprintln!("written {n}");
    }
}

#[test]
fn what_was_acknowledged_before_a_kill_is_there_after_it() {
    let scratch = Scratch::new();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "embedded::tests::victim", "--ignored", "--nocapture"])
        .env(VICTIM_FOLDER, &scratch.0)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(victim.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let written: Vec<String> = lines
        .filter_map(|line| line.strip_prefix("written ").map(str::to_owned))
        .take(100)
        .collect();
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert_eq!(written.len(), 100);
    let store = scratch.store();
    for name in written {
        assert!(block_on(is_stored(&store, &name)), "{name}");
    }
}

#[test]
fn a_copy_of_the_files_at_any_time_holds_what_was_acknowledged() {
    // What a killed process leaves: the files as they are, the log not yet written back.
    let (scratch, image) = (Scratch::new(), Scratch::new());
    let store = scratch.store();
    block_on(store.write(&slip("a"))).unwrap().unwrap();
    std::fs::create_dir(&image.0).unwrap();
    for name in ["recado.db", "recado.db-wal"] {
        std::fs::copy(scratch.0.join(name), image.0.join(name)).unwrap();
    }
    let copy = Embedded::open_folder(&image.0, Clock::from_system()).unwrap();
    assert!(block_on(is_stored(&copy, "a")));
}

#[test]
fn two_processes_cannot_work_on_one_folder() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let refused = Embedded::open_folder(&scratch.0, Clock::from_system()).unwrap_err();
    assert!(matches!(refused, OpenError::InUse { .. }) && refused.to_string().contains("in use"));
    block_on(store.shut_down());
    scratch.store();
}

#[test]
fn a_closed_store_has_finished_everything_and_refuses_more() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let begun: Vec<_> = (0..50).map(|n| slip(&n.to_string())).collect();
    let writes: Vec<_> = begun.iter().map(|slip| store.write(slip)).collect();
    block_on(async {
        let (done, ()) = futures::join!(join_all(writes), store.shut_down());
        assert!(done.iter().all(Result::is_ok));
    });
    let refused = block_on(store.write(&slip("late"))).unwrap_err();
    assert!(matches!(refused, PortError::Unavailable { .. }));
    let store = scratch.store();
    assert_eq!(block_on(count_slips(&store)), 50);
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_data() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let store = scratch.store();
    block_on(store.put_payload("key", &json!(1))).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scratch.0), 0o700);
    for file in ["recado.db", "recado.db-wal", "recado.lock"] {
        assert_eq!(mode(&scratch.0.join(file)), 0o600, "{file}");
    }
    let payload = std::fs::read_dir(scratch.0.join("payloads"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!(mode(&payload.path()), 0o600);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_two_writers_at_once_all_get_through() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let writers = (0..32).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            for n in 0..20 {
                let name = format!("{writer}-{n}");
                store.write(&slip(&name)).await.unwrap().unwrap();
                // A read after the acknowledgement finds it, on whichever connection.
                assert!(is_stored(&store, &name).await);
            }
        })
    });
    for writer in join_all(writers).await {
        writer.unwrap();
    }
    assert_eq!(count_slips(&store).await, 640);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_acknowledged_before_the_commit_that_it_shares() {
    let scratch = Scratch::new();
    let store = scratch.store();
    // The writer is kept busy until two more are waiting, which then share a commit.
    let (first_gate, second_gate) = (mpsc::channel::<()>(), mpsc::channel::<()>());
    let (first_begun, second_begun) = (mpsc::channel::<()>(), mpsc::channel::<()>());
    let busy = tokio::spawn({
        let store = store.clone();
        async move {
            store
                .run_write("busy", move |_| {
                    Ok(first_begun.0.send(()).is_ok() && first_gate.1.recv().is_ok())
                })
                .await
        }
    });
    tokio::task::block_in_place(|| first_begun.1.recv()).unwrap();
    let (mut early, mut late) = (
        Box::pin({
            let store = store.clone();
            async move { store.write(&slip("early")).await }
        }),
        Box::pin({
            let store = store.clone();
            async move {
                store
                    .run_write("late", move |_| {
                        Ok(second_begun.0.send(()).is_ok() && second_gate.1.recv().is_ok())
                    })
                    .await
            }
        }),
    );
    assert!(futures::poll!(&mut early).is_pending());
    assert!(futures::poll!(&mut late).is_pending());
    let late = tokio::spawn(late);
    first_gate.0.send(()).unwrap();
    assert!(busy.await.unwrap().unwrap());
    // The one before it in the same commit is done by now.
    tokio::task::block_in_place(|| second_begun.1.recv()).unwrap();
    assert!(futures::poll!(&mut early).is_pending(), "done, but not committed");
    assert!(!is_stored(&store, "early").await);
    second_gate.0.send(()).unwrap();
    early.await.unwrap().unwrap();
    assert!(late.await.unwrap().unwrap());
    assert!(is_stored(&store, "early").await);
}

#[test]
fn a_panic_in_one_operation_is_its_callers_error_and_nobody_elses() {
    let scratch = Scratch::new();
    for store in [
        scratch.store(),
        Embedded::in_memory(Clock::from_system()).unwrap(),
    ] {
        let bug = store.run_write::<()>("bug", |c| {
            execute_sql(c, "INSERT INTO instance_states (id, body) VALUES ('t', '{}')", [])?;
            panic!("a bug");
        });
        assert!(matches!(block_on(bug).unwrap_err(), PortError::Invalid { .. }));
        block_on(store.write(&slip("a"))).unwrap().unwrap();
        let left = store.run_read("left", |c| {
            Ok(c.query_row("SELECT COUNT(*) FROM instance_states", [], |row| {
                row.get::<_, i64>(0)
            })?)
        });
        assert_eq!(block_on(left).unwrap(), 0);
    }
}

#[test]
fn an_operation_whose_caller_went_away_is_finished() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let writes = slip("a");
    let mut put = store.write(&writes);
    let _ = block_on(async { futures::poll!(&mut put) });
    drop(put);
    block_on(store.shut_down());
    let store = scratch.store();
    assert!(block_on(is_stored(&store, "a")));
}

#[tokio::test]
async fn a_commit_waits_for_the_disk() {
    let scratch = Scratch::new();
    let store = scratch.store();
    let pragma = |name: &'static str| {
        store.run_write("pragma", move |connection| {
            Ok(connection
                .query_row(&format!("PRAGMA {name}"), [], |row| {
                    row.get::<_, rusqlite::types::Value>(0)
                })
                .unwrap())
        })
    };
    // 2 is FULL: with less, what was acknowledged may be gone after a power cut.
    assert_eq!(pragma("synchronous").await.unwrap(), 2.into());
    assert_eq!(pragma("journal_mode").await.unwrap(), "wal".to_owned().into());
    // 1 is ON: deleted rows are overwritten.
    assert_eq!(pragma("secure_delete").await.unwrap(), 1.into());
}
