use super::messages::{MessageRow, message};
use crate::Embedded;
use crate::fault::Fault;
use crate::record::{Newest, all, count, encode, execute, integer, limit, one};
use jiff::Timestamp;
use recado_domain::conversation::{Conversation, Mode, Status};
use recado_domain::ids::{ConversationId, IdempotencyKey, InstanceId, MessageId, Ordinal, ThreadId};
use recado_domain::message::Message;
use recado_pipeline::ports::{
    Committed, ConversationFilter, Conversations, KeyClaim, KeyRecord, Page, PageRequest, PortResult, Written,
};
use rusqlite::{Connection, OptionalExtension, params};

fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Ai => "ai",
        Mode::Manual => "manual",
    }
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Active => "active",
        Status::Resolved => "resolved",
    }
}

/// The status column of a conversation that is in no list.
const UNLISTED: &str = "unlisted";

/// A conversation as it lies in its table.
#[derive(Debug)]
pub(crate) struct ConversationRow {
    id: String,
    thread: String,
    number: u32,
    instance: String,
    mode: &'static str,
    status: &'static str,
    epoch: i64,
    rev: i64,
    last_at: i64,
    due: Option<i64>,
    body: String,
}

impl ConversationRow {
    pub(crate) fn of(conversation: &Conversation) -> Result<Self, Fault> {
        Ok(Self {
            id: conversation.id.to_string(),
            thread: conversation.id.thread().as_str().to_owned(),
            number: conversation.id.number(),
            instance: conversation.instance.as_str().to_owned(),
            mode: mode_name(conversation.mode),
            status: conversation.listed_as().map_or(UNLISTED, status_name),
            epoch: integer(conversation.epoch),
            rev: integer(conversation.rev),
            last_at: conversation.last_message_at.as_millisecond(),
            due: conversation.due().map(Timestamp::as_millisecond),
            body: encode(conversation)?,
        })
    }

    /// Whether the stored one is the one that this was made from: of the `rev` before, or none for the first.
    pub(super) fn follows(&self, connection: &Connection) -> Result<bool, Fault> {
        let sql = "SELECT rev FROM conversations WHERE id = ?1";
        let stored: Option<i64> = connection
            .prepare_cached(sql)?
            .query_row([&self.id], |row| row.get(0))
            .optional()?;
        Ok(self.rev >= 1 && stored.unwrap_or(0) == self.rev - 1)
    }

    pub(crate) fn put(&self, connection: &Connection) -> Result<(), Fault> {
        let sql = "INSERT OR REPLACE INTO conversations
            (id, thread, number, instance, mode, status, epoch, rev, last_at, due, body)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        let Self {
            id,
            thread,
            number,
            instance,
            mode,
            status,
            epoch,
            rev,
            last_at,
            due,
            body,
        } = self;
        let values = params![
            id, thread, number, instance, mode, status, epoch, rev, last_at, due, body
        ];
        execute(connection, sql, values)?;
        Ok(())
    }
}

/// Whether the conversation is the agent's, in this epoch.
pub(super) fn is_agents(connection: &Connection, id: &ConversationId, epoch: u64) -> Result<bool, Fault> {
    let sql = "SELECT mode, epoch FROM conversations WHERE id = ?1";
    let found: Option<(String, i64)> = connection
        .prepare_cached(sql)?
        .query_row([id.to_string()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.is_some_and(|(mode, stored)| mode == mode_name(Mode::Ai) && count(stored) == epoch))
}

fn conversation(connection: &Connection, id: &ConversationId) -> Result<Option<Conversation>, Fault> {
    one(
        connection,
        "SELECT body FROM conversations WHERE id = ?1",
        [id.to_string()],
    )
}

fn latest(connection: &Connection, thread: &ThreadId) -> Result<Option<Conversation>, Fault> {
    let sql = "SELECT body FROM conversations WHERE thread = ?1 ORDER BY number DESC LIMIT 1";
    one(connection, sql, [thread.as_str()])
}

/// The newest messages before `before`, the newest first.
fn newest_messages(
    connection: &Connection,
    id: &ConversationId,
    before: i64,
    most: usize,
) -> Result<Vec<Message>, Fault> {
    let sql =
        "SELECT body FROM messages WHERE conversation = ?1 AND ordinal < ?2 ORDER BY ordinal DESC LIMIT ?3";
    all(connection, sql, params![id.to_string(), before, limit(most)])
}

fn with_history(
    connection: &Connection,
    id: &ConversationId,
    most: usize,
) -> Result<Option<(Conversation, Vec<Message>)>, Fault> {
    let Some(conversation) = conversation(connection, id)? else {
        return Ok(None);
    };
    let mut messages = newest_messages(connection, id, i64::MAX, most)?;
    messages.reverse();
    Ok(Some((conversation, messages)))
}

fn messages_after(
    connection: &Connection,
    id: &ConversationId,
    after: Ordinal,
    most: usize,
) -> Result<Vec<Message>, Fault> {
    let sql = "SELECT body FROM messages WHERE conversation = ?1 AND ordinal > ?2 ORDER BY ordinal LIMIT ?3";
    all(
        connection,
        sql,
        params![id.to_string(), integer(after.0), limit(most)],
    )
}

fn messages(
    connection: &Connection,
    id: &ConversationId,
    page: &PageRequest,
) -> Result<Page<Message>, Fault> {
    let before = match &page.cursor {
        Some(cursor) => cursor.parse().map_err(|_| Fault::Cursor)?,
        None => i64::MAX,
    };
    let mut items = newest_messages(connection, id, before, page.limit.saturating_add(1))?;
    let more = items.len() > page.limit;
    items.truncate(page.limit);
    let next_cursor = items.last().filter(|_| more).map(|last| last.ordinal.to_string());
    Ok(Page { items, next_cursor })
}

fn update(connection: &Connection, row: &ConversationRow) -> Result<Written, Fault> {
    if !row.follows(connection)? {
        return Ok(Written::Conflict);
    }
    row.put(connection)?;
    Ok(Written::Yes)
}

fn key(connection: &Connection, scope: &str, key: &str, now: Timestamp) -> Result<Option<KeyRecord>, Fault> {
    let sql = "SELECT request_hash, message FROM keys WHERE scope = ?1 AND key = ?2 AND expires > ?3";
    let found: Option<(String, String)> = connection
        .prepare_cached(sql)?
        .query_row(params![scope, key, now.as_millisecond()], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let record = |(request_hash, message): (String, String)| {
        let message = MessageId::parse(&message).map_err(|_| Fault::Argument("a key names no message"))?;
        Ok(KeyRecord {
            request_hash,
            message,
        })
    };
    found.map(record).transpose()
}

/// A used key is told before a changed conversation: a client that repeats its request finds both.
fn commit(
    connection: &Connection,
    conversation: &ConversationRow,
    message: &MessageRow,
    id: &MessageId,
    claim: Option<&KeyClaim>,
    now: Timestamp,
) -> Result<Committed, Fault> {
    if let Some(taken) = used_key(connection, claim, now)? {
        return Ok(Committed::KeyTaken(taken));
    }
    if !conversation.follows(connection)? || !message.is_new(connection)? {
        return Ok(Committed::Conflict);
    }
    conversation.put(connection)?;
    message.put(connection)?;
    keep_key(connection, claim, id)?;
    Ok(Committed::Yes)
}

fn commit_reply(
    connection: &Connection,
    conversation: &ConversationRow,
    parts: &[MessageRow],
) -> Result<Written, Fault> {
    if !conversation.follows(connection)? {
        return Ok(Written::Conflict);
    }
    for part in parts {
        if !part.is_new(connection)? {
            return Ok(Written::Conflict);
        }
    }
    conversation.put(connection)?;
    for part in parts {
        part.put(connection)?;
    }
    Ok(Written::Yes)
}

/// What the key that is claimed was used for before.
pub(super) fn used_key(
    connection: &Connection,
    claim: Option<&KeyClaim>,
    now: Timestamp,
) -> Result<Option<KeyRecord>, Fault> {
    match claim {
        Some(claim) => key(connection, &claim.scope, claim.key.as_str(), now),
        None => Ok(None),
    }
}

/// Notes what the key that is claimed was used for.
pub(super) fn keep_key(
    connection: &Connection,
    claim: Option<&KeyClaim>,
    message: &MessageId,
) -> Result<(), Fault> {
    let Some(claim) = claim else { return Ok(()) };
    let sql = "INSERT OR REPLACE INTO keys (scope, key, request_hash, message, expires) VALUES (?1, ?2, ?3, ?4, ?5)";
    let expires = claim.expires.as_millisecond();
    let values = params![
        claim.scope,
        claim.key.as_str(),
        claim.request_hash,
        message.as_str(),
        expires
    ];
    execute(connection, sql, values)?;
    Ok(())
}

impl Conversations for Embedded {
    async fn latest(&self, thread: &ThreadId) -> PortResult<Option<Conversation>> {
        let thread = thread.clone();
        self.read("latest", move |c| latest(c, &thread)).await
    }

    async fn conversation(&self, id: &ConversationId) -> PortResult<Option<Conversation>> {
        let id = id.clone();
        self.read("conversation", move |c| conversation(c, &id)).await
    }

    async fn with_history(
        &self,
        id: &ConversationId,
        limit: usize,
    ) -> PortResult<Option<(Conversation, Vec<Message>)>> {
        let id = id.clone();
        self.read("with_history", move |c| with_history(c, &id, limit))
            .await
    }

    async fn messages_after(
        &self,
        id: &ConversationId,
        after: Ordinal,
        limit: usize,
    ) -> PortResult<Vec<Message>> {
        let id = id.clone();
        self.read("messages_after", move |c| messages_after(c, &id, after, limit))
            .await
    }

    async fn update(&self, conversation: &Conversation) -> PortResult<Written> {
        let row = ConversationRow::of(conversation).map_err(|fault| fault.during("update"))?;
        self.write("update", move |c| update(c, &row)).await
    }

    async fn commit(
        &self,
        conversation: &Conversation,
        message: &Message,
        key: Option<&KeyClaim>,
    ) -> PortResult<Committed> {
        let conversation = ConversationRow::of(conversation).map_err(|fault| fault.during("commit"))?;
        let row = MessageRow::of(message).map_err(|fault| fault.during("commit"))?;
        let (id, key, now) = (message.id(), key.cloned(), self.now());
        self.write("commit", move |c| {
            commit(c, &conversation, &row, &id, key.as_ref(), now)
        })
        .await
    }

    async fn commit_reply(&self, conversation: &Conversation, parts: &[Message]) -> PortResult<Written> {
        const WHAT: &str = "commit_reply";
        let conversation = ConversationRow::of(conversation).map_err(|fault| fault.during(WHAT))?;
        let parts: Result<Vec<MessageRow>, Fault> = parts.iter().map(MessageRow::of).collect();
        let parts = parts.map_err(|fault| fault.during(WHAT))?;
        self.write(WHAT, move |c| commit_reply(c, &conversation, &parts))
            .await
    }

    async fn key(&self, scope: &str, id: &IdempotencyKey) -> PortResult<Option<KeyRecord>> {
        let (scope, id, now) = (scope.to_owned(), id.clone(), self.now());
        self.read("key", move |c| key(c, &scope, id.as_str(), now)).await
    }

    async fn list(&self, filter: &ConversationFilter, page: &PageRequest) -> PortResult<Page<Conversation>> {
        let (filter, page) = (filter.clone(), page.clone());
        let work = move |c: &Connection| {
            Newest::of("conversations", "last_at", &page)?
                .only("instance", filter.instance.as_ref().map(InstanceId::as_str))
                .only("mode", filter.mode.map(mode_name))
                .only("status", filter.status.map(status_name))
                .but("status", UNLISTED)
                .page(c)
        };
        self.read("list", work).await
    }

    async fn messages(&self, id: &ConversationId, page: &PageRequest) -> PortResult<Page<Message>> {
        let (id, page) = (id.clone(), page.clone());
        self.read("messages", move |c| messages(c, &id, &page)).await
    }

    async fn message(&self, id: &MessageId) -> PortResult<Option<Message>> {
        // An id that none of ours can have names no message.
        let Ok((conversation, ordinal)) = id.parts() else {
            return Ok(None);
        };
        self.read("message", move |c| message(c, &conversation, ordinal))
            .await
    }
}
