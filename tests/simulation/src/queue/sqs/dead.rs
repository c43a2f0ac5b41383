//! The dead-letter queues. Of a FIFO queue's each message has a group, which is locked while one of it is received; no
//! message takes another's place.

use super::{DEDUPLICATION_MS, Sqs, State, json};
use crate::queue::Dead;
use async_trait::async_trait;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName, RedrivenLetter};
use recado_domain::ids::TokenName;
use recado_pipeline::ports::{DeadLetterQueues, DeadQueueMessage, PortError, PortResult};

/// How long what was received is not handed out again, in milliseconds.
const HIDDEN_MS: i64 = 5_000;

/// What lies in a dead-letter queue.
#[derive(Debug, Clone)]
pub(super) struct Left {
    pub(super) dead: Dead,
    pub(super) group: Option<String>,
    hidden_until: i64,
    received: u32,
}

impl Left {
    /// Of the group that it had on its queue.
    pub(super) fn new(dead: Dead, group: Option<String>) -> Self {
        Self {
            dead,
            group,
            hidden_until: 0,
            received: 0,
        }
    }

    /// Its receipt after so many receives.
    fn receipt(&self) -> String {
        format!("{}-{}", self.dead.id, self.received)
    }
}

/// A dead letter's body as its own queue carries it, marked as a redrive, and its group.
fn marked(dead_letter: &DeadLetter, by: Option<&TokenName>) -> PortResult<(String, String)> {
    let carried = dead_letter
        .build_redrive_payload(by)
        .map_err(|error| PortError::invalid("dead_letter", error))?;
    match (carried, &dead_letter.what) {
        (Some((group, carried)), _) => Ok((group, json("dead_letter", &carried)?)),
        (None, DeadLetterContent::Unreadable { body }) => Ok(("unreadable".to_owned(), body.clone())),
        (None, _) => Err(PortError::invalid("dead_letter", "it carries nothing")),
    }
}

impl State {
    /// The places of what may be handed out of `queue` now, at most ten.
    fn ready_dead(&self, queue: QueueName, now: i64) -> Vec<usize> {
        let of_queue = || self.dead.iter().filter(|left| left.dead.queue == queue);
        let locked = |group: &String| {
            let of_group = |left: &&Left| left.group.as_ref() == Some(group);
            of_queue().filter(of_group).any(|left| left.hidden_until > now)
        };
        let ready = |left: &Left| {
            left.dead.queue == queue && left.hidden_until <= now && !left.group.as_ref().is_some_and(&locked)
        };
        let places = self.dead.iter().enumerate();
        let ready = places.filter(|(_, left)| ready(left));
        ready.map(|(at, _)| at).take(10).collect()
    }
}

impl Sqs {
    /// Takes a message out of its dead-letter queue.
    pub(super) fn take_dead(&self, id: u64) -> Option<Left> {
        let mut state = self.state();
        let at = state.dead.iter().position(|left| left.dead.id == id)?;
        Some(state.dead.remove(at))
    }

    /// Puts the copy of a dead letter into its queue's dead-letter queue. One of the same death inside five minutes is dropped.
    pub(super) fn put_copy(&self, dead_letter: &DeadLetter) -> PortResult<()> {
        let (group, body) = marked(dead_letter, None)?;
        let (sent_at, now) = (self.simulation.now(), self.now());
        let group = (dead_letter.queue != QueueName::Turns).then(|| format!("copies-{group}"));
        let mut state = self.state();
        if let Some(group) = &group {
            let death = format!("{}-{}", dead_letter.id, dead_letter.at);
            let known = (dead_letter.queue, group.clone(), death);
            if state.known.get(&known).is_some_and(|until| *until > now) {
                return Ok(());
            }
            state.known.insert(known, now + DEDUPLICATION_MS);
        }
        state.next += 1;
        let dead = Dead {
            id: state.next,
            queue: dead_letter.queue,
            copy_of: Some(RedrivenLetter {
                dead_letter: dead_letter.id.clone(),
                failed_at: dead_letter.at,
            }),
            sent_at,
            body,
        };
        state.dead.push(Left::new(dead, group));
        Ok(())
    }
}

#[async_trait]
impl DeadLetterQueues for Sqs {
    async fn receive_dead_messages(&self, queue: QueueName) -> PortResult<Vec<DeadQueueMessage>> {
        let now = self.now();
        let mut state = self.state();
        let mut copies = Vec::new();
        for at in state.ready_dead(queue, now) {
            let left = &mut state.dead[at];
            left.hidden_until = now + HIDDEN_MS;
            left.received += 1;
            copies.push(DeadQueueMessage {
                queue,
                body: left.dead.body.clone(),
                sent_at: left.dead.sent_at,
                copy_of: left.dead.copy_of.clone(),
                receipt: left.receipt(),
            });
        }
        Ok(copies)
    }

    async fn remove_dead_message(&self, copy: &DeadQueueMessage) -> PortResult<()> {
        let now = self.now();
        let held =
            |left: &Left| left.receipt() == copy.receipt && (left.group.is_none() || left.hidden_until > now);
        self.state().dead.retain(|left| !held(left));
        Ok(())
    }

    async fn enqueue_redrive(
        &self,
        dead_letter: &DeadLetter,
        by: &TokenName,
        deduplication: &str,
    ) -> PortResult<()> {
        let (group, body) = marked(dead_letter, Some(by))?;
        if dead_letter.queue == QueueName::Turns {
            self.put(QueueName::Turns, None, &body, self.now());
        } else {
            self.append(dead_letter.queue, &group, deduplication, &body);
        }
        Ok(())
    }
}
