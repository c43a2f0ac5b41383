//! Writes records of another store.

use super::super::conversation_row::ConversationRow;
use super::super::deliveries::upsert_moved_delivery;
use super::super::identity::IDENTITY_KEY;
use super::super::in_flight::InFlightRow;
use super::super::inbox::upsert_event;
use super::super::instances::{upsert_parked, upsert_state};
use super::super::messages::MessageRow;
use super::super::published_events::{delete_events_after, put_numbered_event, select_last_number};
use super::super::usage::replace_usage_sum;
use crate::db_error::DbResult;
use crate::installation_values::write_value;
use jiff::Timestamp;
use recado_domain::moving::{MovedRecord, TableRecord};
use recado_ports::ports::{PortError, PortResult};
use recado_ports::table::{Kind, Write};
use rusqlite::Connection;

/// Writes records in place of those under their keys. What their writing publishes was published before: it is removed.
pub(super) fn write_records(db: &Connection, records: &[MovedRecord], now: Timestamp) -> DbResult<()> {
    let last = select_last_number(db)?;
    for record in records {
        write_record(db, record, now)?;
    }
    delete_events_after(db, last)?;
    for record in records {
        if let MovedRecord::PublishedEvent(event) = record {
            put_numbered_event(db, event.cursor, &event.event)?;
        }
    }
    Ok(())
}

fn write_record(db: &Connection, record: &MovedRecord, now: Timestamp) -> DbResult<()> {
    match record {
        MovedRecord::IdentityKey(key) => write_value(db, IDENTITY_KEY, &key.key),
        MovedRecord::InstanceState(state) => upsert_state(db, &state.instance, &state.record),
        MovedRecord::Conversation(conversation) => {
            ConversationRow::from_conversation(conversation)?.write_row(db, now)
        }
        MovedRecord::Message(message) => MessageRow::from_message(message)?.write_row(db, now),
        MovedRecord::Event(event) => upsert_event(db, &event.record, event.expires),
        MovedRecord::Delivery(delivery) => upsert_moved_delivery(db, delivery),
        MovedRecord::InFlight(note) => InFlightRow::for_instance(&note.instance, &note.record).write_row(db),
        MovedRecord::Parked(parked) => upsert_parked(db, (**parked).clone()),
        MovedRecord::Usage(sum) => replace_usage_sum(db, &sum.record, sum.expires),
        // Events are written after what the others published is removed, and records of the table beside all of these.
        MovedRecord::PublishedEvent(_) | MovedRecord::OfTable(_) => Ok(()),
    }
}

/// Returns the writes that store those of the records that lie in the table.
pub(super) fn list_table_writes(records: &[MovedRecord], kinds: &[Kind]) -> PortResult<Vec<Write>> {
    let mut writes = Vec::new();
    for record in records {
        let MovedRecord::OfTable(TableRecord { kind: name, body }) = record else {
            continue;
        };
        let kind = kinds.iter().find(|kind| kind.name == *name);
        let kind = kind.ok_or_else(|| PortError::invalid("taking moved records", "the kind is unknown"))?;
        writes.extend(kind.put_writes(body)?);
    }
    Ok(writes)
}
