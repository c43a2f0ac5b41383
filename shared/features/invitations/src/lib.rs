//! Sends invitations to guests of occasions. Each becomes a message of a client, whose record tells what became of it. A log
//! shows and exports that.
//!
//! An invitation is stored with its claims first, and then becomes a message under an idempotency key of its own. After a crash in
//! between, the repeated request finds it and goes on.
//!
//! Its types and rules are in [`recado_domain::invitations`].

pub mod cancelled_batch;
pub mod dispatch;
mod error;
pub mod export_routes;
pub mod invitation_problems;
pub mod log_routes;
pub mod lookup;
pub mod preparation;
pub mod ready;

use crate::cancelled_batch::take_back_delivery;
use recado_pipeline::steps::identity;
use recado_pipeline::steps::invited_tenant::choose_tenant;
use recado_sends::DeliverError;

use crate::dispatch::{dispatch, resume};
pub use crate::error::InvitationError;
pub use crate::lookup::{InvitationView, find_invitation, list_invitations};
use crate::lookup::{READS_AT_ONCE, view_listed_invitation};
use crate::preparation::{find_contact_conversation, parse_phone, prepare_invitation};
use crate::ready::ReadyInvitation;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::config::Instance;
use recado_domain::conversation::ContactSession;
use recado_domain::ids::{
    ConversationId, CorrelationId, GuestId, IdempotencyKey, InstanceId, InvitationId, InvitationTemplateName,
    OccasionId, TenantId, hash_parts,
};
use recado_domain::invitations::{
    Invitation, InvitationChannel, InvitationState, InvitationStatus, InvitedGuest, LogMonth, SendTime,
    TemplateValues,
};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_pipeline::Deps;
use recado_ports::ports::{Page, PageRequest, PortError, PortResult};
use recado_ports::records::claims::InvitationClaim;
use recado_ports::records::configuration::{find_config_by_id, load_configuration};
use recado_ports::records::invitations::{
    self as invitation_records, InvitationOutcome, begin_invitation, list_invitations_of_month,
};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::Versioned;

/// The guest whom a request names.
#[derive(Debug, Clone)]
pub enum NamedGuest {
    /// By id.
    Id(GuestId),
    /// By id, with the phone number that the guest must have, in any notation. Personal data: never log it.
    IdOfPhone(GuestId, String),
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
    /// Time before which it does not leave; `None`: at once.
    pub send_at: Option<SendTime>,
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

/// Sends an invitation to a guest. A repeat of the same template to the same guest within the dedupe window is noted as a
/// duplicate and not sent.
pub async fn send_invitation(
    deps: &Deps,
    caller: &Caller,
    request: InvitationRequest,
) -> Result<AcceptedInvitation, InvitationError> {
    let key = request.key.clone();
    // Boxed to keep the future small.
    let ready = Box::pin(prepare_invitation(deps, caller, request)).await?;
    send_ready(deps, caller, &ready, key).await
}

/// Sends an invitation that was prepared. One that a crash left is gone on with.
pub async fn send_ready(
    deps: &Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
    key: Option<IdempotencyKey>,
) -> Result<AcceptedInvitation, InvitationError> {
    let now = deps.system().now();
    let of_request = make_request_claim(deps, "request", key.as_ref()).await?;
    let has_key = of_request.is_some();
    let of_guest = ready.make_claim(deps.settings().invitation_window, now);
    let claims: Vec<_> = of_request.into_iter().chain([of_guest]).collect();
    let taken = ready.to_taken(&caller.name);
    retry_lost_write(PortError::contended("invitation"), claims, |claims| {
        try_to_begin(deps, caller, (ready, &taken), (claims, has_key), now)
    })
    .await
}

/// Makes the claim of a request's idempotency key.
pub async fn make_request_claim(
    deps: &Deps,
    what: &str,
    key: Option<&IdempotencyKey>,
) -> PortResult<Option<InvitationClaim>> {
    let Some(key) = key else {
        return Ok(None);
    };
    let key = identity::load_identity_key(deps).await?.hash_client_key(key);
    Ok(Some(InvitationClaim {
        key: hash_parts(&[what, key.as_str()], 16),
        until: add_duration(deps.system().now(), deps.settings().key_ttl),
        replaces: None,
    }))
}

/// Begins an invitation with its claims, the first of which is the request's if it has a key. Where a claim is held by an invitation
/// that is gone, or ended and was certainly not sent, the next attempt takes it over.
async fn try_to_begin(
    deps: &Deps,
    caller: &Caller,
    (ready, taken): (&ReadyInvitation, &Invitation),
    (mut claims, has_key): (Vec<InvitationClaim>, bool),
    now: Timestamp,
) -> Result<WriteAttempt<AcceptedInvitation, Vec<InvitationClaim>>, InvitationError> {
    let mut new = Versioned::new(taken.clone());
    let begun = begin_invitation(deps.store(), &mut new, &claims, now).await?;
    let (claim, by) = match begun {
        InvitationOutcome::Begun => {
            let invitation = Box::pin(dispatch(deps, caller, ready, new)).await?;
            return Ok(WriteAttempt::Done(AcceptedInvitation {
                invitation,
                repeated: false,
            }));
        }
        InvitationOutcome::Claimed { claim, by } => (claim, by),
    };
    let tenant = &ready.invitation.tenant;
    let Some(known) = invitation_records::find_invitation(deps.store(), tenant, &by).await? else {
        claims[claim].replaces = Some(by);
        return Ok(WriteAttempt::Lost(claims));
    };
    let of_request = usize::from(has_key);
    if claim < of_request {
        if known.record.request_hash != ready.invitation.request_hash {
            return Err(DeliverError::KeyReused.into());
        }
        return Ok(WriteAttempt::Done(AcceptedInvitation {
            invitation: resume(deps, caller, ready, known).await?,
            repeated: true,
        }));
    }
    // A crash may have left it without its message.
    let known = resume(deps, caller, ready, known).await?;
    if known.id == ready.invitation.id {
        return Ok(WriteAttempt::Done(AcceptedInvitation {
            invitation: known,
            repeated: true,
        }));
    }
    if is_ended_unsent(deps, caller, &known).await? {
        claims[claim].replaces = Some(by);
        return Ok(WriteAttempt::Lost(claims));
    }
    // An equal request may have noted it at the same time: then this one is its repeat.
    let noted = note_duplicate(deps, ready, &claims[..of_request], known.id).await?;
    Ok(noted.map_or(WriteAttempt::Lost(claims), WriteAttempt::Done))
}

/// Returns whether an invitation ended and was certainly not sent, so that another may go in its place. One that may have been sent keeps
/// its place, until a person redrives it. What a cancelled batch left unsent is ended here.
async fn is_ended_unsent(deps: &Deps, caller: &Caller, known: &Invitation) -> PortResult<bool> {
    if matches!(known.state, InvitationState::Refused { .. }) {
        return Ok(true);
    }
    let Some(view) = lookup::view_invitation(deps, caller, known.clone()).await? else {
        return Ok(false);
    };
    match view.status {
        InvitationStatus::Failed | InvitationStatus::Cancelled => Ok(!view.may_have_arrived),
        _ => take_back_delivery(deps, known).await,
    }
}

/// Stores that the same template went to the guest before. `None`: another request has the claim.
async fn note_duplicate(
    deps: &Deps,
    ready: &ReadyInvitation,
    claims: &[InvitationClaim],
    of: InvitationId,
) -> PortResult<Option<AcceptedInvitation>> {
    let mut new = Versioned::new(ready.invitation.clone());
    new.record.state = InvitationState::Duplicate { of };
    let now = deps.system().now();
    let begun = begin_invitation(deps.store(), &mut new, claims, now).await?;
    Ok((begun == InvitationOutcome::Begun).then_some(AcceptedInvitation {
        invitation: new.record,
        repeated: false,
    }))
}

/// A contact's newest session on an instance.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// The instance.
    pub instance: InstanceId,
    /// The session.
    pub session: ContactSession,
    /// `true` if it is open now.
    pub is_open: bool,
    /// The conversation in which it is.
    pub conversation: ConversationId,
    /// The guest as whom the contact was invited last.
    pub invited: Option<InvitedGuest>,
}

/// Returns the newest session of the person with this number: the one that ends last of all instances, or of one.
pub async fn find_session(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    phone: &str,
    instance: Option<&InstanceId>,
) -> Result<SessionView, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let phone = parse_phone(phone)?;
    let configured = load_configuration(deps.store(), Some(&tenant.id)).await?;
    let is_asked = |one: &&Instance| instance.is_none_or(|id| *id == one.id);
    let mut newest: Option<SessionView> = None;
    for one in configured.instances.iter().filter(is_asked) {
        let Some(bound) = find_config_by_id(deps.store(), &one.id).await? else {
            continue;
        };
        let Some(latest) = find_contact_conversation(deps, &bound, &phone).await? else {
            continue;
        };
        let Some(session) = latest.newest_session() else {
            continue;
        };
        let is_newer = |known: &SessionView| session.expires_at > known.session.expires_at;
        if newest.as_ref().is_none_or(is_newer) {
            newest = Some(SessionView {
                instance: one.id.clone(),
                is_open: session.is_open(deps.system().now()),
                session,
                conversation: latest.id,
                invited: latest.features.invited,
            });
        }
    }
    newest.ok_or(InvitationError::NotFound("session"))
}

/// The entries of the log that are wanted.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// The month in UTC in which they were made; `None`: the present one.
    pub month: Option<LogMonth>,
    /// Only of this occasion.
    pub occasion: Option<OccasionId>,
    /// Only by this template.
    pub template: Option<InvitationTemplateName>,
    /// Only with this status.
    pub status: Option<InvitationStatus>,
}

impl LogFilter {
    fn may_include(&self, invitation: &Invitation) -> bool {
        self.occasion
            .as_ref()
            .is_none_or(|one| *one == invitation.occasion)
            && self
                .template
                .as_ref()
                .is_none_or(|one| *one == invitation.template)
    }
}

/// Lists the log of deliveries of a month by time. A page is of so many invitations of the month, of which those are left that are
/// wanted: it may be empty, and the next may not.
pub async fn export_invitations(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    filter: &LogFilter,
    page: &PageRequest,
) -> Result<Page<InvitationView>, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let present = LogMonth::of_instant(deps.system().now());
    let month = filter.month.unwrap_or(present);
    let found = list_invitations_of_month(deps.store(), &tenant.id, month, page).await?;
    let wanted = found.items.into_iter().filter(|one| filter.may_include(one));
    let views: Vec<Option<InvitationView>> = stream::iter(wanted)
        .map(|invitation| view_listed_invitation(deps, caller, invitation))
        .buffered(READS_AT_ONCE)
        .try_collect()
        .await?;
    let has_status = |view: &InvitationView| filter.status.is_none_or(|status| status == view.status);
    Ok(Page {
        items: views.into_iter().flatten().filter(has_status).collect(),
        next_cursor: found.next_cursor,
    })
}
