use crate::checkpoint::Checkpoints;
use crate::job::{DatabaseJob, TransactionMode, commit_together, run_alone};
use crate::open_error::OpenError;
use rusqlite::Connection;
use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// The number of operations that share a commit at most: enough to share the cost of an `fsync`, few enough that the
/// first operation does not wait long.
const JOBS_PER_COMMIT_MAX: usize = 64;

/// Threads that each own a database connection and take operations from one channel.
#[derive(Debug)]
pub(crate) struct DatabaseThreads {
    /// The sending end of the channel. `None` once no more operations are accepted.
    work: Mutex<Option<Sender<Box<dyn DatabaseJob>>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl DatabaseThreads {
    /// Starts the one thread that writes. The thread holds `lock` until its last commit.
    pub(crate) fn start_writer(
        connection: Connection,
        checkpoints: Checkpoints,
        lock: File,
    ) -> Result<Self, OpenError> {
        let (sender, receiver) = channel();
        let serve = move || {
            run_jobs(
                &connection,
                TransactionMode::Write,
                &Mutex::new(receiver),
                JOBS_PER_COMMIT_MAX,
                |connection| checkpoints.after_commit(connection),
            );
            // The last connection tidies the log up.
            drop(checkpoints);
            drop(connection);
            drop(lock);
        };
        let thread = Builder::new()
            .name("recado-write".to_owned())
            .spawn(serve)
            .map_err(OpenError::Thread)?;
        Ok(Self {
            work: Mutex::new(Some(sender)),
            threads: Mutex::new(vec![thread]),
        })
    }

    /// Starts a reading thread for each of the connections.
    pub(crate) fn start_readers(connections: Vec<Connection>) -> Result<Self, OpenError> {
        let (sender, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let crew = Self {
            work: Mutex::new(Some(sender)),
            threads: Mutex::new(Vec::new()),
        };
        for connection in connections {
            let receiver = Arc::clone(&receiver);
            let serve = move || run_jobs(&connection, TransactionMode::Read, &receiver, 1, |_| ());
            let thread = Builder::new()
                .name("recado-read".to_owned())
                .spawn(serve)
                .map_err(OpenError::Thread)?;
            lock_unpoisoned(&crew.threads).push(thread);
        }
        Ok(crew)
    }

    /// Hands an operation to the threads. After [`Self::stop_accepting`] the operation is dropped, and with it the
    /// channel of its result.
    pub(crate) fn submit_job(&self, job: Box<dyn DatabaseJob>) {
        if let Some(work) = lock_unpoisoned(&self.work).as_ref() {
            // Sending fails only if all threads have panicked outside an operation. The caller learns of it from the
            // channel of its result.
            let _ = work.send(job);
        }
    }

    /// Accepts no more operations. The threads end when they have finished what they have. Returns the threads, to be
    /// waited for.
    pub(crate) fn stop_accepting(&self) -> Vec<JoinHandle<()>> {
        lock_unpoisoned(&self.work).take();
        std::mem::take(&mut *lock_unpoisoned(&self.threads))
    }
}

impl Drop for DatabaseThreads {
    fn drop(&mut self) {
        for thread in self.stop_accepting() {
            // The thread ends by itself; the way in which it ended does not matter any more.
            let _ = thread.join();
        }
    }
}

/// Locks `mutex`, also after a panic: the holders of these locks cannot leave the data half changed.
pub(crate) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run_jobs(
    connection: &Connection,
    begin: TransactionMode,
    work: &Mutex<Receiver<Box<dyn DatabaseJob>>>,
    most: usize,
    after_commit: impl Fn(&Connection),
) {
    loop {
        // The lock must be released before the work begins, or the reading threads would work one after the other.
        let batch = next_batch(&lock_unpoisoned(work), most);
        let Some(batch) = batch else { return };
        let (alone, together): (Vec<_>, Vec<_>) = batch.into_iter().partition(|job| job.runs_alone());
        if !together.is_empty() {
            commit_together(connection, begin, together);
            after_commit(connection);
        }
        for job in alone {
            run_alone(connection, job);
        }
    }
}

/// Waits for an operation and takes those that are waiting by then, at most `most`. `None`: the channel is closed.
fn next_batch(work: &Receiver<Box<dyn DatabaseJob>>, most: usize) -> Option<Vec<Box<dyn DatabaseJob>>> {
    let first = work.recv().ok()?;
    Some(
        std::iter::once(first)
            .chain(work.try_iter().take(most - 1))
            .collect(),
    )
}
