//! The ports of the store, one file each: plain functions over a connection, and the port that calls them.

mod contact_words;
mod conversation_row;
mod conversations;
mod dead_letters;
mod deliveries;
mod expiry;
mod identity;
mod in_flight;
mod inbox;
mod instances;
mod message_words;
mod messages;
mod moving;
mod outbox;
mod overviews;
mod published_events;
mod record_indexes;
mod record_removal;
mod restored;
mod table;
mod table_kinds;
mod tenant_records;
mod unacknowledged;
mod usage;

pub(crate) use conversation_row::ConversationRow;
pub(crate) use conversations::CommitRows;
pub(crate) use dead_letters::put_newer_letter;
pub use expiry::SweepCounts;
pub(crate) use inbox::{
    EventRow, InboundRows, RecordedEvent, StoredEventState, cut_out_job, record_given_up, select_event_state,
};
pub(crate) use instances::select_instance;
pub use message_words::INDEX_BATCH;
pub(crate) use messages::MessageRow;
pub(crate) use outbox::Settlement;
pub use restored::RestoredCounts;
pub(crate) use restored::doubt_restored_rows;
pub(crate) use table_kinds::{free_held_records, set_records_back};

#[cfg(test)]
mod tests;
