//! Stores an invitation of a batch with what it becomes, by one write: with its message, or as an e-mail. So no crash leaves an invitation
//! without its message. Whether it may leave was asked before.

use recado_domain::access::Caller;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::invitations::{Invitation, InvitationState, InvitationStatus, RecipientStatus};
use recado_domain::message::PreparedContent;
use recado_domain::options::SendOptions;
use recado_domain::recipient::parse_recipient;
use recado_invitation_emails::email_outbox::build_email_job;
use recado_invitations::ready::{InvitationWay, ReadyInvitation, name_in_metadata};
use recado_invitations::{InvitationError, send_ready};
use recado_pipeline::Deps;
use recado_pipeline::deps::{capabilities, pair_rate};
use recado_pipeline::steps::client_message::{
    append_client_message, find_or_start_conversation, note_invitation,
};
use recado_pipeline::steps::identity::derive_thread_id;
use recado_pipeline::steps::outgoing_check::prepare_content;
use recado_pipeline::steps::wake_up::{build_send, enqueue_outbound};
use recado_ports::ports::{OutboundEntry, PortError, PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::invitations::{
    CommittedInvitation, InvitationCommit, InvitationOutcome, begin_invitation, commit_invitation,
};
use recado_ports::retry_write::{WriteAttempt, retry_lost_write};
use recado_ports::table::{Versioned, write_record};
use recado_sends::DeliverError;

/// Stores an invitation with what it becomes. If its claim is another invitation's, the slower way decides what follows from that.
pub(super) async fn commit_directly(
    deps: &Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
) -> Result<MadeInvitation, InvitationError> {
    let made = match &ready.way {
        InvitationWay::Message { phone, content } => {
            match prepare_message(deps, ready, phone, content).await {
                Ok(prepared) => commit_message(deps, caller, ready, prepared).await?,
                Err(InvitationError::Port(error) | InvitationError::Deliver(DeliverError::Port(error))) => {
                    return Err(error.into());
                }
                Err(error) => {
                    let new = Versioned::new(ready.invitation.clone());
                    return Ok(store_refusal(deps, new, &error).await?);
                }
            }
        }
        InvitationWay::Email => begin_email(deps, ready).await?,
    };
    if let Some(made) = made {
        return Ok(made);
    }
    let sent = send_ready(deps, caller, ready, None).await?;
    Ok(made_of(&sent.invitation))
}

/// Checks the recipient and the content of an invitation.
async fn prepare_message(
    deps: &Deps,
    ready: &ReadyInvitation,
    phone: &str,
    content: &Content,
) -> Result<(ContactAddress, PreparedContent), InvitationError> {
    let bound = &ready.bound;
    let to = parse_recipient(capabilities(deps, bound).address_format, phone)?;
    let thread = derive_thread_id(deps, &bound.instance.id, to.as_str()).await?;
    let content = (content.clone(), SendOptions::default());
    let prepared = prepare_content(deps, bound, &thread, content, None).await;
    Ok((to, prepared.map_err(DeliverError::from)?))
}

/// Stores an invitation with its claim, its conversation and its message in one transaction. `None`: another invitation has the claim.
async fn commit_message(
    deps: &Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
    to_whom: (ContactAddress, PreparedContent),
) -> Result<Option<MadeInvitation>, InvitationError> {
    let contended = PortError::contended("conversation");
    let attempt = |()| try_to_commit_message(deps, caller, ready, &to_whom);
    retry_lost_write(contended, (), attempt).await
}

async fn try_to_commit_message(
    deps: &Deps,
    caller: &Caller,
    ready: &ReadyInvitation,
    (to, prepared): &(ContactAddress, PreparedContent),
) -> Result<WriteAttempt<Option<MadeInvitation>>, InvitationError> {
    let bound = &ready.bound;
    let now = deps.system().now();
    let mut conversation = find_or_start_conversation(deps, bound, to).await?;
    let mut invitation = ready.invitation.clone();
    let session = conversation.newest_session();
    let session = session.filter(|session| session.is_open(now));
    invitation.is_free = session.is_some();
    invitation.session = session.map(|session| session.id);
    let mut message = append_client_message(
        &mut conversation,
        to,
        prepared.clone(),
        pair_rate(deps, bound),
        None,
        &ready.correlation,
        now,
    );
    note_invitation(deps, &mut conversation, &mut message, &ready.describe_sent());
    message.out.metadata = name_in_metadata(&ready.invitation)?;
    message.out.sign_last_step(Some(&caller.name));
    invitation.state = InvitationState::Message {
        message: message.message_id(),
    };
    let committed = CommittedInvitation {
        invitation: &invitation,
        claims: &[ready.make_claim(deps.settings().invitation_window, now)],
        conversation: &conversation,
        message: &message.to_record(),
    };
    match commit_invitation(deps.store(), &committed, now).await? {
        InvitationCommit::Committed => {}
        InvitationCommit::Claimed(_) => return Ok(WriteAttempt::Done(None)),
        InvitationCommit::Conflict => return Ok(WriteAttempt::Lost(())),
    }
    tracing::info!(message_id = %message.message_id(), "taken to be sent");
    let send = OutboundEntry {
        job: build_send(&message, &ready.correlation).into(),
        deduplication: generate_nonce(deps.system()).to_string(),
    };
    Ok(WriteAttempt::Done(Some(MadeInvitation {
        status: InvitationStatus::Queued.into(),
        send: Some(send),
    })))
}

/// Stores an invitation that holds its e-mail with its claim, and enqueues its job. `None`: another invitation has the claim.
async fn begin_email(
    deps: &Deps,
    ready: &ReadyInvitation,
) -> Result<Option<MadeInvitation>, InvitationError> {
    let InvitationState::Email { outbox } = &ready.invitation.state else {
        return Ok(None);
    };
    let now = deps.system().now();
    let claims = [ready.make_claim(deps.settings().invitation_window, now)];
    let mut new = Versioned::new(ready.invitation.clone());
    match begin_invitation(deps.store(), &mut new, &claims, now).await? {
        InvitationOutcome::Begun => {
            enqueue_outbound(deps, build_email_job(&ready.invitation, outbox)).await?;
            Ok(Some(RecipientStatus::Invited(InvitationStatus::Queued).into()))
        }
        InvitationOutcome::Claimed { .. } => Ok(None),
    }
}

/// The result for a recipient, with the send job that follows.
pub(super) struct MadeInvitation {
    pub(super) status: RecipientStatus,
    pub(super) send: Option<OutboundEntry>,
}

impl From<RecipientStatus> for MadeInvitation {
    fn from(status: RecipientStatus) -> Self {
        Self { status, send: None }
    }
}

/// Returns what became of a recipient whose invitation is stored, and whose send job is enqueued.
pub(super) fn made_of(invitation: &Invitation) -> MadeInvitation {
    let status = status_of(invitation);
    status.unwrap_or(InvitationStatus::Queued.into()).into()
}

/// Returns the status of a recipient whose invitation is stored; `None` if it is to be made a message yet.
pub(super) fn status_of(invitation: &Invitation) -> Option<RecipientStatus> {
    match invitation.state {
        InvitationState::Taken { .. } => None,
        InvitationState::Message { .. } | InvitationState::Email { .. } => {
            Some(InvitationStatus::Queued.into())
        }
        InvitationState::Duplicate { .. } => Some(InvitationStatus::Duplicate.into()),
        InvitationState::Refused { .. } => Some(RecipientStatus::Refused),
    }
}

/// Stores that a guest cannot be invited, and why. The invitation is new, or a crash left it.
pub(super) async fn store_refusal(
    deps: &Deps,
    mut invitation: Versioned<Invitation>,
    error: &InvitationError,
) -> PortResult<MadeInvitation> {
    let written = if invitation.is_stored() {
        invitation.record.refuse(error.to_string());
        write_record(deps.store(), &mut invitation).await? == WriteOutcome::Written
    } else {
        invitation.record.state = InvitationState::Refused {
            error: error.to_string(),
        };
        let now = deps.system().now();
        begin_invitation(deps.store(), &mut invitation, &[], now).await? == InvitationOutcome::Begun
    };
    written
        .then(|| RecipientStatus::Refused.into())
        .ok_or_else(|| PortError::contended("invitation"))
}
