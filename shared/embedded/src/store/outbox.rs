use super::conversations::{ConversationRow, is_agents};
use super::deliveries;
use super::messages::MessageRow;
use crate::Embedded;
use crate::fault::Fault;
use crate::record::{all, encode, execute};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{InstanceId, MessageId, ThreadId};
use recado_domain::instance::{Echo, InFlight};
use recado_domain::message::Message;
use recado_pipeline::ports::{Claimed, DeliveryLink, Guard, OutboxStore, PortResult, Written};
use rusqlite::{Connection, params};

/// A message with a way out; what has none has no `out.rev` to be judged by.
fn row_of(message: &Message, what: &'static str) -> PortResult<MessageRow> {
    if message.out.is_none() {
        return Err(Fault::Argument("the message has no way out").during(what));
    }
    MessageRow::of(message).map_err(|fault| fault.during(what))
}

/// The note of an attempt under its instance.
#[derive(Debug)]
struct Note {
    instance: InstanceId,
    flight: InFlight,
}

impl Note {
    fn of(instance: &InstanceId, flight: &InFlight) -> Self {
        Self {
            instance: instance.clone(),
            flight: flight.clone(),
        }
    }

    fn put(&self, connection: &Connection) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO in_flight (instance, message, nonce, body) VALUES (?1, ?2, ?3, ?4)";
        let (message, nonce) = (self.flight.message.as_str(), self.flight.nonce.as_str());
        execute(
            connection,
            sql,
            params![self.instance.as_str(), message, nonce, encode(&self.flight)?],
        )?;
        Ok(())
    }

    fn hear(&self, connection: &Connection, id: &str, echo: Echo) -> Result<bool, Fault> {
        let field = match echo {
            Echo::Sure => "$.echo",
            Echo::Maybe => "$.maybe_echo",
        };
        let sql = "UPDATE in_flight SET body = json_set(body, ?5, ?4)
            WHERE instance = ?1 AND message = ?2 AND nonce = ?3
                AND (json_extract(body, ?5) IS NULL OR json_extract(body, ?5) = ?4)";
        let (message, nonce) = (self.flight.message.as_str(), self.flight.nonce.as_str());
        let heard = execute(
            connection,
            sql,
            params![self.instance.as_str(), message, nonce, id, field],
        )?;
        Ok(heard > 0)
    }

    fn remove(&self, connection: &Connection) -> Result<(), Fault> {
        let sql = "DELETE FROM in_flight WHERE instance = ?1 AND message = ?2 AND nonce = ?3";
        let (message, nonce) = (self.flight.message.as_str(), self.flight.nonce.as_str());
        execute(connection, sql, params![self.instance.as_str(), message, nonce])?;
        Ok(())
    }
}

fn save_open(connection: &Connection, message: &MessageRow, landed: Option<&Note>) -> Result<Written, Fault> {
    if !message.follows(connection, true)? {
        return Ok(Written::Conflict);
    }
    message.put(connection)?;
    if let Some(note) = landed {
        note.remove(connection)?;
    }
    Ok(Written::Yes)
}

fn claim(
    connection: &Connection,
    message: &MessageRow,
    guard: Option<&Guard>,
    note: &Note,
) -> Result<Claimed, Fault> {
    if !message.follows(connection, true)? {
        let stored = message.stored(connection)?.and_then(|stored| stored.out);
        let ours = stored.is_some_and(|out| out.held_by(&note.flight.nonce));
        return Ok(if ours { Claimed::Yes } else { Claimed::Conflict });
    }
    if let Some(guard) = guard
        && !is_agents(connection, &guard.conversation, guard.epoch)?
    {
        return Ok(Claimed::Stopped);
    }
    message.put(connection)?;
    note.put(connection)?;
    Ok(Claimed::Yes)
}

/// What a message that is settled takes with it.
struct Settlement {
    message: MessageRow,
    id: MessageId,
    landed: Option<Note>,
    link: Option<DeliveryLink>,
    conversation: Option<ConversationRow>,
}

impl Settlement {
    fn store(&self, connection: &Connection, now: Timestamp) -> Result<Written, Fault> {
        let fits = match &self.conversation {
            Some(conversation) => conversation.follows(connection)?,
            None => true,
        };
        if !fits || !self.message.follows(connection, true)? {
            return Ok(Written::Conflict);
        }
        self.message.put(connection)?;
        if let Some(note) = &self.landed {
            note.remove(connection)?;
        }
        if let Some(link) = &self.link {
            deliveries::link(connection, link, &self.id, now)?;
        }
        if let Some(conversation) = &self.conversation {
            conversation.put(connection)?;
        }
        Ok(Written::Yes)
    }
}

fn amend(connection: &Connection, message: &MessageRow) -> Result<Written, Fault> {
    if !message.follows(connection, false)? {
        return Ok(Written::Conflict);
    }
    message.put(connection)?;
    Ok(Written::Yes)
}

impl OutboxStore for Embedded {
    async fn open(&self, thread: &ThreadId) -> PortResult<Vec<Message>> {
        // A conversation's id is its thread's and a number: `.` comes next after `-`.
        let bounds = [
            format!("c_{}-", thread.as_str()),
            format!("c_{}.", thread.as_str()),
        ];
        let sql = "SELECT body FROM messages WHERE conversation > ?1 AND conversation < ?2 AND open = 1";
        let mut open: Vec<Message> = self.read("open", move |c| all(c, sql, bounds)).await?;
        open.sort_by_key(|message| (message.conversation.number(), message.ordinal));
        Ok(open)
    }

    async fn save_open(&self, message: &Message, landed: Option<&InFlight>) -> PortResult<Written> {
        let row = row_of(message, "save_open")?;
        let note = landed.map(|flight| Note::of(&message.instance, flight));
        self.write("save_open", move |c| save_open(c, &row, note.as_ref()))
            .await
    }

    async fn claim(
        &self,
        message: &Message,
        guard: Option<&Guard>,
        flight: &InFlight,
    ) -> PortResult<Claimed> {
        let row = row_of(message, "claim")?;
        let (guard, note) = (guard.cloned(), Note::of(&message.instance, flight));
        self.write("claim", move |c| claim(c, &row, guard.as_ref(), &note))
            .await
    }

    async fn settle(
        &self,
        message: &Message,
        landed: Option<&InFlight>,
        link: Option<&DeliveryLink>,
        conversation: Option<&Conversation>,
    ) -> PortResult<Written> {
        let conversation = conversation.map(ConversationRow::of).transpose();
        let settlement = Settlement {
            message: row_of(message, "settle")?,
            id: message.id(),
            landed: landed.map(|flight| Note::of(&message.instance, flight)),
            link: link.cloned(),
            conversation: conversation.map_err(|fault| fault.during("settle"))?,
        };
        let now = self.now();
        self.write("settle", move |c| settlement.store(c, now)).await
    }

    async fn amend(&self, message: &Message) -> PortResult<Written> {
        let row = row_of(message, "amend")?;
        self.write("amend", move |c| amend(c, &row)).await
    }

    async fn in_flight(&self, instance: &InstanceId) -> PortResult<Vec<InFlight>> {
        let instance = instance.clone();
        let sql = "SELECT body FROM in_flight WHERE instance = ?1 ORDER BY message, nonce";
        self.read("in_flight", move |c| all(c, sql, [instance.as_str()]))
            .await
    }

    async fn hear(&self, instance: &InstanceId, flight: &InFlight, id: &str, echo: Echo) -> PortResult<bool> {
        let (note, id) = (Note::of(instance, flight), id.to_owned());
        self.write("hear", move |c| note.hear(c, &id, echo)).await
    }
}
