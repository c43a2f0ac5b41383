//! Reads invitations with what became of them.

use crate::InvitationError;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use recado_domain::access::Caller;
use recado_domain::config::Tenant;
use recado_domain::delivery::DeliveryKey;
use recado_domain::email::{EmailOutbox, EmailState};
use recado_domain::ids::{InvitationId, MessageId, OccasionId, TenantId};
use recado_domain::invitations::{Invitation, InvitationState, InvitationStatus, parse_invitation_time};
use recado_domain::message::MessageStatus;
use recado_domain::outbox::OutboxState;
use recado_domain::reason::Reason;
use recado_domain::scheduled::{ScheduledId, ScheduledState};
use recado_pipeline::Deps;
use recado_pipeline::steps::invited_tenant::choose_tenant;
use recado_pipeline::steps::message_view::{MessageView, find_message_view};
use recado_pipeline::steps::unreadable::pass_over_unreadable;
use recado_ports::ports::{Page, PageRequest, PortResult};
use recado_ports::records::configuration::load_configuration;
use recado_ports::records::invitations as invitation_records;
use recado_ports::records::scheduled_messages::find_scheduled;

/// Number of messages that are read at the same time for a list.
pub const READS_AT_ONCE: usize = 16;

/// An invitation with what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct InvitationView {
    /// The invitation.
    pub invitation: Invitation,
    /// Status of the invitation.
    pub status: InvitationStatus,
    /// Each status that it reached, with the time.
    pub transitions: Vec<(InvitationStatus, Timestamp)>,
    /// Message of the invitation; `None` if there is none, or none yet.
    pub message: Option<MessageView>,
    /// Reason for which its time came and it was not sent.
    pub reason: Option<Reason>,
    /// `true` if the guest may have it although it failed or was cancelled: the outcome of an attempt is unknown.
    pub may_have_arrived: bool,
}

/// Returns the invitation with an id: its own, its message's, or the one that the provider gave the message.
pub async fn find_invitation(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    id: &str,
) -> Result<InvitationView, InvitationError> {
    const MISSING: InvitationError = InvitationError::NotFound("invitation");
    let tenant = choose_tenant(deps, caller, named).await?;
    let own = InvitationId::parse(id).ok();
    let own = own.filter(|own| parse_invitation_time(own).is_some());
    let found = match own {
        Some(own) => find_stored(deps, &tenant.id, &own).await?,
        None => find_by_message(deps, caller, &tenant, id).await?,
    };
    let invitation = found.ok_or(MISSING)?;
    view_invitation(deps, caller, invitation).await?.ok_or(MISSING)
}

async fn find_stored(deps: &Deps, tenant: &TenantId, id: &InvitationId) -> PortResult<Option<Invitation>> {
    let found = invitation_records::find_invitation(deps.store(), tenant, id).await?;
    Ok(found.map(|found| found.record))
}

/// Returns the invitation whose message has this id, Recado's own or the provider's.
async fn find_by_message(
    deps: &Deps,
    caller: &Caller,
    tenant: &Tenant,
    id: &str,
) -> PortResult<Option<Invitation>> {
    if let Ok(id) = ScheduledId::parse(id) {
        return find_by_scheduled(deps, tenant, &id).await;
    }
    let own = MessageId::parse(id).ok();
    let own = own.filter(|id| id.conversation_and_ordinal().is_ok());
    let message = if own.is_some() {
        own
    } else {
        let emailed = invitation_records::find_emailed_invitation(deps.store(), &tenant.id, id).await?;
        if emailed.is_some() {
            return Ok(emailed);
        }
        find_provider_message(deps, tenant, id).await?
    };
    let Some(message) = message else { return Ok(None) };
    let Some(view) = find_message_view(deps, caller, &message).await? else {
        return Ok(None);
    };
    let metadata = view.message.out.as_ref().and_then(|out| out.metadata.as_ref());
    let named = metadata.and_then(|metadata| {
        let id = metadata.to_object().get("invitation")?.as_str()?.to_owned();
        InvitationId::parse(&id).ok()
    });
    let Some(named) = named else { return Ok(None) };
    let found = find_stored(deps, &tenant.id, &named).await?;
    // A client may write any metadata. So the invitation must name the message, too, or the scheduled message from which it came.
    let scheduled = view.message.out.and_then(|out| out.scheduled);
    let scheduled = scheduled.map(|id| id.as_message_id().clone());
    Ok(found.filter(|found| match &found.state {
        InvitationState::Message { message: named } => *named == message || scheduled.as_ref() == Some(named),
        _ => false,
    }))
}

/// Returns the invitation whose message was put off under this id, as long as it waits.
async fn find_by_scheduled(deps: &Deps, tenant: &Tenant, id: &ScheduledId) -> PortResult<Option<Invitation>> {
    let scheduled = find_scheduled(deps.store(), &tenant.id, id).await?;
    match scheduled.and_then(|scheduled| scheduled.record.invitation) {
        Some(named) => find_stored(deps, &tenant.id, &named.id).await,
        None => Ok(None),
    }
}

/// Returns the message that the provider calls `id`, on one of the tenant's instances.
async fn find_provider_message(deps: &Deps, tenant: &Tenant, id: &str) -> PortResult<Option<MessageId>> {
    let configured = load_configuration(deps.store(), Some(&tenant.id)).await?;
    for instance in &configured.instances {
        let Some(external) = instance.resolve_external_id() else {
            continue;
        };
        let key = DeliveryKey::from_provider_id(instance.provider, &external, id);
        let delivery = deps.store().find_delivery(&key).await?;
        let sent = delivery.and_then(|delivery| delivery.message);
        if sent.is_some() {
            return Ok(sent);
        }
    }
    Ok(None)
}

/// Lists the invitations of an occasion with what became of them, by guest.
pub async fn list_invitations(
    deps: &Deps,
    caller: &Caller,
    named: Option<&TenantId>,
    occasion: &OccasionId,
    page: &PageRequest,
) -> Result<Page<InvitationView>, InvitationError> {
    let tenant = choose_tenant(deps, caller, named).await?;
    let found = invitation_records::list_invitations(deps.store(), &tenant.id, occasion, None, page).await?;
    let items: Vec<Option<InvitationView>> = stream::iter(found.items)
        .map(|invitation| view_listed_invitation(deps, caller, invitation))
        .buffered(READS_AT_ONCE)
        .try_collect()
        .await?;
    Ok(Page {
        items: items.into_iter().flatten().collect(),
        next_cursor: found.next_cursor,
    })
}

/// Reads what became of an invitation among others. `None`: its message is gone, or cannot be read, and the others are told without it.
pub async fn view_listed_invitation(
    deps: &Deps,
    caller: &Caller,
    invitation: Invitation,
) -> PortResult<Option<InvitationView>> {
    pass_over_unreadable(view_invitation(deps, caller, invitation).await)
}

/// Reads what became of an invitation. `None`: its message is gone.
pub async fn view_invitation(
    deps: &Deps,
    caller: &Caller,
    invitation: Invitation,
) -> PortResult<Option<InvitationView>> {
    let taken = (InvitationStatus::Queued, invitation.created_at);
    let mut may_have_arrived = false;
    let (status, transitions) = match &invitation.state {
        InvitationState::Taken { .. } => (InvitationStatus::Queued, vec![taken]),
        InvitationState::Email { outbox } => {
            may_have_arrived = !outbox.is_certainly_unsent();
            email_transitions(outbox, taken)
        }
        InvitationState::Duplicate { .. } => end_at_once(InvitationStatus::Duplicate, taken),
        InvitationState::Refused { .. } => end_at_once(InvitationStatus::Failed, taken),
        InvitationState::Message { message } => {
            if let Ok(scheduled) = ScheduledId::parse(message.as_str()) {
                return view_scheduled(deps, caller, invitation, &scheduled).await;
            }
            let message = find_message_view(deps, caller, message).await?;
            return Ok(message.map(|message| view_message(invitation, message)));
        }
    };
    Ok(Some(InvitationView {
        invitation,
        status,
        transitions,
        message: None,
        reason: None,
        may_have_arrived,
    }))
}

/// Returns the state of an invitation that ended when it was taken.
fn end_at_once(
    status: InvitationStatus,
    taken: (InvitationStatus, Timestamp),
) -> (InvitationStatus, Vec<(InvitationStatus, Timestamp)>) {
    (status, vec![taken, (status, taken.1)])
}

/// Reads what became of an invitation whose message was put off. `None`: the scheduled message is gone.
async fn view_scheduled(
    deps: &Deps,
    caller: &Caller,
    invitation: Invitation,
    id: &ScheduledId,
) -> PortResult<Option<InvitationView>> {
    let Some(found) = find_scheduled(deps.store(), &invitation.tenant, id).await? else {
        return Ok(None);
    };
    let scheduled = found.record;
    let taken = (InvitationStatus::Queued, invitation.created_at);
    let may_have_arrived = scheduled.may_have_been_sent();
    let (status, ended, reason) = match scheduled.state {
        ScheduledState::Pending => (InvitationStatus::Queued, None, None),
        ScheduledState::Cancelled { at, .. } => (InvitationStatus::Cancelled, Some(at), None),
        ScheduledState::GivenUp { at, reason } => (InvitationStatus::Failed, Some(at), Some(reason)),
        ScheduledState::Became { message, .. } => {
            let message = find_message_view(deps, caller, &message).await?;
            return Ok(message.map(|message| view_message(invitation, message)));
        }
    };
    let ended = ended.map(|at| (status, at));
    Ok(Some(InvitationView {
        invitation,
        status,
        transitions: std::iter::once(taken).chain(ended).collect(),
        message: None,
        reason,
        may_have_arrived,
    }))
}

/// Makes the view of an invitation whose message is known.
fn view_message(invitation: Invitation, message: MessageView) -> InvitationView {
    let taken = (InvitationStatus::Queued, invitation.created_at);
    InvitationView {
        status: message_status(&message),
        transitions: list_transitions(&message, taken),
        may_have_arrived: message.message.out.as_ref().is_some_and(|out| out.maybe_sent),
        message: Some(message),
        reason: None,
        invitation,
    }
}

/// Returns the status of an invitation whose message is known.
fn message_status(view: &MessageView) -> InvitationStatus {
    let state = view.message.out.as_ref().map(|out| &out.state);
    match view.status {
        MessageStatus::Pending if matches!(state, Some(OutboxState::Queued)) => InvitationStatus::Queued,
        MessageStatus::Pending => InvitationStatus::Processing,
        MessageStatus::Sent => InvitationStatus::Sent,
        MessageStatus::Delivered => InvitationStatus::Delivered,
        MessageStatus::Read => InvitationStatus::Read,
        MessageStatus::Failed => InvitationStatus::Failed,
        MessageStatus::Cancelled => InvitationStatus::Cancelled,
    }
}

/// Returns the status of an e-mail, and lists those that it reached.
fn email_transitions(
    outbox: &EmailOutbox,
    taken: (InvitationStatus, Timestamp),
) -> (InvitationStatus, Vec<(InvitationStatus, Timestamp)>) {
    let mut transitions = vec![taken];
    for step in &outbox.history {
        let status = match step.what.as_str() {
            "queued" => InvitationStatus::Queued,
            "sending" => InvitationStatus::Processing,
            "sent" => InvitationStatus::Sent,
            _ => InvitationStatus::Failed,
        };
        if transitions.last().is_none_or(|(last, _)| *last != status) {
            transitions.push((status, step.at));
        }
    }
    let status = match outbox.state {
        EmailState::Queued { .. } => InvitationStatus::Queued,
        EmailState::Sending { .. } => InvitationStatus::Processing,
        EmailState::Sent { .. } => InvitationStatus::Sent,
        EmailState::Dead {
            reason: Reason::BatchCancelled | Reason::OptedOut | Reason::Expired,
            ..
        } => InvitationStatus::Cancelled,
        EmailState::Dead { .. } => InvitationStatus::Failed,
    };
    if let Some(last) = transitions
        .last_mut()
        .filter(|(last, _)| *last == InvitationStatus::Failed)
    {
        last.0 = status;
    }
    (status, transitions)
}

/// Lists the statuses that an invitation reached: from its message's history, then what the provider reported.
fn list_transitions(
    view: &MessageView,
    taken: (InvitationStatus, Timestamp),
) -> Vec<(InvitationStatus, Timestamp)> {
    let mut transitions = vec![taken];
    let history = view.message.out.iter().flat_map(|out| &out.history);
    for entry in history {
        let status = match entry.what.as_str() {
            "queued" => InvitationStatus::Queued,
            "sending" | "unknown" => InvitationStatus::Processing,
            "sent" => InvitationStatus::Sent,
            "dead" => InvitationStatus::Failed,
            "cancelled" => InvitationStatus::Cancelled,
            _ => continue,
        };
        if transitions.last().is_none_or(|(last, _)| *last != status) {
            transitions.push((status, entry.at));
        }
    }
    let reported = view
        .delivery
        .iter()
        .flat_map(|delivery| delivery.times.reached_statuses());
    for (status, at) in reported {
        let status = match status.as_str() {
            "delivered" => InvitationStatus::Delivered,
            "read" => InvitationStatus::Read,
            "failed" => InvitationStatus::Failed,
            _ => continue,
        };
        // A failure that the provider reports is in the message's history, too.
        if transitions.iter().all(|(known, _)| *known != status) {
            transitions.push((status, at));
        }
    }
    transitions
}

/// The words for an invitation that was cancelled although the guest may have it. No other may go in its place.
const MAY_HAVE_ARRIVED: &str =
    "it was cancelled after an attempt of unknown outcome: the guest may have it, and is sent no other";

/// The words behind the reason of one that failed although the guest may have it.
const FAILED_IN_DOUBT: &str = "the guest may have it, and is sent no other unless a person redrives it";

impl InvitationView {
    /// Returns why the invitation failed, or that the guest may have a cancelled one. The text holds no personal data. `None`: it did
    /// not fail, or nobody knows why.
    pub fn explain_failure(&self) -> Option<String> {
        match self.status {
            InvitationStatus::Cancelled => self.may_have_arrived.then(|| MAY_HAVE_ARRIVED.to_owned()),
            InvitationStatus::Failed => {
                let reason = self.find_reason()?;
                let in_doubt = self
                    .may_have_arrived
                    .then(|| format!("{reason}; {FAILED_IN_DOUBT}"));
                Some(in_doubt.unwrap_or(reason))
            }
            _ => None,
        }
    }

    /// Returns the reason for which it failed, if it is known.
    fn find_reason(&self) -> Option<String> {
        if let InvitationState::Refused { error } = &self.invitation.state {
            return Some(error.clone());
        }
        if let Some(reason) = self.reason {
            return Some(reason.to_string());
        }
        if let InvitationState::Email { outbox } = &self.invitation.state {
            return outbox.last_reason().map(str::to_owned);
        }
        let out = self.message.as_ref()?.message.out.as_ref()?;
        out.history.last()?.why.clone()
    }
}
