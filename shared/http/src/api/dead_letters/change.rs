//! Redriving and deleting.

use super::super::{Api, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Params, Segment, json, read};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use recado_domain::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::InstanceId;
use recado_domain::reason::Reason;
use recado_pipeline::World;
use recado_pipeline::operate::dead_letters::{self as letters, Selection};
use recado_pipeline::ports::DeadLetterFilter;
use serde::Deserialize;
use serde_json::{Map, Value, json as object};

/// How many dead letters one request works on, and how many if nobody says.
const LIMIT_MAX: usize = 1000;
const LIMIT_USUAL: usize = 500;

/// The largest body: a thousand ids.
const BODY_MAX: usize = 256 * 1024;

/// Who deletes, if the request does not say.
const SOMEBODY: &str = "operator";

/// The longest name of who deletes.
const BY_MAX: usize = 200;

/// Redrives one: 202, for it is on its way. What is alive already, or died again, is left alone, and only its letter goes.
pub(crate) async fn redrive<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
) -> Result<Response, Problem> {
    let redriven = letters::redrive(&*api.world, &id).await?;
    let body = object!({ "id": id, "redriven": redriven });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// Which dead letters are to be redriven: all that the filter takes, or those of some ids.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Asked {
    queue: Option<QueueName>,
    reason: Option<Reason>,
    instance: Option<InstanceId>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    ids: Vec<String>,
    limit: Option<usize>,
    dry_run: bool,
}

fn limit(asked: Option<usize>) -> Result<usize, Problem> {
    match asked.unwrap_or(LIMIT_USUAL) {
        limit @ 1..=LIMIT_MAX => Ok(limit),
        _ => Err(Problem::bad_request(format!(
            "limit must be between 1 and {LIMIT_MAX}"
        ))),
    }
}

/// Redrives many, the oldest first and each conversation's in order; with `dry_run`, only says what that would meet.
pub(crate) async fn redrive_many<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let body = read(&headers, body, BODY_MAX).await?;
    let asked: Asked = if body.is_empty() {
        Asked::default()
    } else {
        // An object, and no list that counts as one without fields: that would mean everything.
        let object: Map<String, Value> = json(&body)?;
        serde_json::from_value(Value::Object(object))
            .map_err(|error| Problem::bad_request(format!("the body is malformed: {error}")))?
    };
    if asked.ids.len() > LIMIT_MAX {
        return Err(Problem::bad_request(format!("at most {LIMIT_MAX} ids")));
    }
    let selection = Selection {
        filter: DeadLetterFilter {
            queue: asked.queue,
            reason: asked.reason,
            instance: asked.instance,
            since: asked.since,
            until: asked.until,
        },
        ids: asked.ids,
        limit: limit(asked.limit)?,
    };
    if asked.dry_run {
        let found = letters::forecast(&*api.world, &selection).await?;
        let body = object!({
            "dry_run": true, "selected": found.selected, "out_of_window": found.out_of_window,
            "answered_meanwhile": found.answered_meanwhile, "no_longer_dead": found.no_longer_dead,
            "more": found.more,
        });
        return Ok(Json(body).into_response());
    }
    let done = letters::redrive_many(&*api.world, &selection).await?;
    let body = object!({
        "dry_run": false, "selected": done.selected, "redriven": done.redriven,
        "no_longer_dead": done.no_longer_dead, "failed": done.failed, "more": done.more,
    });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// Who deletes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct By {
    by: Option<String>,
}

fn by(said: Option<String>) -> Result<String, Problem> {
    let by = said.unwrap_or_else(|| SOMEBODY.to_owned());
    let by = by.trim();
    if by.is_empty() || by.chars().count() > BY_MAX || by.chars().any(char::is_control) {
        return Err(Problem::bad_request(format!(
            "by must have 1 to {BY_MAX} printable characters"
        )));
    }
    Ok(by.to_owned())
}

/// Deletes one for good.
pub(crate) async fn delete<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
    Params(who): Params<By>,
) -> Result<StatusCode, Problem> {
    letters::delete(&*api.world, &id, &by(who.by)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which dead letters are to be deleted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unwanted {
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
pub(crate) async fn purge<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Params(unwanted): Params<Unwanted>,
) -> Result<Response, Problem> {
    let filter = DeadLetterFilter {
        queue: unwanted.queue,
        reason: unwanted.reason,
        instance: unwanted.instance,
        since: unwanted.since,
        until: unwanted.until,
    };
    if filter == DeadLetterFilter::default() && !unwanted.all {
        return Err(Problem::bad_request(
            "say which dead letters (queue, reason, instance, since, until), or all=true",
        ));
    }
    let by = by(unwanted.by)?;
    let selection = Selection {
        filter,
        ids: Vec::new(),
        limit: limit(unwanted.limit)?,
    };
    let done = letters::delete_many(&*api.world, &selection, &by).await?;
    let body = object!({
        "selected": done.selected, "deleted": done.deleted, "failed": done.failed, "more": done.more,
    });
    Ok(Json(body).into_response())
}
