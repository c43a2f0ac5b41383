use super::conversation_row::ConversationRow;
use super::conversations::update_row;
use super::messages::MessageRow;
use super::usage::add_usage_to_sum;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{execute_sql, keep_readable, row_exists, to_sql_integer, to_sql_limit};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, Ordinal, TenantId};
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use recado_ports::ports::{PortResult, RetainedRecords, WriteOutcome};
use rusqlite::{Connection, params};

fn select_kept_since(
    connection: &Connection,
    tenant: &TenantId,
    before: Timestamp,
    limit: usize,
) -> Result<Vec<ConversationId>, DbError> {
    let sql = "SELECT id FROM conversations WHERE tenant = ?1 AND kept_since <= ?2 ORDER BY kept_since, id LIMIT ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![
        tenant.as_str(),
        before.as_millisecond(),
        to_sql_limit(limit)
    ])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let parse = |id: String| {
            ConversationId::parse(&id).map_err(|_| DbError::Argument("a conversation's id is unreadable"))
        };
        found.extend(keep_readable(
            "conversations",
            row.get(0).map_err(DbError::from).and_then(parse),
        )?);
    }
    Ok(found)
}

fn delete_message_rows(
    connection: &Connection,
    conversation: &ConversationRow,
    id: &ConversationId,
    ordinals: &[Ordinal],
    now: Timestamp,
) -> Result<WriteOutcome, DbError> {
    if update_row(connection, conversation, now)? == WriteOutcome::Conflict {
        return Ok(WriteOutcome::Conflict);
    }
    let sql = "DELETE FROM messages WHERE conversation = ?1 AND ordinal = ?2";
    for ordinal in ordinals {
        execute_sql(
            connection,
            sql,
            params![id.to_string(), to_sql_integer(ordinal.0)],
        )?;
    }
    Ok(WriteOutcome::Written)
}

fn delete_conversation_row(
    connection: &Connection,
    id: &ConversationId,
    rev: u64,
) -> Result<WriteOutcome, DbError> {
    let sql = "DELETE FROM conversations WHERE id = ?1 AND rev = ?2";
    let deleted = execute_sql(connection, sql, params![id.to_string(), to_sql_integer(rev)])? > 0;
    let sql = "SELECT 1 FROM conversations WHERE id = ?1";
    if deleted || !row_exists(connection, sql, [id.to_string()])? {
        return Ok(WriteOutcome::Written);
    }
    Ok(WriteOutcome::Conflict)
}

fn replace_message_row(
    connection: &Connection,
    message: &MessageRow,
    rev: u64,
    used: Option<&UsageSum>,
    now: Timestamp,
) -> Result<WriteOutcome, DbError> {
    let follows = |stored: Message| stored.out.is_none() && stored.rev.checked_add(1) == Some(rev);
    if !message.is_inbound_row(connection)? || !message.select_stored(connection)?.is_some_and(follows) {
        return Ok(WriteOutcome::Conflict);
    }
    message.write_row(connection, now)?;
    if let Some(used) = used {
        add_usage_to_sum(connection, used)?;
    }
    Ok(WriteOutcome::Written)
}

impl RetainedRecords for Embedded {
    async fn list_kept_since(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<ConversationId>> {
        let tenant = tenant.clone();
        self.run_read("kept_since", move |c| {
            select_kept_since(c, &tenant, before, limit)
        })
        .await
    }

    async fn delete_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "delete_messages";
        let row =
            ConversationRow::from_conversation(conversation).map_err(|fault| fault.into_port_error(WHAT))?;
        let id = conversation.id.clone();
        let ordinals: Vec<Ordinal> = messages.iter().map(|message| message.ordinal).collect();
        let now = self.current_time();
        self.run_write(WHAT, move |c| delete_message_rows(c, &row, &id, &ordinals, now))
            .await
    }

    async fn delete_conversation(&self, conversation: &Conversation) -> PortResult<WriteOutcome> {
        let (id, rev) = (conversation.id.clone(), conversation.rev);
        self.run_write("delete_conversation", move |c| {
            delete_conversation_row(c, &id, rev)
        })
        .await
    }

    async fn replace_message(&self, message: &Message, used: Option<&UsageSum>) -> PortResult<WriteOutcome> {
        const WHAT: &str = "replace_message";
        let row = MessageRow::from_message(message).map_err(|fault| fault.into_port_error(WHAT))?;
        let (rev, used, now) = (message.rev, used.cloned(), self.current_time());
        self.run_write(WHAT, move |c| {
            replace_message_row(c, &row, rev, used.as_ref(), now)
        })
        .await
    }
}
