//! `/v1/webhooks/{id}/failed`: the events that an endpoint did not accept.

use crate::FailedChoice;
use crate::asked_of_events::AskedOfEvents;
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::published_event::{EventCursor, PublishedKind};
use recado_domain::webhook_endpoint::FailedEvent;
use recado_http::api::request::{
    JsonAnswer, PathParam, QueryParams, RequestBody, TenantPageQuery, TenantQuery, parse_page_request,
};
use recado_http::api::view::{ListView, answer_page};
use recado_http::problem::HttpProblem;
use serde::{Deserialize, Serialize};

/// An event that an endpoint did not accept.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FailedEventView {
    /// Place of the event in the log, by which a redrive names it.
    cursor: String,
    /// Id of the event.
    event_id: String,
    kind: PublishedKind,
    /// Time of the event.
    at: Timestamp,
    /// Time since which its posts fail.
    failing_since: Timestamp,
    /// Time of the last failure.
    failed_at: Timestamp,
    attempts: u32,
    /// Time of the next attempt. `null`: it was given up.
    next_attempt_at: Option<Timestamp>,
    /// The reason of the last failure.
    error: String,
}

impl From<FailedEvent> for FailedEventView {
    fn from(failed: FailedEvent) -> Self {
        Self {
            cursor: failed.cursor.to_string(),
            event_id: failed.event.id,
            kind: failed.event.kind,
            at: failed.event.at,
            failing_since: failed.since,
            failed_at: failed.failed_at,
            attempts: failed.attempts,
            next_attempt_at: failed.next_at,
            error: failed.error,
        }
    }
}

/// Lists the events that an endpoint did not accept, the oldest first.
///
/// Those with `next_attempt_at` are tried on by themselves; the others were given up, and are kept for 30 days.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/webhooks/{id}/failed",
    params(("id" = String, Path, description = "Id of the endpoint"), TenantPageQuery),
    responses((status = 200, body = ListView<FailedEventView>, description = "A page of failed events"))
))]
pub async fn list_failed_events(
    AskedOfEvents(api, caller): AskedOfEvents,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantPageQuery>,
) -> JsonAnswer<ListView<FailedEventView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let of = (wanted.tenant.as_ref(), id.as_str());
    let found = crate::list_failed_events(&api.deps, &caller, of, &page).await;
    answer_page(found, &page, FailedEventView::from)
}

/// The failed events that are tried again.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", schema(as = FailedEventChoice, example = json!({})))]
struct RedriveChoice {
    /// Place of the event. If absent, all that were given up are tried again.
    cursor: Option<String>,
}

/// The number of events that are tried again.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RedrivenView {
    redriven: usize,
}

/// Lets failed events be tried again, at once and for as long as the first time.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/webhooks/{id}/failed/redrive",
    params(("id" = String, Path, description = "Id of the endpoint"), TenantQuery),
    request_body = Option<RedriveChoice>,
    responses((status = 200, body = RedrivenView, description = "The number of events that are tried again"))
))]
pub async fn post_failed_redrive(
    AskedOfEvents(api, caller): AskedOfEvents,
    PathParam(id): PathParam<String>,
    QueryParams(of): QueryParams<TenantQuery>,
    body: RequestBody,
) -> JsonAnswer<RedrivenView> {
    let asked: RedriveChoice = body.parse_optional().await?;
    let choice = match asked.cursor.as_deref().map(str::parse::<EventCursor>) {
        None => FailedChoice::All,
        Some(Ok(cursor)) => FailedChoice::One(cursor),
        Some(Err(error)) => return Err(HttpProblem::bad_request(format!("`cursor`: {error}"))),
    };
    let of = (of.tenant.as_ref(), id.as_str());
    let redriven = crate::redrive_failed_events(&api.deps, &caller, of, choice).await?;
    Ok(Json(RedrivenView { redriven }))
}
