//! `POST /v1/agents/{id}/knowledge/pages`: web pages that become documents of an agent.

use super::knowledge::{AddedSourceView, parse_agent_id};
use super::request::{Asked, JsonAnswer, RequestBody};
use crate::problem::HttpProblem;
use crate::query::PathParam;
use axum::Json;
use recado_pipeline::knowledge::{self, PAGES_MAX, PageOutcome};
use serde::{Deserialize, Serialize};

/// The pages that are fetched.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schema(example = json!({"urls": ["https://clinic.example/prices"]})))]
struct PagesRequest {
    /// Their URLs: 1 to 10, `http://` or `https://`, of public hosts.
    urls: Vec<String>,
}

/// What became of the pages.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct PagesView {
    /// One for each URL, in their order.
    items: Vec<PageView>,
}

/// What became of a page.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
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
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/agents/{id}/knowledge/pages",
    params(("id" = String, Path, description = "Id of the agent")),
    request_body = PagesRequest,
    responses((status = 200, body = PagesView, description = "What became of each page"))
))]
pub(super) async fn post_knowledge_pages(
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
    let outcomes = knowledge::add_pages(&api.deps, &caller, &agent, &wanted.urls).await?;
    Ok(Json(PagesView {
        items: outcomes.into_iter().map(PageView::from).collect(),
    }))
}
