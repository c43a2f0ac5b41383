use crate::folder::OpenError;
use crate::job::{DatabaseJob, TransactionMode, commit_together};
use rusqlite::Connection;
use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// How many operations share a commit at most: enough that an `fsync` is spread thin, few enough that the first of them
/// does not wait long.
const JOBS_PER_COMMIT_MAX: usize = 64;

/// Threads that each own a connection and take operations from one channel.
#[derive(Debug)]
pub(crate) struct DatabaseThreads {
    /// Absent once it is dismissed.
    work: Mutex<Option<Sender<Box<dyn DatabaseJob>>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl DatabaseThreads {
    /// The one thread that writes. It holds `lock` until its last commit.
    pub(crate) fn start_writer(connection: Connection, lock: File) -> Result<Self, OpenError> {
        let (sender, receiver) = channel();
        let serve = move || {
            run_jobs(
                &connection,
                TransactionMode::Write,
                &Mutex::new(receiver),
                JOBS_PER_COMMIT_MAX,
            );
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

    /// A thread for each of the connections, to read.
    pub(crate) fn start_readers(connections: Vec<Connection>) -> Result<Self, OpenError> {
        let (sender, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let crew = Self {
            work: Mutex::new(Some(sender)),
            threads: Mutex::new(Vec::new()),
        };
        for connection in connections {
            let receiver = Arc::clone(&receiver);
            let serve = move || run_jobs(&connection, TransactionMode::Read, &receiver, 1);
            let thread = Builder::new()
                .name("recado-read".to_owned())
                .spawn(serve)
                .map_err(OpenError::Thread)?;
            lock_unpoisoned(&crew.threads).push(thread);
        }
        Ok(crew)
    }

    /// Hands an operation over. A crew that is dismissed drops it, and with it the channel of its answer.
    pub(crate) fn submit_job(&self, job: Box<dyn DatabaseJob>) {
        if let Some(work) = lock_unpoisoned(&self.work).as_ref() {
            // A crew without threads can only have panicked outside an operation; the answer's channel tells.
            let _ = work.send(job);
        }
    }

    /// Takes no more operations; the threads end when they have done what they have. Returns them, to be waited for.
    pub(crate) fn stop_accepting(&self) -> Vec<JoinHandle<()>> {
        lock_unpoisoned(&self.work).take();
        std::mem::take(&mut *lock_unpoisoned(&self.threads))
    }
}

impl Drop for DatabaseThreads {
    fn drop(&mut self) {
        for thread in self.stop_accepting() {
            // It ends by itself; how does not matter any more.
            let _ = thread.join();
        }
    }
}

/// A lock whose holder cannot leave things half done, so that a panic there does no harm.
pub(crate) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run_jobs(
    connection: &Connection,
    begin: TransactionMode,
    work: &Mutex<Receiver<Box<dyn DatabaseJob>>>,
    most: usize,
) {
    loop {
        // The lock must be free again before the work begins, or readers would take turns.
        let batch = next_batch(&lock_unpoisoned(work), most);
        let Some(batch) = batch else { return };
        commit_together(connection, begin, batch);
    }
}

/// Waits for an operation and takes what else is there by then. `None`: there will be no more.
fn next_batch(work: &Receiver<Box<dyn DatabaseJob>>, most: usize) -> Option<Vec<Box<dyn DatabaseJob>>> {
    let first = work.recv().ok()?;
    Some(
        std::iter::once(first)
            .chain(work.try_iter().take(most - 1))
            .collect(),
    )
}
