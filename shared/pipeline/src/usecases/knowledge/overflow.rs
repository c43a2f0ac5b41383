//! Puts vectors for which a snapshot has no room into the store of vectors. Deletes there what no block has any more.
//!
//! A change puts its vectors before the snapshot that names them becomes the present one, and deletes others after that. What a change
//! put stands under keys of its own, so what it deletes is what nobody puts again. Where a deletion fails, or a change ends between,
//! vectors stay that no snapshot names: searches leave them out, and they go with the agent.

use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{
    KnowledgeSnapshot, MadeVectors, VectorGap, VectorIndexName, VectorKey, VectorPut, VectorRoom,
};
use recado_ports::Deps;
use recado_ports::ports::PortResult;
use recado_ports::time_limit::run_within;
use std::time::Duration;

/// Maximum time to put the vectors of a change. The function `api` has 29 seconds for all.
const PUT_TIMEOUT: Duration = Duration::from_secs(4);

/// Returns the room for vectors: as much as the settings say, and the store of vectors for the others, if there is one.
pub(super) fn find_vector_room(deps: &Deps) -> VectorRoom {
    let has_store = deps.queues().has_vector_store();
    VectorRoom {
        bytes: deps.settings().knowledge.vector_bytes(),
        overflow: has_store.then(|| VectorPut::from_random_bits(deps.system().random_u64())),
    }
}

/// Puts the vectors that the snapshot notes as those of the store. Where that fails, the snapshot forgets them: their blocks are found by
/// words. Returns the reason then.
pub(super) async fn put_overflow(
    deps: &Deps,
    index: Option<&VectorIndexName>,
    next: &mut KnowledgeSnapshot,
    made: &MadeVectors,
    room: VectorRoom,
) -> Option<VectorGap> {
    let (index, put) = (index?, room.overflow?);
    let vectors = next.list_put_vectors(made, put);
    if vectors.is_empty() {
        return None;
    }
    let putting = deps.queues().put_vectors(index, &vectors);
    match run_within(deps.system(), PUT_TIMEOUT, putting).await {
        Some(Ok(())) => return None,
        Some(Err(error)) => {
            tracing::warn!(%error, "the store of vectors failed: blocks are found by their words");
        }
        None => tracing::warn!("the store of vectors took too long: blocks are found by their words"),
    }
    next.drop_put_vectors(put);
    Some(VectorGap::StoreFailed)
}

/// Deletes the vectors of the store that the replaced snapshot had and the present one has not. Those of another model are a whole index.
pub(super) async fn delete_spare_vectors(
    deps: &Deps,
    (tenant, agent): (&TenantId, &AgentId),
    replaced: &KnowledgeSnapshot,
    present: &KnowledgeSnapshot,
) {
    let Some(before) = replaced.find_vector_index(tenant, agent) else {
        return;
    };
    let after = present.find_vector_index(tenant, agent);
    let deleted = if after.is_some_and(|after| after != before) {
        deps.queues().delete_vector_index(&before).await
    } else {
        delete_unnamed_vectors(deps, &before, replaced, present).await
    };
    if let Err(error) = deleted {
        tracing::warn!(%error, %agent, "vectors that no block has any more stay in the store");
    }
}

async fn delete_unnamed_vectors(
    deps: &Deps,
    index: &VectorIndexName,
    replaced: &KnowledgeSnapshot,
    present: &KnowledgeSnapshot,
) -> PortResult<()> {
    let kept = present.list_stored_keys();
    let spare = replaced.list_stored_keys();
    let spare: Vec<VectorKey> = spare.difference(&kept).copied().collect();
    if spare.is_empty() {
        return Ok(());
    }
    deps.queues().delete_vectors(index, &spare).await
}
