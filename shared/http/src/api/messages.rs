//! `/v1/conversations/{id}/messages` and `/v1/messages/{id}`.

use super::conversations::conversation_id;
use super::refusal::of_list;
use super::view::{ListView, MessageDetail, MessageItem};
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
use recado_pipeline::World;
use recado_pipeline::operate::{self, Answer};
use serde::Deserialize;

/// The longest text, in characters: WhatsApp's own limit.
/// <https://developers.facebook.com/docs/whatsapp/cloud-api/messages/text-messages>
const TEXT_MAX: usize = 4096;

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

/// A message's whole way.
pub(super) async fn show<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
) -> Result<Json<MessageDetail>, Problem> {
    let no_such = || Problem::not_found("there is no such message");
    let id = MessageId::parse(&id).map_err(|_| no_such())?;
    // An id that names no conversation and place was given by nobody.
    id.parts().map_err(|_| no_such())?;
    Ok(Json(operate::message(&*api.world, &id).await?.into()))
}

/// A person's answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    text: String,
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
    let Said { text, seen } = json(&read(&headers, body, BODY_MAX).await?)?;
    let length = text.chars().count();
    if text.trim().is_empty() || length > TEXT_MAX {
        return Err(Problem::bad_request(format!(
            "text must have 1 to {TEXT_MAX} characters"
        )));
    }
    let sent = operate::answer(
        &*api.world,
        &id,
        Answer {
            text,
            seen,
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

fn idempotency_key(headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Problem> {
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
