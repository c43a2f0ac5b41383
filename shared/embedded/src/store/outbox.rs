use super::conversation_row::ConversationRow;
use super::conversations::is_agents_epoch;
use super::deliveries;
use super::in_flight::InFlightRow;
use super::messages::MessageRow;
use super::usage::add_usage_to_sum;
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::query_all;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::ids::{InstanceId, MessageId, ThreadId};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use recado_ports::ports::{
    ClaimGuard, ClaimOutcome, DeliveryChange, DeliveryLink, NoteChange, OutboxStore, PortResult, WriteOutcome,
};
use rusqlite::Connection;

/// Builds the row of an outgoing message. A message without `out` is refused: it has no revision to compare.
fn outgoing_row(message: &Message, what: &'static str) -> PortResult<MessageRow> {
    if message.out.is_none() {
        return Err(DbError::Argument("the message has no way out").into_port_error(what));
    }
    MessageRow::from_message(message).map_err(|fault| fault.into_port_error(what))
}

fn claim_row(
    db: &Connection,
    message: &MessageRow,
    guard: Option<&ClaimGuard>,
    note: &InFlightRow,
    now: Timestamp,
) -> DbResult<ClaimOutcome> {
    let Some(change) = message.check_stored(db, true)? else {
        let stored = message.select_stored(db)?.and_then(|stored| stored.out);
        let ours = stored.is_some_and(|out| out.is_held_by(&note.flight.nonce));
        return Ok(if ours {
            ClaimOutcome::Claimed
        } else {
            ClaimOutcome::Conflict
        });
    };
    if let Some(guard) = guard
        && !is_agents_epoch(db, &guard.conversation, guard.epoch)?
    {
        return Ok(ClaimOutcome::Stopped);
    }
    change.write_row(db, now)?;
    note.write_row(db)?;
    Ok(ClaimOutcome::Claimed)
}

/// The rows that are written when a message is settled, or stays open after an attempt.
pub(crate) struct Settlement {
    message: MessageRow,
    id: MessageId,
    finished_send: Option<InFlightRow>,
    link: Option<DeliveryLink>,
    conversation: Option<ConversationRow>,
}

impl Settlement {
    pub(crate) fn from_message(
        what: &'static str,
        message: &Message,
        finished_send: Option<&InFlightSend>,
        link: Option<&DeliveryLink>,
        conversation: Option<&Conversation>,
    ) -> PortResult<Self> {
        let conversation = conversation.map(ConversationRow::from_conversation).transpose();
        Ok(Self {
            message: outgoing_row(message, what)?,
            id: message.message_id(),
            finished_send: finished_send.map(|flight| InFlightRow::for_instance(&message.instance, flight)),
            link: link.cloned(),
            conversation: conversation.map_err(|fault| fault.into_port_error(what))?,
        })
    }

    pub(crate) fn write_settlement(&self, db: &Connection, now: Timestamp) -> DbResult<WriteOutcome> {
        let conversation = match &self.conversation {
            Some(conversation) => {
                let Some(change) = conversation.check_stored(db)? else {
                    return Ok(WriteOutcome::Conflict);
                };
                Some(change)
            }
            None => None,
        };
        let Some(message) = self.message.check_stored(db, true)? else {
            return Ok(WriteOutcome::Conflict);
        };
        message.write_row(db, now)?;
        if let Some(note) = &self.finished_send {
            note.delete_row(db)?;
        }
        if let Some(link) = &self.link {
            deliveries::link_message(db, link, &self.id, now)?;
        }
        if let Some(conversation) = &conversation {
            conversation.write_row(db, now)?;
        }
        Ok(WriteOutcome::Written)
    }
}

fn amend_row(db: &Connection, message: &MessageRow, now: Timestamp) -> DbResult<WriteOutcome> {
    let Some(change) = message.check_stored(db, false)? else {
        return Ok(WriteOutcome::Conflict);
    };
    change.write_row(db, now)?;
    Ok(WriteOutcome::Written)
}

/// Replaces a stored message that does not go out, if `rev` is the stored one plus one.
fn replace_inbound_row(
    db: &Connection,
    message: &MessageRow,
    rev: u64,
    now: Timestamp,
) -> DbResult<WriteOutcome> {
    let follows = |stored: Message| stored.out.is_none() && stored.rev.checked_add(1) == Some(rev);
    if !message.is_inbound_row(db)? || !message.select_stored(db)?.is_some_and(follows) {
        return Ok(WriteOutcome::Conflict);
    }
    message.write_row(db, now)?;
    Ok(WriteOutcome::Written)
}

#[async_trait]
impl OutboxStore for Embedded {
    async fn list_open_messages(&self, thread: &ThreadId) -> PortResult<Vec<Message>> {
        // A conversation's id is its thread's and a number, separated by `-`. The character after `-` is `.`, so these
        // bounds enclose exactly the thread.
        let bounds = [
            format!("c_{}-", thread.as_str()),
            format!("c_{}.", thread.as_str()),
        ];
        let sql = "SELECT body FROM messages WHERE conversation > ?1 AND conversation < ?2 AND open = 1";
        let mut open: Vec<Message> = self
            .run_lookup("open", move |db| query_all(db, sql, bounds.each_ref()))
            .await?;
        open.sort_by_key(|message| (message.conversation.number_in_thread(), message.ordinal));
        Ok(open)
    }

    async fn save_open_message(
        &self,
        message: &Message,
        finished_send: Option<&InFlightSend>,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "save_open";
        let rows = Settlement::from_message(WHAT, message, finished_send, None, None)?;
        let now = self.current_time();
        self.run_write(WHAT, move |db| rows.write_settlement(db, now))
            .await
    }

    async fn claim_message(
        &self,
        message: &Message,
        guard: Option<&ClaimGuard>,
        flight: &InFlightSend,
    ) -> PortResult<ClaimOutcome> {
        let row = outgoing_row(message, "claim")?;
        let guard = guard.cloned();
        let note = InFlightRow::for_instance(&message.instance, flight);
        let now = self.current_time();
        self.run_write("claim", move |db| claim_row(db, &row, guard.as_ref(), &note, now))
            .await
    }

    async fn settle_message(
        &self,
        message: &Message,
        finished_send: Option<&InFlightSend>,
        link: Option<&DeliveryLink>,
        conversation: Option<&Conversation>,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "settle";
        let settlement = Settlement::from_message(WHAT, message, finished_send, link, conversation)?;
        let now = self.current_time();
        self.run_write(WHAT, move |db| settlement.write_settlement(db, now))
            .await
    }

    async fn update_closed_message(
        &self,
        message: &Message,
        used: Option<&UsageSum>,
    ) -> PortResult<WriteOutcome> {
        let what = if message.out.is_some() {
            "amend"
        } else {
            "replace_message"
        };
        let row = MessageRow::from_message(message).map_err(|fault| fault.into_port_error(what))?;
        let inbound_rev = message.out.is_none().then_some(message.rev);
        let (used, now) = (used.cloned(), self.current_time());
        self.run_write(what, move |db| {
            let written = match inbound_rev {
                None => amend_row(db, &row, now)?,
                Some(rev) => replace_inbound_row(db, &row, rev, now)?,
            };
            if let (WriteOutcome::Written, Some(used)) = (written, &used) {
                add_usage_to_sum(db, used)?;
            }
            Ok(written)
        })
        .await
    }

    async fn list_in_flight(&self, instance: &InstanceId) -> PortResult<Vec<InFlightSend>> {
        let instance = instance.clone();
        let sql = "SELECT body FROM in_flight WHERE instance = ?1 ORDER BY message, nonce";
        self.run_lookup("in_flight", move |db| query_all(db, sql, [instance.as_str()]))
            .await
    }

    async fn change_in_flight(
        &self,
        instance: &InstanceId,
        flight: &InFlightSend,
        change: NoteChange<'_>,
    ) -> PortResult<bool> {
        let note = InFlightRow::for_instance(instance, flight);
        match change {
            NoteChange::Echo(id, echo) => {
                let id = id.to_owned();
                self.run_write("record_echo", move |db| note.record_echo(db, &id, echo))
                    .await
            }
            NoteChange::Replace => {
                self.run_write("replace_in_flight", move |db| note.replace_row(db))
                    .await
            }
        }
    }

    async fn record_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: Option<&UsageSum>,
    ) -> PortResult<()> {
        let what = match charge {
            None => "record_status",
            Some(_) => "record_charged_status",
        };
        let (update, charge, now) = (update.clone(), charge.cloned(), self.current_time());
        self.run_acknowledged_write(None, what, move |db| {
            deliveries::apply_status(db, &update, expires, now, charge.as_ref())
        })
        .await
    }

    async fn change_deliveries(&self, keys: &[DeliveryKey], change: DeliveryChange) -> PortResult<()> {
        let what = match change {
            DeliveryChange::StopAwaiting => "stop_awaiting",
            DeliveryChange::Erase { .. } => "erase_deliveries",
        };
        let keys = keys.to_vec();
        self.run_write(what, move |db| {
            keys.iter()
                .try_for_each(|key| deliveries::change_delivery(db, key, change))
        })
        .await
    }

    async fn find_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        let (key, now) = (key.clone(), self.current_time());
        self.run_lookup("delivery", move |db| {
            deliveries::select_delivery_or_erased(db, &key, now)
        })
        .await
    }

    async fn find_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        let (keys, now) = (keys.to_vec(), self.current_time());
        self.run_lookup("deliveries", move |db| {
            keys.iter()
                .map(|key| deliveries::select_delivery(db, key, now))
                .collect()
        })
        .await
    }
}
