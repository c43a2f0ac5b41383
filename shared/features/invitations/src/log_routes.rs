//! `GET /deliver/{id}/status` and `GET /wa/session/{phone}`: what became of invitations, and the sessions of contacts.

use crate::InvitationView;
use axum::Json;
use recado_domain::Timestamp;
use recado_domain::email::EmailState;
use recado_domain::ids::{ConversationId, InstanceId, MessageId, TenantId};
use recado_domain::invitations::InvitationState;
use recado_domain::message::Message;
#[cfg(feature = "schema")]
use recado_http::api::problem_answers::Unprocessable;
use recado_http::api::request::{
    Asked, JsonAnswer, PathParam, QueryParams, TenantPageQuery, TenantQuery, parse_page_request,
};
use recado_http::api::view::ListView;
use recado_occasions::occasion_routes::parse_occasion;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A status that an invitation reached.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
struct TransitionView {
    status: &'static str,
    at: Timestamp,
}

/// An entry of the log of deliveries: an invitation, and what became of it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct InvitationStatusView {
    id: String,
    #[serde(rename = "eventId")]
    event_id: String,
    #[serde(rename = "guestId")]
    guest_id: String,
    channel: &'static str,
    template: String,
    language: Option<String>,
    /// `queued`, `processing`, `sent`, `delivered`, `read`, `failed`, `cancelled` or `duplicate`.
    status: &'static str,
    /// `true` if the guest's session of 24 hours was open when it was taken.
    is_free: bool,
    session_id: Option<String>,
    /// `true` if its instance or its sender of e-mails is simulated, and so it went nowhere.
    simulated: bool,
    /// The provider's id of the message, or the carrier's of the e-mail.
    provider_ref: Option<String>,
    message_id: Option<MessageId>,
    duplicate_of: Option<String>,
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    metadata: Option<Map<String, Value>>,
    /// Reason, if it failed; why an e-mail waits; or that the guest may have a cancelled one.
    error: Option<String>,
    /// The provider's category of its price, once a status told it.
    pricing_category: Option<String>,
    /// Earliest time at which it leaves, if quiet hours or the frequency cap put it off.
    not_before: Option<Timestamp>,
    created_at: Timestamp,
    transitions: Vec<TransitionView>,
}

impl From<InvitationView> for InvitationStatusView {
    fn from(view: InvitationView) -> Self {
        let failure = view.explain_failure();
        let invitation = view.invitation;
        let (mut duplicate_of, mut emailed) = (None, None);
        match invitation.state {
            InvitationState::Email { outbox } => emailed = Some(outbox),
            InvitationState::Duplicate { of } => duplicate_of = Some(of.to_string()),
            InvitationState::Taken { .. }
            | InvitationState::Message { .. }
            | InvitationState::Refused { .. } => {}
        }
        let message = view.message.as_ref().map(|view| &view.message);
        let delivery = view.message.as_ref().and_then(|view| view.delivery.as_ref());
        let pricing = delivery.and_then(|delivery| delivery.detail.pricing.as_ref());
        let transitions = view.transitions.into_iter();
        let is_open = emailed.as_ref().is_some_and(|outbox| outbox.is_open());
        let email_reason = emailed.as_ref().and_then(|outbox| outbox.last_reason());
        let (carrier_id, simulated) = match emailed.as_ref().map(|outbox| &outbox.state) {
            Some(EmailState::Sent {
                carrier_id,
                is_simulated,
                ..
            }) => (Some(carrier_id.clone()), *is_simulated),
            _ => (None, message.is_some_and(is_simulated)),
        };
        Self {
            id: invitation.id.to_string(),
            event_id: invitation.occasion.to_string(),
            guest_id: invitation.guest.to_string(),
            channel: invitation.channel.as_str(),
            template: invitation.template.to_string(),
            language: invitation.language,
            status: view.status.as_str(),
            is_free: invitation.is_free,
            session_id: invitation.session,
            provider_ref: message
                .and_then(|message| message.provider_message_id.clone())
                .or(carrier_id),
            simulated,
            message_id: message.map(Message::message_id),
            duplicate_of,
            metadata: invitation.metadata.map(|metadata| metadata.to_object()),
            error: failure.or_else(|| email_reason.filter(|_| is_open).map(str::to_owned)),
            not_before: invitation.not_before,
            pricing_category: pricing.and_then(|pricing| pricing.category.clone()),
            created_at: invitation.created_at,
            transitions: transitions
                .map(|(status, at)| TransitionView {
                    status: status.as_str(),
                    at,
                })
                .collect(),
        }
    }
}

/// Returns `true` if the message went to the simulated provider.
fn is_simulated(message: &Message) -> bool {
    message.out.as_ref().is_some_and(|out| out.simulated)
}

/// Returns the status of an invitation.
///
/// `id` is the invitation's, its message's, or the provider's id of the message (`provider_ref`). The status is read from the
/// records and always true, so nothing is cached.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/deliver/{id}/status",
    params(("id" = String, Path, description = "Id of the invitation, or `provider_ref`"), TenantQuery),
    responses((status = 200, body = InvitationStatusView, description = "The status"))
))]
pub async fn get_invitation_status(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantQuery>,
) -> JsonAnswer<InvitationStatusView> {
    let found = crate::find_invitation(&api.deps, &caller, wanted.tenant.as_ref(), &id).await?;
    Ok(Json(found.into()))
}

/// Lists the invitations of an occasion, by guest and then by time.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/v1/occasions/{id}/invitations",
    params(("id" = String, Path, description = "Id of the occasion"), TenantPageQuery),
    responses((status = 200, body = ListView<InvitationStatusView>, description = "A page of invitations"))
))]
pub async fn list_invitations(
    Asked(api, caller): Asked,
    PathParam(id): PathParam<String>,
    QueryParams(wanted): QueryParams<TenantPageQuery>,
) -> JsonAnswer<ListView<InvitationStatusView>> {
    let page = parse_page_request(wanted.limit, wanted.cursor)?;
    let (occasion, tenant) = (parse_occasion(&id)?, wanted.tenant);
    let found = crate::list_invitations(&api.deps, &caller, tenant.as_ref(), &occasion, &page).await?;
    Ok(Json(ListView::from_page(found, InvitationStatusView::from)))
}

/// The tenant and the instance of a session.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
#[serde(deny_unknown_fields)]
pub struct SessionQuery {
    /// The tenant, with a token of the installation. If absent, the only one.
    tenant: Option<TenantId>,
    /// Only on this instance. If absent, the session that ends last.
    instance: Option<InstanceId>,
}

/// Facts of a session besides its times.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[expect(
    clippy::struct_field_names,
    reason = "the names of an earlier delivery service"
)]
struct SessionMetadataView {
    conversation_id: ConversationId,
    /// The occasion to which the contact was invited last.
    #[serde(rename = "eventId")]
    event_id: Option<String>,
    /// The guest as whom the contact was invited last.
    #[serde(rename = "guestId")]
    guest_id: Option<String>,
}

/// A contact's session of 24 hours.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SessionDetailView {
    session_id: String,
    instance_id: InstanceId,
    /// `true` if the session is open now.
    active: bool,
    started_at: Timestamp,
    expires_at: Timestamp,
    last_message_at: Timestamp,
    metadata: SessionMetadataView,
}

/// Returns the newest session of a contact: 24 hours from the last message, renewed by each.
#[cfg_attr(feature = "schema", utoipa::path(
    get,
    path = "/wa/session/{phone}",
    params(("phone" = String, Path, description = "Phone number of the contact"), SessionQuery),
    responses((status = 200, body = SessionDetailView, description = "The session"), Unprocessable)
))]
pub async fn get_session(
    Asked(api, caller): Asked,
    PathParam(phone): PathParam<String>,
    QueryParams(wanted): QueryParams<SessionQuery>,
) -> JsonAnswer<SessionDetailView> {
    let (tenant, instance) = (wanted.tenant.as_ref(), wanted.instance.as_ref());
    let found = crate::find_session(&api.deps, &caller, tenant, &phone, instance).await?;
    Ok(Json(SessionDetailView {
        session_id: found.session.id,
        instance_id: found.instance,
        active: found.is_open,
        started_at: found.session.started_at,
        expires_at: found.session.expires_at,
        last_message_at: found.session.last_message_at,
        metadata: SessionMetadataView {
            conversation_id: found.conversation,
            event_id: found.invited.as_ref().map(|invited| invited.occasion.to_string()),
            guest_id: found.invited.map(|invited| invited.guest.to_string()),
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::invitations::{Invitation, InvitationStatus};
    use recado_domain::message::MessageStatus;
    use recado_pipeline::steps::message_view::MessageView;
    use recado_testkit::builders::{Fixture, out};
    use serde_json::json;

    #[test]
    fn an_invitation_whose_message_went_to_the_simulated_provider_says_so() {
        for simulated in [true, false] {
            let fixture = Fixture::new();
            let mut message = fixture.reply(&mut fixture.conversation(1));
            out(&mut message).simulated = simulated;
            let invitation: Invitation = serde_json::from_value(json!({
                "tenant": "t", "id": "inv_1", "occasion": "ev", "guest": "g", "channel": "whatsapp", "template": "invite",
                "state": "message", "message": message.message_id(), "request_hash": "00", "created_at": 5, "keep_until": 6,
                "rev": 1,
            }))
            .unwrap();
            let view = InvitationStatusView::from(InvitationView {
                invitation,
                status: InvitationStatus::Sent,
                transitions: Vec::new(),
                message: Some(MessageView {
                    message,
                    status: MessageStatus::Sent,
                    delivery: None,
                    answer: None,
                    file_url: None,
                    cost: None,
                }),
                reason: None,
                may_have_arrived: false,
            });
            assert_eq!(view.simulated, simulated);
        }
    }
}
