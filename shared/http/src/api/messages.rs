//! `/v1/conversations/{id}/messages`, `/v1/messages/{id}` and `/v1/messages/unacknowledged`: lists and shows messages, and sends a
//! person's answer.

use super::conversations::parse_conversation_id;
use super::error_mapping::list_problem;
use super::outgoing_fields::OutgoingFields;
#[cfg(test)]
use super::problem_answers::Conflict;
use super::request::{Asked, JsonAnswer, RequestBody};
#[cfg(test)]
use super::schema::OutgoingContentSchema;
use super::view::{ListView, MessageDetail, MessageItem, ScheduledView};
use crate::problem::HttpProblem;
use crate::query::{PathParam, QueryParams, parse_page_request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::{ConversationId, CorrelationId, IdempotencyKey, InstanceId, MessageId, Ordinal};
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_pipeline::operate::{self, OperateError, OperatorAnswer};
use recado_pipeline::{deliver, trace};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The page of a list of messages.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct MessageListQuery {
    /// `true`: together with the messages of the same person's conversations in `joined` and `moved_to`, by time. A message's id
    /// names its conversation.
    joined: Option<bool>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(test, param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists a conversation's messages, the newest first.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/conversations/{id}/messages",
    params(("id" = String, Path, description = "Id of the conversation"), MessageListQuery),
    responses((status = 200, body = ListView<MessageItem>, description = "A page of messages"))
))]
pub(super) async fn list_messages(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<MessageListQuery>,
) -> JsonAnswer<ListView<MessageItem>> {
    let id = parse_conversation_id(&id)?;
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = if wanted.joined == Some(true) {
        operate::list_joined_messages(&api.deps, &caller, &id, &page).await
    } else {
        operate::list_messages(&api.deps, &caller, &id, &page).await
    };
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, MessageItem::from)))
}

/// The filter and the page of the list.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub(super) struct UnacknowledgedQuery {
    /// Only of this instance.
    instance: Option<InstanceId>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(test, param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A message that the provider accepted and WhatsApp did not acknowledge in time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(super) struct UnacknowledgedView {
    message_id: MessageId,
    conversation_id: Option<ConversationId>,
    instance_id: InstanceId,
    /// Time at which the provider accepted the message.
    accepted_at: Timestamp,
}

impl From<UnacknowledgedMessage> for UnacknowledgedView {
    fn from(found: UnacknowledgedMessage) -> Self {
        Self {
            conversation_id: found.conversation_id(),
            message_id: found.message,
            instance_id: found.awaited.instance,
            accepted_at: found.awaited.accepted_at,
        }
    }
}

/// Lists messages that the provider accepted and WhatsApp did not acknowledge in time; those of one instance the oldest first.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/messages/unacknowledged",
    params(UnacknowledgedQuery),
    responses((status = 200, body = ListView<UnacknowledgedView>, description = "A page of messages"))
))]
pub(super) async fn list_unacknowledged(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<UnacknowledgedQuery>,
) -> JsonAnswer<ListView<UnacknowledgedView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = operate::list_unacknowledged(&api.deps, &caller, wanted.instance, &page).await;
    let found = found.map_err(|error| list_problem(OperateError::from(error), page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, UnacknowledgedView::from)))
}

/// A message, or a scheduled message that is not sent yet.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(untagged)]
pub(super) enum MessageAnswer {
    Message(Box<MessageDetail>),
    Scheduled(Box<ScheduledView>),
}

/// Returns a message's timeline, incoming or outgoing.
///
/// A scheduled message is found by its schedule id; after it was sent, also by its message id.
#[cfg_attr(test, utoipa::path(
    get,
    path = "/v1/messages/{id}",
    params(("id" = String, Path, description = "Id of the message")),
    responses((status = 200, body = MessageAnswer, description = "The message"))
))]
pub(super) async fn get_message(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<MessageAnswer> {
    let deps = &api.deps;
    let mut wanted = id;
    if let Ok(id) = ScheduledId::parse(&wanted) {
        let scheduled = deliver::find_scheduled(deps, &caller, &id)
            .await?
            .ok_or_else(no_such_message)?;
        match &scheduled.state {
            ScheduledState::Became { message, .. } => wanted = message.to_string(),
            _ => return Ok(Json(MessageAnswer::Scheduled(Box::new(scheduled.into())))),
        }
    }
    let found = trace::load_timeline(deps, &caller, &parse_message_id(&wanted)?).await?;
    let found = found.ok_or_else(no_such_message)?;
    let shown = MessageDetail::from(found).with_trace(&deps.settings().trace_links);
    Ok(Json(MessageAnswer::Message(Box::new(shown))))
}

/// Parses a message's id. An id that names no conversation and ordinal was never given out, so it is a 404.
pub(super) fn parse_message_id(text: &str) -> Result<MessageId, HttpProblem> {
    let id = MessageId::parse(text).map_err(|_| no_such_message())?;
    id.conversation_and_ordinal().map_err(|_| no_such_message())?;
    Ok(id)
}

fn no_such_message() -> HttpProblem {
    HttpProblem::not_found("there is no such message")
}

/// An answer that a person writes in a conversation. Either `text` or `content` is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, schema(example = json!({"text": "Bom dia! Sim, até as 18h."})))]
struct AnswerRequest {
    /// The text of the answer, as an alternative to `content`.
    text: Option<String>,
    /// Content of any other kind, as an alternative to `text`.
    #[cfg_attr(test, schema(value_type = Option<OutgoingContentSchema>))]
    content: Option<Value>,
    /// The message that is replied to, the contact's or ours, by our id or by the provider's.
    reply_to: Option<String>,
    #[serde(default)]
    mentions: Vec<String>,
    link_preview: Option<bool>,
    /// The newest message that the person had on screen.
    #[cfg_attr(test, schema(value_type = Option<u64>))]
    seen: Option<Ordinal>,
}

/// Sends a person's answer.
///
/// The message is stored and queued, not sent yet. The person has the conversation from then on.
#[cfg_attr(test, utoipa::path(
    post,
    path = "/v1/conversations/{id}/messages",
    params(("id" = String, Path, description = "Id of the conversation"), IdempotencyHeader),
    request_body = AnswerRequest,
    responses(
        (
            status = 202,
            body = MessageItem,
            description = "The message is queued",
            headers(("Location" = String, description = "Path of the message"))
        ),
        Conflict
    )
))]
pub(super) async fn post_answer(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    Extension(correlation): Extension<CorrelationId>,
    body: RequestBody,
) -> Result<Response, HttpProblem> {
    let id = parse_conversation_id(&id)?;
    let key = parse_idempotency_key(&body.headers)?;
    let answer: AnswerRequest = body.parse().await?;
    let said = OutgoingFields {
        text: answer.text,
        content: answer.content,
        reply_to: answer.reply_to,
        mentions: answer.mentions,
        link_preview: answer.link_preview,
    };
    let (content, options) = said.parse_outgoing()?;
    let sent = operate::answer_as_operator(
        &api.deps,
        &caller,
        &id,
        OperatorAnswer {
            content,
            options,
            seen: answer.seen,
            key,
            correlation,
        },
    )
    .await?;
    let location = format!("/v1/messages/{}", sent.message.message_id());
    Ok((
        StatusCode::ACCEPTED,
        [(header::LOCATION, location)],
        Json(MessageItem::from(sent)),
    )
        .into_response())
}

/// The client's own name for a message.
#[cfg(test)]
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "the field describes what `parse_idempotency_key` reads")]
pub(super) struct IdempotencyHeader {
    /// Makes a repeat of the request the same message: 1 to 200 letters, digits, spaces and . _ - @ : + = /
    #[param(rename = "Idempotency-Key")]
    key: Option<String>,
}

pub(super) fn parse_idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, HttpProblem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = value
        .to_str()
        .ok()
        .and_then(|text| IdempotencyKey::parse(text).ok());
    key.map(Some).ok_or_else(|| {
        HttpProblem::bad_request(
            "Idempotency-Key must be 1 to 200 letters, digits, spaces and . _ - @ : + = /",
        )
    })
}
