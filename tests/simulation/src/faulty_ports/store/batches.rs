use super::FaultyPort;
use crate::mutation::Mutation;
use jiff::Timestamp;
use recado_domain::ids::{BatchId, InvitationId, TenantId};
use recado_domain::invitations::{Batch, BatchChunk, BatchState, Invitation};
use recado_pipeline::ports::{
    BatchOutcome, BatchRecords, CommittedInvitation, InvitationClaim, InvitationCommit, Page, PageRequest,
    PortResult, Store, WriteOutcome,
};
use recado_testkit::delegate_calls;

impl<S: Store> BatchRecords for FaultyPort<S> {
    async fn find_batch(&self, tenant: &TenantId, id: &BatchId) -> PortResult<Option<Batch>> {
        let found = self
            .around("find_batch", self.inner.find_batch(tenant, id))
            .await?;
        let is_sender = self.injector.function == "sender";
        let forgets_state = is_sender && self.injector.lacks(Mutation::BatchStateIgnored);
        let keeps_claims = !is_sender && self.injector.lacks(Mutation::CancelledKeepsClaims);
        Ok(found.map(|batch| match batch.state {
            _ if forgets_state => Batch {
                state: BatchState::Running,
                ..batch
            },
            BatchState::Cancelled if keeps_claims => Batch {
                state: BatchState::Paused,
                ..batch
            },
            _ => batch,
        }))
    }

    async fn save_batch(&self, batch: &Batch) -> PortResult<WriteOutcome> {
        let forgotten = self.injector.lacks(Mutation::BatchesForgotten).then(|| Batch {
            due_at: None,
            ..batch.clone()
        });
        let saves = self.inner.save_batch(forgotten.as_ref().unwrap_or(batch));
        self.around("save_batch", saves).await
    }

    async fn commit_invitation(
        &self,
        committed: &CommittedInvitation<'_>,
        now: Timestamp,
    ) -> PortResult<InvitationCommit> {
        let unclaimed = CommittedInvitation {
            invitation: committed.invitation,
            claims: &[],
            conversation: committed.conversation,
            message: committed.message,
        };
        let used = if self.injector.lacks(Mutation::InvitationClaimsForgotten) {
            &unclaimed
        } else {
            committed
        };
        let effect = async {
            let written = self.inner.commit_invitation(used, now).await?;
            if written == InvitationCommit::Committed {
                self.injector.note_commit(std::slice::from_ref(committed.message));
            }
            Ok(written)
        };
        self.around("commit_invitation", effect).await
    }

    delegate_calls! {
        begin_batch(batch: &Batch, claim: Option<&InvitationClaim>, now: Timestamp) -> BatchOutcome;
        list_batches(tenant: &TenantId, page: &PageRequest) -> Page<Batch>;
        save_batch_chunk(chunk: &BatchChunk) -> WriteOutcome;
        find_batch_chunk(tenant: &TenantId, batch: &BatchId, number: usize) -> Option<BatchChunk>;
        list_batch_chunks(tenant: &TenantId, batch: &BatchId) -> Vec<BatchChunk>;
        read_invitations(tenant: &TenantId, ids: &[InvitationId]) -> Vec<Invitation>;
    }
}
