//! The published events that a change of a record tells of. The rules are those of [`recado_domain::published_event`]; here the
//! images of the stream become what the rules compare.
//!
//! A message tells by its record in its conversation alone, and not by its open copy: what people see of it is the same in both.
//!
//! The filter of `publisher` in `template.yaml` lets through what may tell something. So a frequent write that tells nothing says so in
//! its item: [`item::CONNECTION_CHANGED`], [`item::PAST_SENT`].

use super::deliveries::{is_past_sent, parse_delivery};
use super::item::{self, Item};
use super::keys::{MESSAGE, STATE, TableKey};
use super::records;
use super::stream_record::StreamRecord;
use super::table_port::{get_body, is_live};
use jiff::Timestamp;
use recado_domain::delivery::Delivery;
use recado_domain::ids::{InstanceId, MessageId, TenantId};
use recado_domain::instance::InstanceState;
use recado_domain::message::Message;
use recado_domain::published_event::{
    ConversationFacts, MessageFacts, MessageOwner, PublishedEvent, derive_conversation_events,
    derive_delivery_events, derive_instance_events, derive_message_events,
};
use recado_ports::ports::{PortError, PortResult};
use recado_ports::table::Kind;

const WHAT: &str = "reading a changed record";

/// The events of a change, or what is missing to derive them.
pub(super) enum ChangedRecord {
    /// These events; none, if people see nothing new.
    Events(Vec<PublishedEvent>),
    /// These events of a message, which is sent from now on.
    SentMessage {
        /// The message.
        message: MessageId,
        /// The tenant and the instance of the message.
        owner: MessageOwner,
        /// The events.
        events: Vec<PublishedEvent>,
    },
    /// A status of a message, whose owner stands elsewhere.
    Delivery(Box<ChangedDelivery>),
    /// A state of an instance, whose tenant stands elsewhere.
    Instance(Box<ChangedInstanceState>),
}

/// The change of a delivery.
pub(super) struct ChangedDelivery {
    pub(super) message: MessageId,
    old: Option<Delivery>,
    new: Delivery,
    at: Timestamp,
}

impl ChangedDelivery {
    /// Derives what is published of it.
    pub(super) fn derive_published_events(&self, owner: &MessageOwner) -> Vec<PublishedEvent> {
        derive_delivery_events(self.old.as_ref(), &self.new, owner, self.at)
    }
}

/// The change of an instance's state.
pub(super) struct ChangedInstanceState {
    pub(super) instance: InstanceId,
    old: InstanceState,
    new: InstanceState,
    at: Timestamp,
}

impl ChangedInstanceState {
    /// Derives what is published of it.
    pub(super) fn derive_published_events(&self, tenant: &TenantId) -> Vec<PublishedEvent> {
        derive_instance_events((&self.instance, tenant), &self.old, &self.new, self.at)
    }
}

const NOTHING: ChangedRecord = ChangedRecord::Events(Vec::new());

/// Reads what a change tells, also one of a record of these kinds. A deletion tells nothing.
pub(super) fn read_change(change: &StreamRecord, kinds: &[Kind]) -> PortResult<ChangedRecord> {
    let Some(new) = &change.new else {
        return Ok(NOTHING);
    };
    if change.old.is_none() && new.contains_key(item::MOVED) {
        // What it tells was published where it comes from.
        return Ok(NOTHING);
    }
    let (TableKey { pk, sk }, old, at) = (&change.key, change.old.as_ref(), change.at);
    let name = pk.split_once('#').map_or("", |(name, _)| name);
    if let Some(kind) = kinds.iter().find(|kind| kind.is_published && kind.name == name) {
        let old = old.filter(|old| is_live(old, at));
        let old = old.and_then(|old| get_body(kind.name, old).ok());
        let events = kind.derive_published_events(old, get_body(kind.name, new)?, at)?;
        return Ok(ChangedRecord::Events(events));
    }
    Ok(match pk.split_once('#') {
        Some(("C", _)) if sk.contains(MESSAGE) => read_message(old, new, at)?,
        Some(("C", _)) => {
            let read =
                |item| records::parse_conversation(WHAT, item).map(|found| ConversationFacts::from(&found));
            let old = old.map(read).transpose()?;
            ChangedRecord::Events(derive_conversation_events(old.as_ref(), &read(new)?, at))
        }
        Some(("D", _)) => read_delivery(old, new, at)?,
        Some(("I", instance)) if sk == STATE => read_instance_state(instance, old, new, at)?,
        _ => NOTHING,
    })
}

fn read_message(old: Option<&Item>, new: &Item, at: Timestamp) -> PortResult<ChangedRecord> {
    let old = old.map(|item| records::parse_message(WHAT, item)).transpose()?;
    let new: Message = records::parse_message(WHAT, new)?;
    let old = old.as_ref().map(MessageFacts::from);
    let events = derive_message_events(old.as_ref(), &MessageFacts::from(&new), at);
    let is_sent = |event: &PublishedEvent| event.data.status.as_deref() == Some("sent");
    if !events.iter().any(is_sent) {
        return Ok(ChangedRecord::Events(events));
    }
    Ok(ChangedRecord::SentMessage {
        message: new.message_id(),
        owner: MessageOwner {
            tenant: new.tenant,
            instance: new.instance,
        },
        events,
    })
}

fn read_delivery(old: Option<&Item>, new: &Item, at: Timestamp) -> PortResult<ChangedRecord> {
    let old = old.map(|item| parse_delivery(WHAT, item)).transpose()?;
    let new = parse_delivery(WHAT, new)?;
    let Some(message) = new.message.clone() else {
        return Ok(NOTHING);
    };
    let is_news = old
        .as_ref()
        .is_none_or(|old| (old.status, &old.message) != (new.status, &new.message));
    if !is_news || !new.status.is_some_and(is_past_sent) {
        return Ok(NOTHING);
    }
    let change = ChangedDelivery {
        message,
        old,
        new,
        at,
    };
    Ok(ChangedRecord::Delivery(Box::new(change)))
}

fn read_instance_state(
    instance: &str,
    old: Option<&Item>,
    new: &Item,
    at: Timestamp,
) -> PortResult<ChangedRecord> {
    let read = |item| item::decode_record::<InstanceState>(WHAT, item);
    let (old, new) = (old.map(read).transpose()?.unwrap_or_default(), read(new)?);
    if old.connection == new.connection {
        return Ok(NOTHING);
    }
    let instance = InstanceId::parse(instance).map_err(|error| PortError::invalid(WHAT, error))?;
    let change = ChangedInstanceState {
        instance,
        old,
        new,
        at,
    };
    Ok(ChangedRecord::Instance(Box::new(change)))
}

#[cfg(test)]
mod tests {
    use recado_ports::records::KINDS;

    #[test]
    fn the_publisher_is_told_of_each_kind_that_is_published() {
        let template = include_str!("../../../../template.yaml");
        for kind in KINDS.iter().filter(|kind| kind.is_published) {
            let named = format!(r#"{{"prefix": "{}#"}}"#, kind.name);
            assert!(template.contains(&named), "{}", kind.name);
        }
    }
}
