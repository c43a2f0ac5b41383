//! `POST /v1/instances/{id}/messages`: sends a message to any recipient, now or later.

use crate::DeliverRequest;
use crate::outgoing_fields::OutgoingFields;
#[cfg(feature = "schema")]
use crate::outgoing_schema::OutgoingContentSchema;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::ids::{CorrelationId, IdempotencyKey, InstanceId};
use recado_domain::metadata::Metadata;
#[cfg(feature = "schema")]
use recado_http::api::message_fields::IdempotencyHeader;
use recado_http::api::message_fields::parse_idempotency_key;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{Conflict, Unprocessable};
use recado_http::api::request::{Asked, PathParam, RequestBody, choose_accepted_status};
use recado_http::problem::HttpProblem;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A message that a client wants to send. Either `text` or `content` is required.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"to": "+55 11 90000-0001", "text": "Seu pedido saiu.", "message_id": "order-7"})))]
struct SendRequest {
    to: String,
    /// The text of the message, as an alternative to `content`.
    text: Option<String>,
    /// Content of any other kind, as an alternative to `text`.
    #[cfg_attr(feature = "schema", schema(value_type = Option<OutgoingContentSchema>))]
    content: Option<Value>,
    /// The message that is replied to, the contact's or ours, by our id or by the provider's.
    reply_to: Option<String>,
    #[serde(default)]
    mentions: Vec<String>,
    link_preview: Option<bool>,
    /// The client's idempotency key, as an alternative to the header `Idempotency-Key`.
    message_id: Option<IdempotencyKey>,
    metadata: Option<Map<String, Value>>,
    send_at: Option<Timestamp>,
}

/// Sends a message to any recipient, now or later.
///
/// The message is stored and queued (or waits for its time), not sent yet. A repeated request with the same key answers
/// 200; another request with that key is a 409.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/v1/instances/{id}/messages",
    params(("id" = String, Path, description = "Id of the instance"), IdempotencyHeader),
    request_body = SendRequest,
    responses(
        (
            status = 200,
            body = crate::AcceptedMessage,
            description = "The message was accepted before",
            headers(("Location" = String, description = "Path of the message"))
        ),
        (
            status = 202,
            body = crate::AcceptedMessage,
            description = "The message is accepted",
            headers(("Location" = String, description = "Path of the message"))
        ),
        Conflict,
        Unprocessable
    )
))]
pub async fn post_send(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    Extension(correlation): Extension<CorrelationId>,
    body: RequestBody,
) -> Result<Response, HttpProblem> {
    let instance = InstanceId::parse(&id).map_err(|_| HttpProblem::not_found("there is no such instance"))?;
    let key = parse_idempotency_key(&body.headers)?;
    let wanted: SendRequest = body.parse().await?;
    let metadata = wanted.metadata.as_ref().map(Metadata::from_object).transpose();
    let said = OutgoingFields {
        text: wanted.text.map(|text| text.trim().to_owned()),
        content: wanted.content,
        reply_to: wanted.reply_to,
        mentions: wanted.mentions,
        link_preview: wanted.link_preview,
    };
    let (content, options) = said.parse_outgoing()?;
    let send = DeliverRequest {
        content,
        options,
        to: wanted.to,
        key: merge_keys(key, wanted.message_id)?,
        metadata: metadata.map_err(|error| HttpProblem::bad_request(error.to_string()))?,
        send_at: wanted.send_at,
        correlation,
    };
    let accepted = crate::accept_message(&api.deps, &caller, &instance, send).await?;
    let location = [(header::LOCATION, format!("/v1/messages/{}", accepted.id))];
    let status = choose_accepted_status(accepted.repeated);
    Ok((status, location, Json(accepted)).into_response())
}

fn merge_keys(
    header: Option<IdempotencyKey>,
    field: Option<IdempotencyKey>,
) -> Result<Option<IdempotencyKey>, HttpProblem> {
    match (header, field) {
        (Some(header), Some(field)) if header != field => Err(HttpProblem::bad_request(
            "Idempotency-Key and message_id are different keys",
        )),
        (header, field) => Ok(header.or(field)),
    }
}
