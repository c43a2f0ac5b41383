//! `/v1/conversations/{id}/messages` and `/v1/messages/{id}`: lists and shows messages, and sends a person's answer.

use super::conversations::parse_conversation_id;
use super::error_mapping::list_problem;
use super::outgoing_fields::OutgoingFields;
use super::view::{ListView, MessageDetail, MessageItem, ScheduledView};
use super::{ApiState, BODY_MAX, QueueDepths};
use crate::keys::Keys;
use crate::problem::HttpProblem;
use crate::query::{PathParam, QueryParams, parse_json_body, parse_page_request, read_body};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use recado_domain::ids::{CorrelationId, IdempotencyKey, MessageId, Ordinal};
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_pipeline::operate::{self, OperatorAnswer};
use recado_pipeline::{Deps, deliver, trace};
use serde::Deserialize;
use serde_json::Value;

/// The page of a list of messages.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageListQuery {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Lists a conversation's messages, the newest first.
pub(super) async fn list_messages<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<MessageListQuery>,
) -> Result<Json<ListView<MessageItem>>, HttpProblem> {
    let id = parse_conversation_id(&id)?;
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let found = operate::list_messages(&*api.deps, &id, &page).await;
    let found = found.map_err(|error| list_problem(error, page.cursor.is_some()))?;
    Ok(Json(ListView::from_page(found, MessageItem::from)))
}

/// Returns a message's timeline. A scheduled message is found by its schedule id; after it was sent, also by its
/// message id.
pub(super) async fn get_message<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
) -> Result<Response, HttpProblem> {
    let deps = &*api.deps;
    let mut wanted = id;
    if let Ok(id) = ScheduledId::parse(&wanted) {
        let scheduled = deliver::find_scheduled(deps, &id)
            .await?
            .ok_or_else(no_such_message)?;
        match &scheduled.state {
            ScheduledState::Became { message, .. } => wanted = message.to_string(),
            _ => return Ok(Json(ScheduledView::from(scheduled)).into_response()),
        }
    }
    let found = trace::load_timeline(deps, &parse_message_id(&wanted)?).await?;
    Ok(Json(MessageDetail::from(found.ok_or_else(no_such_message)?)).into_response())
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
#[serde(deny_unknown_fields)]
struct AnswerRequest {
    /// The text of the answer, as an alternative to `content`.
    text: Option<String>,
    /// Content of any other kind, as an alternative to `text`.
    content: Option<Value>,
    /// The message that is replied to, the contact's or ours, by our id or by the provider's.
    reply_to: Option<String>,
    #[serde(default)]
    mentions: Vec<String>,
    link_preview: Option<bool>,
    /// The newest message that the person had on screen.
    seen: Option<Ordinal>,
}

/// Sends a person's answer and answers 202: the message is stored and queued, not sent yet. `Idempotency-Key` makes the
/// request safe to repeat.
pub(super) async fn post_answer<W: Deps, K: Keys, D: QueueDepths>(
    State(api): State<ApiState<W, K, D>>,
    PathParam(id): PathParam<String>,
    Extension(correlation): Extension<CorrelationId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, HttpProblem> {
    let id = parse_conversation_id(&id)?;
    let key = parse_idempotency_key(&headers)?;
    let wish: AnswerRequest = parse_json_body(&read_body(&headers, body, BODY_MAX).await?)?;
    let said = OutgoingFields {
        text: wish.text,
        content: wish.content,
        reply_to: wish.reply_to,
        mentions: wish.mentions,
        link_preview: wish.link_preview,
    };
    let (content, options) = said.parse_outgoing()?;
    let sent = operate::answer_as_operator(
        &*api.deps,
        &id,
        OperatorAnswer {
            content,
            options,
            seen: wish.seen,
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
