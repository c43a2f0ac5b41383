//! `/v1/dead-letters` and `/health/whatsapp/dlq`: the dead letters.

mod mutations;

pub(super) use mutations::{
    delete_dead_letter, delete_dead_letters, redrive_dead_letter, redrive_dead_letters,
};

use super::error_mapping::list_problem;
use super::view::{DeadLetterView, ListView};
use super::{ApiState, QueueDepths};
use crate::keys::Keys;
use crate::problem::HttpProblem;
use crate::query::{PathParam, QueryParams, parse_page_request};
use axum::Json;
use axum::extract::State;
use recado_domain::Timestamp;
use recado_domain::dead_letter::{DeadLetterDeletion, QueueName};
use recado_domain::ids::{CorrelationId, InstanceId};
use recado_domain::reason::Reason;
use recado_pipeline::Deps;
use recado_pipeline::operate::dead_letters::{self, DeadLetterWithPayload};
use recado_pipeline::ports::{DeadLetterFilter, DeadLetters};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The number of dead letters that `/health/whatsapp/dlq` shows at most.
const DLQ_MESSAGES_MAX: usize = 100;

/// The filter and the page of a list of dead letters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeadLetterQuery {
    queue: Option<QueueName>,
    reason: Option<Reason>,
    instance: Option<InstanceId>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Lists dead letters, the newest first.
pub(super) async fn list_dead_letters<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    QueryParams(wanted): QueryParams<DeadLetterQuery>,
) -> Result<Json<ListView<DeadLetterView>>, HttpProblem> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let filter = DeadLetterFilter {
        queue: wanted.queue,
        reason: wanted.reason,
        instance: wanted.instance,
        since: wanted.since,
        until: wanted.until,
    };
    let found = dead_letters::list_dead_letters(&*api.deps, &filter, &page).await;
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, DeadLetterView::from)))
}

/// A dead letter with the payload that a redrive would process again. The payload may hold text that people wrote.
#[derive(Debug, Serialize)]
pub(super) struct DeadLetterDetail {
    #[serde(flatten)]
    letter: DeadLetterView,
    original_id: String,
    payload: Value,
}

/// Returns one dead letter with its payload.
pub(super) async fn get_dead_letter<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
) -> Result<Json<DeadLetterDetail>, HttpProblem> {
    let DeadLetterWithPayload { letter, payload } = dead_letters::find_dead_letter(&*api.deps, &id).await?;
    Ok(Json(DeadLetterDetail {
        original_id: letter.id.clone(),
        letter: letter.into(),
        payload,
    }))
}

/// The page of the list of deletions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeletionQuery {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// The record of one deletion: which dead letter was deleted, when and by whom.
#[derive(Debug, Serialize)]
pub(super) struct DeletionView {
    id: String,
    by: String,
    at: Timestamp,
    died_at: Timestamp,
    queue: QueueName,
    what: String,
    reason: Reason,
    instance_id: Option<InstanceId>,
    correlation_id: CorrelationId,
}

impl From<DeadLetterDeletion> for DeletionView {
    fn from(deletion: DeadLetterDeletion) -> Self {
        Self {
            id: deletion.letter,
            by: deletion.by,
            at: deletion.at,
            died_at: deletion.died,
            queue: deletion.queue,
            what: deletion.what,
            reason: deletion.reason,
            instance_id: deletion.instance,
            correlation_id: deletion.correlation,
        }
    }
}

/// Lists deletions of dead letters, the newest first.
pub(super) async fn list_deletions<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    QueryParams(part): QueryParams<DeletionQuery>,
) -> Result<Json<ListView<DeletionView>>, HttpProblem> {
    let page = parse_page_request(part.limit, part.cursor)?;
    let found = dead_letters::list_deletions(&*api.deps, &page).await;
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, DeletionView::from)))
}

/// The filter of `/health/whatsapp/dlq`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DlqQuery {
    instance: Option<InstanceId>,
}

/// The number of dead letters, and the newest of them.
#[derive(Debug, Serialize)]
pub(super) struct DlqView {
    dlq_depth: u64,
    messages: Vec<DlqMessage>,
}

#[derive(Debug, Serialize)]
struct DlqMessage {
    payload: Value,
    original_id: String,
    reason: Reason,
    timestamp: Timestamp,
    attempts: u32,
    last_error: Option<String>,
    correlation_id: CorrelationId,
    queue: QueueName,
    instance: Option<InstanceId>,
}

impl From<DeadLetterWithPayload> for DlqMessage {
    fn from(DeadLetterWithPayload { letter, payload }: DeadLetterWithPayload) -> Self {
        Self {
            payload,
            original_id: letter.id,
            reason: letter.reason,
            timestamp: letter.at,
            attempts: letter.attempts,
            last_error: letter.last_error,
            correlation_id: letter.correlation,
            queue: letter.queue,
            instance: letter.instance,
        }
    }
}

/// Serves `GET /health/whatsapp/dlq`. The answer holds text that people wrote, so it requires the operators' token.
pub(super) async fn get_dlq_health<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    QueryParams(DlqQuery { instance }): QueryParams<DlqQuery>,
) -> Result<Json<DlqView>, HttpProblem> {
    let dlq_depth = api.deps.store().count_dead_letters(instance.as_ref()).await?;
    let filter = DeadLetterFilter {
        instance,
        ..DeadLetterFilter::default()
    };
    let newest = dead_letters::newest_with_payloads(&*api.deps, &filter, DLQ_MESSAGES_MAX).await?;
    Ok(Json(DlqView {
        dlq_depth,
        messages: newest.into_iter().map(DlqMessage::from).collect(),
    }))
}
