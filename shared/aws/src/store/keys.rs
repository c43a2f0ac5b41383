//! The keys of the records in the table.
//!
//! A record of a kind of `recado_ports::records` lies in the partition `{kind}#{tenant}` (`{kind}#`, if it belongs to the
//! installation), and what leads to it in partitions `{kind}.{word}#…`. The kind says the rest. The others:
//!
//! | record | `pk` | `sk` |
//! | --- | --- | --- |
//! | event | `E#{event}` | `E` |
//! | conversation | `C#{thread}` | `{number}#Z` |
//! | sign of a contact's typing | `P#{thread}` | `P` |
//! | message | `C#{thread}` | `{number}#M#{ordinal}` |
//! | open message | `O#{thread}` | `{number}#{ordinal}` |
//! | delivery; under the key of the provider's id, what leads to the one under the key of Recado's own | `D#{key}` | `D` |
//! | instance's state | `I#{instance}` | `STATE` |
//! | parked conversation | `I#{instance}` | `PARK#{conversation}` |
//! | in-flight send | `I#{instance}` | `FLY#{message}#{nonce}` |
//! | retention of a conversation | `R#{conversation}` | `R` |
//! | the installation's identity key | `G#K` | `identity` |
//! | use of a model by an agent on a day | `Q#{tenant}` | `{day}#{agent}#{shard}#{model}` |
//! | the log of published events, and its posts to endpoints | `Z…` | see `event_log` |
//!
//! Numbers are padded with zeros, so that they sort. `Z` comes after `M`: read backwards, a thread begins with its
//! newest conversation's record, followed by that conversation's messages from the newest on.
//!
//! Index `open` (`open_shard`, `open_due`) holds records with work that is or will be due; those of the table's kinds under
//! `{kind}{shard}`. Index `lists` (`list_key`, `list_at`) holds conversations under `CONV#{tenant}#{shard}` (those that nobody sees under `UNLISTED#{tenant}`),
//! and under `KEEP#{tenant}` the retention of its conversations, by the time since when the
//! oldest message is kept. Open records and conversations are spread over shards, since one key of an index takes 1,000 writes a second, and an
//! index that cannot keep up holds up the table. Index `trace` (`trace`: a correlation id; `trace_of`: the tenant of a
//! message, the provider's instance of an event) holds the keys of events and messages. Index
//! `tenants` (`tenant_list`, `tenant_at`) holds under `W#{tenant}` the keys of a tenant's conversations in which a person owes an answer.
//! Index `active` (`active_shard`,
//! `active_at`) holds the keys and instances of all tenants' conversations, by the hour of their last message.
//!
//! An item is billed by its size in steps of 1 KB, twice in a transaction, and once more for each index that its write changes. So an item
//! leaves out what its key says, each record of an ordinary message stays below 1 KB, the index `open` holds what hardly changes, and
//! `active` knows the hour alone: only the first message of an hour writes it, and the list of all tenants reads whole hours and sorts them.
//!
//! A tenant's conversations are in four lists by their instances. Open records are in eight shards of each kind, and `active` has eight;
//! what WhatsApp did not acknowledge is in one shard by its tenant. Everything but the indexes is read strongly. An open message is
//! stored twice: as it was stored first, and as a copy on the open list that counts while it is open.
//!
//! The open records of some instances are found among those of all tenants by a filter, for the health of a tenant, `recado doctor` and the
//! removal of a tenant. With a tenant in `open_shard`, `reconcile` would ask every tenant for every kind each minute (10,000 tenants:
//! 30,000 requests instead of 24). A second list by tenant would cost 6 write units of an answered message on top of 42. Only what is open
//! now is in the index, some 300 bytes of each record: 10,000 open records are 370 read units, for a request of a person.

mod event_log;
mod lists;
mod usage;
pub(super) mod waiting;

pub(super) use event_log::{PUSH_CONNECTIONS, event_log_pk, event_log_sk, push_connections_pk};
pub(super) use lists::{
    OPEN_KINDS, active_shard, conversation_list_key, due_shard, event_owner, index_active, index_tenant_list,
    index_trace, list_due_shards, message_owner, parse_active_hour, retention_list_key,
    tenant_conversation_list_keys, unlisted_list_key,
};
pub(super) use usage::{usage_day_boundary, usage_partition_key};

use super::item::{Item, get_string, number_attribute, text_attribute};
use recado_domain::Timestamp;
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::{ConversationId, EventId, InstanceId, Ordinal, ThreadId, hash_parts};
use recado_domain::instance::InFlightSend;
use recado_ports::table::Key;

/// The key of a record: its place in the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TableKey {
    /// The partition key.
    pub(crate) pk: String,
    /// The sort key within the partition.
    pub(crate) sk: String,
}

/// The number of shards that each index has.
pub(crate) const SHARDS: u32 = 8;

impl TableKey {
    fn new(pk: String, sk: impl Into<String>) -> Self {
        Self { pk, sk: sk.into() }
    }

    /// Returns the key of an item of a kind of the table, or of what leads to one.
    pub(crate) fn for_table_item(key: &Key) -> Self {
        Self::new(key.partition.to_string(), key.sort.as_str())
    }

    /// Returns the key of an event.
    pub(crate) fn for_event(id: &EventId) -> Self {
        Self::new(format!("E#{id}"), "E")
    }

    /// Returns the key of a conversation's record.
    pub(crate) fn for_conversation(id: &ConversationId) -> Self {
        let sk = format!("{}Z", conversation_sk_prefix(id));
        Self::new(thread_pk(id.thread_id()), sk)
    }

    /// Returns the key of the newest sign of a contact's typing.
    pub(crate) fn for_typing(thread: &ThreadId) -> Self {
        Self::new(format!("P#{}", thread.as_str()), "P")
    }

    /// Returns the key of the installation's identity key.
    pub(crate) fn for_identity_key() -> Self {
        Self::new("G#K".to_owned(), "identity")
    }

    /// Returns the key of a message's record.
    pub(crate) fn for_message(id: &ConversationId, ordinal: Ordinal) -> Self {
        Self::new(thread_pk(id.thread_id()), message_sk(id, ordinal))
    }

    /// Returns the key of an open message's copy.
    pub(crate) fn for_open_message(id: &ConversationId, ordinal: Ordinal) -> Self {
        let sk = format!("{}{}", conversation_sk_prefix(id), padded_ordinal(ordinal));
        Self::new(open_messages_pk(id.thread_id()), sk)
    }

    /// Returns the key of a delivery.
    pub(crate) fn for_delivery(key: &DeliveryKey) -> Self {
        Self::new(format!("D#{}", key.as_str()), "D")
    }

    /// Returns the key of an instance's state.
    pub(crate) fn for_instance_state(id: &InstanceId) -> Self {
        Self::new(instance_pk(id), STATE)
    }

    /// Returns the key of a parked conversation.
    pub(crate) fn for_parked(id: &InstanceId, conversation: &ConversationId) -> Self {
        Self::new(instance_pk(id), format!("{PARK}{conversation}"))
    }

    /// Returns the key of an in-flight send.
    pub(crate) fn for_in_flight(id: &InstanceId, flight: &InFlightSend) -> Self {
        let sk = format!("{FLY}{}#{}", flight.message, flight.nonce);
        Self::new(instance_pk(id), sk)
    }

    /// Returns the key of a conversation's retention.
    pub(crate) fn for_retention(id: &ConversationId) -> Self {
        Self::new(format!("R#{id}"), "R")
    }

    /// Returns the key of an item.
    pub(crate) fn from_item(item: &Item) -> Option<Self> {
        let text = |name| get_string(item, name).map(str::to_owned);
        Some(Self::new(text("pk")?, text("sk")?))
    }

    /// Adds the key to an item.
    pub(crate) fn into_item(self, mut item: Item) -> Item {
        item.insert("pk".to_owned(), text_attribute(self.pk));
        item.insert("sk".to_owned(), text_attribute(self.sk));
        item
    }

    /// Returns an item of the key alone.
    pub(crate) fn into_key_item(self) -> Item {
        self.into_item(Item::new())
    }

    /// Returns the `open_shard` of the record: its kind and a number. Each kind has its own shards, so that many
    /// records of one kind do not hide the others.
    pub(crate) fn open_shard_key(&self) -> String {
        let kind = if self.sk.starts_with(PARK) {
            'P'
        } else if self.sk.contains(MESSAGE) {
            WAITING_FILE
        } else {
            self.pk.chars().next().unwrap_or('?')
        };
        open_shard(kind, hash_to_shard(&[&self.pk, &self.sk]))
    }
}

/// The `sk` of an instance's state.
pub(crate) const STATE: &str = "STATE";
/// The prefix of the `sk` of parked conversations.
pub(crate) const PARK: &str = "PARK#";
/// The part of the `sk` of a message between the numbers of its conversation and of itself.
pub(crate) const MESSAGE: &str = "#M#";
/// The prefix of the `sk` of in-flight sends.
pub(crate) const FLY: &str = "FLY#";

/// Returns the event that the key of an event's record names.
pub(crate) fn parse_event_key(item: &Item) -> Option<EventId> {
    EventId::parse(get_string(item, "pk")?.strip_prefix("E#")?).ok()
}

/// Returns the conversation that a key names: that of the conversation's record, or of a message, open or not.
pub(crate) fn parse_conversation_key(item: &Item) -> Option<ConversationId> {
    let pk = get_string(item, "pk")?;
    let thread = pk.strip_prefix("C#").or_else(|| pk.strip_prefix("O#"))?;
    let (number, _) = get_string(item, "sk")?.split_once('#')?;
    let number = number.parse::<u32>().ok()?;
    ConversationId::parse(&format!("c_{thread}-{number}")).ok()
}

/// Returns the ordinal in the key of a message, open or not.
pub(crate) fn parse_ordinal(item: &Item) -> Option<Ordinal> {
    let (_, ordinal) = get_string(item, "sk")?.rsplit_once('#')?;
    ordinal.parse().ok().map(Ordinal)
}

/// Returns the `pk` of a thread.
pub(crate) fn thread_pk(id: &ThreadId) -> String {
    format!("C#{}", id.as_str())
}

/// Returns the `pk` of a contact's open messages.
pub(crate) fn open_messages_pk(id: &ThreadId) -> String {
    format!("O#{}", id.as_str())
}

/// Returns the `pk` of the records of an instance.
pub(crate) fn instance_pk(id: &InstanceId) -> String {
    format!("I#{id}")
}

/// Returns the prefix of the `sk` of a conversation and of its messages.
pub(crate) fn conversation_sk_prefix(id: &ConversationId) -> String {
    format!("{:010}#", id.number_in_thread())
}

/// Returns the `sk` of a message's record.
pub(crate) fn message_sk(id: &ConversationId, ordinal: Ordinal) -> String {
    format!(
        "{:010}{MESSAGE}{}",
        id.number_in_thread(),
        padded_ordinal(ordinal)
    )
}

fn padded_ordinal(ordinal: Ordinal) -> String {
    format!("{:012}", ordinal.0)
}

/// The kind of messages whose files are waited for.
const WAITING_FILE: char = 'F';

/// Returns the `open_shard` of a kind in the shard `shard`.
pub(crate) fn open_shard(kind: char, shard: u32) -> String {
    format!("{kind}{shard}")
}

fn hash_to_shard(parts: &[&str]) -> u32 {
    hash_to_number(parts) % SHARDS
}

/// Returns a number of 16 bits that is always the same for the same parts.
fn hash_to_number(parts: &[&str]) -> u32 {
    u32::from_str_radix(&hash_parts(parts, 4), 16).unwrap_or_default()
}

/// Adds the time at which the record is due to `item`, so that the index `open` finds it. Without a time the record is
/// not in the index.
pub(crate) fn index_open(item: &mut Item, key: &TableKey, due: Option<Timestamp>) {
    if let Some(due) = due {
        item.insert("open_shard".to_owned(), text_attribute(key.open_shard_key()));
        item.insert("open_due".to_owned(), number_attribute(due.as_millisecond()));
    }
}

#[cfg(test)]
mod tests;
