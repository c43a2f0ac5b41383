//! Searches a snapshot that is in memory: by words, and by the question's vector where the embedding model makes one in time. Vectors
//! that stand in a store are searched there.

use recado_domain::Timestamp;
use recado_domain::ids::{AgentId, TenantId};
use recado_domain::knowledge::{
    FoundBlocks, NearVector, SearchWay, SnapshotName, VectorGap, VectorIndexName,
};
use recado_domain::millis::add_duration;
use recado_ports::Deps;
use recado_ports::ports::{EmbeddingError, KnownVectors, NEAREST_MAX, SearchedQuestion};
use recado_ports::time_limit::run_within;
use std::time::Duration;

/// A question's vector, with the vectors of a store that are nearest to it.
struct Nearness {
    vector: Vec<f32>,
    stored: Vec<NearVector>,
}

/// Finds the blocks that answer a question best. A question without a vector is searched for by its words, and the answer says why.
/// So is each where vectors of the snapshot stand in a store that fails. `None`: the snapshot is not in memory.
pub(crate) async fn search_loaded_snapshot(
    deps: &Deps,
    (tenant, agent): (&TenantId, &AgentId),
    name: &SnapshotName,
    text: &str,
    limit: usize,
) -> Option<FoundBlocks> {
    let near = find_nearness(deps, (tenant, agent), name, text).await;
    let question = SearchedQuestion {
        text,
        vector: near.as_ref().ok().map(|near| near.vector.as_slice()),
        stored: near.as_ref().map_or(&[][..], |near| near.stored.as_slice()),
    };
    let found = deps.llm().search_snapshot(name, question, limit).await?;
    let search = if near.is_ok() {
        SearchWay::Hybrid
    } else {
        SearchWay::Lexical
    };
    Some(FoundBlocks {
        search,
        gap: near.err(),
        ..found
    })
}

/// Makes the vector of a question, and finds the nearest ones of the store. Both have the time for a question's vector.
async fn find_nearness(
    deps: &Deps,
    (tenant, agent): (&TenantId, &AgentId),
    name: &SnapshotName,
    text: &str,
) -> Result<Nearness, VectorGap> {
    let model = deps.llm().embedding_model().ok_or(VectorGap::NotSetUp)?;
    let known = deps
        .llm()
        .find_snapshot_vectors(name)
        .ok_or(VectorGap::NoVectors)?;
    if known.model != model {
        return Err(VectorGap::OtherModel);
    }
    if known.has_stored && !deps.queues().has_vector_store() {
        return Err(VectorGap::NoStore);
    }
    let until = add_duration(deps.system().now(), deps.settings().question_vector_timeout);
    let vector = make_question_vector(deps, &known, text).await?;
    let stored = if known.has_stored {
        let index = VectorIndexName::of_agent_model(tenant, agent, &known.model, known.dimensions);
        search_vector_store(deps, &index, &vector, until).await?
    } else {
        Vec::new()
    };
    Ok(Nearness { vector, stored })
}

/// Makes the vector of a question, in one attempt.
async fn make_question_vector(deps: &Deps, known: &KnownVectors, text: &str) -> Result<Vec<f32>, VectorGap> {
    let made = ask_embedding_model(deps, text).await.map_err(|error| {
        tracing::warn!(%error, "a question has no vector: documents are searched by words alone");
        error.explain_vector_gap()
    })?;
    if made.len() != known.dimensions {
        let (expected, got) = (known.dimensions, made.len());
        tracing::warn!(
            expected,
            got,
            "a question's vector has other dimensions than those of the documents"
        );
        return Err(VectorGap::OtherDimension);
    }
    Ok(made)
}

async fn ask_embedding_model(deps: &Deps, text: &str) -> Result<Vec<f32>, EmbeddingError> {
    let within = deps.settings().question_vector_timeout.unsigned_abs();
    let texts = [text.to_owned()];
    let asked = deps.llm().embed_texts(&texts, within);
    let made = run_within(deps.system(), within, asked).await;
    let made = made.ok_or(EmbeddingError::TooSlow)??;
    Ok(made.vectors.into_iter().next().unwrap_or_default())
}

/// Finds the vectors of a store that are nearest to a question's, until a time: as many as a request returns, since some may be of
/// another snapshot.
async fn search_vector_store(
    deps: &Deps,
    index: &VectorIndexName,
    vector: &[f32],
    until: Timestamp,
) -> Result<Vec<NearVector>, VectorGap> {
    let left = until.duration_since(deps.system().now());
    let left = Duration::try_from(left).unwrap_or_default();
    // Boxed: few searches come here, and the others stay small.
    let asked = Box::pin(deps.queues().find_nearest(index, vector, NEAREST_MAX));
    match run_within(deps.system(), left, asked).await {
        Some(Ok(near)) => Ok(near),
        Some(Err(error)) => {
            tracing::warn!(%error, "the store of vectors failed: documents are searched by words alone");
            Err(VectorGap::StoreFailed)
        }
        None => {
            tracing::warn!("the store of vectors took too long: documents are searched by words alone");
            Err(VectorGap::StoreFailed)
        }
    }
}
