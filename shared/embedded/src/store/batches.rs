use super::conversations::CommittedMessage;
use super::invitation_rows::insert_claim;
use super::invitations::{encode_record, find_claimant, write_claimed_invitation};
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    execute_sql, follows_stored, make_page, query_all, query_found, query_one, query_readable,
    to_sql_integer, to_sql_limit,
};
use jiff::Timestamp;
use recado_domain::ids::{BatchId, InvitationId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk, Invitation};
use recado_ports::ports::{
    BatchOutcome, BatchRecords, CommittedInvitation, InvitationClaim, InvitationCommit, Page, PageRequest,
    PortResult, WriteOutcome,
};
use rusqlite::{Connection, OptionalExtension, params};

pub(crate) fn upsert_batch(connection: &Connection, batch: &Batch, body: &str) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO batches (tenant, id, due, expires, rev, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let due = batch.due_at.map(Timestamp::as_millisecond);
    let (expires, rev) = (batch.keep_until.as_millisecond(), to_sql_integer(batch.rev));
    let values = params![batch.tenant.as_str(), batch.id.as_str(), due, expires, rev, body];
    execute_sql(connection, sql, values)?;
    Ok(())
}

fn write_claimed(
    connection: &Connection,
    (batch, body): (&Batch, &str),
    claim: Option<&InvitationClaim>,
    now: i64,
) -> Result<BatchOutcome, DbError> {
    if let Some(claim) = claim {
        if let Some(by) = find_claimant(connection, &batch.tenant, claim, now)? {
            let by =
                BatchId::parse(by.as_str()).map_err(|_| DbError::Argument("a batch's id is unreadable"))?;
            return Ok(BatchOutcome::Claimed(by));
        }
        insert_claim(connection, (&batch.tenant, batch.id.as_str()), claim)?;
    }
    let known = "SELECT 1 FROM batches WHERE tenant = ?1 AND id = ?2";
    if connection
        .prepare_cached(known)?
        .exists(params![batch.tenant.as_str(), batch.id.as_str()])?
    {
        return Err(DbError::Argument("a batch of the same id exists"));
    }
    upsert_batch(connection, batch, body)?;
    Ok(BatchOutcome::Begun)
}

/// Writes a chunk, if it follows the stored one.
fn write_chunk(connection: &Connection, chunk: &BatchChunk, body: &str) -> Result<WriteOutcome, DbError> {
    let (tenant, batch) = (chunk.tenant.as_str(), chunk.batch.as_str());
    let number = to_sql_integer(chunk.number as u64);
    let sql = "SELECT rev FROM batch_chunks WHERE tenant = ?1 AND batch = ?2 AND number = ?3";
    let stored: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![tenant, batch, number], |row| row.get(0))
        .optional()?;
    if !follows_stored(stored, chunk.rev) {
        return Ok(WriteOutcome::Conflict);
    }
    upsert_chunk(connection, chunk, body)?;
    Ok(WriteOutcome::Written)
}

pub(super) fn upsert_chunk(connection: &Connection, chunk: &BatchChunk, body: &str) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO batch_chunks (tenant, batch, number, expires, rev, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let number = to_sql_integer(chunk.number as u64);
    let (expires, rev) = (chunk.keep_until.as_millisecond(), to_sql_integer(chunk.rev));
    let (tenant, batch) = (chunk.tenant.as_str(), chunk.batch.as_str());
    let values = params![tenant, batch, number, expires, rev, body];
    execute_sql(connection, sql, values).map(drop)
}

impl BatchRecords for Embedded {
    async fn begin_batch(
        &self,
        batch: &Batch,
        claim: Option<&InvitationClaim>,
        now: Timestamp,
    ) -> PortResult<BatchOutcome> {
        const WHAT: &str = "begin_batch";
        let body = encode_record(WHAT, batch)?;
        let (batch, claim, now) = (batch.clone(), claim.cloned(), now.as_millisecond());
        let work = move |c: &Connection| write_claimed(c, (&batch, &body), claim.as_ref(), now);
        self.run_write(WHAT, work).await
    }

    async fn find_batch(&self, tenant: &TenantId, id: &BatchId) -> PortResult<Option<Batch>> {
        let (tenant, id, now) = (tenant.clone(), id.clone(), self.current_time().as_millisecond());
        let sql = "SELECT body FROM batches WHERE tenant = ?1 AND id = ?2 AND expires > ?3";
        let work = move |c: &Connection| query_one(c, sql, params![tenant.as_str(), id.as_str(), now]);
        self.run_lookup("find_batch", work).await
    }

    async fn save_batch(&self, batch: &Batch) -> PortResult<WriteOutcome> {
        const WHAT: &str = "save_batch";
        let (batch, body) = (batch.clone(), encode_record(WHAT, batch)?);
        let work = move |c: &Connection| {
            let stored: Option<i64> = c
                .prepare_cached("SELECT rev FROM batches WHERE tenant = ?1 AND id = ?2")?
                .query_row(params![batch.tenant.as_str(), batch.id.as_str()], |row| {
                    row.get(0)
                })
                .optional()?;
            if stored.is_none_or(|rev| rev + 1 != to_sql_integer(batch.rev)) {
                return Ok(WriteOutcome::Conflict);
            }
            upsert_batch(c, &batch, &body)?;
            Ok(WriteOutcome::Written)
        };
        self.run_write(WHAT, work).await
    }

    async fn list_batches(&self, tenant: &TenantId, page: &PageRequest) -> PortResult<Page<Batch>> {
        let (tenant, before, limit) = (tenant.clone(), page.cursor.clone(), page.limit);
        let now = self.current_time().as_millisecond();
        let sql = "SELECT body FROM batches WHERE tenant = ?1 AND (?2 IS NULL OR id < ?2) AND expires > ?3
            ORDER BY id DESC LIMIT ?4";
        let work = move |c: &Connection| {
            let values = params![tenant.as_str(), before, now, to_sql_limit(limit + 1)];
            Ok(make_page(query_found(c, sql, values)?, limit, |one: &Batch| {
                one.id.to_string()
            }))
        };
        self.run_read("list_batches", work).await
    }

    async fn save_batch_chunk(&self, chunk: &BatchChunk) -> PortResult<WriteOutcome> {
        const WHAT: &str = "save_batch_chunk";
        let (chunk, body) = (chunk.clone(), encode_record(WHAT, chunk)?);
        self.run_write(WHAT, move |c| write_chunk(c, &chunk, &body)).await
    }

    async fn find_batch_chunk(
        &self,
        tenant: &TenantId,
        batch: &BatchId,
        number: usize,
    ) -> PortResult<Option<BatchChunk>> {
        let (tenant, batch, number) = (tenant.clone(), batch.clone(), to_sql_integer(number as u64));
        let now = self.current_time().as_millisecond();
        let sql =
            "SELECT body FROM batch_chunks WHERE tenant = ?1 AND batch = ?2 AND number = ?3 AND expires > ?4";
        let work = move |c: &Connection| {
            let values = params![tenant.as_str(), batch.as_str(), number, now];
            query_one(c, sql, values)
        };
        self.run_read("find_batch_chunk", work).await
    }

    async fn list_batch_chunks(&self, tenant: &TenantId, batch: &BatchId) -> PortResult<Vec<BatchChunk>> {
        let (tenant, batch, now) = (
            tenant.clone(),
            batch.clone(),
            self.current_time().as_millisecond(),
        );
        let sql =
            "SELECT body FROM batch_chunks WHERE tenant = ?1 AND batch = ?2 AND expires > ?3 ORDER BY number";
        let work = move |c: &Connection| query_all(c, sql, params![tenant.as_str(), batch.as_str(), now]);
        self.run_read("list_batch_chunks", work).await
    }

    async fn commit_invitation(
        &self,
        committed: &CommittedInvitation<'_>,
        now: Timestamp,
    ) -> PortResult<InvitationCommit> {
        const WHAT: &str = "commit_invitation";
        let body = encode_record(WHAT, committed.invitation)?;
        let message = CommittedMessage::from_records(committed.conversation, committed.message);
        let message = message.map_err(|fault| fault.into_port_error(WHAT))?;
        let (invitation, claims) = (committed.invitation.clone(), committed.claims.to_vec());
        let work = move |c: &Connection| {
            let known = "SELECT 1 FROM invitations WHERE tenant = ?1 AND id = ?2";
            let key = params![invitation.tenant.as_str(), invitation.id.as_str()];
            for claim in &claims {
                if let Some(by) = find_claimant(c, &invitation.tenant, claim, now.as_millisecond())? {
                    return Ok(InvitationCommit::Claimed(by));
                }
            }
            if c.prepare_cached(known)?.exists(key)? || !message.write_rows(c, now)? {
                return Ok(InvitationCommit::Conflict);
            }
            // The claims are free: nobody writes between.
            let _begun = write_claimed_invitation(c, (&invitation, &body), &claims, now)?;
            Ok(InvitationCommit::Committed)
        };
        self.run_write(WHAT, work).await
    }

    async fn read_invitations(&self, tenant: &TenantId, ids: &[InvitationId]) -> PortResult<Vec<Invitation>> {
        let (tenant, ids, now) = (tenant.clone(), ids.to_vec(), self.current_time().as_millisecond());
        let sql = "SELECT body FROM invitations WHERE tenant = ?1 AND id = ?2 AND expires > ?3";
        let work = move |c: &Connection| {
            let mut found = Vec::new();
            for id in &ids {
                found.extend(query_readable(
                    c,
                    sql,
                    params![tenant.as_str(), id.as_str(), now],
                )?);
            }
            Ok(found)
        };
        self.run_read("read_invitations", work).await
    }
}
