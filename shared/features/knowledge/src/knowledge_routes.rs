//! `/v1/agents/{id}/knowledge`: the documents that an agent answers from.

use crate::{AddedSource, KnowledgeError, NewDocument, SourceOutcome, VectorState};
use axum::Json;
use axum::http::StatusCode;
use recado_domain::Timestamp;
use recado_domain::ids::AgentId;
use recado_domain::knowledge::{KnowledgeBlock, KnowledgeSource, SourceId};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{TooManyRequests, Unprocessable};
use recado_http::api::request::{Asked, JsonAnswer, PathParam, QueryParams, RequestBody};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// The largest document, in bytes. API Gateway passes at most 6 MB to a function, with the bytes in Base64.
const DOCUMENT_MAX: usize = 4 * 1024 * 1024;

/// A source: a document of the business.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SourceView {
    id: String,
    /// The name of the file, or the address of the page.
    title: String,
    /// SHA-256 of the document, in hexadecimal digits.
    content_hash: String,
    /// Size of the document, in bytes.
    bytes: u64,
    added_at: Timestamp,
    /// Number of its blocks.
    blocks: usize,
    /// `true` if the document had more text than is kept.
    is_cut: bool,
}

impl From<KnowledgeSource> for SourceView {
    fn from(source: KnowledgeSource) -> Self {
        Self {
            id: source.id.to_string(),
            title: source.title,
            content_hash: source.content_hash,
            bytes: source.bytes,
            added_at: source.added_at,
            blocks: source.blocks,
            is_cut: source.is_cut,
        }
    }
}

/// The knowledge of an agent.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct KnowledgeView {
    /// Number of the snapshot; 0 before the first.
    version: u64,
    /// Number of blocks of all sources.
    blocks: usize,
    /// The way of search: `lexical` finds blocks by their words, `hybrid` also by vectors.
    search: &'static str,
    vectors: VectorState,
    /// The sources, sorted by their titles.
    sources: Vec<SourceView>,
}

/// Lists the sources of an agent.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/agents/{id}/knowledge",
    params(("id" = String, Path, description = "Id of the agent")),
    responses((status = 200, body = KnowledgeView, description = "The knowledge of the agent"))
))]
pub async fn list_knowledge(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<KnowledgeView> {
    let found = crate::list_sources(&api.deps, &caller, &parse_agent_id(&id)?).await?;
    Ok(Json(KnowledgeView {
        version: found.version,
        blocks: found.blocks,
        search: found.vectors.find_search_way().as_str(),
        vectors: found.vectors,
        sources: found.sources.into_iter().map(SourceView::from).collect(),
    }))
}

/// The description of the document, as query parameters.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct DocumentQuery {
    /// Name of the file, or address of the page: 1 to 300 characters. A source with this title is replaced.
    title: String,
}

/// A source after its document was added.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AddedSourceView {
    source: SourceView,
    /// `added`, `replaced`, or `unchanged`: the agent has exactly this document already.
    outcome: &'static str,
    /// The vectors of its blocks. A document goes in without them if the embedding model fails.
    vectors: VectorState,
    /// Numbers of the pages of a PDF document that could not be read. They are left out.
    unread_pages: Vec<usize>,
}

impl From<AddedSource> for AddedSourceView {
    fn from(added: AddedSource) -> Self {
        Self {
            source: added.source.into(),
            outcome: match added.outcome {
                SourceOutcome::Added => "added",
                SourceOutcome::Replaced => "replaced",
                SourceOutcome::Unchanged => "unchanged",
            },
            vectors: added.vectors,
            unread_pages: added.unread_pages,
        }
    }
}

/// Adds a document to the knowledge of an agent, in place of the one with its title.
///
/// The body is the document: Markdown, plain text, a web page, CSV, Word, Excel, `PowerPoint`, the Open Document Format (.odt, .ods) or PDF. Its type is known by its bytes,
/// and that of a text by the title or the `Content-Type`. Its text is read within 10 seconds of the processor. While another document of the tenant is
/// read, the answer is 429. The same document once more changes nothing, but makes vectors that its blocks
/// lack.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/agents/{id}/knowledge",
    params(("id" = String, Path, description = "Id of the agent"), DocumentQuery),
    request_body(content_type = "*/*", description = "The document, of at most 4 MiB"),
    responses(
        (status = 200, body = AddedSourceView, description = "The source is part of the agent's knowledge"),
        Unprocessable,
        TooManyRequests
    )
))]
pub async fn post_knowledge(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(about): QueryParams<DocumentQuery>,
    body: RequestBody,
) -> JsonAnswer<AddedSourceView> {
    let document = NewDocument {
        title: about.title,
        content_type: body.content_type().map(str::to_owned),
        bytes: body.read(DOCUMENT_MAX).await?.to_vec(),
    };
    let added = crate::add_source(&api.deps, &caller, &parse_agent_id(&id)?, document).await?;
    Ok(Json(added.into()))
}

/// A block of a source.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct BlockView {
    /// The headings above it, outermost first, separated by ` › `.
    place: String,
    text: String,
}

/// A source with its blocks.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WholeSourceView {
    #[serde(flatten)]
    source: SourceView,
    texts: Vec<BlockView>,
}

/// Returns a source of an agent with its blocks.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/agents/{id}/knowledge/{source}",
    params(
        ("id" = String, Path, description = "Id of the agent"),
        ("source" = String, Path, description = "Id of the source")
    ),
    responses((status = 200, body = WholeSourceView, description = "The source"))
))]
pub async fn get_knowledge_source(
    Asked(api, caller): Asked,
    PathParam((id, source)): PathParam<(String, String)>,
) -> JsonAnswer<WholeSourceView> {
    let (agent, source) = (parse_agent_id(&id)?, parse_source_id(&source)?);
    let (source, blocks) = crate::show_source(&api.deps, &caller, &agent, &source).await?;
    Ok(Json(WholeSourceView {
        source: source.into(),
        texts: blocks
            .into_iter()
            .map(|KnowledgeBlock { place, text, .. }| BlockView { place, text })
            .collect(),
    }))
}

/// Removes a source of an agent with its blocks.
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/agents/{id}/knowledge/{source}",
    params(
        ("id" = String, Path, description = "Id of the agent"),
        ("source" = String, Path, description = "Id of the source")
    ),
    responses((status = 204, description = "The source is removed"))
))]
pub async fn delete_knowledge_source(
    Asked(api, caller): Asked,
    PathParam((id, source)): PathParam<(String, String)>,
) -> Result<StatusCode, HttpProblem> {
    let (agent, source) = (parse_agent_id(&id)?, parse_source_id(&source)?);
    crate::remove_source(&api.deps, &caller, &agent, &source).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which vectors are made.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct VectorRequest {
    /// Drops the present vectors and makes all again, as after a change of their dimensions.
    #[serde(default)]
    again: bool,
}

/// Makes the vectors that an agent's blocks lack, as many as 15 seconds allow.
///
/// Repeat it until `missing` is 0. Vectors of another model than the present one are made again.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/agents/{id}/knowledge/vectors",
    params(("id" = String, Path, description = "Id of the agent")),
    request_body = VectorRequest,
    responses((status = 200, body = VectorState, description = "The vectors of all blocks"))
))]
pub async fn post_knowledge_vectors(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    body: RequestBody,
) -> JsonAnswer<VectorState> {
    let wanted: VectorRequest = body.parse().await?;
    let agent = parse_agent_id(&id)?;
    let state = crate::embed_knowledge(&api.deps, &caller, &agent, wanted.again).await?;
    Ok(Json(state))
}

pub fn parse_agent_id(text: &str) -> Result<AgentId, HttpProblem> {
    AgentId::parse(text).map_err(|_| KnowledgeError::NoAgent.into())
}

fn parse_source_id(text: &str) -> Result<SourceId, HttpProblem> {
    SourceId::parse(text).map_err(|_| KnowledgeError::NoSource.into())
}

impl From<KnowledgeError> for HttpProblem {
    fn from(error: KnowledgeError) -> Self {
        let status = match &error {
            KnowledgeError::NoAgent | KnowledgeError::NoSource => StatusCode::NOT_FOUND,
            KnowledgeError::Title => StatusCode::BAD_REQUEST,
            KnowledgeError::Document { .. } | KnowledgeError::Empty { .. } | KnowledgeError::Snapshot(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            KnowledgeError::Busy => return Self::busy(error.to_string()),
            KnowledgeError::Library(_) => return Self::unavailable(error.to_string()),
            KnowledgeError::Port(error) => return Self::from_port_error(error),
        };
        Self::new(status, error.to_string())
    }
}
