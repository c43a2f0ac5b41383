//! A model of SQS: FIFO groups that are locked while one of theirs is in flight, several of a group in one batch,
//! whole-second visibility, a receive limit, deduplication for five minutes, and a standard queue that delivers twice and
//! in another order now and then. The dead-letter queues of FIFO queues are FIFO queues too.

mod dead;

use super::{Dead, Got, WorkQueues, visibility};
use crate::executor::Simulation;
use async_trait::async_trait;
use dead::Left;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName, TurnsMessage};
use recado_domain::millis::from_unix_millis;
use recado_domain::wake_up::TurnsJob;
use recado_pipeline::ports::{
    FileBytes, FileError, Files, InboundEntry, OutboundEntry, PortError, PortResult, Queues,
};
use recado_pipeline::settings::VisibilityTimeouts;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const DEDUPLICATION_MS: i64 = 300_000;

/// The longest delay of a message, in seconds.
const DELAY_MAX_SECONDS: i32 = 900;

/// See the module. Clones are the same queues.
#[derive(Debug, Clone)]
pub struct Sqs {
    simulation: Simulation,
    /// How likely the standard queue delivers a message twice.
    twice: f64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    items: BTreeMap<u64, Item>,
    known: BTreeMap<(QueueName, String, String), i64>,
    /// Until when the name of a schedule is taken: until it has fired.
    schedules: BTreeMap<String, i64>,
    dead: Vec<Left>,
    payloads: BTreeMap<String, Value>,
    files: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug, Clone)]
struct Item {
    queue: QueueName,
    group: Option<String>,
    body: String,
    visible_at: i64,
    receives: u32,
}

/// Good until the message is handed out again, or its visibility has ended.
#[derive(Debug, Clone)]
pub struct Receipt {
    item: u64,
    receive: u32,
}

impl Sqs {
    /// Empty queues.
    pub fn new(simulation: Simulation, twice: f64) -> Self {
        Self {
            simulation,
            twice,
            state: Arc::default(),
        }
    }

    /// Forgets all messages, schedules and dead-letter queues, as queues that were made anew beside an old table. Bodies and files
    /// stay.
    pub fn lose_messages(&self) {
        let mut state = self.state();
        state.items.clear();
        state.known.clear();
        state.schedules.clear();
        state.dead.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> i64 {
        self.simulation.now().as_millisecond()
    }

    fn put(&self, queue: QueueName, group: Option<&str>, body: &str, visible_at: i64) {
        let copies = if group.is_none() && self.simulation.chance(self.twice) {
            2
        } else {
            1
        };
        let mut state = self.state();
        for _ in 0..copies {
            state.next += 1;
            let item = Item {
                queue,
                group: group.map(str::to_owned),
                body: body.to_owned(),
                visible_at,
                receives: 0,
            };
            let id = state.next;
            state.items.insert(id, item);
        }
    }

    /// To a FIFO queue, unless the deduplication id is known.
    fn append(&self, queue: QueueName, group: &str, deduplication: &str, body: &str) {
        let now = self.now();
        let key = (queue, group.to_owned(), deduplication.to_owned());
        {
            let mut state = self.state();
            if state.known.get(&key).is_some_and(|until| *until > now) {
                return;
            }
            state.known.insert(key, now + DEDUPLICATION_MS);
        }
        self.put(queue, Some(group), body, now);
    }
}

fn json(what: &'static str, value: &impl Serialize) -> PortResult<String> {
    serde_json::to_string(value).map_err(|error| PortError::invalid(what, error))
}

/// Whose job on `turns` it is.
fn tenant_of(body: &str) -> String {
    let job: Result<TurnsJob, _> = serde_json::from_str(body);
    job.map(|job| job.tenant().to_string()).unwrap_or_default()
}

#[async_trait]
impl Queues for Sqs {
    async fn enqueue_inbound(&self, events: &[InboundEntry]) -> PortResult<()> {
        // A request's messages fail one by one, whatever their places: of each group its first ones are taken.
        let partly = events.len() > 1 && self.simulation.chance(self.twice);
        let mut refused = BTreeSet::new();
        for event in events {
            let group = &event.job.group;
            if partly && (refused.contains(group) || self.simulation.chance(0.5)) {
                refused.insert(group);
                continue;
            }
            let body = json("send_inbound", &event.job)?;
            self.append(QueueName::Inbound, group, &event.deduplication, &body);
        }
        if refused.is_empty() {
            return Ok(());
        }
        Err(PortError::unavailable(
            "send_inbound",
            "some messages were not taken",
        ))
    }

    async fn enqueue_turns_job(&self, job: &TurnsJob, delay: Duration) -> PortResult<()> {
        let now = from_unix_millis(self.now());
        let (message, seconds) = TurnsMessage::after_delay(job.clone(), delay, DELAY_MAX_SECONDS, now);
        let body = json("send_turn", &message)?;
        let due = self.now() + i64::from(seconds) * 1_000;
        self.put(QueueName::Turns, None, &body, due);
        Ok(())
    }

    async fn schedule_turns_job(&self, job: &TurnsJob, at: Timestamp) -> PortResult<()> {
        let now = self.now();
        // A minute ahead at least, and precise to a minute.
        let minute = (at.as_millisecond().max(now + 60_000) + 59_999).div_euclid(60_000);
        let fires = minute * 60_000 + self.simulation.between(0, 59_000);
        {
            let mut state = self.state();
            state.schedules.retain(|_, until| *until > now);
            let name = format!("{}#{minute}", job.schedule_key());
            if state.schedules.contains_key(&name) {
                return Ok(());
            }
            state.schedules.insert(name, fires);
        }
        self.put(QueueName::Turns, None, &json("schedule_turn", job)?, fires);
        Ok(())
    }

    async fn enqueue_outbound(&self, entries: &[OutboundEntry]) -> PortResult<()> {
        for OutboundEntry { job, deduplication } in entries {
            let body = json("enqueue_outbound", job)?;
            self.append(QueueName::Outbound, job.queue_group(), deduplication, &body);
        }
        Ok(())
    }

    async fn enqueue_dead_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        self.put_copy(dead_letter)
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        self.state().payloads.insert(key.to_owned(), payload.clone());
        Ok(())
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        Ok(self.state().payloads.contains_key(key))
    }

    async fn find_payload(&self, key: &str) -> PortResult<Option<Value>> {
        Ok(self.state().payloads.get(key).cloned())
    }

    async fn delete_payload(&self, key: &str) -> PortResult<()> {
        self.state().payloads.remove(key);
        Ok(())
    }

    async fn delete_inbound(&self, _: &BTreeSet<String>) -> PortResult<()> {
        Ok(())
    }
}

#[async_trait]
impl Files for Sqs {
    async fn put_file(&self, key: &str, _: &str, bytes: FileBytes) -> Result<(), FileError> {
        let bytes = bytes.read_all().await?;
        self.state().files.insert(key.to_owned(), bytes);
        Ok(())
    }

    async fn open_file(&self, key: &str) -> PortResult<Option<FileBytes>> {
        Ok(self.state().files.get(key).cloned().map(FileBytes::from_bytes))
    }

    async fn delete_file(&self, key: &str) -> PortResult<()> {
        self.state().files.remove(key);
        Ok(())
    }
}

impl State {
    /// A fair queue: tenants of whom little is in flight come first, and take turns.
    fn by_turns(&self, ready: &mut Vec<u64>, now: i64) {
        let tenant = |id: &u64| {
            self.items
                .get(id)
                .map(|item| tenant_of(&item.body))
                .unwrap_or_default()
        };
        let mut held: BTreeMap<String, usize> = BTreeMap::new();
        for item in self.items.values().filter(|item| item.queue == QueueName::Turns) {
            if item.receives > 0 && item.visible_at > now {
                *held.entry(tenant_of(&item.body)).or_default() += 1;
            }
        }
        let mut order: Vec<(usize, u64)> = Vec::with_capacity(ready.len());
        for id in ready.iter() {
            let place = held.entry(tenant(id)).or_default();
            order.push((*place, *id));
            *place += 1;
        }
        order.sort_unstable();
        *ready = order.into_iter().map(|(_, id)| id).collect();
    }

    /// Groups of which something was handed out, or put off, and is hidden still.
    fn locked_groups(&self, queue: QueueName, now: i64) -> BTreeSet<String> {
        let hidden = |item: &&Item| item.queue == queue && item.receives > 0 && item.visible_at > now;
        self.items
            .values()
            .filter(hidden)
            .filter_map(|item| item.group.clone())
            .collect()
    }
}

impl WorkQueues for Sqs {
    type Receipt = Receipt;

    fn receive(&self, queue: QueueName, max: usize) -> Vec<Got<Receipt>> {
        let now = self.now();
        let hidden_until = now + i64::try_from(visibility(queue).as_millis()).unwrap_or(i64::MAX);
        let mut state = self.state();
        let locked = state.locked_groups(queue, now);
        let mut ready: Vec<u64> = state
            .items
            .iter()
            .filter(|(_, item)| item.queue == queue && item.visible_at <= now)
            .filter(|(_, item)| item.group.as_ref().is_none_or(|group| !locked.contains(group)))
            .map(|(id, _)| *id)
            .collect();
        if queue == QueueName::Turns {
            state.by_turns(&mut ready, now);
            if self.simulation.chance(self.twice) {
                // A standard queue promises no order.
                ready.reverse();
            }
        }
        let mut got = Vec::new();
        for id in ready {
            if got.len() == max {
                break;
            }
            let Some(item) = state.items.get_mut(&id) else {
                continue;
            };
            if item.receives >= VisibilityTimeouts::RECEIVES_MAX {
                if let Some(item) = state.items.remove(&id) {
                    let dead = Dead {
                        id,
                        queue,
                        copy_of: None,
                        sent_at: from_unix_millis(now),
                        body: item.body,
                    };
                    state.dead.push(Left::new(dead, item.group));
                }
                continue;
            }
            item.receives += 1;
            item.visible_at = hidden_until;
            got.push(Got {
                receipt: Receipt {
                    item: id,
                    receive: item.receives,
                },
                group: item.group.clone(),
                receives: item.receives,
                body: item.body.clone(),
            });
        }
        got
    }

    fn delete(&self, receipt: &Receipt) {
        let now = self.now();
        let mut state = self.state();
        let held = state.items.get(&receipt.item).is_some_and(|item| {
            item.receives == receipt.receive && (item.group.is_none() || item.visible_at > now)
        });
        if held {
            state.items.remove(&receipt.item);
        }
    }

    fn put_off(&self, receipt: &Receipt, seconds: u64) {
        let now = self.now();
        let mut state = self.state();
        if let Some(item) = state.items.get_mut(&receipt.item)
            && item.receives == receipt.receive
            && item.visible_at > now
        {
            item.visible_at = now + i64::try_from(seconds).unwrap_or(43_200) * 1_000;
        }
    }

    fn next_visible(&self, queue: QueueName) -> Option<Timestamp> {
        let (now, state) = (self.now(), self.state());
        let of_queue = || state.items.values().filter(|item| item.queue == queue);
        let mut freed: BTreeMap<&str, i64> = BTreeMap::new();
        for item in of_queue().filter(|item| item.receives > 0) {
            if let Some(group) = &item.group {
                let at = freed.entry(group).or_insert(0);
                *at = (*at).max(item.visible_at);
            }
        }
        let at = |item: &Item| {
            let group = item.group.as_deref().and_then(|group| freed.get(group));
            item.visible_at.max(group.copied().unwrap_or(0)).max(now)
        };
        of_queue().map(at).min().map(from_unix_millis)
    }

    fn dead(&self) -> Vec<Dead> {
        let state = self.state();
        state.dead.iter().map(|left| left.dead.clone()).collect()
    }

    fn move_back(&self, dead: &Dead) {
        if let Some(Left { dead, group, .. }) = self.take_dead(dead.id) {
            // The console keeps the group.
            self.put(dead.queue, group.as_deref(), &dead.body, self.now());
        }
    }
}
