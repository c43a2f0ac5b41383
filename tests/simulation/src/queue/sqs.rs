//! A model of SQS: FIFO groups that are locked while one of theirs is in flight, several of a group in one batch,
//! whole-second visibility, a receive limit, deduplication for five minutes, and a standard queue that delivers twice now
//! and then.

use super::{Dead, Got, WorkQueues, visibility};
use crate::executor::Simulation;
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadWhat, QueueName, RedrivenLetter};
use recado_domain::kick::{SendKick, TurnKick};
use recado_domain::millis::instant;
use recado_pipeline::ports::{DeadCopy, DeadQueues, Enqueue, PortError, PortResult, Queues};
use recado_pipeline::settings::Visibility;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const DEDUPLICATION_MS: i64 = 300_000;

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
    schedules: BTreeSet<String>,
    dead: Vec<Dead>,
    dead_hidden: BTreeMap<u64, i64>,
    payloads: BTreeMap<String, Value>,
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

/// Whose turn a kick on `turns` asks for.
fn tenant_of(body: &str) -> String {
    let kick: Result<TurnKick, _> = serde_json::from_str(body);
    kick.map(|kick| kick.tenant.to_string()).unwrap_or_default()
}

/// A letter's body as its own queue carries it, marked as a redrive, and its group.
fn marked(letter: &DeadLetter) -> PortResult<(String, String)> {
    let carried = letter
        .carried()
        .map_err(|error| PortError::invalid("letter", error))?;
    match (carried, &letter.what) {
        (Some((group, carried)), _) => Ok((group, json("letter", &carried)?)),
        (None, DeadWhat::Unreadable { body }) => Ok(("unreadable".to_owned(), body.clone())),
        (None, _) => Err(PortError::invalid("letter", "it carries nothing")),
    }
}

impl Queues for Sqs {
    async fn send_inbound(&self, events: &[Enqueue]) -> PortResult<()> {
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

    async fn send_turn(&self, kick: &TurnKick, delay: Duration) -> PortResult<()> {
        // In whole seconds, never shorter than asked for.
        let whole = delay.as_millis().div_ceil(1_000);
        let delay = i64::try_from(whole).unwrap_or(900).min(900) * 1_000;
        self.put(
            QueueName::Turns,
            None,
            &json("send_turn", kick)?,
            self.now() + delay,
        );
        Ok(())
    }

    async fn schedule_turn(&self, kick: &TurnKick, at: Timestamp) -> PortResult<()> {
        let name = format!("{}#{}", kick.conversation, at.as_second().div_euclid(60));
        if self.state().schedules.insert(name) {
            // Precise to a minute.
            let late = self.simulation.between(0, 59_000);
            self.put(
                QueueName::Turns,
                None,
                &json("schedule_turn", kick)?,
                at.as_millisecond() + late,
            );
        }
        Ok(())
    }

    async fn send_kick(&self, kick: &SendKick, deduplication: &str) -> PortResult<()> {
        let body = json("send_kick", kick)?;
        self.append(QueueName::Outbound, kick.thread().as_str(), deduplication, &body);
        Ok(())
    }

    async fn send_dead(&self, letter: &DeadLetter) -> PortResult<()> {
        let (_, body) = marked(letter)?;
        let sent_at = self.simulation.now();
        let mut state = self.state();
        state.next += 1;
        let dead = Dead {
            id: state.next,
            queue: letter.queue,
            copy_of: Some(RedrivenLetter {
                letter: letter.id.clone(),
                died: letter.at,
            }),
            sent_at,
            body,
        };
        // In the place of an earlier copy of the same letter.
        let same = |other: &Dead| {
            other
                .copy_of
                .as_ref()
                .is_some_and(|copy| copy.letter == letter.id)
        };
        state.dead.retain(|other| !same(other));
        state.dead.push(dead);
        Ok(())
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        self.state().payloads.insert(key.to_owned(), payload.clone());
        Ok(())
    }

    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        Ok(self.state().payloads.contains_key(key))
    }

    async fn payload(&self, key: &str) -> PortResult<Option<Value>> {
        Ok(self.state().payloads.get(key).cloned())
    }
}

impl DeadQueues for Sqs {
    async fn receive_dead(&self, queue: QueueName) -> PortResult<Vec<DeadCopy>> {
        let now = self.now();
        let mut state = self.state();
        let hidden = std::mem::take(&mut state.dead_hidden);
        state.dead_hidden = hidden.into_iter().filter(|(_, until)| *until > now).collect();
        let seen = |dead: &&Dead| dead.queue == queue && !state.dead_hidden.contains_key(&dead.id);
        let some: Vec<Dead> = state.dead.iter().filter(seen).take(10).cloned().collect();
        for dead in &some {
            state.dead_hidden.insert(dead.id, now + 5_000);
        }
        let copy = |dead: Dead| DeadCopy {
            queue: dead.queue,
            body: dead.body,
            sent_at: dead.sent_at,
            copy_of: dead.copy_of,
            receipt: dead.id.to_string(),
        };
        Ok(some.into_iter().map(copy).collect())
    }

    async fn remove_dead(&self, copy: &DeadCopy) -> PortResult<()> {
        self.state()
            .dead
            .retain(|dead| dead.id.to_string() != copy.receipt);
        Ok(())
    }

    async fn send_redrive(&self, letter: &DeadLetter, deduplication: &str) -> PortResult<()> {
        let (group, body) = marked(letter)?;
        if letter.queue == QueueName::Turns {
            self.put(QueueName::Turns, None, &body, self.now());
        } else {
            self.append(letter.queue, &group, deduplication, &body);
        }
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
            if item.receives >= Visibility::RECEIVES_MAX {
                if let Some(item) = state.items.remove(&id) {
                    let dead = Dead {
                        id,
                        queue,
                        copy_of: None,
                        sent_at: instant(now),
                        body: item.body,
                    };
                    state.dead.push(dead);
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
        of_queue().map(at).min().map(instant)
    }

    fn dead(&self) -> Vec<Dead> {
        self.state().dead.clone()
    }

    fn move_back(&self, dead: &Dead) {
        let found = {
            let mut state = self.state();
            let at = state.dead.iter().position(|other| other.id == dead.id);
            at.map(|at| state.dead.remove(at))
        };
        if let Some(dead) = found {
            // The console keeps the group; what it would be is in the body.
            let body: Value = serde_json::from_str(&dead.body).unwrap_or(Value::Null);
            let group = body["group"].as_str().or_else(|| body["conversation"].as_str());
            let group = (dead.queue != QueueName::Turns).then(|| group.unwrap_or("console"));
            self.put(dead.queue, group, &dead.body, self.now());
        }
    }
}
