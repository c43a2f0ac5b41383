//! Redrives and deletes dead letters.

use crate::{DeadLetterSelection, DeletionSummary};
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use recado_domain::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::InstanceId;
use recado_domain::reason::Reason;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::Conflict;
use recado_http::api::request::{Asked, JsonAnswer, PathParam, QueryParams, RequestBody};
use recado_http::body::parse_optional_body;
use recado_http::problem::HttpProblem;
use recado_pipeline::records::dead_letters::DeadLetterFilter;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The largest limit that a request may give, and the limit if it gives none. The limit is the number of dead letters
/// that the request processes.
const LIMIT_MAX: usize = 1000;
const LIMIT_DEFAULT: usize = 500;

/// The largest body, in bytes. A thousand ids fit.
const BODY_MAX: usize = 256 * 1024;

/// The result of redriving one dead letter.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RedrivenLetterView {
    id: String,
    /// `false` if only the dead letter was removed.
    redriven: bool,
}

/// Redrives one dead letter: its event or message is queued again.
///
/// If the event or message is no longer dead, or was dead-lettered again later, it is left unchanged; only this dead
/// letter is removed and `redriven` is `false`.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/dead-letters/{id}/redrive",
    params(("id" = String, Path, description = "Id of the dead letter")),
    responses((status = 202, body = RedrivenLetterView, description = "The work is queued"), Conflict)
))]
pub async fn redrive_dead_letter(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> Result<(StatusCode, Json<RedrivenLetterView>), HttpProblem> {
    let redriven = crate::redrive_dead_letter(&api.deps, &caller, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(RedrivenLetterView { id, redriven })))
}

/// The result of redriving many dead letters.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RedriveView {
    dry_run: bool,
    /// Number of dead letters that the request selected.
    selected: usize,
    redriven: usize,
    /// Number of dead letters that were only removed: what they name is no longer dead, or nothing is left to do.
    no_longer_dead: usize,
    failed: usize,
    /// `true` if the limit was reached, so that there may be more.
    more: bool,
}

/// The result of a redrive that changes nothing.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct RedriveForecastView {
    dry_run: bool,
    /// Number of dead letters that the request selects.
    selected: usize,
    /// Number of messages that can no longer be sent, because Meta's service window is closed.
    out_of_window: usize,
    /// Number of messages that were answered in the meantime.
    answered_meanwhile: usize,
    /// Number of recipients of batches whose invitations would still be made.
    recipients_left: usize,
    /// Number of dead letters that would only be removed: what they name is no longer dead, or nothing is left to do.
    no_longer_dead: usize,
    /// `true` if the limit was reached, so that there may be more.
    more: bool,
}

/// The dead letters to redrive: all that match the filter, or those with the given ids.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", schema(example = json!({"queue": "outbound", "dry_run": true})))]
struct RedriveRequest {
    queue: Option<QueueName>,
    reason: Option<Reason>,
    instance: Option<InstanceId>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    ids: Vec<String>,
    #[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 1000))]
    limit: Option<usize>,
    dry_run: bool,
}

fn parse_limit(asked: Option<usize>) -> Result<usize, HttpProblem> {
    match asked.unwrap_or(LIMIT_DEFAULT) {
        limit @ 1..=LIMIT_MAX => Ok(limit),
        _ => Err(HttpProblem::bad_request(format!(
            "limit must be between 1 and {LIMIT_MAX}"
        ))),
    }
}

/// Redrives many dead letters, the oldest first and each conversation's in order.
///
/// Without a body it redrives all of them, up to the limit. With `dry_run` nothing is changed: the answer counts what a
/// redrive would find.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/dead-letters/redrive",
    request_body = Option<RedriveRequest>,
    responses(
        (status = 200, body = RedriveForecastView, description = "What a redrive would find (`dry_run`)"),
        (status = 202, body = RedriveView, description = "The work is queued")
    )
))]
pub async fn redrive_dead_letters(
    Asked(api, caller): Asked,
    body: RequestBody,
) -> Result<Response, HttpProblem> {
    let body = body.read(BODY_MAX).await?;
    // Only an object is accepted. A JSON list would count as an object without fields, and so select every dead letter.
    let _: Map<String, Value> = parse_optional_body(&body)?;
    let asked: RedriveRequest = parse_optional_body(&body)?;
    if asked.ids.len() > LIMIT_MAX {
        return Err(HttpProblem::bad_request(format!("at most {LIMIT_MAX} ids")));
    }
    let selection = DeadLetterSelection {
        filter: DeadLetterFilter {
            queue: asked.queue,
            reason: asked.reason,
            instance: asked.instance,
            since: asked.since,
            until: asked.until,
            ..DeadLetterFilter::default()
        },
        ids: asked.ids,
        limit: parse_limit(asked.limit)?,
    };
    if asked.dry_run {
        let found = crate::forecast_redrive(&api.deps, &caller, &selection).await?;
        let view = RedriveForecastView {
            dry_run: true,
            selected: found.selected,
            out_of_window: found.out_of_window,
            answered_meanwhile: found.answered_meanwhile,
            recipients_left: found.recipients_left,
            no_longer_dead: found.no_longer_dead,
            more: found.more,
        };
        return Ok(Json(view).into_response());
    }
    let done = crate::redrive_dead_letters(&api.deps, &caller, &selection).await?;
    let view = RedriveView {
        dry_run: false,
        selected: done.selected,
        redriven: done.redriven,
        no_longer_dead: done.no_longer_dead,
        failed: done.failed,
        more: done.more,
    };
    Ok((StatusCode::ACCEPTED, Json(view)).into_response())
}

/// Deletes one dead letter for good. The name of the token is recorded.
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/dead-letters/{id}",
    params(("id" = String, Path, description = "Id of the dead letter")),
    responses((status = 204, description = "The dead letter is deleted"))
))]
pub async fn delete_dead_letter(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> Result<StatusCode, HttpProblem> {
    crate::delete_dead_letter(&api.deps, &caller, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The filter of the dead letters to delete.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct PurgeQuery {
    /// Only of this queue.
    queue: Option<QueueName>,
    /// Only of this reason.
    reason: Option<Reason>,
    /// Only of this instance.
    instance: Option<InstanceId>,
    /// Only those that failed at this time or later.
    since: Option<Timestamp>,
    /// Only those that failed before this time.
    until: Option<Timestamp>,
    /// Must be `true` if nothing else says which dead letters.
    #[serde(default)]
    all: bool,
    /// Number of dead letters to delete at most: 1 to 1,000, 500 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 1000))]
    limit: Option<usize>,
}

/// Deletes all dead letters that match the filter, for good.
///
/// Without a filter the request must say `all=true`. The name of the token is recorded with each deletion.
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/dead-letters",
    params(PurgeQuery),
    responses((status = 200, body = DeletionSummary, description = "The number of deletions"))
))]
pub async fn delete_dead_letters(
    Asked(api, caller): Asked,
    QueryParams(unwanted): QueryParams<PurgeQuery>,
) -> JsonAnswer<DeletionSummary> {
    let filter = DeadLetterFilter {
        queue: unwanted.queue,
        reason: unwanted.reason,
        instance: unwanted.instance,
        since: unwanted.since,
        until: unwanted.until,
        ..DeadLetterFilter::default()
    };
    if filter == DeadLetterFilter::default() && !unwanted.all {
        return Err(HttpProblem::bad_request(
            "say which dead letters (queue, reason, instance, since, until), or all=true",
        ));
    }
    let selection = DeadLetterSelection {
        filter,
        ids: Vec::new(),
        limit: parse_limit(unwanted.limit)?,
    };
    let done = crate::delete_dead_letters(&api.deps, &caller, &selection).await?;
    Ok(Json(done))
}
