use super::{ConversationRecord, PublishedData, PublishedEvent, PublishedKind, TurnResult};
use crate::conversation::{Conversation, ConversationLabel, ConversationMode, ConversationStatus};
use crate::ids::{ConversationId, InstanceId, Nonce, Ordinal, TenantId, TokenName};
use crate::reason::Reason;
use jiff::Timestamp;
use std::collections::BTreeSet;

/// The facts that a conversation's events are derived from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationFacts {
    id: ConversationId,
    tenant: TenantId,
    instance: InstanceId,
    rev: u64,
    shown: ShownFacts,
    waits_since: Option<Timestamp>,
    lease: Option<Nonce>,
    answered: Ordinal,
    silent_upto: Ordinal,
}

/// The facts that people see of a conversation beside its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ShownFacts {
    mode: ConversationMode,
    status: Option<ConversationStatus>,
    needs_person: Option<Reason>,
    taken_by: Option<TokenName>,
    name: Option<String>,
    phone: Option<String>,
    is_waiting: bool,
    scheduled_for: Option<Timestamp>,
    moved_to: Option<ConversationId>,
    is_marketing_stopped: bool,
    labels: BTreeSet<ConversationLabel>,
    /// The number of notes, and the newest number that was given to one.
    notes: (usize, u64),
    seen: Ordinal,
}

impl From<&Conversation> for ConversationFacts {
    fn from(conversation: &Conversation) -> Self {
        let waits_since = conversation.person_owed_since();
        Self {
            id: conversation.id.clone(),
            tenant: conversation.tenant.clone(),
            instance: conversation.instance.clone(),
            rev: conversation.rev,
            shown: ShownFacts {
                mode: conversation.mode,
                status: conversation.listed_status(),
                needs_person: conversation.needs_person,
                taken_by: conversation.people.taken.as_ref().map(|taken| taken.by.clone()),
                name: conversation.contact.name.clone(),
                phone: conversation.contact.phone.clone(),
                is_waiting: waits_since.is_some(),
                scheduled_for: conversation.opening.scheduled_for,
                moved_to: conversation.linked.moved_to.clone(),
                is_marketing_stopped: conversation.contact.marketing_stopped_at.is_some(),
                labels: conversation.people.annotations.labels.clone(),
                notes: (
                    conversation.people.annotations.notes.len(),
                    conversation.people.annotations.last_note,
                ),
                seen: conversation.seen,
            },
            waits_since,
            lease: conversation.lease.as_ref().map(|lease| lease.nonce.clone()),
            answered: conversation.answered,
            silent_upto: conversation
                .silences
                .last()
                .map_or(Ordinal::default(), |span| span.upto),
        }
    }
}

impl ConversationFacts {
    fn as_record(&self) -> ConversationRecord<'_> {
        ConversationRecord {
            tenant: &self.tenant,
            instance: &self.instance,
            conversation: &self.id,
            message: None,
            rev: self.rev,
        }
    }

    /// Returns how the turn ended that held the lease of `old`.
    fn judge_turn_result(&self, old: &Self) -> TurnResult {
        if self.answered <= old.answered {
            TurnResult::Left
        } else if self.silent_upto == self.answered {
            TurnResult::Silent
        } else {
            TurnResult::Answered
        }
    }
}

/// Derives what is published of a conversation's new record. `old`: the record that it replaces.
pub fn derive_conversation_events(
    old: Option<&ConversationFacts>,
    new: &ConversationFacts,
    at: Timestamp,
) -> Vec<PublishedEvent> {
    let (mut events, record) = (Vec::new(), new.as_record());
    let lease = old.and_then(|old| old.lease.as_ref());
    if let Some(old) = old.filter(|_| lease.is_some() && lease != new.lease.as_ref()) {
        let data = PublishedData {
            result: Some(new.judge_turn_result(old)),
            ..PublishedData::default()
        };
        events.push(record.make_published_event(PublishedKind::TurnFinished, at, data));
    }
    if new.lease.is_some() && lease != new.lease.as_ref() {
        events.push(record.make_published_event(PublishedKind::TurnStarted, at, PublishedData::default()));
    }
    let shown = &new.shown;
    if old.is_none_or(|old| old.shown != *shown) {
        let data = PublishedData {
            mode: Some(shown.mode),
            conversation_status: shown.status,
            reason: shown.needs_person,
            ..PublishedData::default()
        };
        events.push(record.make_published_event(PublishedKind::ConversationUpdated, at, data));
    }
    if let Some(since) = new.waits_since
        && old.is_none_or(|old| old.waits_since.is_none())
    {
        let data = PublishedData {
            mode: Some(shown.mode),
            reason: shown.needs_person,
            since: Some(since),
            ..PublishedData::default()
        };
        events.push(record.make_published_event(PublishedKind::ConversationWaiting, at, data));
    }
    events
}
