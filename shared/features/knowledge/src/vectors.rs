//! Gives the blocks of an agent's sources their vectors, where the installation has an embedding model. A document never waits for it:
//! blocks without a vector are found by their words.

use crate::KnowledgeError;
use crate::writing::{ChangedKnowledge, audit_change, change_snapshot};
use jiff::SignedDuration;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::ids::AgentId;
use recado_domain::knowledge::{BlockHash, KnowledgeSnapshot, MadeVectors, SearchWay, SourceId, VectorGap};
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use serde::Serialize;

/// Maximum time in which the vectors of one request are made. The function `api` has 29 seconds for all.
const VECTORS_TIMEOUT: SignedDuration = SignedDuration::from_secs(15);

/// Number of texts that are asked for together. What was made before a failure is kept.
const TOGETHER: usize = 64;

/// The vectors of blocks, by which an embedding model finds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = VectorsView))]
pub struct VectorState {
    /// Name of the model that made them; `null` if there are none.
    pub model: Option<String>,
    /// Number of their dimensions.
    pub dimensions: Option<usize>,
    /// Number of blocks that have one.
    pub blocks: usize,
    /// Number of blocks that have none.
    pub missing: usize,
    /// The reason why blocks have none, or why searches do not use them: `not_set_up`, `no_key`, `unreachable`, `too_slow`, `refused`,
    /// `other_dimension`, `other_model`, `no_vectors` or `too_large`.
    #[serde(rename = "reason")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub gap: Option<VectorGap>,
}

impl VectorState {
    /// Returns the way in which blocks are searched, if the embedding model answers.
    pub fn find_search_way(&self) -> SearchWay {
        let unused = [VectorGap::NotSetUp, VectorGap::OtherModel];
        let is_unused = self.gap.is_some_and(|gap| unused.contains(&gap));
        if is_unused || self.blocks == 0 {
            SearchWay::Lexical
        } else {
            SearchWay::Hybrid
        }
    }
}

/// Describes the vectors of a source, or of all blocks. `gap` is why the last attempt made none.
pub(super) fn describe_vectors(
    deps: &Deps,
    snapshot: &KnowledgeSnapshot,
    source: Option<&SourceId>,
    gap: Option<VectorGap>,
) -> VectorState {
    let all = snapshot.blocks.iter();
    let all = all.filter(|block| source.is_none_or(|source| block.source == *source));
    let (all, blocks) = (all.count(), snapshot.count_embedded(source));
    let present = snapshot.vectors.as_ref();
    let gap = match (deps.llm().embedding_model(), present) {
        (None, _) => Some(VectorGap::NotSetUp),
        (Some(model), Some(present)) if present.model != model => Some(VectorGap::OtherModel),
        _ if blocks < all => Some(gap.unwrap_or(VectorGap::NoVectors)),
        _ => None,
    };
    VectorState {
        model: present.map(|vectors| vectors.model.clone()),
        dimensions: present.map(|vectors| vectors.rows.count_dimensions()),
        blocks,
        missing: all - blocks,
        gap,
    }
}

/// Vectors that were made, with the reason why there are no more.
#[derive(Debug, Clone, Default)]
pub(super) struct VectorMaking {
    pub(super) made: MadeVectors,
    /// The reason why texts have none.
    pub(super) gap: Option<VectorGap>,
}

/// Makes the vectors of texts, each by the hash of its block. It ends at the first failure, and at the time `until` at the latest.
pub(super) async fn make_block_vectors(
    deps: &Deps,
    missing: Vec<(BlockHash, String)>,
    until: Option<Timestamp>,
) -> VectorMaking {
    let mut making = VectorMaking::default();
    let Some(model) = deps.llm().embedding_model() else {
        making.gap = Some(VectorGap::NotSetUp);
        return making;
    };
    making.made = MadeVectors::begin_for_model(model);
    let latest = add_duration(deps.system().now(), VECTORS_TIMEOUT);
    let until = until.map_or(latest, |until| until.min(latest));
    let (hashes, texts): (Vec<_>, Vec<_>) = missing.into_iter().unzip();
    for (hashes, texts) in hashes.chunks(TOGETHER).zip(texts.chunks(TOGETHER)) {
        let left = until.duration_since(deps.system().now());
        let asked = if left.is_positive() {
            let asked = deps.llm().embed_texts(texts, left.unsigned_abs()).await;
            asked.map_err(|error| {
                tracing::warn!(%error, "blocks have no vectors yet: they are found by their words");
                error.explain_vector_gap()
            })
        } else {
            Err(VectorGap::TooSlow)
        };
        let vectors = match asked {
            Ok(made) => made.vectors,
            Err(gap) => {
                making.gap = Some(gap);
                break;
            }
        };
        for (hash, vector) in hashes.iter().zip(&vectors) {
            if making.made.add_made_vector(*hash, vector).is_err() {
                making.gap = Some(VectorGap::OtherDimension);
                return making;
            }
        }
    }
    making
}

/// Makes the vectors that an agent's blocks lack, as many as the time allows. Vectors of another model than the present one are made
/// again; with `again` all are.
pub async fn embed_knowledge(
    deps: &Deps,
    caller: &Caller,
    agent: &AgentId,
    again: bool,
) -> Result<VectorState, KnowledgeError> {
    let knowledge = ChangedKnowledge::begin(deps, caller, agent).await?;
    let present = knowledge.read_present(deps).await?;
    let model = deps.llm().embedding_model().map(str::to_owned);
    let is_dropped = |snapshot: &KnowledgeSnapshot| {
        let present = snapshot.vectors.as_ref();
        again || present.map(|vectors| &vectors.model) != model.as_ref()
    };
    let missing = if is_dropped(&present) {
        present.list_block_texts()
    } else {
        present.list_unembedded(None)
    };
    let making = make_block_vectors(deps, missing, None).await;
    if making.made.has_no_vectors() {
        return Ok(describe_vectors(deps, &present, None, making.gap));
    }
    audit_change(deps, caller, &knowledge, "vectors are made".to_owned()).await?;
    let limits = deps.settings().knowledge;
    let (next, refused) = change_snapshot(deps, &knowledge, present, &making.made, |present| {
        let mut next = present.with_changes(limits, &[], Vec::new())?;
        if is_dropped(&next) {
            next.vectors = None;
        }
        Ok(next)
    })
    .await?;
    Ok(describe_vectors(deps, &next, None, making.gap.or(refused)))
}
