use super::conversation_row::{ConversationRow, UNLISTED};
use super::conversations::update_row;
use super::deliveries::ERASED_DELIVERY;
use super::tenant_records::{delete_records, select_pending_events_of};
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    encode_json, execute_sql, keep_readable, query_all, row_exists, to_sql_integer, to_sql_limit,
};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, InstanceId, Ordinal, TenantId};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_ports::ports::{EventOwners, PortResult, RecordRemoval, WriteOutcome};
use rusqlite::{Connection, params};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The number of times that the log is truncated again while somebody reads, and the wait in between.
const TRUNCATIONS_MAX: usize = 50;
const TRUNCATION_WAIT: Duration = Duration::from_millis(100);

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

fn select_pending_events(
    connection: &Connection,
    groups: &BTreeSet<String>,
) -> Result<Vec<EventRecord>, DbError> {
    let sql = "SELECT body FROM events WHERE due IS NOT NULL AND CASE WHEN json_valid(body) THEN json_extract(body, '$.job.group') END = ?1";
    let mut found = Vec::new();
    for group in groups {
        found.extend(query_all::<EventRecord>(connection, sql, [group])?);
    }
    Ok(found)
}

/// Writes the whole database anew and truncates its log: what was deleted is in neither any more. The copy that SQLite
/// needs meanwhile lies in the data folder and not in memory.
fn rewrite_database(connection: &Connection) -> Result<(), DbError> {
    let sql = "SELECT file FROM pragma_database_list WHERE name = 'main'";
    let file: String = connection.query_row(sql, [], |row| row.get(0))?;
    let folder = Path::new(&file).parent().and_then(Path::to_str);
    let folder = folder.ok_or(DbError::Argument("the data folder's name is unreadable"))?;
    connection.flush_prepared_statement_cache();
    connection.execute_batch("PRAGMA temp_store = FILE")?;
    connection.pragma_update(None, "temp_store_directory", folder)?;
    let rewritten = connection.execute_batch("VACUUM");
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    rewritten?;
    for _ in 0..TRUNCATIONS_MAX {
        let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if !busy {
            return Ok(());
        }
        std::thread::sleep(TRUNCATION_WAIT);
    }
    Err(DbError::Commit("the log is being read by others".to_owned()))
}

#[async_trait]
impl RecordRemoval for Embedded {
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

    async fn list_pending_events(&self, owners: EventOwners<'_>) -> PortResult<Vec<EventRecord>> {
        match owners {
            EventOwners::Groups(groups) => {
                self.wait_for_intake("pending_events").await?;
                let groups = groups.clone();
                self.run_read("pending_events", move |c| select_pending_events(c, &groups))
                    .await
            }
            EventOwners::Instances(instances, limit) => {
                self.wait_for_intake("pending_events_of").await?;
                let instances = instances.to_vec();
                self.run_read("pending_events_of", move |c| {
                    select_pending_events_of(c, &instances, limit)
                })
                .await
            }
        }
    }

    async fn erase_deliveries(&self, keys: &[DeliveryKey], expires: Timestamp) -> PortResult<()> {
        let keys = keys.to_vec();
        let work = move |c: &Connection| {
            let sql = "INSERT OR REPLACE INTO deliveries (key, expires, body) VALUES (?1, ?2, ?3)";
            let erase = |key: &DeliveryKey| {
                let values = params![key.as_str(), expires.as_millisecond(), ERASED_DELIVERY];
                execute_sql(c, sql, values).map(drop)
            };
            keys.iter().try_for_each(erase)
        };
        self.run_write("erase_deliveries", work).await
    }

    async fn replace_in_flight(&self, instance: &InstanceId, erased: &InFlightSend) -> PortResult<()> {
        let (instance, erased) = (instance.clone(), erased.clone());
        let sql = "UPDATE in_flight SET body = ?4 WHERE instance = ?1 AND message = ?2 AND nonce = ?3";
        self.run_write("replace_in_flight", move |c| {
            let (message, nonce) = (erased.message.as_str(), erased.nonce.as_str());
            let values = params![instance.as_str(), message, nonce, encode_json(&erased)?];
            execute_sql(c, sql, values).map(drop)
        })
        .await
    }

    async fn overwrite_deleted(&self) -> PortResult<()> {
        const WHAT: &str = "overwrite_deleted";
        if let Some(log) = self.intake_log() {
            let rewritten = log.rewrite_file(rewrite_database).await;
            rewritten.map_err(|fault| fault.into_port_error(WHAT))?;
        }
        self.run_alone(WHAT, rewrite_database).await
    }

    async fn list_unlisted_conversations(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> PortResult<Vec<Conversation>> {
        let tenant = tenant.clone();
        let sql =
            "SELECT body FROM conversations WHERE tenant = ?1 AND status = ?2 ORDER BY last_at LIMIT ?3";
        self.run_read("unlisted_conversations", move |c| {
            query_all(c, sql, params![tenant.as_str(), UNLISTED, to_sql_limit(limit)])
        })
        .await
    }

    async fn delete_tenant_records(
        &self,
        tenant: &TenantId,
        instances: &[Instance],
        limit: usize,
    ) -> PortResult<usize> {
        let (tenant, instances, kinds) = (tenant.clone(), instances.to_vec(), self.known_kinds());
        self.run_write("delete_tenant_records", move |c| {
            delete_records(c, &tenant, &instances, kinds, limit)
        })
        .await
    }
}
