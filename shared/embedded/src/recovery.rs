//! Takes up the work that a crashed process left behind.
//!
//! A data folder belongs to one process at a time. So when a process starts, no other holds any lease or message, and
//! nothing need be waited for. (On AWS a lease or a visibility time-out must run out, since its holder may only be
//! slow.)

use crate::clock_set_back::{update_records, write_in_flight};
use crate::db_error::DbResult;
use crate::queue::release_in_flight;
use crate::store::{ConversationRow, MessageRow};
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::QueueName;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use rusqlite::Connection;

/// The numbers of records that a recovery changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecoveryCounts {
    /// Queue messages that were in flight.
    pub received: usize,
    /// Turns that were being worked on.
    pub turns: usize,
    /// Sends that had begun and whose outcome is not known.
    pub sends: usize,
    /// Records of the table by which something was held: tenants of whose places for turns some were taken, threads with effects that had
    /// begun, and e-mails that were being given to their carriers.
    pub records: usize,
    /// Files that were being fetched or read.
    pub files: usize,
}

/// The longest time ahead at which the work on a file may end that was under way.
const FILE_WORK_MAX: SignedDuration = SignedDuration::from_hours(1);

pub(crate) fn free_queue_messages(
    db: &Connection,
    now: Timestamp,
    counts: &mut RecoveryCounts,
) -> DbResult<()> {
    for queue in QueueName::ALL {
        counts.received += release_in_flight(db, queue, now)?;
    }
    Ok(())
}

pub(crate) fn free_conversations(
    db: &Connection,
    now: Timestamp,
    counts: &mut RecoveryCounts,
) -> DbResult<()> {
    let end_lease = |conversation: &mut Conversation| {
        let had_lease = conversation.lease.take().is_some();
        if had_lease {
            conversation.raise_revision();
        }
        had_lease
    };
    let put = |_: i64, conversation: &Conversation| {
        ConversationRow::from_conversation(conversation)?.write_row(db, now)
    };
    let sql = "SELECT rowid, body FROM conversations WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.lease') END IS NOT NULL";
    counts.turns += update_records(db, sql, end_lease, put)?;
    Ok(())
}

/// Marks sends that had begun as of unknown outcome, and lets the work on files begin again.
pub(crate) fn free_messages(db: &Connection, now: Timestamp, counts: &mut RecoveryCounts) -> DbResult<()> {
    let put = |_: i64, message: &Message| MessageRow::from_message(message)?.write_row(db, now);
    let mut free = |message: &mut Message| {
        let is_send = message.out.as_mut().is_some_and(|out| {
            matches!(out.state, OutboxState::Sending { .. })
                && out
                    .mark_unknown(now, "the process ended during the attempt")
                    .is_ok()
        });
        let is_file = message.file.as_mut().is_some_and(|file| file.free_work(now));
        if is_file && !is_send {
            message.raise_revision();
        }
        counts.sends += usize::from(is_send);
        counts.files += usize::from(is_file);
        is_send || is_file
    };
    let from = now.as_millisecond();
    let to = add_duration(now, FILE_WORK_MAX).as_millisecond();
    let of_files =
        format!("SELECT rowid, body FROM messages WHERE open = 0 AND due > {from} AND due <= {to}");
    for sql in ["SELECT rowid, body FROM messages WHERE open = 1", &of_files] {
        update_records(db, sql, &mut free, put)?;
    }
    Ok(())
}

/// Ends the time for which sends that are under way hold others up. Their echoes may still come.
pub(crate) fn free_in_flight(db: &Connection, now: Timestamp, _counts: &mut RecoveryCounts) -> DbResult<()> {
    let end = |flight: &mut InFlightSend| {
        let is_held = flight.until > now;
        flight.until = now.min(flight.until);
        is_held
    };
    let put = |row: i64, flight: &InFlightSend| write_in_flight(db, row, flight);
    update_records(db, "SELECT rowid, body FROM in_flight", end, put).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql_records::execute_sql;
    use crate::{Clock, Embedded};
    use recado_domain::ids::InstanceId;
    use recado_ports::ports::OutboxStore;
    use rusqlite::params;
    use std::time::Duration;

    #[test]
    fn what_was_handed_out_comes_again_at_once() {
        futures::executor::block_on(async {
            let store = Embedded::in_memory(Clock::from_system()).unwrap();
            let job = serde_json::from_value(serde_json::json!({
                "job": "turn", "conversation": "c_0123456789abcdef0123456789abcdef-1", "tenant": "t", "ordinal": 1,
                "correlation": "k",
            }));
            recado_ports::ports::Queues::enqueue_turns_job(&store, &job.unwrap(), Duration::ZERO)
                .await
                .unwrap();
            let hour = Duration::from_secs(3600);
            assert_eq!(
                store
                    .receive_messages(QueueName::Turns, 1, hour)
                    .await
                    .unwrap()
                    .len(),
                1
            );
            assert_eq!(
                store
                    .receive_messages(QueueName::Turns, 1, hour)
                    .await
                    .unwrap()
                    .len(),
                0
            );
            assert_eq!(store.recover_after_crash().await.unwrap().received, 1);
            assert_eq!(
                store.receive_messages(QueueName::Turns, 1, hour).await.unwrap()[0].receives,
                2
            );
        });
    }

    #[test]
    fn a_note_of_a_send_that_ended_with_its_process_holds_nothing_up() {
        futures::executor::block_on(async {
            let store = Embedded::in_memory(Clock::from_system()).unwrap();
            let id = InstanceId::parse("front-desk").unwrap();
            let hour = 3_600_000;
            let note = serde_json::json!({
                "message": "c_0123456789abcdef0123456789abcdef-1.1", "to": "1@lid", "nonce": "n", "text_hash": "h",
                "claimed_at": store.current_time().as_millisecond(), "until": store.current_time().as_millisecond() + hour,
            });
            let (instance, body) = (id.clone(), note.to_string());
            let sql = "INSERT INTO in_flight (instance, message, nonce, body)
                VALUES (?1, 'c_0123456789abcdef0123456789abcdef-1.1', 'n', ?2)";
            let put = move |db: &Connection| execute_sql(db, sql, params![instance.as_str(), body]);
            store.run_write("test", put).await.unwrap();
            store.recover_after_crash().await.unwrap();
            let notes = store.list_in_flight(&id).await.unwrap();
            assert_eq!(notes.len(), 1, "its echo may still come");
            assert!(notes[0].until <= store.current_time());
        });
    }
}
