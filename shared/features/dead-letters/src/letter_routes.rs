//! `/v1/dead-letters` and `/health/whatsapp/dlq`: the dead letters.

pub mod mutations;

use crate::DeadLetterWithPayload;
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::dead_letter::{DeadLetter, DeadLetterContent, QueueName};
use recado_domain::ids::{ConversationId, CorrelationId, InstanceId, MessageId};
use recado_domain::reason::Reason;
use recado_domain::wake_up::TurnsJob;
use recado_http::api::request::{
    Asked, InstanceQuery, JsonAnswer, PathParam, QueryParams, parse_page_request,
};
use recado_http::api::view::{ListView, answer_page};
use recado_pipeline::records::dead_letters::DeadLetterFilter;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The number of dead letters that `/health/whatsapp/dlq` shows at most.
const DLQ_MESSAGES_MAX: usize = 100;

/// The filter and the page of a list of dead letters.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct DeadLetterQuery {
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
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists dead letters, the newest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/dead-letters",
    params(DeadLetterQuery),
    responses((status = 200, body = ListView<DeadLetterView>, description = "A page of dead letters"))
))]
pub async fn list_dead_letters(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<DeadLetterQuery>,
) -> JsonAnswer<ListView<DeadLetterView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let filter = DeadLetterFilter {
        queue: wanted.queue,
        reason: wanted.reason,
        instance: wanted.instance,
        since: wanted.since,
        until: wanted.until,
        ..DeadLetterFilter::default()
    };
    let found = crate::list_dead_letters(&api.deps, &caller, filter, &page).await;
    answer_page(found, &page, DeadLetterView::from)
}

/// A dead letter with the payload that a redrive would process again. The payload may hold text that people wrote.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DeadLetterDetail {
    #[serde(flatten)]
    dead_letter: DeadLetterView,
    original_id: String,
    payload: Value,
}

/// Returns one dead letter with its payload.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/dead-letters/{id}",
    params(("id" = String, Path, description = "Id of the dead letter")),
    responses((status = 200, body = DeadLetterDetail, description = "The dead letter"))
))]
pub async fn get_dead_letter(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<DeadLetterDetail> {
    let DeadLetterWithPayload { dead_letter, payload } =
        crate::find_dead_letter(&api.deps, &caller, &id).await?;
    Ok(Json(DeadLetterDetail {
        original_id: dead_letter.id.clone(),
        dead_letter: dead_letter.into(),
        payload,
    }))
}

/// The number of dead letters, and the newest of them.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DlqView {
    dlq_depth: u64,
    messages: Vec<DlqMessage>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
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
    fn from(DeadLetterWithPayload { dead_letter, payload }: DeadLetterWithPayload) -> Self {
        Self {
            payload,
            original_id: dead_letter.id,
            reason: dead_letter.reason,
            timestamp: dead_letter.at,
            attempts: dead_letter.attempts,
            last_error: dead_letter.last_error,
            correlation_id: dead_letter.correlation,
            queue: dead_letter.queue,
            instance: dead_letter.instance,
        }
    }
}

/// Returns the number of dead letters, and the newest 100 with their payloads.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/health/whatsapp/dlq",
    params(InstanceQuery),
    responses((status = 200, body = DlqView, description = "The dead letters"))
))]
pub async fn get_dlq_health(
    Asked(api, caller): Asked,
    QueryParams(InstanceQuery { instance }): QueryParams<InstanceQuery>,
) -> JsonAnswer<DlqView> {
    let dlq_depth = crate::count_dead_letters(&api.deps, &caller, instance.as_ref()).await?;
    let filter = DeadLetterFilter {
        instance,
        ..DeadLetterFilter::default()
    };
    let newest = crate::newest_with_payloads(&api.deps, &caller, filter, DLQ_MESSAGES_MAX).await?;
    Ok(Json(DlqView {
        dlq_depth,
        messages: newest.into_iter().map(DlqMessage::from).collect(),
    }))
}

/// A dead letter without its payload: the payload may hold text that the contact wrote.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct DeadLetterView {
    id: String,
    queue: QueueName,
    reason: Reason,
    at: Timestamp,
    attempts: u32,
    last_error: Option<String>,
    correlation_id: CorrelationId,
    instance_id: Option<InstanceId>,
    /// What was given up: `event`, `message`, `email`, a job of `turns` (`turn`, `agent_return`, `file`, `batch`), `unreadable` (a queue
    /// message) or `damaged` (the record of the dead letter itself).
    what: &'static str,
    /// The message that could not be sent, or whose file was to be fetched. `/v1/messages/{id}` returns its history.
    message_id: Option<MessageId>,
    /// The conversation of the message, of the turn or of the agent's return. Absent for the other kinds.
    conversation_id: Option<ConversationId>,
}

impl From<DeadLetter> for DeadLetterView {
    fn from(dead_letter: DeadLetter) -> Self {
        let what = dead_letter.kind_name();
        let (message_id, conversation_id) = match dead_letter.what {
            DeadLetterContent::Message { message } => {
                let conversation = message.conversation_and_ordinal().ok();
                (Some(message), conversation.map(|(conversation, _)| conversation))
            }
            DeadLetterContent::Turns(job) => {
                let message = match &*job {
                    TurnsJob::File(job) => Some(job.message_id()),
                    _ => None,
                };
                (message, job.conversation().cloned())
            }
            _ => (None, None),
        };
        Self {
            id: dead_letter.id,
            queue: dead_letter.queue,
            reason: dead_letter.reason,
            at: dead_letter.at,
            attempts: dead_letter.attempts,
            last_error: dead_letter.last_error,
            correlation_id: dead_letter.correlation,
            instance_id: dead_letter.instance,
            what,
            message_id,
            conversation_id,
        }
    }
}
