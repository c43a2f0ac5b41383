//! An index that is behind: the same writes on a second database, later.
//!
//! A successful write succeeds again on what it was done on before, with the same effect; so the second database, given
//! the writes up to some time in their order, is what the first one was then.

use crate::SimulationError;
use crate::database::{Answer, Database};
use crate::operation::Verb;
use jiff::Timestamp;
use std::collections::VecDeque;

enum Change {
    Write(Verb, Vec<u8>),
    Expiry,
}

/// What has been written and the second database does not know yet. It is made when it is first asked.
#[derive(Default)]
pub(crate) struct Replica {
    database: Option<Database>,
    pending: VecDeque<(Timestamp, Change)>,
}

impl Replica {
    /// A write that succeeded at `now`.
    pub(crate) fn written(&mut self, now: Timestamp, verb: Verb, body: &[u8]) {
        self.pending.push_back((now, Change::Write(verb, body.to_vec())));
    }

    /// What had expired by `now` was removed.
    pub(crate) fn expired(&mut self, now: Timestamp) {
        self.pending.push_back((now, Change::Expiry));
    }

    /// Answers as the table was at `time`, or when it was last asked, if that is later.
    pub(crate) fn serve_as_of(
        &mut self,
        time: Timestamp,
        verb: Verb,
        body: &[u8],
    ) -> Result<Answer, SimulationError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => Database::new()?,
        };
        while self.pending.front().is_some_and(|(at, _)| *at <= time) {
            match self.pending.pop_front() {
                Some((_, Change::Write(verb, body))) => {
                    let answer = database.serve(verb, &body);
                    debug_assert!(
                        answer.succeeded(),
                        "a write that succeeded succeeds again: {answer:?}"
                    );
                }
                Some((at, Change::Expiry)) => {
                    database.expire(at)?;
                }
                None => break,
            }
        }
        let answer = database.serve(verb, body);
        self.database = Some(database);
        Ok(answer)
    }
}
