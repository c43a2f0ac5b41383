use super::contact_words::CONTACT_MATCHES;
use super::conversation_row::{ConversationRow, HAS_LABEL, UNLISTED, mode_name, status_name};
use super::identity::{IDENTITY_KEY, select_identity_key};
use super::in_flight::InFlightRow;
use super::message_words::{WORDS_MATCH, select_covered_time, write_match_query};
use super::messages::{MessageRow, select_message};
use super::table::{find_refused, make_writes, write_items};
use super::usage::add_usage_to_sum;
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{
    FoundRecords, PagedQuery, count_from_sql, make_page, query_all, query_first_row, query_found, query_one,
    run_sql_statement, to_sql_integer, to_sql_limit,
};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::conversation::{Conversation, ConversationLabel, ConversationMode};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, InstanceId, MessageId, Ordinal, TenantId, ThreadId};
use recado_domain::message::Message;
use recado_domain::typing::TypingSign;
use recado_domain::usage::{UsageSum, usage_of_reply};
use recado_ports::ports::{
    CommitOutcome, ConversationFilter, ConversationPage, Conversations, EffectGuard, Page, PageRequest,
    PortResult, SearchWords, WriteOutcome,
};
use recado_ports::table::{Kind, Write, WriteResult};
use rusqlite::{Connection, Row, params};

/// Returns whether the conversation is in the mode `ai` and in this epoch.
pub(super) fn is_agents_epoch(db: &Connection, id: &ConversationId, epoch: u64) -> DbResult<bool> {
    let sql = "SELECT mode, epoch FROM conversations WHERE id = ?1";
    let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let found: Option<(String, i64)> = query_first_row(db, sql, [id.to_string()], read)?;
    Ok(found.is_some_and(|(mode, stored)| {
        mode == mode_name(ConversationMode::Ai) && count_from_sql(stored) == epoch
    }))
}

fn select_conversation(db: &Connection, id: &ConversationId) -> DbResult<Option<Conversation>> {
    let sql = "SELECT body FROM conversations WHERE id = ?1";
    query_one(db, sql, [id.to_string()])
}

/// Returns whether the conversation is as it was drafted.
fn is_as_drafted(db: &Connection, guard: &EffectGuard) -> DbResult<bool> {
    let found = select_conversation(db, &guard.conversation)?;
    Ok(found.is_some_and(|found| {
        found.mode == ConversationMode::Ai
            && found.epoch == guard.epoch
            && found.answered == guard.answered
            && found.turn_upto == guard.turn_upto
    }))
}

/// Returns the newest messages before the ordinal `before`, the newest first.
fn select_newest_messages(
    db: &Connection,
    id: &ConversationId,
    before: i64,
    most: usize,
) -> DbResult<FoundRecords<Message>> {
    let sql =
        "SELECT body FROM messages WHERE conversation = ?1 AND ordinal < ?2 ORDER BY ordinal DESC LIMIT ?3";
    query_found(db, sql, params![id.to_string(), before, to_sql_limit(most)])
}

fn select_with_history(
    db: &Connection,
    id: &ConversationId,
    most: usize,
) -> DbResult<Option<(Conversation, Vec<Message>)>> {
    let Some(conversation) = select_conversation(db, id)? else {
        return Ok(None);
    };
    let mut messages = select_newest_messages(db, id, i64::MAX, most)?.records;
    messages.retain(|message| message.ordinal >= conversation.kept.kept_from);
    messages.reverse();
    Ok(Some((conversation, messages)))
}

fn select_message_page(db: &Connection, id: &ConversationId, page: &PageRequest) -> DbResult<Page<Message>> {
    let before = match &page.cursor {
        Some(cursor) => cursor.parse().map_err(|_| DbError::Cursor)?,
        None => i64::MAX,
    };
    let items = select_newest_messages(db, id, before, page.limit.saturating_add(1))?;
    Ok(make_page(items, page.limit, |last| last.ordinal.to_string()))
}

pub(super) fn update_row(db: &Connection, row: &ConversationRow, now: Timestamp) -> DbResult<WriteOutcome> {
    let Some(change) = row.check_stored(db)? else {
        return Ok(WriteOutcome::Conflict);
    };
    change.write_row(db, now)?;
    Ok(WriteOutcome::Written)
}

/// The rows of new messages and of their conversation.
pub(crate) struct CommitRows {
    conversation: ConversationRow,
    messages: Vec<MessageRow>,
    /// The notes of first attempts that begin with the commit.
    notes: Vec<InFlightRow>,
    /// The writes of the table that are made beside them.
    beside: Vec<Write>,
    /// The use of models by a reply, for the sums.
    usage: Vec<UsageSum>,
}

impl CommitRows {
    pub(crate) fn from_messages(
        conversation: &Conversation,
        messages: &[Message],
        beside: &[Write],
    ) -> DbResult<Self> {
        Ok(Self {
            conversation: ConversationRow::from_conversation(conversation)?,
            messages: messages
                .iter()
                .map(MessageRow::from_message)
                .collect::<Result<_, _>>()?,
            notes: messages.iter().filter_map(InFlightRow::for_new_message).collect(),
            beside: beside.to_vec(),
            usage: usage_of_reply(messages),
        })
    }

    /// Writes the rows, and makes the writes beside them, of these kinds. A refused one is reported before a changed conversation: a
    /// client that repeats its request meets both.
    pub(crate) fn write_rows(
        &self,
        db: &Connection,
        kinds: &[Kind],
        now: Timestamp,
    ) -> DbResult<CommitOutcome> {
        let refused = find_refused(db, &self.beside, now)?;
        if !refused.is_empty() {
            return Ok(CommitOutcome::Refused(refused));
        }
        let Some(conversation) = self.conversation.check_stored(db)? else {
            return Ok(CommitOutcome::Conflict);
        };
        let messages = self.messages.iter().map(|message| message.check_new(db));
        let messages: Option<Vec<_>> = messages.collect::<Result<_, _>>()?;
        let Some(messages) = messages else {
            return Ok(CommitOutcome::Conflict);
        };
        conversation.write_row(db, now)?;
        for message in &messages {
            message.write_row(db, now)?;
        }
        for note in &self.notes {
            note.write_row(db)?;
        }
        for sum in &self.usage {
            add_usage_to_sum(db, sum)?;
        }
        make_writes(db, &self.beside, kinds, now)?;
        Ok(CommitOutcome::Committed)
    }
}

#[async_trait]
impl Conversations for Embedded {
    async fn find_latest_conversation(&self, thread: &ThreadId) -> PortResult<Option<Conversation>> {
        let sql = "SELECT body FROM conversations WHERE thread = ?1 ORDER BY number DESC LIMIT 1";
        let thread = thread.clone();
        self.run_lookup("latest", move |db| query_one(db, sql, [thread.as_str()]))
            .await
    }

    async fn find_conversation(&self, id: &ConversationId) -> PortResult<Option<Conversation>> {
        let id = id.clone();
        self.run_lookup("conversation", move |db| select_conversation(db, &id))
            .await
    }

    async fn find_with_history(
        &self,
        id: &ConversationId,
        limit: usize,
    ) -> PortResult<Option<(Conversation, Vec<Message>)>> {
        let id = id.clone();
        self.run_lookup("with_history", move |db| select_with_history(db, &id, limit))
            .await
    }

    async fn list_messages_after(
        &self,
        id: &ConversationId,
        after: Ordinal,
        limit: usize,
    ) -> PortResult<Vec<Message>> {
        let sql =
            "SELECT body FROM messages WHERE conversation = ?1 AND ordinal > ?2 ORDER BY ordinal LIMIT ?3";
        let (id, after, limit) = (id.to_string(), to_sql_integer(after.0), to_sql_limit(limit));
        self.run_lookup("messages_after", move |db| {
            query_all(db, sql, params![id, after, limit])
        })
        .await
    }

    async fn update_conversation(
        &self,
        conversation: &Conversation,
        used: &[UsageSum],
    ) -> PortResult<WriteOutcome> {
        let what = if used.is_empty() {
            "update"
        } else {
            "update_with_use"
        };
        let row =
            ConversationRow::from_conversation(conversation).map_err(|fault| fault.into_port_error(what))?;
        let (used, now) = (used.to_vec(), self.current_time());
        self.run_write(what, move |db| {
            let written = update_row(db, &row, now)?;
            if written == WriteOutcome::Written {
                used.iter().try_for_each(|sum| add_usage_to_sum(db, sum))?;
            }
            Ok(written)
        })
        .await
    }

    async fn commit_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
        beside: &[Write],
    ) -> PortResult<CommitOutcome> {
        const WHAT: &str = "commit";
        let rows = CommitRows::from_messages(conversation, messages, beside);
        let rows = rows.map_err(|fault| fault.into_port_error(WHAT))?;
        let (kinds, now) = (self.known_kinds(), self.current_time());
        self.run_write(WHAT, move |db| rows.write_rows(db, kinds, now))
            .await
    }

    async fn write_guarded(&self, guard: &EffectGuard, writes: &[Write]) -> PortResult<Option<WriteResult>> {
        let (guard, writes) = (guard.clone(), writes.to_vec());
        let (kinds, now) = (self.known_kinds(), self.current_time());
        self.run_write("write_guarded", move |db| {
            let is_drafted = is_as_drafted(db, &guard)?;
            is_drafted
                .then(|| write_items(db, &writes, kinds, now))
                .transpose()
        })
        .await
    }

    async fn search_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<ConversationPage> {
        let (filter, page, now) = (filter.clone(), page.clone(), self.current_time());
        let write_query = |words: &SearchWords| write_match_query(words, filter.tenant.as_ref());
        let by_text = filter.text.as_ref().map(write_query);
        let by_contact = filter.contact.as_ref().map(write_query);
        let is_search = by_text.is_some() || by_contact.is_some();
        let unlisted = filter.unlisted.then_some(UNLISTED);
        let seen = (!filter.unlisted).then_some(UNLISTED);
        let work = move |db: &Connection| {
            // Read first: what is indexed meanwhile is not promised.
            let searched_until = is_search.then(|| select_covered_time(db, now)).transpose()?;
            let found: Page<Conversation> = PagedQuery::newest_first("conversations", "last_at", &page)?
                .filter("tenant = ?", filter.tenant.as_ref().map(TenantId::as_str))
                .filter("instance = ?", filter.instance.as_ref().map(InstanceId::as_str))
                .filter("mode = ?", filter.mode.map(mode_name))
                .filter("status = ?", filter.status.map(status_name))
                .filter("status = ?", unlisted)
                .filter("status <> ?", seen)
                .filter(HAS_LABEL, filter.label.as_ref().map(ConversationLabel::as_str))
                .filter(WORDS_MATCH, by_text.as_deref())
                .filter(CONTACT_MATCHES, by_contact.as_deref())
                .fetch_page(db)?;
            Ok::<_, DbError>(ConversationPage {
                searched_until,
                ..ConversationPage::from(found)
            })
        };
        self.run_read("list", work).await
    }

    async fn list_messages(&self, id: &ConversationId, page: &PageRequest) -> PortResult<Page<Message>> {
        let (id, page) = (id.clone(), page.clone());
        self.run_read("messages", move |db| select_message_page(db, &id, &page))
            .await
    }

    async fn find_message(&self, id: &MessageId) -> PortResult<Option<Message>> {
        // An id that Recado cannot have given out names no message.
        let Ok((conversation, ordinal)) = id.conversation_and_ordinal() else {
            return Ok(None);
        };
        self.run_lookup("message", move |db| select_message(db, &conversation, ordinal))
            .await
    }

    async fn put_typing_sign(&self, thread: &ThreadId, sign: &TypingSign) -> PortResult<()> {
        self.inner.typing.keep_sign(thread, sign);
        Ok(())
    }

    async fn find_typing_sign(&self, threads: &[ThreadId]) -> PortResult<Option<TypingSign>> {
        Ok(self.inner.typing.find_newest(threads, self.current_time()))
    }

    async fn keep_identity_key(&self, make: &(dyn Fn() -> IdentityKey + Sync)) -> PortResult<IdentityKey> {
        let identity = &self.inner.identity;
        if let Some(known) = identity.get() {
            return Ok(known.clone());
        }
        if let Some(found) = self.run_lookup("identity_key", select_identity_key).await? {
            return Ok(identity.get_or_init(|| found).clone());
        }
        let new = make();
        let sql = "INSERT INTO installation (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
        let key = self.run_write("keep_identity_key", move |db| {
            run_sql_statement(db, sql, params![IDENTITY_KEY, new.to_hex()])?;
            Ok(select_identity_key(db)?.unwrap_or_else(|| new.clone()))
        });
        let key = key.await?;
        Ok(identity.get_or_init(|| key).clone())
    }
}
