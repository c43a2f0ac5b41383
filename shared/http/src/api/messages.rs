//! `/v1/conversations/{id}/messages` and `/v1/messages/{id}`.

use super::conversations::conversation_id;
use super::refusal::of_list;
use super::said::Said;
use super::view::{ListView, MessageDetail, MessageItem, ScheduledView};
use super::{Api, BODY_MAX, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Params, Segment, json, page, read};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use recado_domain::ids::{CorrelationId, IdempotencyKey, MessageId, Ordinal};
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_pipeline::operate::{self, Answer};
use recado_pipeline::{World, deliver, trace};
use serde::Deserialize;
use serde_json::Value;

/// Which part of the list is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    limit: Option<usize>,
    cursor: Option<String>,
}

/// A conversation's messages, the newest first.
pub(super) async fn list<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
    Params(wanted): Params<Wanted>,
) -> Result<Json<ListView<MessageItem>>, Problem> {
    let id = conversation_id(&id)?;
    let page = page(wanted.limit, wanted.cursor)?;
    let found = operate::messages(&*api.world, &id, &page).await;
    let found = found.map_err(|error| of_list(error, page.cursor.is_some()))?;
    Ok(Json(ListView::of(found, MessageItem::from)))
}

/// A message's whole way. One that was scheduled is found by either id: until it falls due as what it is, then as what it
/// became.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
) -> Result<Response, Problem> {
    let world = &*api.world;
    let mut wanted = id;
    if let Ok(id) = ScheduledId::parse(&wanted) {
        let scheduled = deliver::find(world, &id).await?.ok_or_else(no_such_message)?;
        match &scheduled.state {
            ScheduledState::Became { message, .. } => wanted = message.to_string(),
            _ => return Ok(Json(ScheduledView::from(scheduled)).into_response()),
        }
    }
    let found = trace::travelled(world, &message_id(&wanted)?).await?;
    Ok(Json(MessageDetail::from(found)).into_response())
}

/// Reads a message's id. One that names no conversation and place was given by nobody.
pub(super) fn message_id(text: &str) -> Result<MessageId, Problem> {
    let id = MessageId::parse(text).map_err(|_| no_such_message())?;
    id.parts().map_err(|_| no_such_message())?;
    Ok(id)
}

fn no_such_message() -> Problem {
    Problem::not_found("there is no such message")
}

/// A person's answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    /// What it says: this,
    text: Option<String>,
    /// or this.
    content: Option<Value>,
    /// A message of the contact's or ours, by our id or the provider's.
    reply_to: Option<String>,
    #[serde(default)]
    mentions: Vec<String>,
    link_preview: Option<bool>,
    /// The newest message that the person had on screen.
    seen: Option<Ordinal>,
}

/// Sends a person's answer: 202, for it is stored and on its way, not sent yet. `Idempotency-Key` makes it safe to
/// repeat.
pub(super) async fn answer<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
    Extension(correlation): Extension<CorrelationId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let id = conversation_id(&id)?;
    let key = idempotency_key(&headers)?;
    let wish: Wish = json(&read(&headers, body, BODY_MAX).await?)?;
    let said = Said {
        text: wish.text,
        content: wish.content,
        reply_to: wish.reply_to,
        mentions: wish.mentions,
        link_preview: wish.link_preview,
    };
    let (content, options) = said.read()?;
    let sent = operate::answer(
        &*api.world,
        &id,
        Answer {
            content,
            options,
            seen: wish.seen,
            key,
            correlation,
        },
    )
    .await?;
    let location = format!("/v1/messages/{}", sent.message.id());
    Ok((
        StatusCode::ACCEPTED,
        [(header::LOCATION, location)],
        Json(MessageItem::from(sent)),
    )
        .into_response())
}

pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Problem> {
    let Some(value) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = value
        .to_str()
        .ok()
        .and_then(|text| IdempotencyKey::parse(text).ok());
    key.map(Some).ok_or_else(|| {
        Problem::bad_request("Idempotency-Key must be 1 to 200 letters, digits, spaces and . _ - @ : + = /")
    })
}
