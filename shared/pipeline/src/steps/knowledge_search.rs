//! Searches a snapshot that is in memory: by words, and by the question's vector where the embedding model makes one in time.

use recado_domain::knowledge::{FoundBlocks, SearchWay, SnapshotName, VectorGap};
use recado_ports::Deps;
use recado_ports::ports::{EmbeddingError, SearchedQuestion};
use recado_ports::time_limit::run_within;

/// Finds the blocks that answer a question best. A question without a vector is searched for by its words, and the answer says why.
/// `None`: the snapshot is not in memory.
pub(crate) async fn search_loaded_snapshot(
    deps: &Deps,
    name: &SnapshotName,
    text: &str,
    limit: usize,
) -> Option<FoundBlocks> {
    let vector = make_question_vector(deps, name, text).await;
    let question = SearchedQuestion {
        text,
        vector: vector.as_deref().ok(),
    };
    let found = deps.llm().search_snapshot(name, question, limit).await?;
    let search = if vector.is_ok() {
        SearchWay::Hybrid
    } else {
        SearchWay::Lexical
    };
    Some(FoundBlocks {
        search,
        gap: vector.err(),
        ..found
    })
}

/// Makes the vector of a question, in one attempt, if the snapshot has vectors to which it can be compared.
async fn make_question_vector(deps: &Deps, name: &SnapshotName, text: &str) -> Result<Vec<f32>, VectorGap> {
    let model = deps.llm().embedding_model().ok_or(VectorGap::NotSetUp)?;
    let known = deps
        .llm()
        .find_snapshot_vectors(name)
        .ok_or(VectorGap::NoVectors)?;
    if known.model != model {
        return Err(VectorGap::OtherModel);
    }
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
