//! `POST /deliver/send` and `POST /events/{event}/guests/{guest}/send`: invitations to guests of occasions.
//!
//! Their names of fields are those of an earlier service, so that its clients go on working.

use crate::{AcceptedBatch, BatchRequest};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::ids::{CorrelationId, GuestId, MessageId, TenantId};
use recado_domain::invitations::{InvitationChannel, InvitationState, SendTime, TemplateValues};
use recado_domain::metadata::Metadata;
use recado_http::api::context::Api;
#[cfg(feature = "schema")]
use recado_http::api::message_fields::IdempotencyHeader;
use recado_http::api::message_fields::parse_idempotency_key;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::{Conflict, NotFound, Unprocessable};
use recado_http::api::request::{Asked, PathParam, RequestBody, choose_accepted_status};
use recado_http::body::parse_json_body;
use recado_http::problem::HttpProblem;
use recado_invitations::export_routes::parse_template;
use recado_invitations::{AcceptedInvitation, InvitationRequest, NamedGuest};
use recado_occasions::occasion_routes::{parse_guest_id, parse_occasion};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Largest body of a request with many guests.
const BATCH_BODY_MAX: usize = 4 * 1024 * 1024;

/// An invitation to be sent. `guestId`, `guestIds` or `phone` is required. With `guestId` the phone may stand beside it, and must be
/// the guest's.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"eventId": "ev_demo", "phone": "+5215550011223", "channel": "whatsapp", "template": "invite"})))]
struct InvitationSendRequest {
    /// The occasion.
    #[serde(rename = "eventId")]
    event_id: String,
    channel: InvitationChannel,
    /// Name of the template.
    template: String,
    /// The guest.
    #[serde(rename = "guestId")]
    guest_id: Option<String>,
    /// The guests, 1 to 50,000: their invitations are made in the background, as a batch.
    #[serde(rename = "guestIds")]
    guest_ids: Option<Vec<String>>,
    /// The guest's phone number. An unknown one makes a pending guest. Beside `guestId` it is compared with the guest's.
    phone: Option<String>,
    /// Values of the template's variables.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object, required = false))]
    variables: TemplateValues,
    metadata: Option<Map<String, Value>>,
    /// Time before which it does not leave, at most a year ahead: with its offset, or without one for the guest's own clock. A batch
    /// needs the offset.
    #[cfg_attr(feature = "schema", schema(example = "2027-03-01T09:00:00-03:00"))]
    send_at: Option<String>,
    /// The tenant, with a token of the installation. If absent, the only one.
    tenant: Option<String>,
}

/// An invitation to be sent to the guest in the path.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schema(example = json!({"channel": "whatsapp", "template": "invite"})))]
struct GuestSendRequest {
    channel: InvitationChannel,
    /// Name of the template.
    template: String,
    /// Values of the template's variables.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Object, required = false))]
    variables: TemplateValues,
    metadata: Option<Map<String, Value>>,
    /// Time before which it does not leave, at most a year ahead: with its offset, or without one for the guest's own clock. A batch
    /// needs the offset.
    #[cfg_attr(feature = "schema", schema(example = "2027-03-01T09:00:00-03:00"))]
    send_at: Option<String>,
    /// The tenant, with a token of the installation. If absent, the only one.
    tenant: Option<String>,
}

/// An invitation that was taken.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AcceptedInvitationView {
    id: String,
    /// `queued`, or `duplicate`: the same template went to the guest within the dedupe window.
    status: &'static str,
    #[serde(rename = "guestId")]
    guest_id: String,
    /// The invitation that went before, if this is a duplicate.
    duplicate_of: Option<String>,
    /// The message, which `GET /v1/messages/{id}` shows.
    message_id: Option<MessageId>,
    is_free: bool,
    session_id: Option<String>,
    /// Earliest time at which it leaves, if the request, quiet hours or the frequency cap set one.
    not_before: Option<Timestamp>,
}

impl From<AcceptedInvitation> for AcceptedInvitationView {
    fn from(accepted: AcceptedInvitation) -> Self {
        let invitation = accepted.invitation;
        let (status, duplicate_of, message_id) = match invitation.state {
            InvitationState::Duplicate { of } => ("duplicate", Some(of.to_string()), None),
            InvitationState::Message { message } => ("queued", None, Some(message)),
            InvitationState::Taken { .. } | InvitationState::Email { .. } => ("queued", None, None),
            InvitationState::Refused { .. } => ("failed", None, None),
        };
        Self {
            id: invitation.id.to_string(),
            status,
            guest_id: invitation.guest.to_string(),
            duplicate_of,
            message_id,
            is_free: invitation.is_free,
            session_id: invitation.session,
            not_before: invitation.not_before,
        }
    }
}

/// The invitation of a guest in a batch.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct BatchItemView {
    /// Id of the invitation, under which `GET /deliver/{id}/status` tells its status once it is made.
    id: String,
    #[serde(rename = "guestId")]
    guest_id: String,
}

/// A batch of invitations that was taken.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct AcceptedBatchView {
    batch_id: String,
    /// `running`, or `scheduled` until its `send_at`; or what it was, if the request came before.
    status: &'static str,
    /// Number of recipients.
    recipients: usize,
    items: Vec<BatchItemView>,
}

impl From<AcceptedBatch> for AcceptedBatchView {
    fn from(accepted: AcceptedBatch) -> Self {
        let batch = accepted.batch;
        let item = |guest: &GuestId| BatchItemView {
            id: batch.derive_invitation_id(guest).to_string(),
            guest_id: guest.to_string(),
        };
        Self {
            batch_id: batch.id.to_string(),
            status: batch.state.as_str(),
            recipients: batch.recipients,
            items: accepted.guests.iter().map(item).collect(),
        }
    }
}

/// An invitation that was taken, or a batch of them.
#[cfg(feature = "schema")]
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum TakenView {
    Invitation(AcceptedInvitationView),
    Batch(AcceptedBatchView),
}

/// Sends an invitation to a guest of an occasion.
///
/// The same template to the same guest within the dedupe window is a `duplicate` and not sent. A repeated request with the same
/// idempotency key answers 200. With `guestIds` the answer is that of a batch: its id, and the id of each guest's invitation.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/deliver/send",
    params(IdempotencyHeader),
    request_body = InvitationSendRequest,
    responses(
        (status = 200, body = TakenView, description = "Taken before, or a duplicate"),
        (status = 202, body = TakenView, description = "The invitation is taken, or the batch"),
        NotFound,
        Conflict,
        Unprocessable
    )
))]
pub async fn post_invitation(
    Asked(api, caller): Asked,
    Extension(correlation): Extension<CorrelationId>,
    body: RequestBody,
) -> Result<Response, HttpProblem> {
    let key = parse_idempotency_key(&body.headers);
    let wanted: InvitationSendRequest = parse_json_body(&body.read(BATCH_BODY_MAX).await?)?;
    let guest = match (wanted.guest_id, wanted.phone, wanted.guest_ids) {
        (Some(id), None, None) => NamedGuest::Id(parse_guest_id(&id)?),
        (Some(id), Some(phone), None) => NamedGuest::IdOfPhone(parse_guest_id(&id)?, phone),
        (None, Some(phone), None) => NamedGuest::Phone(phone),
        (None, None, Some(ids)) => {
            let request = BatchRequest {
                tenant: parse_tenant(wanted.tenant.as_deref())?,
                occasion: parse_occasion(&wanted.event_id)?,
                guests: ids
                    .iter()
                    .map(|id| parse_guest_id(id))
                    .collect::<Result<_, _>>()?,
                channel: wanted.channel,
                template: parse_template(&wanted.template)?,
                variables: wanted.variables,
                metadata: parse_metadata(wanted.metadata.as_ref())?,
                send_at: parse_send_time(wanted.send_at.as_deref())?,
                key: key?,
                correlation,
            };
            return send_batch(&api, &caller, request).await;
        }
        _ => {
            return Err(HttpProblem::bad_request(
                "give guestId, guestIds or phone: guestIds alone, guestId alone or with the guest's phone",
            ));
        }
    };
    let request = InvitationRequest {
        tenant: parse_tenant(wanted.tenant.as_deref())?,
        occasion: parse_occasion(&wanted.event_id)?,
        guest,
        channel: wanted.channel,
        template: parse_template(&wanted.template)?,
        variables: wanted.variables,
        metadata: parse_metadata(wanted.metadata.as_ref())?,
        send_at: parse_send_time(wanted.send_at.as_deref())?,
        key: key?,
        correlation,
    };
    send(&api, &caller, request).await
}

async fn send_batch(api: &Api, caller: &Caller, request: BatchRequest) -> Result<Response, HttpProblem> {
    let accepted = crate::send_batch(&api.deps, caller, request).await?;
    let status = choose_accepted_status(accepted.repeated);
    Ok((status, Json(AcceptedBatchView::from(accepted))).into_response())
}

/// Sends an invitation to the guest in the path.
#[cfg_attr(feature = "schema", utoipa::path(
    post,
    path = "/events/{event}/guests/{guest}/send",
    params(
        ("event" = String, Path, description = "Id of the occasion"),
        ("guest" = String, Path, description = "Id of the guest"),
        IdempotencyHeader
    ),
    request_body = GuestSendRequest,
    responses(
        (status = 200, body = AcceptedInvitationView, description = "Taken before, or a duplicate"),
        (status = 202, body = AcceptedInvitationView, description = "The invitation is taken"),
        Conflict,
        Unprocessable
    )
))]
pub async fn post_guest_invitation(
    Asked(api, caller): Asked,
    PathParam((event, guest)): PathParam<(String, String)>,
    Extension(correlation): Extension<CorrelationId>,
    body: RequestBody,
) -> Result<Response, HttpProblem> {
    let key = parse_idempotency_key(&body.headers);
    let wanted: GuestSendRequest = body.parse().await?;
    let request = InvitationRequest {
        tenant: parse_tenant(wanted.tenant.as_deref())?,
        occasion: parse_occasion(&event)?,
        guest: NamedGuest::Id(parse_guest_id(&guest)?),
        channel: wanted.channel,
        template: parse_template(&wanted.template)?,
        variables: wanted.variables,
        metadata: parse_metadata(wanted.metadata.as_ref())?,
        send_at: parse_send_time(wanted.send_at.as_deref())?,
        key: key?,
        correlation,
    };
    send(&api, &caller, request).await
}

async fn send(api: &Api, caller: &Caller, request: InvitationRequest) -> Result<Response, HttpProblem> {
    let accepted = recado_invitations::send_invitation(&api.deps, caller, request).await?;
    let is_duplicate = matches!(accepted.invitation.state, InvitationState::Duplicate { .. });
    let status = choose_accepted_status(accepted.repeated || is_duplicate);
    Ok((status, Json(AcceptedInvitationView::from(accepted))).into_response())
}

fn parse_tenant(text: Option<&str>) -> Result<Option<TenantId>, HttpProblem> {
    let parsed = text.map(TenantId::parse).transpose();
    parsed.map_err(|_| HttpProblem::not_found("there is no such tenant"))
}

fn parse_send_time(text: Option<&str>) -> Result<Option<SendTime>, HttpProblem> {
    let parsed = text.map(SendTime::parse).transpose();
    parsed.map_err(|error| HttpProblem::bad_request(error.to_string()))
}

fn parse_metadata(object: Option<&Map<String, Value>>) -> Result<Option<Metadata>, HttpProblem> {
    let parsed = object.map(Metadata::from_object).transpose();
    parsed.map_err(|error| HttpProblem::bad_request(error.to_string()))
}
