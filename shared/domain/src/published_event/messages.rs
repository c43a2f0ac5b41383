use super::{ConversationRecord, PublishedData, PublishedEvent, PublishedKind};
use crate::delivery::{Delivery, DeliveryStatus};
use crate::ids::{ConversationId, InstanceId, Ordinal, TenantId};
use crate::message::{FileState, FileText, Message, MessageChanges, MessageFile, MessageStatus, Role};
use crate::outbox::OutboxState;
use crate::reason::Reason;
use jiff::Timestamp;

/// The facts that a message's events are derived from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFacts {
    conversation: ConversationId,
    ordinal: Ordinal,
    owner: MessageOwner,
    rev: u64,
    role: Role,
    content: String,
    is_outgoing: bool,
    status: MessageStatus,
    reason: Option<Reason>,
    changes: MessageChanges,
    file: FileStage,
}

/// The tenant and the instance of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageOwner {
    /// The tenant.
    pub tenant: TenantId,
    /// The instance.
    pub instance: InstanceId,
}

/// The stage of a message's file, as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FileStage {
    Absent,
    Waiting,
    Lost,
    Stored,
    Read,
}

impl FileStage {
    fn from_message_file(file: Option<&MessageFile>) -> Self {
        let Some(file) = file else {
            return Self::Absent;
        };
        match (&file.state, &file.text) {
            (FileState::Waiting { .. }, _) => Self::Waiting,
            (FileState::Lost { .. }, _) => Self::Lost,
            (FileState::Stored(_), None | Some(FileText::Waiting { .. })) => Self::Stored,
            (FileState::Stored(_), Some(_)) => Self::Read,
        }
    }
}

impl From<&Message> for MessageFacts {
    fn from(message: &Message) -> Self {
        let out = message.out.as_ref();
        let reason = out.and_then(|out| match out.state {
            OutboxState::Dead { reason, .. } | OutboxState::Cancelled { reason, .. } => Some(reason),
            _ => None,
        });
        Self {
            conversation: message.conversation.clone(),
            ordinal: message.ordinal,
            owner: MessageOwner {
                tenant: message.tenant.clone(),
                instance: message.instance.clone(),
            },
            rev: out.map_or(message.rev, |out| out.rev),
            role: message.role,
            content: message.content.kind_name().to_owned(),
            is_outgoing: out.is_some(),
            status: message.status_with_delivery(None),
            reason,
            changes: message.changes.clone(),
            file: FileStage::from_message_file(message.file.as_ref()),
        }
    }
}

impl MessageFacts {
    fn as_record(&self) -> ConversationRecord<'_> {
        ConversationRecord {
            tenant: &self.owner.tenant,
            instance: &self.owner.instance,
            conversation: &self.conversation,
            message: Some(self.conversation.message_id(self.ordinal)),
            rev: self.rev,
        }
    }

    /// Returns the word for what changed since `old`; `None` if people see nothing new.
    fn name_changed_part(&self, old: &Self) -> Option<&'static str> {
        if self.content != old.content {
            return Some("content");
        }
        if self.changes != old.changes {
            return Some(self.changes.name_difference(&old.changes));
        }
        match self.file {
            stage if stage == old.file => None,
            FileStage::Read => Some("text"),
            _ => Some("file"),
        }
    }
}

/// Derives what is published of a message's new record. `old`: the record that it replaces.
pub fn derive_message_events(
    old: Option<&MessageFacts>,
    new: &MessageFacts,
    at: Timestamp,
) -> Vec<PublishedEvent> {
    let record = new.as_record();
    let status = new.is_outgoing.then(|| new.status.as_str().to_owned());
    let Some(old) = old else {
        let data = PublishedData {
            role: Some(new.role),
            content: Some(new.content.clone()),
            status,
            ..PublishedData::default()
        };
        return vec![record.make_published_event(PublishedKind::MessageCreated, at, data)];
    };
    let mut events = Vec::new();
    if let Some(part) = new.name_changed_part(old) {
        let data = PublishedData {
            role: Some(new.role),
            change: Some(part.to_owned()),
            ..PublishedData::default()
        };
        events.push(record.make_published_event(PublishedKind::MessageUpdated, at, data));
    }
    if new.is_outgoing && new.status != old.status {
        let data = PublishedData {
            role: Some(new.role),
            status,
            reason: new.reason,
            ..PublishedData::default()
        };
        events.push(record.make_published_event(PublishedKind::MessageStatus, at, data));
    }
    events
}

/// Derives what is published of a delivery's new record. `old`: the record that it replaces, if that was linked to its message.
///
/// The acceptance by the provider is published with the message itself, so a delivery tells what came after it.
pub fn derive_delivery_events(
    old: Option<&Delivery>,
    new: &Delivery,
    owner: &MessageOwner,
    at: Timestamp,
) -> Vec<PublishedEvent> {
    let known = old.filter(|old| old.message.is_some()).and_then(|old| old.status);
    let news = new.status.filter(|status| Some(*status) != known);
    let (Some(status), Some(message)) = (news, &new.message) else {
        return Vec::new();
    };
    if status == DeliveryStatus::Sent {
        return Vec::new();
    }
    let word = status.as_str();
    let reported = new.at.map_or(0, Timestamp::as_millisecond).to_string();
    let data = PublishedData {
        status: Some(word.to_owned()),
        ..PublishedData::default()
    };
    let record = [message.as_str(), word, &reported];
    let conversation = message.conversation_and_ordinal().ok();
    vec![PublishedEvent {
        tenant: Some(owner.tenant.clone()),
        instance: Some(owner.instance.clone()),
        conversation: conversation.map(|(conversation, _)| conversation),
        message: Some(message.clone()),
        ..PublishedEvent::new(PublishedKind::MessageStatus, &record, at, data)
    }]
}
