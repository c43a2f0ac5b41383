//! Redriving and deleting.

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

/// How many dead letters one request works on, and how many if nobody says.
const LIMIT_MAX: usize = 1000;
const LIMIT_DEFAULT: usize = 500;

/// The largest body: a thousand ids.
const BODY_MAX: usize = 256 * 1024;

/// Who deletes, if the request does not say.
const DEFAULT_DELETED_BY: &str = "operator";

/// The longest name of who deletes.
const BY_MAX: usize = 200;

/// Redrives one: 202, for it is on its way. What is alive already, or died again, is left alone, and only its letter goes.
pub(crate) async fn redrive_dead_letter<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
) -> Result<Response, HttpProblem> {
    let redriven = letters::redrive_dead_letter(&*api.deps, &id).await?;
    let body = object!({ "id": id, "redriven": redriven });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// Which dead letters are to be redriven: all that the filter takes, or those of some ids.
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

/// Redrives many, the oldest first and each conversation's in order; with `dry_run`, only says what that would meet.
pub(crate) async fn redrive_dead_letters<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    let body = read_body(&headers, body, BODY_MAX).await?;
    let asked: RedriveRequest = if body.is_empty() {
        RedriveRequest::default()
    } else {
        // An object, and no list that counts as one without fields: that would mean everything.
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

/// Who deletes.
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

/// Deletes one for good.
pub(crate) async fn delete_dead_letter<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
    QueryParams(who): QueryParams<DeletedByQuery>,
) -> Result<StatusCode, HttpProblem> {
    letters::delete_dead_letter(&*api.deps, &id, &parse_deleted_by(who.by)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which dead letters are to be deleted.
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

/// Deletes all that the filter takes, for good. Without a filter it must be said that all are meant.
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
