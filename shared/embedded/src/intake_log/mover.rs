//! The mover: the thread that brings the events of the log into the database.

use super::incoming_event::IncomingEvent;
use super::known_events::KnownEvents;
use crate::clock::Clock;
use crate::database_threads::{JobQueue, Urgency};
use crate::db_error::DbResult;
use crate::folder::OpenError;
use crate::installation_values::write_value;
use crate::job::{create_job, in_savepoint};
use crate::sql_records::run_sql_statement;
use crate::threads::{lock_unpoisoned, spawn_thread, yield_to_acknowledgements};
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{Notify, watch};

/// The events that one transaction moves at most.
const MOVED_AT_ONCE: usize = 256;

/// The number of moved events that are deleted together while more come.
const DELETED_AT_ONCE: i64 = 512;

/// The time without new events after which what was moved is deleted.
const IDLE: Duration = Duration::from_millis(500);

/// The time until the next try after one that failed.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// The name under which the database keeps the number of the last event that was moved.
const MOVED: &str = "intake_moved";

/// What the mover waits for.
#[derive(Debug, Default)]
pub(super) struct MoverSignal {
    state: Mutex<SignalState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct SignalState {
    came: bool,
    stopped: bool,
}

impl MoverSignal {
    /// Tells that events may have come.
    pub(super) fn tell(&self) {
        lock_unpoisoned(&self.state).came = true;
        self.changed.notify_one();
    }

    /// Ends the mover.
    pub(super) fn stop(&self) {
        lock_unpoisoned(&self.state).stopped = true;
        self.changed.notify_one();
    }

    /// Waits until events may have come, for `most` at the longest. Returns `false` once the mover shall end.
    fn wait_for_events(&self, most: Option<Duration>) -> bool {
        let mut state = lock_unpoisoned(&self.state);
        while !state.came && !state.stopped {
            let Some(most) = most else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let waited = self.changed.wait_timeout(state, most);
            let (changed, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = changed;
            if timeout.timed_out() {
                break;
            }
        }
        state.came = false;
        !state.stopped
    }

    /// Waits for `pause`. Returns `false` once the mover shall end.
    fn pause(&self, pause: Duration) -> bool {
        let state = lock_unpoisoned(&self.state);
        let waited = self
            .changed
            .wait_timeout_while(state, pause, |state| !state.stopped);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !state.stopped
    }
}

/// The mover and what it works with.
pub(super) struct Mover {
    /// Reads the log.
    pub(super) log: Connection,
    pub(super) log_writer: Arc<JobQueue>,
    /// The thread that writes the database.
    pub(super) records: Arc<JobQueue>,
    /// Notified of new messages of `inbound`.
    pub(super) inbound: Arc<Notify>,
    pub(super) signal: Arc<MoverSignal>,
    /// Told of the events that are moved: those that a start finds in the log are not known yet.
    pub(super) known: Arc<KnownEvents>,
    pub(super) progress: watch::Sender<i64>,
    pub(super) clock: Clock,
}

impl fmt::Debug for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mover")
            .field("moved", &*self.progress.borrow())
            .finish_non_exhaustive()
    }
}

/// Starts the thread.
pub(super) fn start_mover(mover: Mover) -> Result<JoinHandle<()>, OpenError> {
    spawn_thread("recado-move", move || {
        yield_to_acknowledgements();
        mover.run_until_stopped();
    })
}

impl Mover {
    fn run_until_stopped(self) {
        let mut deleted = 0;
        loop {
            let moved = match self.move_next() {
                Ok(moved) => moved,
                // The events stay in the log.
                Err(error) => {
                    tracing::error!(%error, "acknowledged events wait: they could not be recorded");
                    if !self.signal.pause(PAUSE_AFTER_FAILURE) {
                        return;
                    }
                    continue;
                }
            };
            let last = *self.progress.borrow();
            if last - deleted >= DELETED_AT_ONCE || (moved == 0 && last > deleted) {
                self.delete_moved_events(last);
                deleted = last;
            }
            if moved == MOVED_AT_ONCE {
                continue;
            }
            let rest = (last > deleted).then_some(IDLE);
            if !self.signal.wait_for_events(rest) {
                return;
            }
        }
    }

    /// Moves the next events. Returns their number. If they cannot be moved together, each is moved by itself, and one that cannot
    /// be recorded is set aside: the others must not wait for it.
    fn move_next(&self) -> DbResult<usize> {
        let before = *self.progress.borrow();
        let events = read_events(&self.log, before)?;
        let Some(last) = events.last().map(|(seq, _)| *seq) else {
            return Ok(0);
        };
        for (_, event) in &events {
            self.known.note_event(event.id());
        }
        let (count, events, now) = (events.len(), Arc::new(events), self.clock.now());
        let together = Arc::clone(&events);
        let moved = self.run_move(last, move |db| {
            let mut events = together.iter();
            events.try_for_each(|(_, event)| event.record_and_enqueue(db, now).map(drop))
        });
        match moved {
            Err(error) if error.is_lasting() => {
                tracing::warn!(%error, count, "acknowledged events are recorded one by one");
                self.run_move(last, move |db| {
                    let mut events = events.iter();
                    events.try_for_each(|(_, event)| move_alone(db, event, now))
                })?;
            }
            moved => moved?,
        }
        self.progress.send_replace(last);
        Ok(count)
    }

    /// Runs `work` on the database, and notes in the same transaction that the events up to number `last` are moved.
    fn run_move(
        &self,
        last: i64,
        mut work: impl FnMut(&Connection) -> DbResult<()> + Send + 'static,
    ) -> DbResult<()> {
        let work = move |db: &Connection| {
            work(db)?;
            write_value(db, MOVED, &last.to_string())
        };
        let (job, answer) = create_job(work, vec![Arc::clone(&self.inbound)]);
        self.records.submit_job(job, Urgency::Ordinary);
        answer.receive_blocking()
    }

    /// Has the events up to number `last` deleted. A failure is no loss: the next time they are deleted, too.
    fn delete_moved_events(&self, last: i64) {
        let (job, _) = create_job(move |db: &Connection| delete_moved(db, last), Vec::new());
        self.log_writer.submit_job(job, Urgency::Ordinary);
    }
}

/// Records an event, or sets it aside if that will never succeed.
fn move_alone(db: &Connection, event: &IncomingEvent, now: Timestamp) -> DbResult<()> {
    match in_savepoint(db, |db| event.record_and_enqueue(db, now)) {
        Err(error) if error.is_lasting() => event.set_aside(db, now, &error),
        moved => moved.map(drop),
    }
}

/// Reads the next events behind number `after`.
fn read_events(log: &Connection, after: i64) -> DbResult<Vec<(i64, IncomingEvent)>> {
    let sql = format!(
        "SELECT seq, id, due, payload, body, correlation, grp, owner FROM intake
            WHERE seq > ?1 ORDER BY seq LIMIT {MOVED_AT_ONCE}"
    );
    let mut statement = log.prepare_cached(&sql)?;
    let rows = statement.query_map([after], |row| {
        Ok((row.get(0)?, IncomingEvent::from_log_row(row)?))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the number of the last event that was moved; 0 if none was.
pub(crate) fn last_moved(database: &Connection) -> rusqlite::Result<i64> {
    let sql = "SELECT CAST(value AS INTEGER) FROM installation WHERE name = ?1";
    let found = database.query_row(sql, [MOVED], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(0))
}

/// Deletes the events up to number `moved`.
pub(super) fn delete_moved(db: &Connection, moved: i64) -> DbResult<()> {
    run_sql_statement(db, "DELETE FROM intake WHERE seq <= ?1", [moved])
}
