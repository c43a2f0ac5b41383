//! The intake log: a file of its own that takes the events of webhooks in.
//!
//! An acknowledgement waits for one commit. In a file that holds only new events this commit is small, and its thread does
//! nothing else. A second thread, the mover, then records and enqueues the events in the database, in their order and many
//! in one transaction. That transaction also notes the number of the last one, so that no event is moved twice after a crash.

mod incoming_event;
mod known_events;
mod mover;

use crate::checkpoint::Checkpoints;
use crate::clock::Clock;
use crate::database_threads::{DatabaseThreads, JobQueue, Urgency};
use crate::db_error::{DbError, DbResult};
use crate::folder::{IntakeFiles, OpenError};
use crate::job::{create_job, create_lone_job};
use crate::sql_records::{execute_sql, query_first_row};
use crate::threads::lock_unpoisoned;
pub(crate) use incoming_event::IncomingEvent;
use jiff::Timestamp;
use known_events::KnownEvents;
pub(crate) use mover::last_moved;
use mover::{Mover, MoverSignal, delete_moved, start_mover};
use recado_domain::ids::EventId;
use rusqlite::{Connection, OptionalExtension};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::{Notify, watch};

/// The name under which the log keeps the time of the last write that proves that it accepts writes. No table has it.
const PROOF: &str = "last_proof";

/// The log, its writing thread and the mover.
#[derive(Debug)]
pub(crate) struct IntakeLog {
    writer: DatabaseThreads,
    signal: Arc<MoverSignal>,
    /// The mover, and the thread that reads which events are known.
    threads: Mutex<Vec<JoinHandle<()>>>,
    known: Arc<KnownEvents>,
    /// The number of the last event that a caller knows to be in the log.
    appended: AtomicI64,
    /// The number of the last event that was moved.
    moved: watch::Receiver<i64>,
}

impl IntakeLog {
    /// Starts the threads of the log. The events behind number `moved` go on to the thread `records`, which wakes `inbound`. Those
    /// that were moved are read over `stored`, a connection to the database.
    pub(crate) fn start(
        files: IntakeFiles,
        (moved, stored): (i64, Connection),
        records: Arc<JobQueue>,
        inbound: Arc<Notify>,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let appended = prepare_numbers(&files.writer, moved)?;
        let signal = Arc::<MoverSignal>::default();
        let checkpoints = Checkpoints::start_thread(files.checkpointer)?;
        let told = Arc::clone(&signal);
        let tell_mover = move || told.tell();
        let urgency = Urgency::Acknowledgement;
        let writer = DatabaseThreads::start_writer(urgency, files.writer, checkpoints, tell_mover)?;
        let (progress, moved) = watch::channel(moved);
        let (known, reading) = KnownEvents::read_in_background(stored)?;
        let moving = start_mover(Mover {
            log: files.reader,
            log_writer: Arc::clone(&writer.queue),
            records,
            inbound,
            signal: Arc::clone(&signal),
            known: Arc::clone(&known),
            progress,
            clock,
        })?;
        Ok(Self {
            writer,
            signal,
            threads: Mutex::new(vec![moving, reading]),
            known,
            appended: AtomicI64::new(appended),
            moved,
        })
    }

    /// Appends `events`. Returns for each whether it is new to the log.
    pub(crate) async fn append_events(&self, events: Vec<IncomingEvent>) -> DbResult<Vec<bool>> {
        for event in &events {
            self.known.note_event(event.id());
        }
        let work = move |db: &Connection| {
            let mut new = Vec::with_capacity(events.len());
            for event in &events {
                new.push(event.append_to_log(db)?);
            }
            // The number of an older event, if none is new: waiting for that is not wrong.
            Ok((new, db.last_insert_rowid()))
        };
        let (job, answer) = create_job(work, Vec::new());
        self.writer.queue.submit_job(job, Urgency::Acknowledgement);
        let (new, last) = answer.receive().await?;
        self.appended.fetch_max(last, Ordering::Relaxed);
        Ok(new)
    }

    /// Returns `false` if the database certainly does not know the event.
    pub(crate) fn may_know(&self, id: &EventId) -> bool {
        self.known.may_know(id.as_str())
    }

    /// Returns the number of the last event that a caller knows to be in the log.
    pub(crate) fn last_appended(&self) -> i64 {
        self.appended.load(Ordering::Relaxed)
    }

    /// Returns whether an event is known to wait for the mover.
    pub(crate) fn has_waiting(&self) -> bool {
        self.last_appended() > *self.moved.borrow()
    }

    /// Returns when the oldest event came that waits for the mover; `None` if none is known to wait.
    pub(crate) async fn find_oldest_waiting(&self) -> DbResult<Option<Timestamp>> {
        if !self.has_waiting() {
            return Ok(None);
        }
        let moved = *self.moved.borrow();
        let (job, answer) = create_job(move |db| select_oldest(db, moved), Vec::new());
        self.writer.queue.submit_job(job, Urgency::Ordinary);
        answer.receive().await
    }

    /// Proves that the log accepts writes: returns once `now` is on its disk.
    pub(crate) async fn prove_write(&self, now: Timestamp) -> DbResult<()> {
        let (job, answer) = create_job(move |db| note_proof(db, now), Vec::new());
        self.writer.queue.submit_job(job, Urgency::Ordinary);
        answer.receive().await
    }

    /// Waits until what callers know to be in the log is in the database.
    pub(crate) async fn wait_until_moved(&self) -> DbResult<()> {
        let last = self.last_appended();
        let mut moved = self.moved.clone();
        let reached = moved.wait_for(|moved| *moved >= last).await;
        reached.map(drop).map_err(|_| DbError::Closed)
    }

    /// Deletes what was moved, and runs `rewrite` on the file outside of any transaction.
    pub(crate) async fn rewrite_file(
        &self,
        mut rewrite: impl FnMut(&Connection) -> DbResult<()> + Send + 'static,
    ) -> DbResult<()> {
        self.wait_until_moved().await?;
        let moved = *self.moved.borrow();
        let (job, answer) = create_lone_job(move |db| {
            delete_moved(db, moved)?;
            rewrite(db)
        });
        self.writer.queue.submit_job(job, Urgency::Ordinary);
        answer.receive().await
    }

    /// Accepts no more events. What is in the log stays for the next start. Returns the threads, to be waited for.
    pub(crate) fn stop_accepting(&self) -> Vec<JoinHandle<()>> {
        self.signal.stop();
        self.known.close();
        let mut threads = std::mem::take(&mut *lock_unpoisoned(&self.threads));
        threads.extend(self.writer.stop_accepting());
        threads
    }
}

impl Drop for IntakeLog {
    fn drop(&mut self) {
        for thread in self.stop_accepting() {
            // The thread ends by itself; the way in which it ended does not matter any more.
            let _ = thread.join();
        }
    }
}

/// Makes the log go on behind `moved`, also if the file is new beside an older database. Returns the number of its last event;
/// `moved` if all of them were moved. (The table's own sequence may be ahead: a repeat takes a number, too.)
fn prepare_numbers(db: &Connection, moved: i64) -> Result<i64, OpenError> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'intake'";
    let taken: Option<i64> = db.query_row(sql, [], |row| row.get(0)).optional()?;
    if taken.is_none() {
        let sql = "INSERT INTO sqlite_sequence (name, seq) VALUES ('intake', ?1)";
        db.execute(sql, [moved])?;
    } else if taken < Some(moved) {
        let sql = "UPDATE sqlite_sequence SET seq = ?1 WHERE name = 'intake'";
        db.execute(sql, [moved])?;
    }
    let sql = "SELECT COALESCE(MAX(seq), 0) FROM intake";
    let last: i64 = db.query_row(sql, [], |row| row.get(0))?;
    Ok(last.max(moved))
}

/// Writes a time beside the number of the last event. SQLite would leave out a write that changes nothing.
fn note_proof(db: &Connection, now: Timestamp) -> DbResult<()> {
    let values = (PROOF, now.as_millisecond());
    let update = "UPDATE sqlite_sequence SET seq = ?2 WHERE name = ?1";
    if execute_sql(db, update, values)? == 0 {
        let insert = "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)";
        execute_sql(db, insert, values)?;
    }
    Ok(())
}

/// Returns when the webhook of the first event behind number `moved` came.
fn select_oldest(db: &Connection, moved: i64) -> DbResult<Option<Timestamp>> {
    let sql = "SELECT seq, id, due, payload, body, correlation, grp, owner FROM intake
        WHERE seq > ?1 ORDER BY seq LIMIT 1";
    let oldest = query_first_row(db, sql, [moved], IncomingEvent::from_log_row)?;
    Ok(oldest.and_then(|oldest| oldest.received_at()))
}

#[cfg(test)]
mod tests;
