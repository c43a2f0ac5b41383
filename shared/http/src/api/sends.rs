//! `POST /v1/instances/{id}/messages` and `DELETE /v1/messages/{id}`.

use super::messages::{idempotency_key, message_id};
use super::said::Said;
use super::view::{AcceptedView, ScheduledView};
use super::{Api, BODY_MAX, Depths};
use crate::keys::Keys;
use crate::problem::Problem;
use crate::query::{Segment, json, read};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::ids::{CorrelationId, IdempotencyKey, InstanceId};
use recado_domain::metadata::Metadata;
use recado_domain::scheduled::ScheduledId;
use recado_pipeline::deliver::{self, Send};
use recado_pipeline::{World, operate};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What is to be sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    to: String,
    /// What it says: this,
    text: Option<String>,
    /// or this.
    content: Option<Value>,
    /// A message of the contact's or ours, by our id or the provider's.
    reply_to: Option<String>,
    #[serde(default)]
    mentions: Vec<String>,
    link_preview: Option<bool>,
    /// The client's key, as `Idempotency-Key`.
    message_id: Option<IdempotencyKey>,
    metadata: Option<Map<String, Value>>,
    send_at: Option<Timestamp>,
}

/// Takes a message for anybody: 202, for it is stored and on its way (or waits for its time), not sent yet. 200 for one
/// that was taken before.
pub(super) async fn send<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
    Extension(correlation): Extension<CorrelationId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let instance = InstanceId::parse(&id).map_err(|_| Problem::not_found("there is no such instance"))?;
    let key = idempotency_key(&headers)?;
    let wanted: Wanted = json(&read(&headers, body, BODY_MAX).await?)?;
    let metadata = wanted.metadata.as_ref().map(Metadata::new).transpose();
    let said = Said {
        text: wanted.text.map(|text| text.trim().to_owned()),
        content: wanted.content,
        reply_to: wanted.reply_to,
        mentions: wanted.mentions,
        link_preview: wanted.link_preview,
    };
    let (content, options) = said.read()?;
    let send = Send {
        content,
        options,
        to: wanted.to,
        key: one_key(key, wanted.message_id)?,
        metadata: metadata.map_err(|error| Problem::bad_request(error.to_string()))?,
        send_at: wanted.send_at,
        correlation,
    };
    let accepted = deliver::send(&*api.world, &instance, send).await?;
    let location = [(header::LOCATION, format!("/v1/messages/{}", accepted.id))];
    let status = if accepted.repeated {
        StatusCode::OK
    } else {
        StatusCode::ACCEPTED
    };
    Ok((status, location, Json(AcceptedView::from(accepted))).into_response())
}

fn one_key(
    header: Option<IdempotencyKey>,
    field: Option<IdempotencyKey>,
) -> Result<Option<IdempotencyKey>, Problem> {
    match (header, field) {
        (Some(header), Some(field)) if header != field => Err(Problem::bad_request(
            "Idempotency-Key and message_id are different keys",
        )),
        (header, field) => Ok(header.or(field)),
    }
}

/// Takes a message back that waits for its time.
pub(super) async fn cancel<W: World, K: Keys, D: Depths>(
    State(api): State<Api<W, K, D>>,
    Segment(id): Segment<String>,
) -> Result<Json<ScheduledView>, Problem> {
    let world = &*api.world;
    if let Ok(id) = ScheduledId::parse(&id) {
        return Ok(Json(deliver::cancel(world, &id).await?.into()));
    }
    operate::message(world, &message_id(&id)?).await?;
    Err(Problem::new(
        StatusCode::CONFLICT,
        "only a scheduled message can be taken back",
    ))
}
