use super::conversation_row::ConversationRow;
use super::conversations::update_row;
use super::tenant_records::{delete_records, select_pending_events_of};
use crate::Embedded;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{execute_sql, query_all, query_all_rows, row_exists, to_sql_integer, to_sql_limit};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, Ordinal, TenantId};
use recado_ports::ports::{DeletedPart, EventOwners, PortResult, RecordRemoval, WriteOutcome};
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The number of times that the log is truncated again while somebody reads, and the wait in between.
const TRUNCATIONS_MAX: usize = 50;
const TRUNCATION_WAIT: Duration = Duration::from_millis(100);

fn delete_message_rows(
    db: &Connection,
    conversation: &ConversationRow,
    id: &ConversationId,
    ordinals: &[Ordinal],
    now: Timestamp,
) -> DbResult<WriteOutcome> {
    if update_row(db, conversation, now)? == WriteOutcome::Conflict {
        return Ok(WriteOutcome::Conflict);
    }
    let sql = "DELETE FROM messages WHERE conversation = ?1 AND ordinal = ?2";
    for ordinal in ordinals {
        execute_sql(db, sql, params![id.to_string(), to_sql_integer(ordinal.0)])?;
    }
    Ok(WriteOutcome::Written)
}

fn delete_conversation_row(db: &Connection, id: &ConversationId, rev: u64) -> DbResult<WriteOutcome> {
    let sql = "DELETE FROM conversations WHERE id = ?1 AND rev = ?2";
    let deleted = execute_sql(db, sql, params![id.to_string(), to_sql_integer(rev)])? > 0;
    let sql = "SELECT 1 FROM conversations WHERE id = ?1";
    if deleted || !row_exists(db, sql, [id.to_string()])? {
        return Ok(WriteOutcome::Written);
    }
    Ok(WriteOutcome::Conflict)
}

fn select_pending_events(db: &Connection, groups: &BTreeSet<String>) -> DbResult<Vec<EventRecord>> {
    let sql = "SELECT body FROM events WHERE due IS NOT NULL AND CASE WHEN json_valid(body) THEN json_extract(body, '$.job.group') END = ?1";
    let mut found = Vec::new();
    for group in groups {
        found.extend(query_all::<EventRecord>(db, sql, [group])?);
    }
    Ok(found)
}

/// Writes the whole database anew and truncates its log: what was deleted is in neither any more. The copy that SQLite
/// needs meanwhile lies in the data folder and not in memory.
fn rewrite_database(db: &Connection) -> DbResult<()> {
    let sql = "SELECT file FROM pragma_database_list WHERE name = 'main'";
    let file: String = db.query_row(sql, [], |row| row.get(0))?;
    let folder = Path::new(&file).parent().and_then(Path::to_str);
    let folder = folder.ok_or(DbError::Argument("the data folder's name is unreadable"))?;
    db.flush_prepared_statement_cache();
    db.execute_batch("PRAGMA temp_store = FILE")?;
    db.pragma_update(None, "temp_store_directory", folder)?;
    let rewritten = db.execute_batch("VACUUM");
    db.execute_batch("PRAGMA temp_store = MEMORY")?;
    rewritten?;
    for _ in 0..TRUNCATIONS_MAX {
        let busy: bool = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
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
        let sql = "SELECT id FROM conversations WHERE tenant = ?1 AND kept_since <= ?2 ORDER BY kept_since, id LIMIT ?3";
        let parse = |row: &Row<'_>| {
            let id: String = row.get(0)?;
            ConversationId::parse(&id).map_err(|_| DbError::Argument("a conversation's id is unreadable"))
        };
        let (tenant, before, limit) = (tenant.clone(), before.as_millisecond(), to_sql_limit(limit));
        self.run_read("kept_since", move |db| {
            query_all_rows(db, sql, params![tenant.as_str(), before, limit], parse)
        })
        .await
    }

    async fn delete_part_of(
        &self,
        conversation: &Conversation,
        part: DeletedPart<'_>,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "delete_messages";
        let (id, rev) = (conversation.id.clone(), conversation.rev);
        let DeletedPart::Messages(messages) = part else {
            let delete = move |db: &Connection| delete_conversation_row(db, &id, rev);
            return self.run_write("delete_conversation", delete).await;
        };
        let row =
            ConversationRow::from_conversation(conversation).map_err(|fault| fault.into_port_error(WHAT))?;
        let ordinals: Vec<Ordinal> = messages.iter().map(|message| message.ordinal).collect();
        let now = self.current_time();
        self.run_write(WHAT, move |db| delete_message_rows(db, &row, &id, &ordinals, now))
            .await
    }

    async fn list_pending_events(&self, owners: EventOwners<'_>) -> PortResult<Vec<EventRecord>> {
        match owners {
            EventOwners::Groups(groups) => {
                self.wait_for_intake("pending_events").await?;
                let groups = groups.clone();
                self.run_read("pending_events", move |db| select_pending_events(db, &groups))
                    .await
            }
            EventOwners::Instances(instances, limit) => {
                self.wait_for_intake("pending_events_of").await?;
                let instances = instances.to_vec();
                self.run_read("pending_events_of", move |db| {
                    select_pending_events_of(db, &instances, limit)
                })
                .await
            }
        }
    }

    async fn overwrite_deleted(&self) -> PortResult<()> {
        const WHAT: &str = "overwrite_deleted";
        if let Some(log) = self.intake_log() {
            let rewritten = log.rewrite_file(rewrite_database).await;
            rewritten.map_err(|fault| fault.into_port_error(WHAT))?;
        }
        self.run_alone(WHAT, rewrite_database).await
    }

    async fn delete_tenant_records(
        &self,
        tenant: &TenantId,
        instances: &[Instance],
        limit: usize,
    ) -> PortResult<usize> {
        let (tenant, instances, kinds) = (tenant.clone(), instances.to_vec(), self.known_kinds());
        self.run_write("delete_tenant_records", move |db| {
            delete_records(db, &tenant, &instances, kinds, limit)
        })
        .await
    }
}
