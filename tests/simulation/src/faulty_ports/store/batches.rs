use super::FaultyPort;
use jiff::Timestamp;
use recado_domain::ids::{BatchId, GuestId, InvitationId, OccasionId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk, Guest, Invitation};
use recado_pipeline::ports::{
    BatchOutcome, BatchRecords, InvitationClaim, Page, PageRequest, Store, WriteOutcome,
};
use recado_testkit::delegate_calls;

impl<S: Store> BatchRecords for FaultyPort<S> {
    delegate_calls! {
        begin_batch(batch: &Batch, claim: Option<&InvitationClaim>, now: Timestamp) -> BatchOutcome;
        find_batch(tenant: &TenantId, id: &BatchId) -> Option<Batch>;
        save_batch(batch: &Batch) -> WriteOutcome;
        list_batches(tenant: &TenantId, page: &PageRequest) -> Page<Batch>;
        save_batch_chunk(chunk: &BatchChunk) -> WriteOutcome;
        find_batch_chunk(tenant: &TenantId, batch: &BatchId, number: usize) -> Option<BatchChunk>;
        list_batch_chunks(tenant: &TenantId, batch: &BatchId) -> Vec<BatchChunk>;
        read_guests(tenant: &TenantId, occasion: &OccasionId, ids: &[GuestId]) -> Vec<Guest>;
        read_invitations(tenant: &TenantId, ids: &[InvitationId]) -> Vec<Invitation>;
    }
}
