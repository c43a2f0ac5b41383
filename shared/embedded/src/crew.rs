use crate::folder::OpenError;
use crate::job::{Begin, Job, commit_together};
use rusqlite::Connection;
use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// How many operations share a commit at most: enough that an `fsync` is spread thin, few enough that the first of them
/// does not wait long.
const TOGETHER_MAX: usize = 64;

/// Threads that each own a connection and take operations from one channel.
#[derive(Debug)]
pub(crate) struct Crew {
    /// Absent once it is dismissed.
    work: Mutex<Option<Sender<Box<dyn Job>>>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Crew {
    /// The one thread that writes. It holds `lock` until its last commit.
    pub(crate) fn writer(connection: Connection, lock: File) -> Result<Self, OpenError> {
        let (sender, receiver) = channel();
        let serve = move || {
            serve(&connection, Begin::Write, &Mutex::new(receiver), TOGETHER_MAX);
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
    pub(crate) fn readers(connections: Vec<Connection>) -> Result<Self, OpenError> {
        let (sender, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let crew = Self {
            work: Mutex::new(Some(sender)),
            threads: Mutex::new(Vec::new()),
        };
        for connection in connections {
            let receiver = Arc::clone(&receiver);
            let serve = move || serve(&connection, Begin::Read, &receiver, 1);
            let thread = Builder::new()
                .name("recado-read".to_owned())
                .spawn(serve)
                .map_err(OpenError::Thread)?;
            held(&crew.threads).push(thread);
        }
        Ok(crew)
    }

    /// Hands an operation over. A crew that is dismissed drops it, and with it the channel of its answer.
    pub(crate) fn hand(&self, job: Box<dyn Job>) {
        if let Some(work) = held(&self.work).as_ref() {
            // A crew without threads can only have panicked outside an operation; the answer's channel tells.
            let _ = work.send(job);
        }
    }

    /// Takes no more operations; the threads end when they have done what they have. Returns them, to be waited for.
    pub(crate) fn dismiss(&self) -> Vec<JoinHandle<()>> {
        held(&self.work).take();
        std::mem::take(&mut *held(&self.threads))
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for thread in self.dismiss() {
            // It ends by itself; how does not matter any more.
            let _ = thread.join();
        }
    }
}

/// A lock whose holder cannot leave things half done, so that a panic there does no harm.
pub(crate) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(connection: &Connection, begin: Begin, work: &Mutex<Receiver<Box<dyn Job>>>, most: usize) {
    loop {
        // The lock must be free again before the work begins, or readers would take turns.
        let batch = next(&held(work), most);
        let Some(batch) = batch else { return };
        commit_together(connection, begin, batch);
    }
}

/// Waits for an operation and takes what else is there by then. `None`: there will be no more.
fn next(work: &Receiver<Box<dyn Job>>, most: usize) -> Option<Vec<Box<dyn Job>>> {
    let first = work.recv().ok()?;
    Some(
        std::iter::once(first)
            .chain(work.try_iter().take(most - 1))
            .collect(),
    )
}
