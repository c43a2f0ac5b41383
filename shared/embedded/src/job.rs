//! Operations that share a transaction: each is undone by itself if it fails, and gets its result after the commit.

use crate::db_error::{DbError, DbResult};
use crate::threads::lock_unpoisoned;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, oneshot};

/// The work of a job. It puts its result aside, so that jobs with results of all types have one type.
type ErasedWork = dyn FnMut(&Connection) -> DbResult<()> + Send;

/// An operation on the database. One copy of its code serves all operations: only `work` knows the type of the result.
pub(crate) struct DatabaseJob<W: ?Sized = ErasedWork> {
    /// `true` if the operation must run outside of any transaction.
    runs_alone: bool,
    outcome: Option<DbResult<()>>,
    /// `None` once the result was sent.
    reply: Option<oneshot::Sender<DbResult<()>>>,
    /// Those that are notified of the committed changes.
    wakes: Vec<Arc<Notify>>,
    /// The last field, since its size is not known.
    work: W,
}

/// Receives the result of an operation.
pub(crate) struct JobAnswer<T> {
    /// Receives whether the operation succeeded and was committed.
    done: oneshot::Receiver<DbResult<()>>,
    /// The place where the operation puts its result.
    result: JobResult<T>,
}

/// Holds what an operation returned. It counts only if the operation was committed.
struct JobResult<T>(Arc<Mutex<Option<T>>>);

impl<T> JobResult<T> {
    /// Returns the result of an operation that was committed.
    fn take_committed(&self) -> DbResult<T> {
        lock_unpoisoned(&self.0).take().ok_or(DbError::Closed)
    }
}

impl<T> JobAnswer<T> {
    /// Waits for the result.
    pub(crate) async fn receive(self) -> DbResult<T> {
        self.done.await.unwrap_or(Err(DbError::Closed))?;
        self.result.take_committed()
    }

    /// Waits for the result, on a thread that may be held up.
    pub(crate) fn receive_blocking(self) -> DbResult<T> {
        self.done.blocking_recv().unwrap_or(Err(DbError::Closed))?;
        self.result.take_committed()
    }

    /// Returns the result. `None`: it was not sent yet, or the operation was dropped.
    #[cfg(test)]
    pub(crate) fn receive_now(&mut self) -> Option<DbResult<T>> {
        let outcome = self.done.try_recv().ok()?;
        Some(outcome.and_then(|()| self.result.take_committed()))
    }
}

/// Creates a job that runs `work` in a transaction. Once the job is committed, `wakes` are notified.
pub(crate) fn create_job<T: Send + 'static>(
    work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    wakes: Vec<Arc<Notify>>,
) -> (Box<DatabaseJob>, JobAnswer<T>) {
    erase_result(false, work, wakes)
}

/// Creates a job that runs `work` outside of any transaction.
pub(crate) fn create_lone_job(
    work: impl FnMut(&Connection) -> DbResult<()> + Send + 'static,
) -> (Box<DatabaseJob>, JobAnswer<()>) {
    erase_result(true, work, Vec::new())
}

/// Creates a job that puts the result of `work` aside. Every operation has a copy of this, so it does no more.
fn erase_result<T: Send + 'static>(
    runs_alone: bool,
    mut work: impl FnMut(&Connection) -> DbResult<T> + Send + 'static,
    wakes: Vec<Arc<Notify>>,
) -> (Box<DatabaseJob>, JobAnswer<T>) {
    let (reply, done) = oneshot::channel();
    let result = JobResult(Arc::new(Mutex::new(None)));
    let kept = Arc::clone(&result.0);
    let job = DatabaseJob {
        runs_alone,
        outcome: None,
        reply: Some(reply),
        wakes,
        work: move |connection: &Connection| -> DbResult<()> {
            let value = work(connection)?;
            *lock_unpoisoned(&kept) = Some(value);
            Ok(())
        },
    };
    (Box::new(job), JobAnswer { done, result })
}

impl DatabaseJob {
    /// Runs the operation inside the open transaction. Returns whether it succeeded; if not, its changes must be undone.
    /// An operation may be run again after it was undone.
    fn run_once(&mut self, connection: &Connection) -> bool {
        let work = &mut self.work;
        let outcome = catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or(Err(DbError::Panicked));
        self.outcome.insert(outcome).is_ok()
    }

    /// Returns `true` if the operation must run outside of any transaction.
    pub(crate) fn runs_alone(&self) -> bool {
        self.runs_alone
    }

    /// Sends the result to the caller, after the commit or instead of it. `committed` holds the error of a failed
    /// commit. Returns who is to be notified of the committed changes.
    fn send_result(mut self: Box<Self>, committed: Result<(), &str>) -> Vec<Arc<Notify>> {
        let (outcome, reply) = (self.outcome.take(), self.reply.take());
        let wakes = std::mem::take(&mut self.wakes);
        // What the operation holds until the commit is dropped before its caller goes on.
        drop(self);
        let outcome = match (committed, outcome) {
            // The operation's own error says more than the error of the shared transaction.
            (_, Some(Err(fault))) => Err(fault),
            (Ok(()), Some(outcome)) => outcome,
            (Err(why), _) => Err(DbError::Commit(why.to_owned())),
            (Ok(()), None) => Err(DbError::Closed),
        };
        let wakes = if outcome.is_ok() { wakes } else { Vec::new() };
        if let Some(reply) = reply {
            // A caller that gave up waiting does not need the result. The committed changes stay.
            let _ = reply.send(outcome);
        }
        wakes
    }
}

/// Runs a job that needs to be alone, and sends its result.
pub(crate) fn run_alone(connection: &Connection, mut job: Box<DatabaseJob>) {
    job.run_once(connection);
    if let Some(Err(error)) = &job.outcome {
        tracing::error!(%error, "an operation outside of transactions failed");
    }
    job.send_result(Ok(()));
}

fn run_statement(connection: &Connection, sql: &str) -> DbResult<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// The way in which a transaction begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TransactionMode {
    /// A transaction that may write.
    Write,
    /// A transaction that reads one consistent state.
    Read,
}

/// Runs the jobs of `batch` in one transaction, commits once and sends every job its result.
pub(crate) fn commit_together(
    connection: &Connection,
    begin: TransactionMode,
    mut batch: Vec<Box<DatabaseJob>>,
) {
    let committed = run_in_transaction(connection, begin, &mut batch).map_err(|fault| fault.to_string());
    if let Err(why) = &committed {
        tracing::error!(jobs = batch.len(), why, "a transaction failed");
        if !connection.is_autocommit()
            && let Err(error) = run_statement(connection, "ROLLBACK")
        {
            tracing::error!(%error, "a failed transaction could not be rolled back");
        }
    }
    let mut wakes: Vec<Arc<Notify>> = Vec::new();
    for job in batch {
        for wake in job.send_result(committed.as_ref().map(|&()| ()).map_err(String::as_str)) {
            // One notification tells of all changes of the commit.
            if !wakes.iter().any(|known| Arc::ptr_eq(known, &wake)) {
                wakes.push(wake);
            }
        }
    }
    for wake in wakes {
        wake.notify_waiters();
        // Wakes also a worker that is just about to wait.
        wake.notify_one();
    }
}

/// Runs the jobs and commits. A job that fails undoes only its own changes.
///
/// A savepoint makes SQLite keep a copy of each page that a job changes, and a job that fails is rare. So the jobs first run
/// without savepoints. Only if one of them fails, all are undone and run again, each in a savepoint of its own.
fn run_in_transaction(
    connection: &Connection,
    begin: TransactionMode,
    batch: &mut [Box<DatabaseJob>],
) -> DbResult<()> {
    begin_transaction(connection, begin)?;
    // SQLite may have undone the whole transaction by itself; then nothing more may be written.
    let succeeded = batch
        .iter_mut()
        .all(|job| job.run_once(connection) && !connection.is_autocommit());
    if succeeded {
        return run_statement(connection, "COMMIT");
    }
    if !connection.is_autocommit() {
        run_statement(connection, "ROLLBACK")?;
    }
    begin_transaction(connection, begin)?;
    for job in batch {
        run_savepoint(connection, "job", || job.run_once(connection))?;
    }
    run_statement(connection, "COMMIT")
}

fn begin_transaction(connection: &Connection, begin: TransactionMode) -> DbResult<()> {
    let sql = match begin {
        TransactionMode::Write => "BEGIN IMMEDIATE",
        TransactionMode::Read => "BEGIN",
    };
    run_statement(connection, sql)
}

/// Runs a part of an operation, and undoes only its changes if it fails or panics.
pub(crate) fn in_savepoint<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> DbResult<T>,
) -> DbResult<T> {
    let mut outcome = Err(DbError::Panicked);
    run_savepoint(connection, "part", || {
        outcome = catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or(Err(DbError::Panicked));
        outcome.is_ok()
    })?;
    outcome
}

/// Runs `work`, and undoes its changes if it returns `false`. An error means that the transaction cannot go on. A part of a job has another
/// `name` than the job, so that a part whose savepoint stays open is undone with its job.
fn run_savepoint(connection: &Connection, name: &str, work: impl FnOnce() -> bool) -> DbResult<()> {
    run_statement(connection, &format!("SAVEPOINT {name}"))?;
    if !work() && !connection.is_autocommit() {
        run_statement(connection, &format!("ROLLBACK TO {name}"))?;
    }
    // SQLite may undo the whole transaction by itself, as a full disk makes it do: then there is no savepoint to release.
    if connection.is_autocommit() {
        return Err(DbError::Commit("the transaction was rolled back".to_owned()));
    }
    run_statement(connection, &format!("RELEASE {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn job(
        work: impl FnMut(&Connection) -> DbResult<i64> + Send + 'static,
    ) -> (Box<DatabaseJob>, JobAnswer<i64>) {
        create_job(work, Vec::new())
    }

    fn insert(connection: &Connection, x: i64) -> DbResult<i64> {
        connection.execute("INSERT INTO t VALUES (?)", [x])?;
        Ok(x)
    }

    fn table() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (x INTEGER PRIMARY KEY)")
            .unwrap();
        connection
    }

    fn rows(connection: &Connection) -> Vec<i64> {
        let mut statement = connection.prepare("SELECT x FROM t ORDER BY x").unwrap();
        statement
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect()
    }

    #[test]
    fn an_error_or_a_panic_undoes_only_its_own_operation() {
        let connection = table();
        let (jobs, mut answers): (Vec<_>, Vec<_>) = [
            job(|c| insert(c, 1)),
            job(|c| {
                insert(c, 2)?;
                insert(c, 1)
            }),
            job(|c| {
                insert(c, 3)?;
                panic!("a bug");
            }),
            job(|c| insert(c, 4)),
        ]
        .into_iter()
        .unzip();
        commit_together(&connection, TransactionMode::Write, jobs);
        assert_eq!(rows(&connection), [1, 4]);
        let answers: Vec<_> = answers
            .iter_mut()
            .map(|answer| answer.receive_now().unwrap())
            .collect();
        assert!(matches!(
            answers[..],
            [Ok(1), Err(DbError::Sql(_)), Err(DbError::Panicked), Ok(4)]
        ));
    }

    #[test]
    fn only_a_failure_costs_savepoints_and_a_second_run() {
        let connection = table();
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = || {
            let runs = Arc::clone(&runs);
            job(move |c| {
                let run = runs.fetch_add(1, Ordering::Relaxed);
                insert(c, i64::try_from(run).unwrap())
            })
        };
        let ((first, _one), (second, _two)) = (counted(), counted());
        commit_together(&connection, TransactionMode::Write, vec![first, second]);
        assert_eq!(runs.load(Ordering::Relaxed), 2);
        let ((third, mut three), (fails, mut failed)) = (counted(), job(|c| insert(c, 0)));
        commit_together(&connection, TransactionMode::Write, vec![third, fails]);
        assert_eq!(rows(&connection), [0, 1, 3], "what the first run wrote is undone");
        assert_eq!(
            three.receive_now().unwrap().unwrap(),
            3,
            "the answer is that of the run that counts"
        );
        assert!(failed.receive_now().unwrap().is_err());
    }

    #[test]
    fn nobody_is_told_yes_when_the_transaction_is_lost() {
        let connection = table();
        let (first, mut one) = job(|c| insert(c, 1));
        let (second, mut two) = job(|c| {
            c.execute_batch("ROLLBACK")?;
            Ok(2)
        });
        let (third, mut three) = job(|c| insert(c, 3));
        commit_together(&connection, TransactionMode::Write, vec![first, second, third]);
        assert!(rows(&connection).is_empty());
        for answer in [&mut one, &mut two, &mut three] {
            assert!(matches!(answer.receive_now().unwrap(), Err(DbError::Commit(_))));
        }
        let (next, mut answer) = job(|c| insert(c, 5));
        commit_together(&connection, TransactionMode::Write, vec![next]);
        assert!(answer.receive_now().unwrap().is_ok());
    }
}
