use crate::clock::Clock;
use crate::config_cache::ConfigCache;
use crate::database_threads::{DatabaseThreads, Urgency};
use crate::db_error::DbResult;
use crate::folder::OpenError;
use crate::intake_log::IntakeLog;
use crate::job::{DatabaseJob, JobAnswer, TransactionMode, commit_together, create_job, create_lone_job};
use crate::lookups::LookupConnections;
use crate::queue::{HandledMessage, Receipt, RoundRobin};
use crate::stored_files::{FILE, PAYLOAD, StoredFiles};
use crate::threads::lock_unpoisoned;
use crate::typing_memory::TypingMemory;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::identity::IdentityKey;
use recado_domain::millis;
use recado_domain::published_event::DEFAULT_EVENT_RETENTION;
use recado_ports::ports::{DiskSpace, PortResult};
use recado_ports::records::KINDS;
use recado_ports::table::Kind;
use rusqlite::Connection;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::Notify;

mod closing;
mod event_log;
mod left_out;
mod memory_databases;
mod opening;
#[cfg(feature = "test-access")]
mod test_access;
mod waiting_intake;

pub use event_log::EventReader;
#[cfg(feature = "test-access")]
pub use test_access::StoreCopy;

/// The number of lists and strong reads that may run at once.
const READERS: usize = 3;

/// The store and the queues of one machine. Clones share one database.
///
/// Implements every store port of `recado-ports`, and `Queues`; its own methods are the workers' side of the queues.
/// An operation that has begun is finished even if its future is dropped.
#[derive(Debug, Clone)]
pub struct Embedded {
    pub(crate) inner: Arc<EmbeddedInner>,
    /// The queue message that the caller handles; see [`Self::for_message`].
    handled: Option<Arc<HandledMessage>>,
}

/// The state that the clones of a store share.
#[derive(Debug)]
pub(crate) struct EmbeddedInner {
    access: DatabaseAccess,
    clock: Clock,
    payloads: Arc<StoredFiles>,
    files: Arc<StoredFiles>,
    /// Notified when a message may have become receivable; one for each queue, in the order of [`QueueName::ALL`].
    wakers: QueueWakers,
    pub(crate) round_robin: Arc<RoundRobin>,
    pub(crate) configs: ConfigCache,
    /// The identity key. It never changes, so it is read once.
    pub(crate) identity: OnceLock<IdentityKey>,
    /// The signs of contacts' typing.
    pub(crate) typing: TypingMemory,
    /// The data folder; `None` in memory.
    folder: Option<PathBuf>,
    /// Number of free bytes below which the disk counts as full.
    least_free: AtomicU64,
    /// Notified after each commit that may have published events; one for each [`EventReader`].
    event_wakers: [Arc<Notify>; 2],
    /// Time for which published events are kept, in milliseconds.
    event_retention: AtomicI64,
    /// The kinds of records that the table knows.
    kinds: Mutex<&'static [Kind]>,
    /// `true` if the logs of SQLite may hold what a webhook brought and nobody keeps.
    holds_left_out: AtomicBool,
}

/// What the workers of each queue wait for, in the order of [`QueueName::ALL`].
type QueueWakers = [Arc<Notify>; 3];

fn new_wakers() -> QueueWakers {
    QueueName::ALL.map(|_| Arc::new(Notify::new()))
}

/// The way in which operations reach the database.
#[derive(Debug)]
enum DatabaseAccess {
    /// Threads run the operations. (Readers first: dropped first, so that the writer's connection is the last and
    /// tidies the log up.)
    Threads {
        /// The connections over which callers read themselves.
        lookups: LookupConnections,
        /// The threads that read.
        readers: DatabaseThreads,
        /// The log that takes new events in.
        intake: IntakeLog,
        /// The thread that writes.
        writer: DatabaseThreads,
    },
    /// The caller runs the operation itself.
    Inline(Mutex<Connection>),
}

/// The way of an operation to the database.
#[derive(Debug, Clone, Copy)]
enum JobKind {
    /// The thread that writes.
    Write(Urgency),
    /// A thread that reads.
    Read,
    /// The caller's own thread, if a connection is free.
    Lookup,
}

impl JobKind {
    fn transaction_mode(self) -> TransactionMode {
        match self {
            Self::Write(_) => TransactionMode::Write,
            Self::Read | Self::Lookup => TransactionMode::Read,
        }
    }
}

impl Embedded {
    /// Opens a store without files and threads, for simulations and tests. Each operation runs when its future is first
    /// polled.
    pub fn in_memory(clock: Clock) -> Result<Self, OpenError> {
        let front = DatabaseAccess::Inline(Mutex::new(memory_databases::take_database()?));
        Ok(Self::new(
            front,
            clock,
            (StoredFiles::in_memory(PAYLOAD), StoredFiles::in_memory(FILE)),
            None,
            new_wakers(),
        ))
    }

    fn new(
        front: DatabaseAccess,
        clock: Clock,
        (payloads, files): (StoredFiles, StoredFiles),
        folder: Option<PathBuf>,
        wakers: QueueWakers,
    ) -> Self {
        Self {
            handled: None,
            inner: Arc::new(EmbeddedInner {
                access: front,
                clock,
                payloads: Arc::new(payloads),
                files: Arc::new(files),
                wakers,
                round_robin: Arc::default(),
                configs: ConfigCache::default(),
                identity: OnceLock::new(),
                typing: TypingMemory::default(),
                folder,
                least_free: AtomicU64::new(0),
                event_wakers: Default::default(),
                event_retention: AtomicI64::new(millis::to_millis(DEFAULT_EVENT_RETENTION)),
                kinds: Mutex::new(&KINDS[..]),
                // The process before may have ended before it truncated them.
                holds_left_out: AtomicBool::new(true),
            }),
        }
    }

    /// Sets the number of free bytes below which the disk counts as full.
    pub fn set_least_free(&self, bytes: u64) {
        self.inner.least_free.store(bytes, Ordering::Relaxed);
    }

    /// Measures the space on the disk of the data folder, as far as this user may fill it. `None`: the database is in memory.
    pub(crate) fn measure_disk_space(&self) -> std::io::Result<Option<DiskSpace>> {
        let Some(folder) = &self.inner.folder else {
            return Ok(None);
        };
        let found = rustix::fs::statvfs(folder)?;
        Ok(Some(DiskSpace {
            free: found.f_bavail.saturating_mul(found.f_frsize),
            least: self.inner.least_free.load(Ordering::Relaxed),
        }))
    }

    /// Returns the same store for the worker that handles the queue message of `receipt`. What is joined with its
    /// acknowledgement (`Queues::commit_step`) deletes the message in the same transaction.
    #[must_use]
    pub fn for_message(&self, receipt: &Receipt) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            handled: Some(Arc::new(HandledMessage::new(receipt))),
        }
    }

    /// Returns whether the queue message that the caller handles was acknowledged by such a transaction.
    pub fn has_acknowledged(&self) -> bool {
        self.handled_message()
            .is_some_and(|handled| handled.is_acknowledged())
    }

    /// Sets the kinds of records that the table knows: tests have kinds of their own.
    #[must_use]
    pub fn with_kinds(self, kinds: &'static [Kind]) -> Self {
        *lock_unpoisoned(&self.inner.kinds) = kinds;
        self
    }

    /// Returns the kinds of records that the table knows.
    pub(crate) fn known_kinds(&self) -> &'static [Kind] {
        *lock_unpoisoned(&self.inner.kinds)
    }

    pub(crate) fn handled_message(&self) -> Option<&Arc<HandledMessage>> {
        self.handled.as_ref()
    }

    pub(crate) fn current_time(&self) -> Timestamp {
        self.inner.clock.now()
    }

    pub(crate) fn payload_store(&self) -> Arc<StoredFiles> {
        Arc::clone(&self.inner.payloads)
    }

    pub(crate) fn file_store(&self) -> Arc<StoredFiles> {
        Arc::clone(&self.inner.files)
    }

    pub(crate) fn queue_waker(&self, queue: QueueName) -> &Arc<Notify> {
        let [inbound, turns, outbound] = &self.inner.wakers;
        match queue {
            QueueName::Inbound => inbound,
            QueueName::Turns => turns,
            QueueName::Outbound => outbound,
        }
    }

    /// Runs `work` in a transaction that may write, and returns once its changes are on the disk.
    pub(crate) fn run_write<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> impl Future<Output = PortResult<T>> + Send {
        self.write_and_wake(Urgency::Ordinary, self.wakers_of_write(&[]), what, work)
    }

    /// Runs `work` as [`Self::run_write`] does, but before what is not urgent: a provider waits for its acknowledgement. With a
    /// `queue`, wakes the workers that wait for it.
    pub(crate) fn run_acknowledged_write<T: Send + 'static>(
        &self,
        queue: Option<QueueName>,
        what: &'static str,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> impl Future<Output = PortResult<T>> + Send {
        let wakes = self.wakers_of_write(queue.as_slice());
        self.write_and_wake(Urgency::Acknowledgement, wakes, what, work)
    }

    /// Runs `work` as [`Self::run_write`] does, and wakes the workers that wait for `queue`.
    pub(crate) fn run_queue_write<T: Send + 'static>(
        &self,
        queue: QueueName,
        what: &'static str,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> impl Future<Output = PortResult<T>> + Send {
        self.write_and_wake(Urgency::Ordinary, self.wakers_of_write(&[queue]), what, work)
    }

    /// Runs `work` as [`Self::run_write`] does, and wakes the workers that wait for `queues`.
    pub(crate) fn run_queues_write<T: Send + 'static>(
        &self,
        queues: &[QueueName],
        what: &'static str,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> impl Future<Output = PortResult<T>> + Send {
        self.write_and_wake(Urgency::Ordinary, self.wakers_of_write(queues), what, work)
    }

    /// Runs `work` in a transaction that may write, and then notifies `wakes`.
    ///
    /// The operation is boxed before there is a future: a future that held it would be as large as its rows, and with it every
    /// use case.
    fn write_and_wake<T: Send + 'static>(
        &self,
        urgency: Urgency,
        wakes: Vec<Arc<Notify>>,
        what: &'static str,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> impl Future<Output = PortResult<T>> + Send {
        let (job, answer) = create_job(work, wakes);
        self.run_job(JobKind::Write(urgency), what, job, answer)
    }

    /// Returns what is notified of a write: who waits for `queues`, and who waits for published events.
    fn wakers_of_write(&self, queues: &[QueueName]) -> Vec<Arc<Notify>> {
        let of_queues = queues.iter().map(|queue| self.queue_waker(*queue));
        of_queues
            .chain(&self.inner.event_wakers)
            .map(Arc::clone)
            .collect()
    }

    /// Runs a job where its kind belongs, and waits for its result. Each type of result has a copy of this alone.
    async fn run_job<T>(
        &self,
        kind: JobKind,
        what: &'static str,
        job: Box<DatabaseJob>,
        answer: JobAnswer<T>,
    ) -> PortResult<T> {
        self.submit_job(kind, job);
        let outcome = answer.receive().await;
        outcome.map_err(|fault| fault.into_port_error(what))
    }

    /// Runs a job where its kind belongs, or hands it to the threads there.
    fn submit_job(&self, kind: JobKind, job: Box<DatabaseJob>) {
        match (&self.inner.access, kind) {
            (DatabaseAccess::Inline(connection), _) => {
                commit_together(&lock_unpoisoned(connection), kind.transaction_mode(), vec![job]);
            }
            (DatabaseAccess::Threads { writer, .. }, JobKind::Write(urgency)) => {
                writer.queue.submit_job(job, urgency);
            }
            (DatabaseAccess::Threads { readers, .. }, JobKind::Read) => {
                readers.queue.submit_job(job, Urgency::Ordinary);
            }
            (DatabaseAccess::Threads { lookups, readers, .. }, JobKind::Lookup) => {
                if let Some(job) = lookups.run_if_one_is_free(job) {
                    readers.queue.submit_job(job, Urgency::Ordinary);
                }
            }
        }
    }

    /// Runs `work` on one consistent state of the database, which contains every write acknowledged before.
    pub(crate) fn run_read<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> impl Future<Output = PortResult<T>> + Send {
        let (job, answer) = create_job(work, Vec::new());
        self.run_job(JobKind::Read, what, job, answer)
    }

    /// Runs `work` as [`Self::run_read`] does, but on the caller's thread if a connection is free. `work` reads a few records by
    /// their keys, so that the thread is not held up.
    pub(crate) fn run_lookup<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    ) -> impl Future<Output = PortResult<T>> + Send {
        let (job, answer) = create_job(work, Vec::new());
        self.run_job(JobKind::Lookup, what, job, answer)
    }

    /// Runs `work` on the writing thread outside of any transaction. Other writes wait meanwhile. In memory nothing is
    /// done: there are no files.
    pub(crate) async fn run_alone(
        &self,
        what: &'static str,
        work: impl FnMut(&Connection) -> DbResult<()> + Send + 'static,
    ) -> PortResult<()> {
        let DatabaseAccess::Threads { writer, .. } = &self.inner.access else {
            return Ok(());
        };
        let (task, answer) = create_lone_job(work);
        writer.queue.submit_job(task, Urgency::Ordinary);
        let outcome = answer.receive().await;
        outcome.map_err(|fault| fault.into_port_error(what))
    }
}

#[cfg(test)]
pub(crate) mod tests;
