use crate::checkpoint::Checkpoints;
use crate::folder::OpenError;
use crate::job::{DatabaseJob, TransactionMode, commit_together, run_alone};
use crate::threads::{lock_unpoisoned, spawn_thread, yield_to_acknowledgements};
use rusqlite::Connection;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

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

/// The operations that wait for a thread.
#[derive(Default)]
struct WaitingJobs {
    acknowledgements: VecDeque<Box<DatabaseJob>>,
    ordinary: VecDeque<Box<DatabaseJob>>,
    /// No more operations are accepted.
    closed: bool,
    /// Number of threads that sleep until there is an operation.
    sleeping: usize,
    /// Number of threads that have not ended.
    threads: usize,
}

impl fmt::Debug for WaitingJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = (self.acknowledgements.len(), self.ordinary.len());
        write!(f, "WaitingJobs({waiting:?})")
    }
}

/// The queue between callers and threads. Only a thread that sleeps is woken: to wake one costs more than to hand over.
#[derive(Debug, Default)]
pub(crate) struct JobQueue {
    waiting: Mutex<WaitingJobs>,
    came: Condvar,
}

impl JobQueue {
    /// Hands an operation to the threads, as long as they accept any.
    pub(crate) fn submit_job(&self, job: Box<DatabaseJob>, urgency: Urgency) {
        let mut waiting = lock_unpoisoned(&self.waiting);
        if waiting.closed {
            return;
        }
        match urgency {
            Urgency::Acknowledgement => waiting.acknowledgements.push_back(job),
            Urgency::Ordinary => waiting.ordinary.push_back(job),
        }
        let is_thread_asleep = waiting.sleeping > 0;
        drop(waiting);
        if is_thread_asleep {
            self.came.notify_one();
        }
    }

    /// Waits for an operation and takes those that are waiting by then: acknowledgements, and at most `most` others. `None`:
    /// there are no more, and none will come.
    fn take_next_batch(&self, most: usize) -> Option<Vec<Box<DatabaseJob>>> {
        let mut waiting = lock_unpoisoned(&self.waiting);
        while waiting.acknowledgements.is_empty() && waiting.ordinary.is_empty() {
            if waiting.closed {
                return None;
            }
            waiting.sleeping += 1;
            waiting = self.came.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            waiting.sleeping -= 1;
        }
        let urgent = waiting
            .acknowledgements
            .len()
            .min(ACKNOWLEDGEMENTS_PER_COMMIT_MAX);
        let most = if urgent == 0 {
            most
        } else {
            most.min(JOBS_BESIDE_ACKNOWLEDGEMENTS_MAX)
        };
        let others = waiting.ordinary.len().min(most);
        let mut batch: Vec<_> = waiting.acknowledgements.drain(..urgent).collect();
        batch.extend(waiting.ordinary.drain(..others));
        Some(batch)
    }

    fn close_for_new_jobs(&self) {
        lock_unpoisoned(&self.waiting).closed = true;
        self.came.notify_all();
    }
}

/// A thread that takes operations. When the last one ends, what still waits is dropped, also after a panic: then the callers
/// learn that nobody will answer.
struct JobConsumer(Arc<JobQueue>);

impl JobConsumer {
    fn register_thread(queue: &Arc<JobQueue>) -> Self {
        lock_unpoisoned(&queue.waiting).threads += 1;
        Self(Arc::clone(queue))
    }
}

impl Drop for JobConsumer {
    fn drop(&mut self) {
        let mut waiting = lock_unpoisoned(&self.0.waiting);
        waiting.threads -= 1;
        if waiting.threads == 0 {
            waiting.closed = true;
            let left = (
                std::mem::take(&mut waiting.acknowledgements),
                std::mem::take(&mut waiting.ordinary),
            );
            drop(waiting);
            drop(left);
        }
    }
}

/// Threads that each own a database connection and take operations from the same queue.
#[derive(Debug)]
pub(crate) struct DatabaseThreads {
    /// The queue by which operations come to the threads. After [`Self::stop_accepting`], and after all threads have panicked, an
    /// operation is dropped, and with it the channel of its result.
    pub(crate) queue: Arc<JobQueue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl DatabaseThreads {
    /// Starts the one thread that writes over `connection`, mostly operations of this `urgency`. It calls `after_commit`, which is
    /// dropped after the last commit.
    pub(crate) fn start_writer(
        urgency: Urgency,
        connection: Connection,
        checkpoints: Checkpoints,
        after_commit: impl Fn() + Send + 'static,
    ) -> Result<Self, OpenError> {
        let queue = Arc::<JobQueue>::default();
        let consumer = JobConsumer::register_thread(&queue);
        let serve = move || {
            if urgency == Urgency::Ordinary {
                yield_to_acknowledgements();
            }
            run_jobs(
                &connection,
                TransactionMode::Write,
                &consumer,
                JOBS_PER_COMMIT_MAX,
                |connection| {
                    after_commit();
                    checkpoints.after_commit(connection);
                },
            );
            // The last connection tidies the log up.
            drop(checkpoints);
            drop(connection);
            drop(after_commit);
        };
        let thread = spawn_thread("recado-write", serve)?;
        Ok(Self {
            queue,
            threads: Mutex::new(vec![thread]),
        })
    }

    /// Starts a reading thread for each of the connections.
    pub(crate) fn start_readers(connections: Vec<Connection>) -> Result<Self, OpenError> {
        let readers = Self {
            queue: Arc::default(),
            threads: Mutex::default(),
        };
        for connection in connections {
            let consumer = JobConsumer::register_thread(&readers.queue);
            let serve = move || run_jobs(&connection, TransactionMode::Read, &consumer, 1, |_| ());
            let thread = spawn_thread("recado-read", serve)?;
            lock_unpoisoned(&readers.threads).push(thread);
        }
        Ok(readers)
    }

    /// Accepts no more operations. The threads end when they have finished what they have. Returns the threads, to be
    /// waited for.
    pub(crate) fn stop_accepting(&self) -> Vec<JoinHandle<()>> {
        self.queue.close_for_new_jobs();
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

fn run_jobs(
    connection: &Connection,
    begin: TransactionMode,
    consumer: &JobConsumer,
    most: usize,
    after_commit: impl Fn(&Connection),
) {
    while let Some(batch) = consumer.0.take_next_batch(most) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db_error::DbError;
    use crate::job::create_job;
    use std::sync::mpsc::{Sender, channel};

    /// An operation that records its name when it runs.
    fn named(name: &'static str, ran: &Sender<&'static str>) -> Box<DatabaseJob> {
        let ran = ran.clone();
        let work = move |_: &Connection| {
            let _ = ran.send(name);
            Ok(())
        };
        create_job(work, Vec::new()).0
    }

    /// Threads that are never started.
    fn idle() -> DatabaseThreads {
        DatabaseThreads {
            queue: Arc::default(),
            threads: Mutex::default(),
        }
    }

    fn run_next(threads: &DatabaseThreads) -> bool {
        let connection = Connection::open_in_memory().unwrap();
        let batch = threads.queue.take_next_batch(JOBS_PER_COMMIT_MAX);
        let came = batch.is_some();
        commit_together(&connection, TransactionMode::Write, batch.unwrap_or_default());
        came
    }

    #[test]
    fn acknowledgements_go_first_and_take_a_few_others_along() {
        let threads = idle();
        let (queue, (ran, names)) = (&threads.queue, channel());
        for _ in 0..100 {
            queue.submit_job(named("other", &ran), Urgency::Ordinary);
        }
        for _ in 0..200 {
            queue.submit_job(named("acknowledgement", &ran), Urgency::Acknowledgement);
        }
        let mut commits = Vec::new();
        for _ in 0..4 {
            assert!(run_next(&threads));
            let names: Vec<_> = names.try_iter().collect();
            let others = names.iter().filter(|name| **name == "other").count();
            assert!(names.is_sorted(), "acknowledgements first");
            commits.push((names.len() - others, others));
        }
        assert_eq!(commits, [(192, 16), (8, 16), (0, 64), (0, 4)]);
    }

    #[test]
    fn everything_is_taken_before_the_end() {
        let threads = idle();
        let (queue, (ran, names)) = (&threads.queue, channel());
        for _ in 0..500 {
            queue.submit_job(named("acknowledgement", &ran), Urgency::Acknowledgement);
            queue.submit_job(named("other", &ran), Urgency::Ordinary);
        }
        threads.stop_accepting();
        queue.submit_job(named("late", &ran), Urgency::Acknowledgement);
        while run_next(&threads) {}
        let names: Vec<_> = names.try_iter().collect();
        assert_eq!((names.len(), names.contains(&"late")), (1000, false));
    }

    #[test]
    fn a_sleeping_thread_is_woken_and_when_the_last_has_ended_nobody_waits() {
        let threads = idle();
        let (ran, names) = channel();
        let consumer = JobConsumer::register_thread(&threads.queue);
        let thread = std::thread::spawn(move || {
            let connection = Connection::open_in_memory().unwrap();
            let batch = consumer.0.take_next_batch(1).unwrap_or_default();
            commit_together(&connection, TransactionMode::Write, batch);
            drop(consumer);
        });
        while lock_unpoisoned(&threads.queue.waiting).sleeping == 0 {
            std::thread::yield_now();
        }
        threads.queue.submit_job(named("first", &ran), Urgency::Ordinary);
        assert_eq!(names.recv(), Ok("first"));
        thread.join().unwrap();
        let (job, answer) = create_job(|_| Ok(()), Vec::new());
        threads.queue.submit_job(job, Urgency::Ordinary);
        assert!(
            matches!(answer.receive_blocking(), Err(DbError::Closed)),
            "the operation is dropped"
        );
    }
}
