//! The ports of the store, one file each: plain functions over a connection, and the port that calls them.

mod alerts;
mod aliases;
mod audit;
mod batches;
mod contact_words;
mod conversation_row;
mod conversations;
mod dead_letters;
mod deliveries;
mod directory;
mod effects;
mod erasure;
mod expiry;
mod gauges;
mod idempotency_keys;
mod identity;
mod inbox;
mod instances;
mod invitation_log;
mod invitation_rows;
mod invitations;
mod knowledge_records;
mod message_words;
mod messages;
mod moving;
mod notices;
mod opt_outs;
mod outbox;
mod overdue;
mod published_events;
mod restored;
mod retention;
mod samples;
mod scheduled;
mod tenant_records;
mod tokens;
mod trace;
mod turn_places;
mod typing;
mod unacknowledged;
mod usage;
mod webhook_records;

pub(crate) use conversation_row::ConversationRow;
pub(crate) use conversations::ReplyRows;
pub use expiry::SweepCounts;
pub(crate) use inbox::{EventRow, InboundRows, RecordedEvent, select_event};
pub use message_words::INDEX_BATCH;
pub(crate) use messages::MessageRow;
pub(crate) use outbox::Settlement;
pub use restored::RestoredCounts;
pub(crate) use restored::doubt_restored_rows;

#[cfg(test)]
mod tests;
