use crate::clock::Clock;
use crate::crew::{Crew, held};
use crate::fault::Fault;
use crate::folder::{Folder, OpenError, in_memory};
use crate::job::{Begin, Task, commit_together};
use crate::payloads::Payloads;
use crate::queue::Rounds;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::identity::IdentityKey;
use recado_pipeline::ports::PortResult;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use tokio::sync::{Notify, oneshot};

/// How many lists and strong reads may run at once.
const READERS: usize = 3;

/// The store and the queues of one machine. Clones share one database.
///
/// Implements every store port of `recado-pipeline`, and `Queues`; the methods of its own are the workers' side of the
/// queues. An operation that has begun is finished even if its future is dropped.
#[derive(Debug, Clone)]
pub struct Embedded {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    front: Front,
    clock: Clock,
    payloads: Arc<Payloads>,
    /// Notified when something may have become receivable, in the order of [`QueueName::ALL`].
    wakers: [Arc<Notify>; 3],
    rounds: Arc<Rounds>,
    /// It never changes, so that it is read once.
    identity: OnceLock<IdentityKey>,
}

/// How an operation reaches the database.
#[derive(Debug)]
enum Front {
    /// By threads. (Readers first: dropped first, so that the writer's connection is the last and tidies the log up.)
    Threads {
        /// Those that read.
        readers: Crew,
        /// The one that writes.
        writer: Crew,
    },
    /// At once, by the caller.
    Inline(Mutex<Connection>),
}

impl Embedded {
    /// Opens the data folder `dir`, creating it and the database in it if need be (for the owner's eyes only), and keeps
    /// every other process from it until the last clone is dropped or [`Self::close`] returns.
    pub fn open(dir: &Path, clock: Clock) -> Result<Self, OpenError> {
        let folder = Folder::open(dir)?;
        let connection = folder.writer()?;
        let readers = (0..READERS).map(|_| folder.reader()).collect::<Result<_, _>>()?;
        let payloads = Payloads::Folder(folder.payloads());
        let front = Front::Threads {
            readers: Crew::readers(readers)?,
            writer: Crew::writer(connection, folder.into_lock())?,
        };
        Ok(Self::new(front, clock, payloads))
    }

    /// A store without a file and without threads: every operation is done where it is first polled. For simulations
    /// and tests.
    pub fn in_memory(clock: Clock) -> Result<Self, OpenError> {
        let front = Front::Inline(Mutex::new(in_memory()?));
        Ok(Self::new(
            front,
            clock,
            Payloads::Memory(Mutex::new(BTreeMap::new())),
        ))
    }

    fn new(front: Front, clock: Clock, payloads: Payloads) -> Self {
        let wakers = QueueName::ALL.map(|_| Arc::new(Notify::new()));
        Self {
            inner: Arc::new(Inner {
                front,
                clock,
                payloads: Arc::new(payloads),
                wakers,
                rounds: Arc::default(),
                identity: OnceLock::new(),
            }),
        }
    }

    /// Finishes what was begun, and gives the folder free. Every later operation is refused as unavailable. (In memory
    /// there is nothing to finish.)
    pub async fn close(&self) {
        let Front::Threads { readers, writer } = &self.inner.front else {
            return;
        };
        let mut threads = readers.dismiss();
        threads.extend(writer.dismiss());
        let (ended, all_ended) = oneshot::channel();
        let wait = move || {
            for thread in threads {
                // Whatever ended it, it has ended.
                let _ = thread.join();
            }
            let _ = ended.send(());
        };
        if let Err(error) = std::thread::Builder::new()
            .name("recado-close".to_owned())
            .spawn(wait)
        {
            tracing::error!(%error, "could not wait for the store's threads");
        }
        // An error means that the thread is gone; there is nothing left to wait for.
        let _ = all_ended.await;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    pub(crate) fn payloads(&self) -> Arc<Payloads> {
        Arc::clone(&self.inner.payloads)
    }

    pub(crate) fn waker(&self, queue: QueueName) -> &Arc<Notify> {
        let [inbound, turns, outbound] = &self.inner.wakers;
        match queue {
            QueueName::Inbound => inbound,
            QueueName::Turns => turns,
            QueueName::Outbound => outbound,
        }
    }

    pub(crate) fn identity(&self) -> &OnceLock<IdentityKey> {
        &self.inner.identity
    }

    pub(crate) fn rounds(&self) -> Arc<Rounds> {
        Arc::clone(&self.inner.rounds)
    }

    /// Does `work` in a transaction that may write, and returns once it is on the disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> PortResult<T> {
        self.call(Begin::Write, None, what, work).await
    }

    /// As [`Self::write`], and tells whoever waits for `queue`.
    pub(crate) async fn write_queue<T: Send + 'static>(
        &self,
        queue: QueueName,
        what: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> PortResult<T> {
        self.call(Begin::Write, Some(Arc::clone(self.waker(queue))), what, work)
            .await
    }

    /// Does `work` on one state of the database, which holds every write acknowledged before.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> PortResult<T> {
        self.call(Begin::Read, None, what, work).await
    }

    async fn call<T: Send + 'static>(
        &self,
        begin: Begin,
        wake: Option<Arc<Notify>>,
        what: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> PortResult<T> {
        let (task, answer) = Task::new(work, wake);
        match (&self.inner.front, begin) {
            (Front::Inline(connection), _) => commit_together(&held(connection), begin, vec![Box::new(task)]),
            (Front::Threads { readers, .. }, Begin::Read) => readers.hand(Box::new(task)),
            (Front::Threads { writer, .. }, Begin::Write) => writer.hand(Box::new(task)),
        }
        answer
            .await
            .unwrap_or(Err(Fault::Closed))
            .map_err(|fault| fault.during(what))
    }
}

#[cfg(test)]
pub(crate) mod tests;
