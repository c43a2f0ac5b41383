//! Redrives and deletes dead letters.

use super::super::{ApiState, QueueDepths};
use crate::keys::Keys;
use crate::problem::HttpProblem;
use crate::query::{PathParam, QueryParams, parse_json_body, read_body};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use recado_domain::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::InstanceId;
use recado_domain::reason::Reason;
use recado_pipeline::Deps;
use recado_pipeline::operate::dead_letters::{self as letters, DeadLetterSelection};
use recado_pipeline::ports::DeadLetterFilter;
use serde::Deserialize;
use serde_json::{Map, Value, json as object};

/// The largest limit that a request may give, and the limit if it gives none. The limit is the number of dead letters
/// that the request processes.
const LIMIT_MAX: usize = 1000;
const LIMIT_DEFAULT: usize = 500;

/// The largest body, in bytes. A thousand ids fit.
const BODY_MAX: usize = 256 * 1024;

/// The name that is recorded as the deleting person if the request names nobody.
const DEFAULT_DELETED_BY: &str = "operator";

/// The longest name of a deleting person, in characters.
const BY_MAX: usize = 200;

/// Redrives one dead letter and answers 202, since the work is only queued. If the event or message is no longer dead,
/// or was dead-lettered again later, it is left unchanged; only this dead letter is removed and `redriven` is `false`.
pub(crate) async fn redrive_dead_letter<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
) -> Result<Response, HttpProblem> {
    let redriven = letters::redrive_dead_letter(&*api.deps, &id).await?;
    let body = object!({ "id": id, "redriven": redriven });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// The dead letters to redrive: all that match the filter, or those with the given ids.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RedriveRequest {
    queue: Option<QueueName>,
    reason: Option<Reason>,
    instance: Option<InstanceId>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    ids: Vec<String>,
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

/// Redrives many dead letters, the oldest first and each conversation's in order. With `dry_run` nothing is changed:
/// the answer counts what a redrive would find.
pub(crate) async fn redrive_dead_letters<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    let body = read_body(&headers, body, BODY_MAX).await?;
    let asked: RedriveRequest = if body.is_empty() {
        RedriveRequest::default()
    } else {
        // Only an object is accepted. A JSON list would count as an object without fields, and so select every dead
        // letter.
        let object: Map<String, Value> = parse_json_body(&body)?;
        serde_json::from_value(Value::Object(object))
            .map_err(|error| HttpProblem::bad_request(format!("the body is malformed: {error}")))?
    };
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
        },
        ids: asked.ids,
        limit: parse_limit(asked.limit)?,
    };
    if asked.dry_run {
        let found = letters::forecast_redrive(&*api.deps, &selection).await?;
        let body = object!({
            "dry_run": true, "selected": found.selected, "out_of_window": found.out_of_window,
            "answered_meanwhile": found.answered_meanwhile, "no_longer_dead": found.no_longer_dead,
            "more": found.more,
        });
        return Ok(Json(body).into_response());
    }
    let done = letters::redrive_dead_letters(&*api.deps, &selection).await?;
    let body = object!({
        "dry_run": false, "selected": done.selected, "redriven": done.redriven,
        "no_longer_dead": done.no_longer_dead, "failed": done.failed, "more": done.more,
    });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// The name of the person who deletes, as a query parameter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeletedByQuery {
    by: Option<String>,
}

fn parse_deleted_by(said: Option<String>) -> Result<String, HttpProblem> {
    let by = said.unwrap_or_else(|| DEFAULT_DELETED_BY.to_owned());
    let by = by.trim();
    if by.is_empty() || by.chars().count() > BY_MAX || by.chars().any(char::is_control) {
        return Err(HttpProblem::bad_request(format!(
            "by must have 1 to {BY_MAX} printable characters"
        )));
    }
    Ok(by.to_owned())
}

/// Deletes one dead letter for good.
pub(crate) async fn delete_dead_letter<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
    QueryParams(who): QueryParams<DeletedByQuery>,
) -> Result<StatusCode, HttpProblem> {
    letters::delete_dead_letter(&*api.deps, &id, &parse_deleted_by(who.by)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The filter of the dead letters to delete.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PurgeQuery {
    queue: Option<QueueName>,
    reason: Option<Reason>,
    instance: Option<InstanceId>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    #[serde(default)]
    all: bool,
    limit: Option<usize>,
    by: Option<String>,
}

/// Deletes all dead letters that match the filter, for good. Without a filter the request must say `all=true`.
pub(crate) async fn delete_dead_letters<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    QueryParams(unwanted): QueryParams<PurgeQuery>,
) -> Result<Response, HttpProblem> {
    let filter = DeadLetterFilter {
        queue: unwanted.queue,
        reason: unwanted.reason,
        instance: unwanted.instance,
        since: unwanted.since,
        until: unwanted.until,
    };
    if filter == DeadLetterFilter::default() && !unwanted.all {
        return Err(HttpProblem::bad_request(
            "say which dead letters (queue, reason, instance, since, until), or all=true",
        ));
    }
    let by = parse_deleted_by(unwanted.by)?;
    let selection = DeadLetterSelection {
        filter,
        ids: Vec::new(),
        limit: parse_limit(unwanted.limit)?,
    };
    let done = letters::delete_dead_letters(&*api.deps, &selection, &by).await?;
    let body = object!({
        "selected": done.selected, "deleted": done.deleted, "failed": done.failed, "more": done.more,
    });
    Ok(Json(body).into_response())
}
