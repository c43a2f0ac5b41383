use crate::checkpoint::Checkpoints;
use crate::job::{DatabaseJob, TransactionMode, commit_together, run_alone};
use crate::open_error::OpenError;
use rusqlite::Connection;
use std::fs::File;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// The number of ordinary operations that share a commit at most: enough to share the cost of an `fsync`, few enough that the
/// first operation does not wait long.
const JOBS_PER_COMMIT_MAX: usize = 64;

/// The number of acknowledgements that share a commit at most.
const ACKNOWLEDGEMENTS_PER_COMMIT_MAX: usize = 192;

/// The number of ordinary operations in a commit with acknowledgements, so that neither kind holds the other up.
const JOBS_BESIDE_ACKNOWLEDGEMENTS_MAX: usize = 16;

/// The urgency of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// A provider waits for its acknowledgement: goes before ordinary operations.
    Acknowledgement,
    /// Everything else, in its order.
    Ordinary,
}

/// What the channel of the threads carries.
enum Handed {
    Job(Box<dyn DatabaseJob>),
    /// An operation was put into the channel of the acknowledgements.
    Acknowledgement,
}

/// The sending ends of the channels of the threads.
#[derive(Debug)]
struct JobSenders {
    jobs: Sender<Handed>,
    acknowledgements: Sender<Box<dyn DatabaseJob>>,
}

/// The receiving ends of the channels.
struct JobReceivers {
    jobs: Receiver<Handed>,
    acknowledgements: Receiver<Box<dyn DatabaseJob>>,
}

/// Threads that each own a database connection and take operations from the same channels.
#[derive(Debug)]
pub(crate) struct DatabaseThreads {
    /// The sending ends. `None` once no more operations are accepted.
    work: Mutex<Option<JobSenders>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl DatabaseThreads {
    /// Starts the one thread that writes. The thread holds `lock` until its last commit.
    pub(crate) fn start_writer(
        connection: Connection,
        checkpoints: Checkpoints,
        lock: File,
    ) -> Result<Self, OpenError> {
        let (senders, receivers) = open_channels();
        let serve = move || {
            run_jobs(
                &connection,
                TransactionMode::Write,
                &Mutex::new(receivers),
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
            work: Mutex::new(Some(senders)),
            threads: Mutex::new(vec![thread]),
        })
    }

    /// Starts a reading thread for each of the connections.
    pub(crate) fn start_readers(connections: Vec<Connection>) -> Result<Self, OpenError> {
        let (senders, receivers) = open_channels();
        let receivers = Arc::new(Mutex::new(receivers));
        let crew = Self {
            work: Mutex::new(Some(senders)),
            threads: Mutex::new(Vec::new()),
        };
        for connection in connections {
            let receivers = Arc::clone(&receivers);
            let serve = move || run_jobs(&connection, TransactionMode::Read, &receivers, 1, |_| ());
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
    pub(crate) fn submit_job(&self, job: Box<dyn DatabaseJob>, urgency: Urgency) {
        if let Some(work) = lock_unpoisoned(&self.work).as_ref() {
            // Sending fails only if all threads have panicked outside an operation. The caller learns of it from the
            // channel of its result.
            let _ = match urgency {
                Urgency::Ordinary => work.jobs.send(Handed::Job(job)).is_ok(),
                Urgency::Acknowledgement => {
                    work.acknowledgements.send(job).is_ok() && work.jobs.send(Handed::Acknowledgement).is_ok()
                }
            };
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
    work: &Mutex<JobReceivers>,
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

fn open_channels() -> (JobSenders, JobReceivers) {
    let (jobs, received_jobs) = channel();
    let (acknowledgements, received_acknowledgements) = channel();
    (
        JobSenders {
            jobs,
            acknowledgements,
        },
        JobReceivers {
            jobs: received_jobs,
            acknowledgements: received_acknowledgements,
        },
    )
}

/// Waits for an operation and takes those that are waiting by then: the acknowledgements, and at most `most` others.
/// `None`: the channels are closed.
fn next_batch(work: &JobReceivers, most: usize) -> Option<Vec<Box<dyn DatabaseJob>>> {
    let acknowledgements = || {
        work.acknowledgements
            .try_iter()
            .take(ACKNOWLEDGEMENTS_PER_COMMIT_MAX)
    };
    loop {
        let mut batch: Vec<_> = acknowledgements().collect();
        let mut first = None;
        if batch.is_empty() {
            first = into_job(work.jobs.recv().ok()?);
            batch.extend(acknowledgements());
        }
        let most = if batch.is_empty() {
            most
        } else {
            most.min(JOBS_BESIDE_ACKNOWLEDGEMENTS_MAX)
        };
        let others = first.into_iter().chain(work.jobs.try_iter().filter_map(into_job));
        batch.extend(others.take(most));
        // The acknowledgement that was announced may have been taken before.
        if !batch.is_empty() {
            return Some(batch);
        }
    }
}

fn into_job(handed: Handed) -> Option<Box<dyn DatabaseJob>> {
    match handed {
        Handed::Job(job) => Some(job),
        Handed::Acknowledgement => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::ClosureJob;

    /// An operation that records its name when it runs.
    fn named(name: &'static str, ran: &Sender<&'static str>) -> Box<dyn DatabaseJob> {
        let ran = ran.clone();
        let work = move |_: &Connection| {
            let _ = ran.send(name);
            Ok(())
        };
        let (job, _) = ClosureJob::new(work, Vec::new());
        Box::new(job)
    }

    fn hand_over(
        threads: &DatabaseThreads,
        urgency: Urgency,
        name: &'static str,
        ran: &Sender<&'static str>,
    ) {
        threads.submit_job(named(name, ran), urgency);
    }

    /// Channels without threads.
    fn idle() -> (DatabaseThreads, JobReceivers) {
        let (senders, receivers) = open_channels();
        let threads = DatabaseThreads {
            work: Mutex::new(Some(senders)),
            threads: Mutex::default(),
        };
        (threads, receivers)
    }

    fn run_next(receivers: &JobReceivers) -> bool {
        let connection = Connection::open_in_memory().unwrap();
        let batch = next_batch(receivers, JOBS_PER_COMMIT_MAX);
        let came = batch.is_some();
        commit_together(&connection, TransactionMode::Write, batch.unwrap_or_default());
        came
    }

    #[test]
    fn acknowledgements_go_first_and_take_a_few_others_along() {
        let (threads, receivers) = idle();
        let (ran, names) = channel();
        for _ in 0..100 {
            hand_over(&threads, Urgency::Ordinary, "other", &ran);
        }
        for _ in 0..200 {
            hand_over(&threads, Urgency::Acknowledgement, "acknowledgement", &ran);
        }
        let mut commits = Vec::new();
        for _ in 0..4 {
            assert!(run_next(&receivers));
            let names: Vec<_> = names.try_iter().collect();
            let others = names.iter().filter(|name| **name == "other").count();
            assert!(names.is_sorted(), "acknowledgements first");
            commits.push((names.len() - others, others));
        }
        assert_eq!(commits, [(192, 16), (8, 16), (0, 64), (0, 4)]);
    }

    #[test]
    fn everything_is_taken_before_the_end() {
        let (threads, receivers) = idle();
        let (ran, names) = channel();
        for _ in 0..500 {
            hand_over(&threads, Urgency::Acknowledgement, "acknowledgement", &ran);
            hand_over(&threads, Urgency::Ordinary, "other", &ran);
        }
        threads.stop_accepting();
        hand_over(&threads, Urgency::Acknowledgement, "late", &ran);
        while run_next(&receivers) {}
        let names: Vec<_> = names.try_iter().collect();
        assert_eq!((names.len(), names.contains(&"late")), (1000, false));
    }
}
