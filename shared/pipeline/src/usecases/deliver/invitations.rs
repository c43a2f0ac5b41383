//! Sends invitations to guests of occasions. Each becomes a message of a client, whose record tells what became of it.
//!
//! An invitation is stored with its claims first, and then becomes a message under an idempotency key of its own. After a crash in
//! between, the repeated request finds it and goes on.

mod error;
mod lookup;
mod preparation;

use super::{DeliverError, DeliverRequest, accept_for_guest};
use crate::Deps;
use crate::ports::{
    InvitationClaim, InvitationOutcome, InvitationRecords, PortError, PortResult, System, WRITE_TRIES,
    WriteOutcome,
};
use crate::steps::identity;
pub use error::InvitationError;
pub use lookup::{InvitationView, SessionView, find_invitation, find_session, list_invitations};
use preparation::prepare_invitation;
use recado_domain::access::Caller;
use recado_domain::config::InstanceConfig;
use recado_domain::content::Content;
use recado_domain::ids::{
    CorrelationId, GuestId, IdempotencyKey, InvitationId, InvitationTemplateName, OccasionId, Ordinal,
    TenantId, hash_parts,
};
use recado_domain::invitations::{
    Invitation, InvitationChannel, InvitationState, InvitationStatus, InvitedGuest, TemplateValues,
};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_domain::options::SendOptions;
use serde_json::json;

/// The guest whom a request names.
#[derive(Debug, Clone)]
pub enum NamedGuest {
    /// By id.
    Id(GuestId),
    /// By phone number, in any notation. An unknown one makes a pending guest. Personal data: never log it.
    Phone(String),
}

/// A request to send an invitation.
#[derive(Debug, Clone)]
pub struct InvitationRequest {
    /// The tenant; `None`: the token's.
    pub tenant: Option<TenantId>,
    /// The occasion.
    pub occasion: OccasionId,
    /// The guest.
    pub guest: NamedGuest,
    /// The channel.
    pub channel: InvitationChannel,
    /// The template.
    pub template: InvitationTemplateName,
    /// Values of variables, besides those that Recado knows.
    pub variables: TemplateValues,
    /// Metadata of the client.
    pub metadata: Option<Metadata>,
    /// The client's idempotency key.
    pub key: Option<IdempotencyKey>,
    /// Correlation id of the request.
    pub correlation: CorrelationId,
}

/// An invitation that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptedInvitation {
    /// The invitation. Its state says whether it is a duplicate.
    pub invitation: Invitation,
    /// `true` if the same request with the same idempotency key came before.
    pub repeated: bool,
}

/// An invitation with all that is needed to send it.
struct ReadyInvitation {
    bound: InstanceConfig,
    phone: String,
    content: Content,
    invitation: Invitation,
    correlation: CorrelationId,
}

/// Sends an invitation to a guest. A repeat of the same template to the same guest within the dedupe window is noted as a
/// duplicate and not sent.
pub async fn send_invitation(
    deps: &impl Deps,
    caller: &Caller,
    request: InvitationRequest,
) -> Result<AcceptedInvitation, InvitationError> {
    let key = request.key.clone();
    // Boxed to keep the future small.
    let ready = Box::pin(prepare_invitation(deps, caller, request)).await?;
    let now = deps.system().now();
    let mut claims = Vec::new();
    if let Some(key) = key {
        let key = identity::load_identity_key(deps).await?.hash_client_key(&key);
        claims.push(InvitationClaim {
            key: hash_parts(&["request", key.as_str()], 16),
            until: add_duration(now, deps.settings().key_ttl),
            replaces: None,
        });
    }
    let of_request = claims.len();
    claims.push(InvitationClaim {
        key: dedupe_key(&ready.invitation),
        until: add_duration(now, deps.settings().invitation_window),
        replaces: None,
    });
    for _ in 0..WRITE_TRIES {
        let begun = deps
            .store()
            .begin_invitation(&ready.invitation, &claims, now)
            .await?;
        let (claim, by) = match begun {
            InvitationOutcome::Begun => {
                let invitation = Box::pin(dispatch(deps, caller, &ready, ready.invitation.clone())).await?;
                return Ok(AcceptedInvitation {
                    invitation,
                    repeated: false,
                });
            }
            InvitationOutcome::Claimed { claim, by } => (claim, by),
        };
        let known = deps
            .store()
            .find_invitation(&ready.invitation.tenant, &by)
            .await?;
        let Some(known) = known else {
            claims[claim].replaces = Some(by);
            continue;
        };
        if claim < of_request {
            return repeat_request(deps, caller, &ready, known).await;
        }
        // A crash may have left it without its message.
        let known = resume(deps, caller, &ready, known).await?;
        if is_ended_unsent(deps, caller, &known).await? {
            claims[claim].replaces = Some(by);
            continue;
        }
        return note_duplicate(deps, &ready, &claims[..of_request], known.id).await;
    }
    Err(PortError::contended("invitation").into())
}

fn dedupe_key(invitation: &Invitation) -> String {
    let (occasion, guest) = (invitation.occasion.as_str(), invitation.guest.as_str());
    hash_parts(&["dedupe", occasion, guest, invitation.template.as_str()], 16)
}

/// Answers a request whose idempotency key came before.
async fn repeat_request(
    deps: &impl Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
    known: Invitation,
) -> Result<AcceptedInvitation, InvitationError> {
    if known.request_hash != ready.invitation.request_hash {
        return Err(DeliverError::KeyReused.into());
    }
    let invitation = resume(deps, caller, ready, known).await?;
    Ok(AcceptedInvitation {
        invitation,
        repeated: true,
    })
}

/// Makes a message of an invitation that a crash left without one.
async fn resume(
    deps: &impl Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
    known: Invitation,
) -> Result<Invitation, InvitationError> {
    match known.state {
        InvitationState::Taken => Box::pin(dispatch(deps, caller, ready, known)).await,
        _ => Ok(known),
    }
}

/// Returns whether an invitation ended without having been sent, so that another may go in its place.
async fn is_ended_unsent(deps: &impl Deps, caller: &Caller, known: &Invitation) -> PortResult<bool> {
    if matches!(known.state, InvitationState::Refused { .. }) {
        return Ok(true);
    }
    let view = lookup::view_invitation(deps, caller, known.clone()).await?;
    Ok(view.is_some_and(|view| {
        matches!(
            view.status,
            InvitationStatus::Failed | InvitationStatus::Cancelled
        )
    }))
}

/// Stores that the same template went to the guest before.
async fn note_duplicate(
    deps: &impl Deps,
    ready: &ReadyInvitation,
    claims: &[InvitationClaim],
    of: InvitationId,
) -> Result<AcceptedInvitation, InvitationError> {
    let mut invitation = ready.invitation.clone();
    invitation.state = InvitationState::Duplicate { of };
    let now = deps.system().now();
    match deps.store().begin_invitation(&invitation, claims, now).await? {
        InvitationOutcome::Begun => Ok(AcceptedInvitation {
            invitation,
            repeated: false,
        }),
        InvitationOutcome::Claimed { .. } => Err(PortError::contended("invitation").into()),
    }
}

/// Makes a message of a stored invitation, once, however often it is called.
async fn dispatch(
    deps: &impl Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
    mut invitation: Invitation,
) -> Result<Invitation, InvitationError> {
    let names =
        json!({"invitation": invitation.id, "occasion": invitation.occasion, "guest": invitation.guest});
    let metadata = names.as_object().map(Metadata::from_object).transpose();
    let key = IdempotencyKey::parse(&format!("invitation:{}", invitation.id));
    let send = DeliverRequest {
        to: ready.phone.clone(),
        content: ready.content.clone(),
        options: SendOptions::default(),
        key: Some(key.map_err(|error| PortError::invalid("invitation", error))?),
        metadata: metadata.map_err(|error| PortError::invalid("invitation", error))?,
        send_at: None,
        correlation: ready.correlation.clone(),
    };
    let invited = InvitedGuest {
        occasion: invitation.occasion.clone(),
        guest: invitation.guest.clone(),
        ordinal: Ordinal::default(),
    };
    let accepted = accept_for_guest(deps, caller, &ready.bound.instance.id, send, Some(invited)).await;
    let refused = match accepted {
        Ok(accepted) => {
            invitation.state = InvitationState::Message { message: accepted.id };
            None
        }
        Err(DeliverError::Port(error)) => return Err(error.into()),
        Err(error @ (DeliverError::Busy | DeliverError::KeyReused)) => return Err(error.into()),
        Err(error) => {
            invitation.state = InvitationState::Refused {
                error: error.to_string(),
            };
            Some(error)
        }
    };
    invitation.rev += 1;
    let written = deps.store().save_invitation(&invitation).await?;
    if written == WriteOutcome::Conflict {
        // Another worker was faster with the same message.
        let known = deps
            .store()
            .find_invitation(&invitation.tenant, &invitation.id)
            .await?;
        invitation = known.unwrap_or(invitation);
    }
    match refused {
        Some(error) => Err(error.into()),
        None => Ok(invitation),
    }
}
