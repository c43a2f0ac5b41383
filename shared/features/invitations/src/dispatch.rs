//! Makes messages of stored invitations, each once, however often it is tried and by whom. What is made comes from the stored invitation
//! alone: the request at hand may be another one.

use crate::InvitationError;
use crate::preparation::find_contact_conversation;
use crate::ready::{ReadyInvitation, name_in_metadata, put_off_email};
use jiff::Timestamp;
use recado_delivery_rules::delivery_permission::DeliveryPermission;
use recado_delivery_rules::invitation_permission::judge_invitation;
use recado_domain::access::Caller;
use recado_domain::ids::IdempotencyKey;
use recado_domain::invitations::{Invitation, InvitationState, PlannedMessage};
use recado_domain::options::SendOptions;
use recado_domain::service_window::{bypasses_window, is_window_open};
use recado_invitation_emails::email_outbox::build_email_job;
use recado_pipeline::Deps;
use recado_pipeline::deps::capabilities;
use recado_pipeline::steps::idempotency::{find_claimed, make_claim};
use recado_pipeline::steps::wake_up::enqueue_outbound;
use recado_ports::ports::{PortError, PortResult, WriteOutcome};
use recado_ports::records::invitations::find_invitation;
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};
use recado_sends::{AcceptedMessage, DeliverError, DeliverRequest, accept_for_guest, return_claimed_message};

/// Makes a message of an invitation that a crash left without one, unless the crash came after its message. Another request may be making
/// it at the same time.
pub async fn resume(
    deps: &Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
    found: Versioned<Invitation>,
) -> Result<Invitation, InvitationError> {
    let known = &found.record;
    if let InvitationState::Email { outbox } = &known.state {
        // A crash may have come before its job.
        if outbox.is_open() {
            enqueue_outbound(deps, build_email_job(known, outbox)).await?;
        }
        return Ok(found.record);
    }
    let InvitationState::Taken { planned } = &known.state else {
        return Ok(found.record);
    };
    let instance = planned.as_ref().map(|planned| planned.instance.to_string());
    let scope = instance.unwrap_or_else(|| ready.bound.instance.id.to_string());
    let claim = make_claim(deps, (&known.tenant, scope), &message_key(known)?, &[], None).await?;
    match find_claimed(deps, Some(&claim)).await? {
        Some(held) => {
            let made = return_claimed_message(deps, &known.tenant, held).await?;
            note_message(deps, found, made).await
        }
        None => Box::pin(dispatch(deps, caller, ready, found)).await,
    }
}

/// Returns the idempotency key under which an invitation becomes a message.
fn message_key(invitation: &Invitation) -> PortResult<IdempotencyKey> {
    IdempotencyKey::parse(&format!("invitation:{}", invitation.id))
        .map_err(|error| PortError::invalid("invitation", error))
}

/// Makes a message of a stored invitation, or enqueues its e-mail, once, however often it is called. It is one for later if the
/// invitation names a time, or the rules of the tenant put it off. `ready` tells of its guest and its tenant as they are now.
pub async fn dispatch(
    deps: &Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
    invitation: Versioned<Invitation>,
) -> Result<Invitation, InvitationError> {
    let planned = match &invitation.record.state {
        // A record of an older version has no plan. It is of the same guest and template.
        InvitationState::Taken { planned } => planned
            .as_deref()
            .cloned()
            .or_else(|| ready.plan_message(&caller.name)),
        _ => None,
    };
    let is_given_up = invitation.record.email_failed_at().is_some();
    if is_given_up || planned.as_ref().is_some_and(|one| one.restored_from.is_some()) {
        // It may have been sent before it was restored: what is to be looked for or told of comes first. Its sender asks whether it may
        // leave.
        return dispatch_as(deps, caller, (invitation, planned), None).await;
    }
    let person = (&ready.guest, &ready.zone);
    let permission = judge_invitation(deps, &ready.bound.tenant, person, &invitation.record.id).await?;
    let allowed_at = match permission {
        DeliveryPermission::Granted => None,
        DeliveryPermission::NotBefore(at) => Some(at),
        DeliveryPermission::OptedOut => {
            return refuse(deps, invitation, InvitationError::OptedOut).await;
        }
    };
    let now = deps.system().now();
    let (wanted_at, useful_until) = planned
        .as_ref()
        .map_or((ready.send_at, ready.useful_until), |planned| {
            (planned.send_at, planned.useful_until)
        });
    let send_at = wanted_at.filter(|at| *at > now).max(allowed_at);
    if useful_until.is_some_and(|until| send_at.unwrap_or(now) >= until) {
        return refuse(deps, invitation, InvitationError::TooLate).await;
    }
    if let Some(planned) = planned.as_ref().filter(|_| send_at.is_none())
        && is_window_closed(deps, ready, planned).await?
    {
        return refuse(deps, invitation, InvitationError::WindowClosed).await;
    }
    dispatch_as(deps, caller, (invitation, planned), send_at).await
}

/// Returns `true` if the guest's service window is closed for the message, and nothing can be sent in its place. What is put off is judged when it leaves: the guest may write before.
async fn is_window_closed(
    deps: &Deps,
    ready: &ReadyInvitation,
    planned: &PlannedMessage,
) -> Result<bool, InvitationError> {
    if !capabilities(deps, &ready.bound).has_service_window || bypasses_window(&planned.content) {
        return Ok(false);
    }
    let phone = planned.to.trim_start_matches('+');
    let latest = find_contact_conversation(deps, &ready.bound, phone).await?;
    let written_at = latest.and_then(|latest| latest.contact.last_inbound_at);
    let has_other = written_at.is_some() && ready.bound.instance.reengagement_template.is_some();
    Ok(!has_other && !is_window_open(written_at, deps.system().now()))
}

/// Makes the planned message of a stored invitation, or enqueues its e-mail, now or for `send_at`.
async fn dispatch_as(
    deps: &Deps,
    caller: &Caller,
    (invitation, planned): (Versioned<Invitation>, Option<PlannedMessage>),
    send_at: Option<Timestamp>,
) -> Result<Invitation, InvitationError> {
    match planned {
        Some(planned) => dispatch_message(deps, caller, (invitation, planned), send_at).await,
        None => Ok(dispatch_email(deps, invitation, send_at).await?),
    }
}

/// Enqueues the e-mail of a stored invitation, or puts it off.
async fn dispatch_email(
    deps: &Deps,
    mut found: Versioned<Invitation>,
    send_at: Option<Timestamp>,
) -> PortResult<Invitation> {
    let invitation = &mut found.record;
    invitation.not_before = send_at;
    let InvitationState::Email { outbox } = &mut invitation.state else {
        return Ok(found.record);
    };
    if let Some(at) = send_at {
        put_off_email(deps, outbox, at)?;
        invitation.raise_revision();
        return save_changed(deps, found).await;
    }
    let job = {
        let outbox = outbox.clone();
        build_email_job(invitation, &outbox)
    };
    enqueue_outbound(deps, job).await?;
    Ok(found.record)
}

/// Makes the planned message of a stored invitation, now or for `send_at`, in the name of who ordered it.
async fn dispatch_message(
    deps: &Deps,
    caller: &Caller,
    (found, planned): (Versioned<Invitation>, PlannedMessage),
    send_at: Option<Timestamp>,
) -> Result<Invitation, InvitationError> {
    let invitation = &found.record;
    let PlannedMessage {
        instance,
        to,
        content,
        batch,
        useful_until,
        by,
        correlation,
        restored_from,
        ..
    } = planned;
    let described = invitation.describe_sent(batch, useful_until, restored_from);
    let send = DeliverRequest {
        to,
        content,
        options: SendOptions::default(),
        key: Some(message_key(invitation)?),
        metadata: name_in_metadata(invitation)?,
        send_at,
        correlation,
    };
    let orderer = Caller {
        name: by,
        ..caller.clone()
    };
    match accept_for_guest(deps, &orderer, &instance, send, Some(described)).await {
        Ok(accepted) => note_message(deps, found, accepted).await,
        Err(DeliverError::Port(error)) => Err(error.into()),
        // The key is the invitation's own, so no client used it for anything else.
        Err(DeliverError::KeyReused) => Err(PortError::contended("invitation").into()),
        Err(error @ DeliverError::Busy) => Err(error.into()),
        Err(error) => refuse(deps, found, error.into()).await,
    }
}

/// Stores which message an invitation became. A message that was made counts, also if another request refused the invitation meanwhile.
async fn note_message(
    deps: &Deps,
    invitation: Versioned<Invitation>,
    made: AcceptedMessage,
) -> Result<Invitation, InvitationError> {
    let made = &made;
    retry_lost_write(
        PortError::contended("invitation"),
        invitation,
        |known| async move {
            let mut changed: Versioned<Invitation> = known;
            changed.record.become_message(made.id.clone(), made.send_at);
            if write_record(deps.store(), &mut changed).await? == WriteOutcome::Written {
                return Ok(WriteAttempt::Done(changed.record));
            }
            let Invitation { tenant, id, .. } = &changed.record;
            let stored = find_invitation(deps.store(), tenant, id).await?;
            Ok(match stored {
                Some(stored) if matches!(stored.record.state, InvitationState::Message { .. }) => {
                    WriteAttempt::Done(stored.record)
                }
                Some(stored) => WriteAttempt::Lost(stored),
                // It was erased meanwhile.
                None => WriteAttempt::Done(changed.record),
            })
        },
    )
    .await
}

/// Stores that an invitation can never be sent, and returns why.
async fn refuse(
    deps: &Deps,
    mut invitation: Versioned<Invitation>,
    error: InvitationError,
) -> Result<Invitation, InvitationError> {
    invitation.record.refuse(error.to_string());
    save_changed(deps, invitation).await?;
    Err(error)
}

/// Stores a changed invitation. Returns what is stored: another worker may have been faster with the same message.
async fn save_changed(deps: &Deps, mut changed: Versioned<Invitation>) -> PortResult<Invitation> {
    if write_record(deps.store(), &mut changed).await? == WriteOutcome::Written {
        return Ok(changed.record);
    }
    let Invitation { tenant, id, .. } = &changed.record;
    let known = find_invitation(deps.store(), tenant, id).await?;
    Ok(known.unwrap_or(changed).record)
}
