use super::{PublishedData, PublishedEvent, PublishedKind};
use crate::alert::{Alert, AlertState};
use crate::effects::{EffectAction, EffectEntry, EffectState, Journal};
use crate::email::EmailState;
use crate::ids::{InstanceId, InvitationId, MessageId, OccasionId, TenantId};
use crate::instance::InstanceState;
use crate::invitations::{Invitation, InvitationChannel, InvitationState, InvitationStatus};
use jiff::Timestamp;

/// Derives what is published of an instance's new state. `old`: the state that it replaces.
pub fn derive_instance_events(
    (id, tenant): (&InstanceId, &TenantId),
    old: &InstanceState,
    new: &InstanceState,
    at: Timestamp,
) -> Vec<PublishedEvent> {
    if old.connection == new.connection {
        return Vec::new();
    }
    let data = PublishedData {
        connection: Some(new.connection),
        since: new.since,
        ..PublishedData::default()
    };
    let rev = new.rev.to_string();
    vec![PublishedEvent {
        tenant: Some(tenant.clone()),
        instance: Some(id.clone()),
        ..PublishedEvent::new(PublishedKind::InstanceConnection, &[id.as_str(), &rev], at, data)
    }]
}

/// The facts that an invitation's events are derived from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvitationFacts {
    tenant: TenantId,
    id: InvitationId,
    occasion: OccasionId,
    channel: InvitationChannel,
    rev: u64,
    status: InvitationStatus,
    message: Option<MessageId>,
}

impl From<&Invitation> for InvitationFacts {
    fn from(invitation: &Invitation) -> Self {
        let status = match &invitation.state {
            InvitationState::Taken { .. } | InvitationState::Message { .. } => InvitationStatus::Queued,
            InvitationState::Duplicate { .. } => InvitationStatus::Duplicate,
            InvitationState::Refused { .. } => InvitationStatus::Failed,
            InvitationState::Email { outbox } => match outbox.state {
                EmailState::Queued { .. } => InvitationStatus::Queued,
                EmailState::Sending { .. } => InvitationStatus::Processing,
                EmailState::Sent { .. } => InvitationStatus::Sent,
                EmailState::Dead { .. } => InvitationStatus::Failed,
            },
        };
        let message = match &invitation.state {
            InvitationState::Message { message } => Some(message.clone()),
            _ => None,
        };
        Self {
            tenant: invitation.tenant.clone(),
            id: invitation.id.clone(),
            occasion: invitation.occasion.clone(),
            channel: invitation.channel,
            rev: invitation.rev,
            status,
            message,
        }
    }
}

/// Derives what is published of an invitation's new record. `old`: the record that it replaces.
pub fn derive_invitation_events(
    old: Option<&InvitationFacts>,
    new: &InvitationFacts,
    at: Timestamp,
) -> Vec<PublishedEvent> {
    let kind = match old {
        None => PublishedKind::DeliveryCreated,
        Some(old) if (old.status, &old.message) != (new.status, &new.message) => {
            PublishedKind::DeliveryUpdated
        }
        Some(_) => return Vec::new(),
    };
    let data = PublishedData {
        invitation: Some(new.id.clone()),
        occasion: Some(new.occasion.clone()),
        channel: Some(new.channel),
        status: Some(new.status.as_str().to_owned()),
        ..PublishedData::default()
    };
    let rev = new.rev.to_string();
    let place = new
        .message
        .as_ref()
        .and_then(|message| message.conversation_and_ordinal().ok());
    vec![PublishedEvent {
        tenant: Some(new.tenant.clone()),
        conversation: place.map(|(conversation, _)| conversation),
        message: new.message.clone(),
        ..PublishedEvent::new(kind, &[new.id.as_str(), &rev], at, data)
    }]
}

/// Derives what is published when pages about an occasion must be made anew since `new`. `old`: the time before.
pub fn derive_page_events(
    (tenant, occasion): (&TenantId, &OccasionId),
    old: Option<Timestamp>,
    new: Timestamp,
    at: Timestamp,
) -> Vec<PublishedEvent> {
    if old >= Some(new) {
        return Vec::new();
    }
    let data = PublishedData {
        occasion: Some(occasion.clone()),
        since: Some(new),
        ..PublishedData::default()
    };
    let record = [tenant.as_str(), occasion.as_str()];
    vec![PublishedEvent {
        tenant: Some(tenant.clone()),
        ..PublishedEvent::new(PublishedKind::LandingInvalidated, &record, at, data)
    }]
}

/// Returns the kind of the event that tells of an entry's state. `None`: it is under way, or about no appointment.
fn appointment_kind(entry: &EffectEntry) -> Option<PublishedKind> {
    let done = match entry.action {
        EffectAction::Book { .. } => PublishedKind::AppointmentBooked,
        EffectAction::Move { .. } => PublishedKind::AppointmentMoved,
        EffectAction::Cancel { .. } => PublishedKind::AppointmentCancelled,
        EffectAction::Other => return None,
    };
    match entry.state {
        EffectState::Done => Some(done),
        EffectState::Unknown => Some(PublishedKind::AppointmentUnknown),
        EffectState::Doing | EffectState::Failed | EffectState::Void => None,
    }
}

/// Derives what is published of a journal's new record. `old`: the record that it replaces.
pub fn derive_journal_events(old: Option<&Journal>, new: &Journal, at: Timestamp) -> Vec<PublishedEvent> {
    let is_told = |entry: &EffectEntry| {
        let before = old.and_then(|old| old.find_entry(entry.number));
        before.is_some_and(|before| before.state == entry.state)
    };
    let events = new.entries.iter().filter(|entry| !is_told(entry));
    let events = events.filter_map(|entry| {
        let kind = appointment_kind(entry)?;
        let span = entry.resulting_span();
        let data = PublishedData {
            appointment: entry.event().cloned(),
            starts_at: span.map(|span| span.start),
            ends_at: span.map(|span| span.end),
            ..PublishedData::default()
        };
        Some(PublishedEvent {
            tenant: Some(new.tenant.clone()),
            instance: Some(new.instance.clone()),
            conversation: Some(entry.conversation.clone()),
            ..PublishedEvent::new(kind, &[entry.id.as_str(), entry.state.as_str()], at, data)
        })
    });
    events.collect()
}

/// Derives what is published of an alert's new record. `old`: the state of the record that it replaces.
pub fn derive_alert_events(old: Option<AlertState>, new: &Alert, at: Timestamp) -> Vec<PublishedEvent> {
    let kind = match new.state() {
        state if old == Some(state) => return Vec::new(),
        AlertState::Firing => PublishedKind::AlertFired,
        AlertState::Ended => PublishedKind::AlertEnded,
        AlertState::Watched | AlertState::Forgotten => return Vec::new(),
    };
    let data = PublishedData {
        alert: Some(new.kind),
        severity: Some(new.severity),
        since: Some(new.since),
        ..PublishedData::default()
    };
    vec![PublishedEvent {
        tenant: new.subject.tenant.clone(),
        instance: new.subject.instance.clone(),
        conversation: new.subject.conversation.clone(),
        ..PublishedEvent::new(kind, &[&new.id], at, data)
    }]
}
