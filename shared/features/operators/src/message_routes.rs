//! `/v1/conversations/{id}/messages`, `/v1/messages/{id}` and `/v1/messages/unacknowledged`: lists and shows messages, and sends a
//! person's answer.

use crate::OperatorAnswer;
use crate::conversation_routes::parse_conversation_id;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::{ConversationId, CorrelationId, InstanceId, MessageId, Ordinal};
use recado_domain::scheduled::{ScheduledId, ScheduledState};
#[cfg(feature = "schema")]
use recado_http::api::message_fields::IdempotencyHeader;
use recado_http::api::message_fields::{no_such_message, parse_idempotency_key, parse_message_id};
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::Conflict;
use recado_http::api::request::{Asked, JsonAnswer, PathParam, QueryParams, RequestBody, parse_page_request};
use recado_http::api::view::{ListView, answer_page};
use recado_http::problem::HttpProblem;
use recado_message_views::message_view::{MessageDetail, MessageItem, ScheduledView};
use recado_message_views::trace;
use recado_sends::outgoing_fields::OutgoingFields;
#[cfg(feature = "schema")]
use recado_sends::outgoing_schema::OutgoingContentSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The page of a list of messages.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct MessageListQuery {
    /// `true`: together with the messages of the same person's conversations in `joined` and `moved_to`, by time. A message's id
    /// names its conversation.
    joined: Option<bool>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists a conversation's messages, the newest first.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/conversations/{id}/messages",
    params(("id" = String, Path, description = "Id of the conversation"), MessageListQuery),
    responses((status = 200, body = ListView<MessageItem>, description = "A page of messages"))
))]
pub async fn list_messages(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<MessageListQuery>,
) -> JsonAnswer<ListView<MessageItem>> {
    let id = parse_conversation_id(&id)?;
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = if wanted.joined == Some(true) {
        crate::list_joined_messages(&api.deps, &caller, &id, &page).await
    } else {
        crate::list_messages(&api.deps, &caller, &id, &page).await
    };
    answer_page(found, &page, MessageItem::from)
}

/// The filter and the page of the list.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct UnacknowledgedQuery {
    /// Only of this instance.
    instance: Option<InstanceId>,
    /// Number of items on a page: 1 to 200, 50 if absent.
    #[cfg_attr(feature = "schema", param(minimum = 1, maximum = 200))]
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// A message that the provider accepted and WhatsApp did not acknowledge in time.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct UnacknowledgedView {
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
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/messages/unacknowledged",
    params(UnacknowledgedQuery),
    responses((status = 200, body = ListView<UnacknowledgedView>, description = "A page of messages"))
))]
pub async fn list_unacknowledged(
    Asked(api, caller): Asked,
    QueryParams(wanted): QueryParams<UnacknowledgedQuery>,
) -> JsonAnswer<ListView<UnacknowledgedView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = crate::list_unacknowledged(&api.deps, &caller, wanted.instance, &page).await;
    answer_page(found, &page, UnacknowledgedView::from)
}

/// A message, or a scheduled message that is not sent yet.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum MessageAnswer {
    Message(Box<MessageDetail>),
    Scheduled(Box<ScheduledView>),
}

/// Returns a message's timeline, incoming or outgoing.
///
/// A scheduled message is found by its schedule id; after it was sent, also by its message id.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/messages/{id}",
    params(("id" = String, Path, description = "Id of the message")),
    responses((status = 200, body = MessageAnswer, description = "The message"))
))]
pub async fn get_message(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<MessageAnswer> {
    let deps = &api.deps;
    let mut wanted = id;
    if let Ok(id) = ScheduledId::parse(&wanted) {
        let scheduled = recado_sends::find_scheduled(deps, &caller, &id)
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

/// An answer that a person writes in a conversation. Either `text` or `content` is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"text": "Bom dia! Sim, até as 18h."})))]
struct AnswerRequest {
    /// The text of the answer, as an alternative to `content`.
    text: Option<String>,
    /// Content of any other kind, as an alternative to `text`.
    #[cfg_attr(feature = "schema", schema(value_type = Option<OutgoingContentSchema>))]
    content: Option<Value>,
    /// The message that is replied to, the contact's or ours, by our id or by the provider's.
    reply_to: Option<String>,
    #[serde(default)]
    mentions: Vec<String>,
    link_preview: Option<bool>,
    /// The newest message that the person had on screen.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>))]
    seen: Option<Ordinal>,
}

/// Sends a person's answer.
///
/// The message is stored and queued, not sent yet. The person has the conversation from then on.
#[cfg_attr(feature = "schema", utoipa::path(
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
pub async fn post_answer(
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
    let sent = crate::answer_as_operator(
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

/// Cancels a scheduled message. Any other message is refused with a 409.
#[cfg_attr(feature = "schema", utoipa::path(
    delete,
    path = "/v1/messages/{id}",
    params(("id" = String, Path, description = "Id of the message")),
    responses((status = 200, body = ScheduledView, description = "The cancelled message"), Conflict)
))]
pub async fn delete_message(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
) -> JsonAnswer<ScheduledView> {
    let deps = &api.deps;
    if let Ok(id) = ScheduledId::parse(&id) {
        return Ok(Json(
            recado_sends::cancel_scheduled(deps, &caller, &id).await?.into(),
        ));
    }
    crate::find_message(deps, &caller, &parse_message_id(&id)?).await?;
    Err(HttpProblem::new(
        StatusCode::CONFLICT,
        "only a scheduled message can be taken back",
    ))
}
