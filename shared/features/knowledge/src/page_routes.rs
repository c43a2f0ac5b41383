//! `POST /v1/agents/{id}/knowledge/pages`: web pages that become documents of an agent.

use crate::knowledge_routes::{AddedSourceView, parse_agent_id};
use crate::{PAGES_MAX, PageOutcome};
use axum::Json;
use recado_http::api::request::{Asked, JsonAnswer, PathParam, RequestBody};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// The pages that are fetched.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"urls": ["https://clinic.example/prices"]})))]
struct PagesRequest {
    /// Their URLs: 1 to 10, `http://` or `https://`, of public hosts.
    urls: Vec<String>,
}

/// What became of the pages.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PagesView {
    /// One for each URL, in their order.
    items: Vec<PageView>,
}

/// What became of a page.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct PageView {
    /// The URL, which is the title of the source.
    url: String,
    /// The source; `null` if the page was not added.
    added: Option<AddedSourceView>,
    /// The reason why the page was not added, in words.
    reason: Option<String>,
}

impl From<PageOutcome> for PageView {
    fn from(outcome: PageOutcome) -> Self {
        let (added, reason) = match outcome.added {
            Ok(added) => (Some(added.into()), None),
            Err(refusal) => (None, Some(refusal.to_string())),
        };
        Self {
            url: outcome.url,
            added,
            reason,
        }
    }
}

/// Fetches web pages and adds each to the knowledge of an agent, with its URL as the title.
///
/// A page is HTML, text, CSV or a PDF document of at most 4 MiB. One that cannot be added has its `reason`; the others go in. What there
/// is no time for in 25 seconds is told, and the same request adds it.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/agents/{id}/knowledge/pages",
    params(("id" = String, Path, description = "Id of the agent")),
    request_body = PagesRequest,
    responses((status = 200, body = PagesView, description = "What became of each page"))
))]
pub async fn post_knowledge_pages(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    body: RequestBody,
) -> JsonAnswer<PagesView> {
    let wanted: PagesRequest = body.parse().await?;
    if !(1..=PAGES_MAX).contains(&wanted.urls.len()) {
        return Err(HttpProblem::bad_request(format!(
            "urls must hold 1 to {PAGES_MAX} addresses"
        )));
    }
    let agent = parse_agent_id(&id)?;
    let outcomes = crate::add_pages(&api.deps, &caller, &agent, &wanted.urls).await?;
    Ok(Json(PagesView {
        items: outcomes.into_iter().map(PageView::from).collect(),
    }))
}
