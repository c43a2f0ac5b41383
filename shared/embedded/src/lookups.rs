//! The connections over which a caller reads on its own thread.
//!
//! A record that is read by its key takes some ten microseconds; to hand the reading to another thread and to wait for it takes
//! longer. Lists have threads, since they may take long.

use crate::job::{DatabaseJob, TransactionMode, commit_together};
use crate::threads::lock_unpoisoned;
use rusqlite::Connection;
use std::sync::{Mutex, TryLockError};

/// The number of connections: about one for each processor, and some for threads of the background that lost theirs meanwhile.
pub(crate) const LOOKUPS: usize = 6;

/// Connections that are free, or in use by one caller each. `None`: closed.
#[derive(Debug)]
pub(crate) struct LookupConnections(Vec<Mutex<Option<Connection>>>);

impl LookupConnections {
    pub(crate) fn new(connections: Vec<Connection>) -> Self {
        Self(
            connections
                .into_iter()
                .map(|connection| Mutex::new(Some(connection)))
                .collect(),
        )
    }

    /// Runs `job` over a free connection, and sends its result. Returns the job if none is free.
    pub(crate) fn run_if_one_is_free(&self, job: Box<DatabaseJob>) -> Option<Box<DatabaseJob>> {
        for place in &self.0 {
            let free = match place.try_lock() {
                Ok(free) => free,
                Err(TryLockError::Poisoned(free)) => free.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            if let Some(connection) = free.as_ref() {
                commit_together(connection, TransactionMode::Read, vec![job]);
                return None;
            }
        }
        Some(job)
    }

    /// Closes the connections, once they are free.
    pub(crate) fn close_connections(&self) {
        for place in &self.0 {
            lock_unpoisoned(place).take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::create_job;

    fn count_tables(connections: &LookupConnections) -> Option<i64> {
        let work =
            |c: &Connection| Ok(c.query_row("SELECT COUNT(*) FROM sqlite_master", [], |row| row.get(0))?);
        let (job, mut answer) = create_job(work, Vec::new());
        let left = connections.run_if_one_is_free(job);
        left.is_none().then(|| answer.receive_now().unwrap().unwrap())
    }

    #[test]
    fn a_free_connection_answers_at_once_and_one_in_use_or_closed_not() {
        let open = || Connection::open_in_memory().unwrap();
        let connections = LookupConnections::new(vec![open(), open()]);
        let first = connections.0[0].lock().unwrap();
        assert_eq!(count_tables(&connections), Some(0));
        let second = connections.0[1].lock().unwrap();
        assert_eq!(count_tables(&connections), None);
        drop((first, second));
        connections.close_connections();
        assert_eq!(count_tables(&connections), None);
    }
}
