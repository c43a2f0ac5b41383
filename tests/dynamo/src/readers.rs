//! What plain reads see while transactions are done item by item: a second database, on which the records of a running
//! transaction appear one after the other.

use crate::SimulationError;
use crate::database::{Answer, Database};
use crate::operation::{RecordKey, Verb};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

enum Change {
    Write(Verb, Vec<u8>),
    Expiry(Timestamp),
}

/// A transaction that plain reads see half done.
struct Running {
    keys: Vec<RecordKey>,
    /// The actions that no plain read sees yet, each as a transaction of its own.
    hidden: VecDeque<Vec<u8>>,
}

/// The second database. It is made, and told what was written, when a transaction is first done item by item.
#[derive(Default)]
pub(crate) struct Readers {
    database: Option<Database>,
    pending: VecDeque<Change>,
    running: BTreeMap<u64, Running>,
    /// The tokens of the transactions that were done: the same once more has no effect.
    done: BTreeSet<String>,
}

impl Readers {
    /// A write that succeeded, whole.
    pub(crate) fn written(&mut self, verb: Verb, body: &[u8]) -> Result<(), SimulationError> {
        if verb == Verb::Transact && !self.is_first(body) {
            return Ok(());
        }
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

    /// Whether the transaction of this body's token was not done before. From now on it was.
    fn is_first(&mut self, body: &[u8]) -> bool {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let token = body["ClientRequestToken"].as_str();
        token.is_none_or(|token| self.done.insert(token.to_owned()))
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
    /// records appear; returns how many there are, 0 if it was done before.
    pub(crate) fn begin(
        &mut self,
        number: u64,
        body: &[u8],
        keys: &[RecordKey],
        mut order: u64,
    ) -> Result<usize, SimulationError> {
        if !self.is_first(body) {
            return Ok(0);
        }
        self.catch_up()?;
        let mut left = actions(body);
        let mut hidden = VecDeque::with_capacity(left.len());
        while !left.is_empty() {
            let count = u64::try_from(left.len()).unwrap_or(1);
            let next = usize::try_from(order % count).unwrap_or_default();
            order /= count;
            hidden.push_back(left.remove(next));
        }
        let count = hidden.len();
        let keys = keys.to_vec();
        self.running.insert(number, Running { keys, hidden });
        Ok(count)
    }

    /// The next record of the transaction `number` appears.
    pub(crate) fn reveal(&mut self, number: u64) {
        let running = self.running.get_mut(&number);
        let next = running.and_then(|running| running.hidden.pop_front());
        if let (Some(next), Some(database)) = (next, &self.database) {
            succeeds(&database.serve(Verb::Transact, &next));
        }
    }

    /// All that is left of the transaction `number` appears, and it holds nothing any more.
    pub(crate) fn finish(&mut self, number: u64) {
        while self
            .running
            .get(&number)
            .is_some_and(|running| !running.hidden.is_empty())
        {
            self.reveal(number);
        }
        self.running.remove(&number);
    }

    /// Whether a running transaction holds one of `keys`: it holds all of its records to the end.
    pub(crate) fn holds(&self, keys: &[RecordKey]) -> bool {
        let mut held = self.running.values().flat_map(|running| &running.keys);
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
fn actions(body: &[u8]) -> Vec<Vec<u8>> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let items = body["TransactItems"].as_array().into_iter().flatten();
    items
        .map(|item| json!({ "TransactItems": [item] }).to_string().into_bytes())
        .collect()
}
