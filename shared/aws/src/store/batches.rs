//! Batches of invitations and their recipients, in the partition of the tenant's guests.

use super::DynamoStore;
use super::conversations::commit_actions;
use super::expression::Expression;
use super::invitation_items::{begin_actions, encode, encode_claim, find_claimant, follows};
use super::item::{self, Item};
use super::keys::{self, TableKey, invitations as invitation_keys};
use super::table::RecordQuery;
use super::transaction::TransactionAction;
use jiff::Timestamp;
use recado_domain::ids::{BatchId, InvitationId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk, Invitation};
use recado_ports::ports::{
    BatchOutcome, BatchRecords, CommittedInvitation, InvitationClaim, InvitationCommit, InvitationOutcome,
    Page, PageRequest, PortError, PortResult, System, WriteOutcome,
};

pub(super) fn encode_batch(what: &'static str, batch: &Batch) -> PortResult<Item> {
    let key = TableKey::for_batch(&batch.tenant, &batch.id);
    let mut item = encode(what, batch, key.clone(), Some(batch.keep_until))?;
    keys::index_open(&mut item, &key, batch.due_at);
    Ok(item)
}

impl<A: System> BatchRecords for DynamoStore<A> {
    async fn begin_batch(
        &self,
        batch: &Batch,
        claim: Option<&InvitationClaim>,
        now: Timestamp,
    ) -> PortResult<BatchOutcome> {
        const WHAT: &str = "beginning a batch";
        let claimant = (&batch.tenant, batch.id.as_str());
        let mut actions: Vec<TransactionAction> = claim
            .map(|claim| encode_claim(claimant, claim, now))
            .into_iter()
            .collect();
        actions.push(TransactionAction::Put(
            encode_batch(WHAT, batch)?,
            Some(Expression::record_absent()),
        ));
        let Err(failed) = self.table.run_transaction(WHAT, actions).await? else {
            return Ok(BatchOutcome::Begun);
        };
        let found = failed.for_action(0).and_then(|found| found.0.as_ref());
        let by = found.and_then(|found| BatchId::parse(item::get_string(found, "invitation")?).ok());
        by.map(BatchOutcome::Claimed)
            .ok_or_else(|| PortError::contended("a batch of the same id"))
    }

    async fn find_batch(&self, tenant: &TenantId, id: &BatchId) -> PortResult<Option<Batch>> {
        self.read_unexpired("reading a batch", TableKey::for_batch(tenant, id))
            .await
    }

    async fn save_batch(&self, batch: &Batch) -> PortResult<WriteOutcome> {
        const WHAT: &str = "writing a batch";
        let before = batch.rev.saturating_sub(1);
        let as_read = Expression::new("#rev = :before").with_number(":before", before);
        let put = self
            .table
            .put_record(WHAT, encode_batch(WHAT, batch)?, Some(as_read));
        Ok(write_outcome(put.await?.is_ok()))
    }

    async fn list_batches(&self, tenant: &TenantId, page: &PageRequest) -> PortResult<Page<Batch>> {
        const WHAT: &str = "listing batches";
        let prefix = invitation_keys::BATCH_PREFIX;
        // No id begins below the prefix, and none above it.
        let before = page.cursor.as_ref().map_or_else(
            || format!("{prefix}\u{10ffff}"),
            |cursor| format!("{prefix}{cursor}"),
        );
        let query = RecordQuery {
            index: None,
            keys: Expression::new("#pk = :pk AND #sk BETWEEN :from AND :to")
                .with_text(":pk", keys::invitations_pk(tenant))
                .with_text(":from", prefix)
                .with_text(":to", before),
            filter: None,
            reverse: true,
            // The last of the page before is found again.
            limit: Some(page.limit + 2),
        };
        let mut found = self.table.query_records(WHAT, &query).await?;
        let id_of = |item: &Item| Some(item::get_string(item, "sk")?.strip_prefix(prefix)?.to_owned());
        found.retain(|item| page.cursor.is_none() || id_of(item) != page.cursor);
        let has_more = found.len() > page.limit;
        found.truncate(page.limit);
        let next_cursor = found.last().filter(|_| has_more).and_then(id_of);
        let now = self.table.system.now();
        let items = found.into_iter().filter_map(|item| item::unexpired(item, now));
        Ok(Page {
            items: item::decode_readable(WHAT, items),
            next_cursor,
        })
    }

    async fn save_batch_chunk(&self, chunk: &BatchChunk) -> PortResult<WriteOutcome> {
        const WHAT: &str = "writing recipients of a batch";
        let key = TableKey::for_batch_chunk(&chunk.tenant, &chunk.batch, chunk.number);
        let record = encode(WHAT, chunk, key, Some(chunk.keep_until))?;
        let before = follows(chunk.rev, self.table.system.now());
        let put = self.table.put_record(WHAT, record, Some(before));
        Ok(write_outcome(put.await?.is_ok()))
    }

    async fn find_batch_chunk(
        &self,
        tenant: &TenantId,
        batch: &BatchId,
        number: usize,
    ) -> PortResult<Option<BatchChunk>> {
        let key = TableKey::for_batch_chunk(tenant, batch, number);
        self.read_unexpired("reading recipients of a batch", key).await
    }

    async fn list_batch_chunks(&self, tenant: &TenantId, batch: &BatchId) -> PortResult<Vec<BatchChunk>> {
        const WHAT: &str = "listing recipients of a batch";
        let (pk, prefix) = (
            keys::invitations_pk(tenant),
            invitation_keys::batch_chunk_prefix(batch),
        );
        let found = self.table.query_partition(WHAT, pk, Some(&prefix)).await?;
        let now = self.table.system.now();
        let found = found.into_iter().filter_map(|item| item::unexpired(item, now));
        Ok(item::decode_readable(WHAT, found))
    }

    async fn commit_invitation(
        &self,
        committed: &CommittedInvitation<'_>,
        now: Timestamp,
    ) -> PortResult<InvitationCommit> {
        const WHAT: &str = "committing an invitation";
        let mut actions = begin_actions(WHAT, committed.invitation, committed.claims, now)?;
        let message = std::slice::from_ref(committed.message);
        actions.extend(commit_actions(WHAT, committed.conversation, message)?);
        let Err(failed) = self.table.run_transaction(WHAT, actions).await? else {
            return Ok(InvitationCommit::Committed);
        };
        Ok(match find_claimant(&failed, committed.claims.len()) {
            Some(InvitationOutcome::Claimed { by, .. }) => InvitationCommit::Claimed(by),
            _ => InvitationCommit::Conflict,
        })
    }

    async fn read_invitations(&self, tenant: &TenantId, ids: &[InvitationId]) -> PortResult<Vec<Invitation>> {
        let keys = ids.iter().filter_map(|id| TableKey::for_invitation(tenant, id));
        self.read_many("reading invitations", keys.collect()).await
    }
}

fn write_outcome(is_written: bool) -> WriteOutcome {
    if is_written {
        WriteOutcome::Written
    } else {
        WriteOutcome::Conflict
    }
}
