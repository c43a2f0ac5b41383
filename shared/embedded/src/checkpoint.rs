//! The checkpoints: a thread of their own copies the log into the database, so that a commit waits for its own `fsync` and
//! for nothing else.
//!
//! A checkpoint beside running commits never reaches the end of the log, so the log would grow for as long as the load
//! lasts. Once it is long and little of it is left to copy, the writing thread is asked to copy the rest between two
//! commits; the next commit then begins the log anew.

use crate::db_error::DbResult;
use crate::folder::OpenError;
use crate::threads::spawn_thread;
use rusqlite::Connection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time between two checkpoints while the log is short.
const PAUSE: Duration = Duration::from_millis(100);

/// The time until the next checkpoint after one that failed: a full disk must not fill the log of the program.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

/// The pages from which on the log is long: 16 MB.
const LONG_LOG: i64 = 4_096;

/// The pages that the writing thread may be asked to copy: 4 MB, some milliseconds.
const REST: i64 = 1_024;

/// The pages beyond which the writing thread copies the rest, however much that is: 128 MB.
const LOG_MAX: i64 = 32_768;

/// What the writing thread and the thread of the checkpoints tell each other.
#[derive(Debug, Default)]
struct LogState {
    commits: AtomicU64,
    /// The writing thread shall copy the rest of the log.
    rest_is_due: AtomicBool,
}

/// The thread of the checkpoints, as the writing thread sees it.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    state: Arc<LogState>,
    /// Dropped, it ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The pages of the log after a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LogPages {
    /// Pages in the log when the checkpoint began.
    written: i64,
    /// Those of them that are in the database, too.
    copied: i64,
}

impl Checkpoints {
    /// Starts the thread, which makes its checkpoints over `connection`.
    pub(crate) fn start_thread(connection: Connection) -> Result<Self, OpenError> {
        let state = Arc::new(LogState::default());
        let (stop, stopped) = channel();
        let shared = Arc::clone(&state);
        let copy = move || make_checkpoints(&connection, &shared, &stopped);
        let thread = spawn_thread("recado-copy", copy)?;
        Ok(Self {
            state,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Records a commit. If the log has become long, copies the rest of it over the writing thread's `connection`, outside of
    /// a transaction.
    pub(crate) fn after_commit(&self, connection: &Connection) {
        self.state.commits.fetch_add(1, Ordering::Relaxed);
        // A failed copy loses nothing, and the thread of the checkpoints asks again.
        if self.state.rest_is_due.swap(false, Ordering::Relaxed)
            && let Err(error) = copy_log(connection)
        {
            tracing::warn!(%error, "the log could not be copied to its end");
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread ends by itself; the way in which it ended does not matter any more.
            let _ = thread.join();
        }
    }
}

/// Copies what can be copied of the log into the database without making anybody wait.
fn copy_log(connection: &Connection) -> DbResult<LogPages> {
    let pages = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(LogPages {
            written: row.get(1)?,
            copied: row.get(2)?,
        })
    });
    Ok(pages?)
}

/// Makes checkpoints until the sender of `stopped` is dropped.
fn make_checkpoints(connection: &Connection, state: &LogState, stopped: &Receiver<()>) {
    let (mut seen, mut copied) = (0, 0);
    let mut pause = PAUSE;
    while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        pause = PAUSE;
        let commits = state.commits.load(Ordering::Relaxed);
        if commits == seen {
            continue;
        }
        match copy_log(connection) {
            Ok(pages) => {
                seen = commits;
                if pages.written >= LONG_LOG {
                    pause = Duration::ZERO;
                }
                if is_rest_due(pages, copied) {
                    state.rest_is_due.store(true, Ordering::Relaxed);
                    pause = PAUSE;
                }
                copied = pages.copied;
            }
            // Nothing is lost: the log keeps what is not copied yet.
            Err(error) => {
                tracing::warn!(%error, "a checkpoint failed");
                pause = PAUSE_AFTER_FAILURE;
            }
        }
    }
}

/// Returns whether the writing thread shall copy the rest. `copied` is the number of pages that the checkpoint before had
/// copied.
fn is_rest_due(pages: LogPages, copied: i64) -> bool {
    // A page that came meanwhile is not in `written`. But this checkpoint only copied what came since the last one. About as much
    // came meanwhile.
    let came = pages.written - copied;
    pages.written >= LONG_LOG && (came <= REST || pages.written >= LOG_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded::tests::Scratch;

    #[test]
    fn the_rest_is_due_when_it_is_little_or_the_log_is_too_long() {
        let pages = |written| LogPages {
            written,
            copied: written,
        };
        assert!(
            !is_rest_due(pages(LONG_LOG - 1), LONG_LOG - 2),
            "the log is short"
        );
        assert!(is_rest_due(pages(LONG_LOG), LONG_LOG - REST));
        assert!(
            !is_rest_due(pages(LONG_LOG), LONG_LOG - REST - 1),
            "too much of it is left"
        );
        assert!(is_rest_due(pages(LOG_MAX), 0));
    }

    #[test]
    fn the_log_begins_anew_once_the_rest_is_copied() {
        let scratch = Scratch::new();
        std::fs::create_dir(&scratch.0).unwrap();
        let connection = Connection::open(scratch.0.join("log.db")).unwrap();
        let begin = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)";
        connection.execute_batch(begin).unwrap();
        let write = || connection.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        let checkpoints = Checkpoints {
            state: Arc::default(),
            stop: None,
            thread: None,
        };
        for _ in 0..10 {
            write();
        }
        checkpoints.state.rest_is_due.store(true, Ordering::Relaxed);
        checkpoints.after_commit(&connection);
        write();
        let pages = copy_log(&connection).unwrap();
        assert!(pages.written <= 2, "{pages:?}");
        assert!(!checkpoints.state.rest_is_due.load(Ordering::Relaxed));
        for _ in 0..10 {
            write();
            checkpoints.after_commit(&connection);
        }
        let long = copy_log(&connection).unwrap().written;
        assert!(long >= 10, "nobody asked to copy the rest: {long} pages");
    }
}
