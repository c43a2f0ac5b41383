//! What plain reads see while transactions are done item by item: a second database, on which the records of a running
//! transaction appear one after the other.

use crate::SimulationError;
use crate::database::{Answer, Database};
use crate::operation::{RecordKey, Verb};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

enum Change {
    Write(Verb, Vec<u8>),
    Expiry(Timestamp),
}

/// One action of a running transaction that no plain read sees yet, as a transaction of its own.
struct Hidden {
    key: Option<RecordKey>,
    body: Vec<u8>,
}

/// The second database. It is made, and told what was written, when a transaction is first done item by item.
#[derive(Default)]
pub(crate) struct Readers {
    database: Option<Database>,
    pending: VecDeque<Change>,
    running: BTreeMap<u64, VecDeque<Hidden>>,
}

impl Readers {
    /// A write that succeeded, whole.
    pub(crate) fn written(&mut self, verb: Verb, body: &[u8]) -> Result<(), SimulationError> {
        self.pending.push_back(Change::Write(verb, body.to_vec()));
        if self.running.is_empty() {
            Ok(())
        } else {
            self.catch_up()
        }
    }

    /// What had expired by `now` was removed.
    pub(crate) fn expired(&mut self, now: Timestamp) -> Result<(), SimulationError> {
        self.pending.push_back(Change::Expiry(now));
        if self.running.is_empty() {
            Ok(())
        } else {
            self.catch_up()
        }
    }

    fn catch_up(&mut self) -> Result<(), SimulationError> {
        let database = match self.database.take() {
            Some(database) => database,
            None => Database::new()?,
        };
        for change in self.pending.drain(..) {
            match change {
                Change::Write(verb, body) => succeeds(&database.serve(verb, &body)),
                Change::Expiry(at) => {
                    database.expire(at)?;
                }
            }
        }
        self.database = Some(database);
        Ok(())
    }

    /// The transaction `number` was done, and plain reads see nothing of it yet. `order` chooses in which order its
    /// records appear; returns how many there are.
    pub(crate) fn begin(
        &mut self,
        number: u64,
        body: &[u8],
        keys: &[RecordKey],
        mut order: u64,
    ) -> Result<usize, SimulationError> {
        self.catch_up()?;
        let mut left = actions(body, keys);
        let mut hidden = VecDeque::with_capacity(left.len());
        while !left.is_empty() {
            let count = u64::try_from(left.len()).unwrap_or(1);
            let next = usize::try_from(order % count).unwrap_or_default();
            order /= count;
            hidden.push_back(left.remove(next));
        }
        let count = hidden.len();
        self.running.insert(number, hidden);
        Ok(count)
    }

    /// The next record of the transaction `number` appears.
    pub(crate) fn reveal(&mut self, number: u64) {
        let Some(hidden) = self.running.get_mut(&number) else {
            return;
        };
        if let (Some(next), Some(database)) = (hidden.pop_front(), &self.database) {
            succeeds(&database.serve(Verb::Transact, &next.body));
        }
        if hidden.is_empty() {
            self.running.remove(&number);
        }
    }

    /// All that is left of the transaction `number` appears.
    pub(crate) fn finish(&mut self, number: u64) {
        while self.running.contains_key(&number) {
            self.reveal(number);
        }
    }

    /// Whether a running transaction has one of `keys` still before it.
    pub(crate) fn holds(&self, keys: &[RecordKey]) -> bool {
        let mut held = self
            .running
            .values()
            .flatten()
            .filter_map(|hidden| hidden.key.as_ref());
        held.any(|key| keys.contains(key))
    }

    /// What a plain read sees, if that is not simply what is there.
    pub(crate) fn serve(&self, verb: Verb, body: &[u8]) -> Option<Answer> {
        let database = self.database.as_ref().filter(|_| !self.running.is_empty())?;
        Some(database.serve(verb, body))
    }
}

fn succeeds(answer: &Answer) {
    debug_assert!(
        answer.succeeded(),
        "a write that succeeded succeeds again: {answer:?}"
    );
}

/// A transaction's actions, each as a transaction of its own. Its condition holds again: it is about that record alone.
fn actions(body: &[u8], keys: &[RecordKey]) -> Vec<Hidden> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let items = body["TransactItems"].as_array().into_iter().flatten();
    let mut keys = keys.iter();
    let one = |item: &Value| Hidden {
        key: keys.next().cloned(),
        body: json!({ "TransactItems": [item] }).to_string().into_bytes(),
    };
    items.map(one).collect()
}
