//! Operations that share a transaction: each runs in a savepoint of its own and gets its result after the commit.

use crate::db_error::DbError;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tokio::sync::{Notify, oneshot};

/// An operation with a result of any type. (`dyn`: the threads take operations of many types from one channel.)
pub(crate) trait DatabaseJob: Send {
    /// Runs the operation inside the open transaction. If the operation itself fails, only its own changes are undone.
    /// An error here means that the transaction cannot go on.
    fn run_in_savepoint(&mut self, connection: &Connection) -> Result<(), DbError>;

    /// Returns `true` if the operation must run outside of any transaction.
    fn runs_alone(&self) -> bool {
        false
    }

    /// Sends the result to the caller, after the commit or instead of it. `committed` holds the error of a failed
    /// commit.
    fn send_result(self: Box<Self>, committed: Result<(), &str>);
}

/// A [`DatabaseJob`] made of a closure.
pub(crate) struct ClosureJob<T, F> {
    work: Option<F>,
    outcome: Option<Result<T, DbError>>,
    reply: oneshot::Sender<Result<T, DbError>>,
    wake: Option<Arc<Notify>>,
}

impl<T, F: FnOnce(&Connection) -> Result<T, DbError>> ClosureJob<T, F> {
    /// Creates a job that runs `work`. Once the job is committed, `wake` is notified.
    pub(crate) fn new(work: F, wake: Option<Arc<Notify>>) -> (Self, oneshot::Receiver<Result<T, DbError>>) {
        let (reply, receiver) = oneshot::channel();
        (
            Self {
                work: Some(work),
                outcome: None,
                reply,
                wake,
            },
            receiver,
        )
    }
}

impl<T: Send, F: FnOnce(&Connection) -> Result<T, DbError> + Send> DatabaseJob for ClosureJob<T, F> {
    fn run_in_savepoint(&mut self, connection: &Connection) -> Result<(), DbError> {
        let Some(work) = self.work.take() else {
            return Ok(());
        };
        run_statement(connection, "SAVEPOINT job")?;
        let outcome = catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or(Err(DbError::Panicked));
        if outcome.is_err() && !connection.is_autocommit() {
            run_statement(connection, "ROLLBACK TO job")?;
        }
        self.outcome = Some(outcome);
        // A full disk makes SQLite undo the whole transaction by itself; then there is no savepoint to release.
        if connection.is_autocommit() {
            return Err(DbError::Commit("the transaction was rolled back".to_owned()));
        }
        run_statement(connection, "RELEASE job")
    }

    fn send_result(self: Box<Self>, committed: Result<(), &str>) {
        let outcome = match (committed, self.outcome) {
            // The operation's own error says more than the error of the shared transaction.
            (_, Some(Err(fault))) => Err(fault),
            (Ok(()), Some(outcome)) => outcome,
            (Err(why), _) => Err(DbError::Commit(why.to_owned())),
            (Ok(()), None) => Err(DbError::Closed),
        };
        if let (Ok(_), Some(wake)) = (&outcome, &self.wake) {
            wake.notify_waiters();
            // Wakes also a worker that is just about to wait.
            wake.notify_one();
        }
        // A caller that gave up waiting does not need the result. The committed changes stay.
        let _ = self.reply.send(outcome);
    }
}

/// A [`DatabaseJob`] that runs outside of any transaction.
pub(crate) struct LoneJob<F> {
    work: Option<F>,
    reply: oneshot::Sender<Result<(), DbError>>,
}

impl<F: FnOnce(&Connection) -> Result<(), DbError>> LoneJob<F> {
    /// Creates a job that runs `work`.
    pub(crate) fn new(work: F) -> (Self, oneshot::Receiver<Result<(), DbError>>) {
        let (reply, receiver) = oneshot::channel();
        let work = Some(work);
        (Self { work, reply }, receiver)
    }
}

impl<F: FnOnce(&Connection) -> Result<(), DbError> + Send> DatabaseJob for LoneJob<F> {
    fn run_in_savepoint(&mut self, connection: &Connection) -> Result<(), DbError> {
        let work = self.work.take();
        work.map_or(Ok(()), |work| {
            catch_unwind(AssertUnwindSafe(|| work(connection))).unwrap_or(Err(DbError::Panicked))
        })
    }

    fn runs_alone(&self) -> bool {
        true
    }

    fn send_result(self: Box<Self>, committed: Result<(), &str>) {
        // A caller that gave up waiting does not need the result.
        let _ = self
            .reply
            .send(committed.map_err(|why| DbError::Commit(why.to_owned())));
    }
}

/// Runs a job that needs to be alone, and sends its result.
pub(crate) fn run_alone(connection: &Connection, mut job: Box<dyn DatabaseJob>) {
    let ended = job
        .run_in_savepoint(connection)
        .map_err(|fault| fault.to_string());
    if let Err(why) = &ended {
        tracing::error!(why, "an operation outside of transactions failed");
    }
    job.send_result(ended.as_ref().map(|&()| ()).map_err(String::as_str));
}

fn run_statement(connection: &Connection, sql: &str) -> Result<(), DbError> {
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
    mut batch: Vec<Box<dyn DatabaseJob>>,
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
    for job in batch {
        job.send_result(committed.as_ref().map(|&()| ()).map_err(String::as_str));
    }
}

fn run_in_transaction(
    connection: &Connection,
    begin: TransactionMode,
    batch: &mut [Box<dyn DatabaseJob>],
) -> Result<(), DbError> {
    run_statement(
        connection,
        if matches!(begin, TransactionMode::Write) {
            "BEGIN IMMEDIATE"
        } else {
            "BEGIN"
        },
    )?;
    for job in batch {
        job.run_in_savepoint(connection)?;
    }
    run_statement(connection, "COMMIT")
}

#[cfg(test)]
mod tests {
    use super::*;

    type Answer = oneshot::Receiver<Result<i64, DbError>>;

    fn job(
        work: impl FnOnce(&Connection) -> Result<i64, DbError> + Send + 'static,
    ) -> (Box<dyn DatabaseJob>, Answer) {
        let (task, answer) = ClosureJob::new(work, None);
        (Box::new(task), answer)
    }

    fn insert(connection: &Connection, x: i64) -> Result<i64, DbError> {
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
            .map(|answer| answer.try_recv().unwrap())
            .collect();
        assert!(matches!(
            answers[..],
            [Ok(1), Err(DbError::Sql(_)), Err(DbError::Panicked), Ok(4)]
        ));
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
            assert!(matches!(answer.try_recv().unwrap(), Err(DbError::Commit(_))));
        }
        let (next, mut answer) = job(|c| insert(c, 5));
        commit_together(&connection, TransactionMode::Write, vec![next]);
        assert!(answer.try_recv().unwrap().is_ok());
    }
}
