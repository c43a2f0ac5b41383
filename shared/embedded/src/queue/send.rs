use super::dead::Copy;
use super::{Owner, regroup};
use crate::Embedded;
use crate::fault::Fault;
use crate::record::{decode, encode, execute, exists, later};
use jiff::Timestamp;
use recado_domain::dead_letter::{DeadLetter, QueueName};
use recado_domain::kick::{SendKick, TurnKick};
use recado_pipeline::ports::{Enqueue, PortResult, Queues};
use rusqlite::{Connection, params};
use serde_json::Value;
use std::time::Duration;

/// How long a deduplication id is known again, in SQS too.
const DEDUPLICATION: Duration = Duration::from_secs(300);

/// The longest delay of a message, in SQS too.
const DELAY_MAX: Duration = Duration::from_secs(900);

/// A message for a FIFO queue.
pub(super) struct Letter {
    pub(super) group: String,
    pub(super) deduplication: String,
    pub(super) body: String,
}

/// Appends to a FIFO queue, unless the deduplication id is known.
pub(super) fn append(
    connection: &Connection,
    queue: QueueName,
    letter: &Letter,
    now: Timestamp,
) -> Result<(), Fault> {
    let Letter {
        group,
        deduplication,
        body,
    } = letter;
    let (name, at) = (queue.as_str(), now.as_millisecond());
    let sql = "SELECT 1 FROM queue_dedup WHERE queue = ?1 AND grp = ?2 AND dedup = ?3 AND until > ?4";
    if exists(connection, sql, params![name, group, deduplication, at])? {
        return Ok(());
    }
    let sql = "INSERT OR REPLACE INTO queue_dedup (queue, grp, dedup, until) VALUES (?1, ?2, ?3, ?4)";
    execute(
        connection,
        sql,
        params![name, group, deduplication, later(now, DEDUPLICATION)],
    )?;
    let owner = Owner::of(connection, queue, body)?;
    let sql = "INSERT INTO queue_messages (queue, grp, owner, visible_at, sent_at, body)
        VALUES (?1, ?2, ?3, ?4, ?4, ?5)";
    execute(connection, sql, params![name, group, owner.as_str(), at, body])?;
    regroup(connection, queue, Some(group))
}

/// Puts a kick on `turns` that is seen from `visible_at`. With a name: unless one of that name has yet to come.
pub(super) fn set_timer(
    connection: &Connection,
    name: Option<&str>,
    body: &str,
    visible_at: i64,
    now: Timestamp,
) -> Result<(), Fault> {
    let queue = QueueName::Turns;
    let owner = Owner::of(connection, queue, body)?;
    let sql = "INSERT INTO queue_messages (queue, name, owner, visible_at, sent_at, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING";
    let (queue, now) = (queue.as_str(), now.as_millisecond());
    execute(
        connection,
        sql,
        params![queue, name, owner.as_str(), visible_at, now, body],
    )?;
    Ok(())
}

/// The letter of an event.
fn letter_of(event: &Enqueue) -> Result<Letter, Fault> {
    let body = encode(&event.job)?;
    Ok(Letter {
        group: event.job.group.clone(),
        deduplication: event.deduplication.clone(),
        body,
    })
}

impl Queues for Embedded {
    async fn send_inbound(&self, events: &[Enqueue]) -> PortResult<()> {
        const WHAT: &str = "send_inbound";
        let letters: Vec<Letter> = events
            .iter()
            .map(letter_of)
            .collect::<Result<_, _>>()
            .map_err(|fault: Fault| fault.during(WHAT))?;
        let now = self.now();
        let work = move |c: &Connection| {
            letters
                .iter()
                .try_for_each(|letter| append(c, QueueName::Inbound, letter, now))
        };
        self.write_queue(QueueName::Inbound, WHAT, work).await
    }

    async fn send_turn(&self, kick: &TurnKick, delay: Duration) -> PortResult<()> {
        const WHAT: &str = "send_turn";
        if delay > DELAY_MAX {
            return Err(Fault::Argument("a message is delayed by at most 15 minutes").during(WHAT));
        }
        let body = encode(kick).map_err(|fault| fault.during(WHAT))?;
        let now = self.now();
        let work = move |c: &Connection| set_timer(c, None, &body, later(now, delay), now);
        self.write_queue(QueueName::Turns, WHAT, work).await
    }

    async fn schedule_turn(&self, kick: &TurnKick, at: Timestamp) -> PortResult<()> {
        const WHAT: &str = "schedule_turn";
        let body = encode(kick).map_err(|fault| fault.during(WHAT))?;
        let name = format!("{}#{}", kick.conversation, at.as_second().div_euclid(60));
        let now = self.now();
        let work = move |c: &Connection| set_timer(c, Some(&name), &body, at.as_millisecond(), now);
        self.write_queue(QueueName::Turns, WHAT, work).await
    }

    async fn send_kick(&self, kick: &SendKick, deduplication: &str) -> PortResult<()> {
        const WHAT: &str = "send_kick";
        let body = encode(kick).map_err(|fault| fault.during(WHAT))?;
        let (group, deduplication) = (kick.group().to_owned(), deduplication.to_owned());
        let (letter, now) = (
            Letter {
                group,
                deduplication,
                body,
            },
            self.now(),
        );
        self.write_queue(QueueName::Outbound, WHAT, move |c| {
            append(c, QueueName::Outbound, &letter, now)
        })
        .await
    }

    async fn send_dead(&self, letter: &DeadLetter) -> PortResult<()> {
        const WHAT: &str = "send_dead";
        let copy = Copy::of(letter).map_err(|fault| fault.during(WHAT))?;
        let now = self.now();
        self.write(WHAT, move |c| copy.put(c, now)).await
    }

    async fn put_payload(&self, key: &str, payload: &Value) -> PortResult<()> {
        const WHAT: &str = "put_payload";
        let json = encode(payload).map_err(|fault| fault.during(WHAT))?;
        let (payloads, key) = (self.payloads(), key.to_owned());
        // By the threads that read: a large file must hold up neither the writer nor the caller's executor.
        self.read(WHAT, move |_| payloads.put(&key, &json)).await
    }

    /// Nothing is to be done: what a message or a dead letter names is not swept.
    async fn renew_payload(&self, key: &str) -> PortResult<bool> {
        Ok(self.payload(key).await?.is_some())
    }

    async fn payload(&self, key: &str) -> PortResult<Option<Value>> {
        let (payloads, key) = (self.payloads(), key.to_owned());
        self.read("payload", move |_| {
            payloads.get(&key)?.as_deref().map(decode).transpose()
        })
        .await
    }
}
