use super::dead::bury;
use super::fair::{Candidate, Rounds, free_groups, oldest_of, round};
use super::{Owner, Room, is_fifo, regroup};
use crate::Embedded;
use crate::fault::Fault;
use crate::record::{execute, later};
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::millis;
use recado_pipeline::ports::PortResult;
use recado_pipeline::settings::Visibility;
use rusqlite::{Connection, OptionalExtension, params};
use std::future::Future;
use std::time::Duration;

/// The right to finish what one receive handed out. The next receive of the same message makes another.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt {
    queue: QueueName,
    seq: i64,
    receive: u32,
}

impl Receipt {
    /// The queue it belongs to.
    pub fn queue(&self) -> QueueName {
        self.queue
    }
}

/// A message that a queue handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// From which queue.
    pub queue: QueueName,
    /// To delete it or put it off with.
    pub receipt: Receipt,
    /// Its group; `turns` has none.
    pub group: Option<String>,
    /// Whose it is.
    pub owner: Owner,
    /// How often it was handed out, this time included.
    pub receives: u32,
    /// JSON: an `InboundJob`, a `TurnKick` or a `SendKick`.
    pub body: String,
    /// When it was sent (or scheduled).
    pub sent_at: Timestamp,
}

/// Hands one out, or buries it if it was handed out too often.
fn hand_out(
    connection: &Connection,
    queue: QueueName,
    owner: &Owner,
    candidate: Candidate,
    now: Timestamp,
    visible_at: i64,
) -> Result<Option<Received>, Fault> {
    let Candidate {
        seq,
        group,
        receives,
        sent_at,
        body,
    } = candidate;
    if receives >= Visibility::RECEIVES_MAX {
        bury(connection, seq, now)?;
        return Ok(None);
    }
    let receives = receives + 1;
    // Its name is free from now on: who finds the turn not due yet may schedule it again.
    let sql = "UPDATE queue_messages SET receives = ?2, visible_at = ?3, name = NULL WHERE seq = ?1";
    execute(connection, sql, params![seq, receives, visible_at])?;
    let receipt = Receipt {
        queue,
        seq,
        receive: receives,
    };
    Ok(Some(Received {
        queue,
        receipt,
        group,
        owner: owner.clone(),
        receives,
        body,
        sent_at: millis::instant(sent_at),
    }))
}

/// Hands out by turns what `room` has room for.
fn receive(
    connection: &Connection,
    queue: QueueName,
    mut room: Room,
    rounds: &Rounds,
    now: Timestamp,
    visible_at: i64,
) -> Result<Vec<Received>, Fault> {
    // What is handed out here is hidden at least from the rest of this receive.
    let visible_at = visible_at.max(now.as_millisecond() + 1);
    if is_fifo(queue) {
        free_groups(connection, queue, now)?;
    }
    let mut received: Vec<Received> = Vec::new();
    loop {
        let last = rounds.last(queue);
        let owners = round(connection, queue, last.as_ref(), room.free(), now, |owner| {
            room.admits(owner)
        })?;
        let mut came = false;
        for owner in owners {
            // Room has become less since the round began.
            if !room.admits(&owner) {
                continue;
            }
            let Some(candidate) = oldest_of(connection, queue, &owner, now)? else {
                continue;
            };
            came = true;
            // One that is buried takes its place too, so that no receive goes through a whole backlog of such.
            room.enter(&owner);
            let group = candidate.group.clone();
            if let Some(handed) = hand_out(connection, queue, &owner, candidate, now, visible_at)? {
                received.push(handed);
            }
            regroup(connection, queue, group.as_deref())?;
            rounds.stopped_at(queue, owner);
        }
        if !came {
            return Ok(received);
        }
    }
}

/// A message that a receipt still holds.
struct Held {
    group: Option<String>,
    visible_at: i64,
}

/// The message that `receipt` holds, if it does; with `in_flight`, only until its visibility time is over.
fn held_by(
    connection: &Connection,
    receipt: &Receipt,
    in_flight: bool,
    now: Timestamp,
) -> Result<Option<Held>, Fault> {
    let sql = "SELECT grp, visible_at FROM queue_messages
        WHERE seq = ?1 AND queue = ?2 AND receives = ?3 AND dead_at IS NULL";
    let held = connection
        .prepare_cached(sql)?
        .query_row(
            params![receipt.seq, receipt.queue.as_str(), receipt.receive],
            |row| {
                Ok(Held {
                    group: row.get(0)?,
                    visible_at: row.get(1)?,
                })
            },
        )
        .optional()?;
    Ok(held.filter(|held| !in_flight || held.visible_at > now.as_millisecond()))
}

fn delete(connection: &Connection, receipt: &Receipt, now: Timestamp) -> Result<bool, Fault> {
    // A FIFO queue's receipt ends with its visibility time, even if nobody received the message again: the next of its
    // group may be due to somebody else already.
    let Some(held) = held_by(connection, receipt, is_fifo(receipt.queue), now)? else {
        return Ok(false);
    };
    execute(
        connection,
        "DELETE FROM queue_messages WHERE seq = ?1",
        [receipt.seq],
    )?;
    regroup(connection, receipt.queue, held.group.as_deref())?;
    Ok(true)
}

fn put_off(
    connection: &Connection,
    receipt: &Receipt,
    now: Timestamp,
    visible_at: i64,
) -> Result<bool, Fault> {
    let Some(held) = held_by(connection, receipt, true, now)? else {
        return Ok(false);
    };
    let sql = "UPDATE queue_messages SET visible_at = ?2 WHERE seq = ?1";
    execute(connection, sql, params![receipt.seq, visible_at])?;
    regroup(connection, receipt.queue, held.group.as_deref())?;
    Ok(true)
}

fn next_visible(connection: &Connection, queue: QueueName) -> Result<Option<i64>, Fault> {
    let sql = if is_fifo(queue) {
        "SELECT MIN(free_at) FROM queue_groups WHERE queue = ?1"
    } else {
        "SELECT MIN(visible_at) FROM queue_messages WHERE queue = ?1 AND dead_at IS NULL"
    };
    Ok(connection
        .prepare_cached(sql)?
        .query_row([queue.as_str()], |row| row.get(0))?)
}

impl Embedded {
    /// Takes at most `max` messages, which are hidden from everybody else for `visibility`. The owners take turns.
    pub async fn receive(
        &self,
        queue: QueueName,
        max: usize,
        visibility: Duration,
    ) -> PortResult<Vec<Received>> {
        self.receive_into(queue, Room::undivided(max), visibility).await
    }

    /// As [`Self::receive`], as many as `room` has room for, and of each owner only what it admits. They have not entered
    /// the caller's own room yet.
    pub async fn receive_into(
        &self,
        queue: QueueName,
        room: Room,
        visibility: Duration,
    ) -> PortResult<Vec<Received>> {
        let (now, rounds) = (self.now(), self.rounds());
        self.write("receive", move |c| {
            receive(c, queue, room, &rounds, now, later(now, visibility))
        })
        .await
    }

    /// Removes a message that is done with. `false` if the receipt is no longer good: the message comes (or came) again.
    pub async fn delete(&self, receipt: &Receipt) -> PortResult<bool> {
        let (queue, receipt, now) = (receipt.queue, receipt.clone(), self.now());
        self.write_queue(queue, "delete", move |c| delete(c, &receipt, now))
            .await
    }

    /// Hides a message for `after` from now on, instead of what was left of its visibility time; the receipt stays good
    /// until then. `false` if the receipt is no longer good.
    pub async fn change_visibility(&self, receipt: &Receipt, after: Duration) -> PortResult<bool> {
        let (queue, receipt, now) = (receipt.queue, receipt.clone(), self.now());
        let work = move |c: &Connection| put_off(c, &receipt, now, later(now, after));
        self.write_queue(queue, "change_visibility", work).await
    }

    /// When something may become receivable as things stand, now at the earliest; `None` if the queue is empty.
    pub async fn next_visible(&self, queue: QueueName) -> PortResult<Option<Timestamp>> {
        let now = self.now();
        let next = self.read("next_visible", move |c| next_visible(c, queue)).await?;
        Ok(next.map(|next| millis::instant(next).max(now)))
    }

    /// Ready as soon as something may have become receivable by a send, a delete or a change of visibility (not by the
    /// passing of time: [`Self::next_visible`] knows that). What happened while nobody waited makes the next call ready at
    /// once, so a worker that looks and then waits misses nothing, and now and then looks in vain.
    pub fn notified(&self, queue: QueueName) -> impl Future<Output = ()> + Send + '_ {
        self.waker(queue).notified()
    }
}
