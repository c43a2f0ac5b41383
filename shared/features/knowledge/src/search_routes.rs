//! `POST /v1/agents/{id}/knowledge/search`: the blocks that answer a question best.

use crate::FOUND_MAX;
use crate::knowledge_routes::parse_agent_id;
use axum::Json;
use recado_domain::knowledge::{FoundBlock, VectorGap};
use recado_http::api::request::{Asked, JsonAnswer, PathParam, RequestBody};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// Number of blocks that a search returns unless it says another.
const FOUND_DEFAULT: usize = 5;

/// The question that is searched for.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"question": "What does a vaccine cost?", "limit": 5})))]
struct SearchRequest {
    question: String,
    /// Number of blocks at most: 1 to 50, 5 if absent.
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 50))]
    limit: Option<usize>,
}

/// The blocks that were found.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SearchView {
    /// The way of search: `lexical` found blocks by their words, `hybrid` also by vectors.
    search: &'static str,
    /// The reason why vectors had no part: as of the list, or that the question has no vector.
    vectors: Option<&'static str>,
    /// Number of all blocks of the agent, if its model is shown all, found or not, since they are short.
    whole: Option<usize>,
    /// The blocks, the best first.
    found: Vec<FoundBlock>,
}

/// Finds the blocks of an agent's sources that answer a question best.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/agents/{id}/knowledge/search",
    params(("id" = String, Path, description = "Id of the agent")),
    request_body = SearchRequest,
    responses((status = 200, body = SearchView, description = "What was found"))
))]
pub async fn post_knowledge_search(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    body: RequestBody,
) -> JsonAnswer<SearchView> {
    let wanted: SearchRequest = body.parse().await?;
    let limit = wanted.limit.unwrap_or(FOUND_DEFAULT);
    if !(1..=FOUND_MAX).contains(&limit) {
        return Err(HttpProblem::bad_request(format!(
            "limit must be 1 to {FOUND_MAX}"
        )));
    }
    let agent = parse_agent_id(&id)?;
    let found = crate::search_knowledge(&api.deps, &caller, &agent, &wanted.question, limit).await?;
    Ok(Json(SearchView {
        search: found.search.as_str(),
        vectors: found.gap.map(VectorGap::as_str),
        whole: found.whole,
        found: found.blocks,
    }))
}
