use super::dead_messages::move_to_dead_letters;
use super::fair_share::FairShare;
use super::groups::{GroupKey, is_fifo, update_group_row};
use super::receipt::Receipt;
use super::round_robin::{
    ReceivableMessage, RoundRobin, oldest_receivable, release_due_groups, select_round,
};
use super::tenant_key::TenantKey;
use crate::Embedded;
use crate::db_error::DbResult;
use crate::sql_records::{execute_sql, millis_after, query_one_value, run_sql_statement};
use crate::store::cut_out_job;
use jiff::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::millis;
use recado_ports::ports::{PortError, PortResult};
use recado_ports::settings::VisibilityTimeouts;
use rusqlite::{Connection, Params, params};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// A message that a queue handed out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DequeuedMessage {
    /// The queue that handed the message out.
    pub queue: QueueName,
    /// The receipt with which the message is deleted or postponed.
    pub receipt: Receipt,
    /// The FIFO group of the message. `None` on `turns`.
    pub group: Option<String>,
    /// The tenant or instance of the message.
    pub owner: TenantKey,
    /// The number of times that the message was handed out, this time included.
    pub receives: u32,
    /// The body, in JSON: an `InboundJob`, a `TurnsMessage` or an `OutboundJob`.
    pub body: String,
    /// Time at which the message was sent (or scheduled).
    pub sent_at: Timestamp,
}

/// A message that is handed out. Its body is taken out of an event's record on the caller's thread, not on the one that writes.
struct HandedMessage {
    message: DequeuedMessage,
    is_event_record: bool,
}

impl HandedMessage {
    fn into_dequeued_message(mut self) -> DequeuedMessage {
        if self.is_event_record {
            cut_out_job(&mut self.message.body);
        }
        self.message
    }
}

/// Hands a message out. If it was handed out too often, moves it to the dead-letter queue instead and returns `None`. A message
/// whose event is applied is deleted.
fn hand_out_message(
    db: &Connection,
    queue: QueueName,
    owner: &TenantKey,
    candidate: ReceivableMessage,
    now: Timestamp,
    visible_at: i64,
) -> DbResult<Option<HandedMessage>> {
    let seq = candidate.seq;
    let Some(body) = candidate.body else {
        // Another message of the event was processed before.
        execute_sql(db, "DELETE FROM queue_messages WHERE seq = ?1", [seq])?;
        return Ok(None);
    };
    if candidate.receives >= VisibilityTimeouts::RECEIVES_MAX {
        move_to_dead_letters(db, seq, now)?;
        return Ok(None);
    }
    let receives = candidate.receives + 1;
    // The name is free from now on: a worker that finds the turn not due yet may schedule it under the same name.
    let sql = "UPDATE queue_messages SET receives = ?2, visible_at = ?3, name = NULL WHERE seq = ?1";
    execute_sql(db, sql, params![seq, receives, visible_at])?;
    let receipt = Receipt {
        queue,
        seq,
        receive: receives,
        group: candidate.group_key,
        hidden_until: visible_at,
    };
    let message = DequeuedMessage {
        queue,
        receipt,
        group: candidate.group,
        owner: owner.clone(),
        receives,
        body,
        sent_at: millis::from_unix_millis(candidate.sent_at),
    };
    Ok(Some(HandedMessage {
        message,
        is_event_record: candidate.is_event_record,
    }))
}

/// Receives messages for as many workers as `room` allows, the tenants in turn.
fn receive_rows(
    db: &Connection,
    queue: QueueName,
    mut room: FairShare,
    rounds: &RoundRobin,
    now: Timestamp,
    visible_at: i64,
) -> DbResult<Vec<HandedMessage>> {
    // A message that is handed out here must be hidden at least from the rest of this receive.
    let visible_at = visible_at.max(now.as_millisecond() + 1);
    if is_fifo(queue) {
        release_due_groups(db, queue, now)?;
    }
    let last = rounds.last_served(queue);
    let free = room.free_workers();
    let first_round = select_round(db, queue, last.as_ref(), free, now, |owner| room.may_start(owner))?;
    // Nobody else writes meanwhile: an owner who has nothing more now, or may start nothing more, is not asked again.
    let mut owners = VecDeque::from(first_round);
    let mut received: Vec<HandedMessage> = Vec::new();
    while let Some(owner) = owners.pop_front() {
        if !room.may_start(&owner) {
            continue;
        }
        let Some(candidate) = oldest_receivable(db, queue, &owner, now)? else {
            continue;
        };
        // A message that goes to the dead-letter queue counts as well: one receive must never work through a long
        // backlog of them.
        room.start_work(&owner);
        let group = candidate.group_key;
        if let Some(handed) = hand_out_message(db, queue, &owner, candidate, now, visible_at)? {
            hold_group(db, group, visible_at)?;
            received.push(handed);
        } else {
            update_group_row(db, queue, group)?;
        }
        rounds.set_last_served(queue, owner.clone());
        owners.push_back(owner);
    }
    Ok(received)
}

/// Holds a group back while its oldest message is in flight.
fn hold_group(db: &Connection, group: Option<GroupKey>, until: i64) -> DbResult<()> {
    let Some(group) = group else { return Ok(()) };
    let sql = "UPDATE queue_groups SET free_at = ?2 WHERE group_key = ?1";
    run_sql_statement(db, sql, params![group, until])
}

/// The condition for the message that a receipt holds: ?1 is its number, ?2 its queue and ?3 the number of its receive. A receipt
/// that must be in flight ends with its visibility time: ?4 is the present time then, and else `NULL`.
const IS_HELD: &str =
    "seq = ?1 AND queue = ?2 AND receives = ?3 AND dead_at IS NULL AND (?4 IS NULL OR visible_at > ?4)";

/// Changes the message that `receipt` holds by `sql`. Returns whether the receipt was valid.
fn change_held(db: &Connection, receipt: &Receipt, sql: &str, params: impl Params) -> DbResult<bool> {
    if execute_sql(db, sql, params)? == 0 {
        return Ok(false);
    }
    update_group_row(db, receipt.queue, receipt.group)?;
    Ok(true)
}

pub(super) fn delete_held(db: &Connection, receipt: &Receipt, now: Timestamp) -> DbResult<bool> {
    let sql = format!("DELETE FROM queue_messages WHERE {IS_HELD}");
    // On a FIFO queue a receipt ends with its visibility time, even if nobody received the message again: another
    // worker may have the next message of the group already.
    let in_flight = is_fifo(receipt.queue).then(|| now.as_millisecond());
    let values = params![receipt.seq, receipt.queue.as_str(), receipt.receive, in_flight];
    change_held(db, receipt, &sql, values)
}

fn postpone_held(db: &Connection, receipt: &Receipt, now: Timestamp, visible_at: i64) -> DbResult<bool> {
    let sql = format!("UPDATE queue_messages SET visible_at = ?5 WHERE {IS_HELD}");
    let in_flight = now.as_millisecond();
    let values = params![
        receipt.seq,
        receipt.queue.as_str(),
        receipt.receive,
        in_flight,
        visible_at
    ];
    change_held(db, receipt, &sql, values)
}

fn select_next_visible(db: &Connection, queue: QueueName) -> DbResult<Option<i64>> {
    let sql = if is_fifo(queue) {
        "SELECT CASE
            WHEN EXISTS (SELECT 1 FROM queue_groups WHERE queue = ?1 AND free_at = 0) THEN 0
            ELSE (SELECT MIN(free_at) FROM queue_groups WHERE queue = ?1 AND free_at > 0) END"
    } else {
        "SELECT MIN(visible_at) FROM queue_messages WHERE queue = ?1 AND dead_at IS NULL AND grp IS NULL"
    };
    Ok(query_one_value(db, sql, [queue.as_str()])?.flatten())
}

impl Embedded {
    /// Receives at most `max` messages and hides them from everybody else for `visibility`. The tenants take turns.
    pub async fn receive_messages(
        &self,
        queue: QueueName,
        max: usize,
        visibility: Duration,
    ) -> PortResult<Vec<DequeuedMessage>> {
        self.receive_for_share(queue, FairShare::without_limit(max), visibility)
            .await
    }

    /// Receives as many messages as `room` has free workers, and of each tenant only as many as `room` allows. The
    /// caller must still record the messages in its own [`FairShare`].
    pub async fn receive_for_share(
        &self,
        queue: QueueName,
        room: FairShare,
        visibility: Duration,
    ) -> PortResult<Vec<DequeuedMessage>> {
        const WHAT: &str = "receive";
        let receive = async || {
            let now = self.current_time();
            let rounds = Arc::clone(&self.inner.round_robin);
            let room = room.clone();
            let hidden = millis_after(now, visibility);
            let work = move |db: &Connection| receive_rows(db, queue, room.clone(), &rounds, now, hidden);
            let handed = self.run_write(WHAT, work).await?;
            let taken = handed.into_iter().map(HandedMessage::into_dequeued_message);
            Ok::<Vec<DequeuedMessage>, PortError>(taken.collect())
        };
        let was_waiting = queue == QueueName::Inbound && self.has_waiting_intake();
        let received = receive().await?;
        if !received.is_empty() || !was_waiting {
            return Ok(received);
        }
        self.wait_for_intake(WHAT).await?;
        receive().await
    }

    /// Deletes a message that is done. `false` if the receipt is no longer valid: the message comes (or came) again.
    pub async fn delete_received(&self, receipt: &Receipt) -> PortResult<bool> {
        self.write_despite_refusals(|| {
            let (queue, receipt, now) = (receipt.queue, receipt.clone(), self.current_time());
            self.run_queue_write(queue, "delete", move |db| delete_held(db, &receipt, now))
        })
        .await
    }

    /// Hides a message for `after` from now on, in place of the rest of its visibility time. The receipt stays valid
    /// until then. `false` if the receipt is no longer valid.
    pub async fn change_visibility(&self, receipt: &Receipt, after: Duration) -> PortResult<bool> {
        self.write_despite_refusals(|| {
            let (queue, receipt, now) = (receipt.queue, receipt.clone(), self.current_time());
            let work = move |db: &Connection| postpone_held(db, &receipt, now, millis_after(now, after));
            self.run_queue_write(queue, "change_visibility", work)
        })
        .await
    }

    /// Returns the next time at which a message may become receivable, now at the earliest. `None` if the queue is
    /// empty.
    pub async fn next_visible_at(&self, queue: QueueName) -> PortResult<Option<Timestamp>> {
        let now = self.current_time();
        let next = self
            .run_lookup("next_visible", move |db| select_next_visible(db, queue))
            .await?;
        Ok(next.map(|next| millis::from_unix_millis(next).max(now)))
    }

    /// Waits until a message may have become receivable by a send, a delete or a change of visibility. (The passing of
    /// time is not noticed: see [`Self::next_visible_at`].) A change while nobody waits makes the next call return at
    /// once. So a worker that receives and then waits misses nothing, and sometimes wakes without need.
    pub fn wait_for_change(&self, queue: QueueName) -> impl Future<Output = ()> + Send + '_ {
        self.queue_waker(queue).notified()
    }
}
