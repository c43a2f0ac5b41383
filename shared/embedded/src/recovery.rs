//! Takes up the work that a crashed process left behind.
//!
//! A data folder belongs to one process at a time. So when a process starts, no other holds any lease or message, and
//! nothing need be waited for. (On AWS a lease or a visibility time-out must run out, since its holder may only be
//! slow.)

use crate::Embedded;
use crate::db_error::DbError;
use crate::queue::release_in_flight;
use crate::sql_records::{execute_sql, query_all};
use crate::store::{ConversationRow, MessageRow};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::QueueName;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_ports::ports::PortResult;
use rusqlite::{Connection, params};

/// The numbers of records that a recovery changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecoveryCounts {
    /// Queue messages that were in flight.
    pub received: usize,
    /// Turns that were being worked on.
    pub turns: usize,
    /// Sends that had begun and whose outcome is not known.
    pub sends: usize,
}

fn recover_rows(connection: &Connection, now: Timestamp) -> Result<RecoveryCounts, DbError> {
    let mut recovered = RecoveryCounts::default();
    for queue in QueueName::ALL {
        recovered.received += release_in_flight(connection, queue, now)?;
    }
    let leased = "SELECT body FROM conversations WHERE CASE WHEN json_valid(body) THEN json_extract(body, '$.lease') END IS NOT NULL";
    for mut conversation in query_all::<Conversation>(connection, leased, [])? {
        conversation.lease = None;
        conversation.raise_revision();
        ConversationRow::from_conversation(&conversation)?.write_row(connection, now)?;
        recovered.turns += 1;
    }
    let open = "SELECT body FROM messages WHERE open = 1";
    for mut message in query_all::<Message>(connection, open, [])? {
        let lost = message.out.as_mut().is_some_and(|out| {
            matches!(out.state, OutboxState::Sending { .. })
                && out
                    .mark_unknown(now, "the process ended during the attempt")
                    .is_ok()
        });
        if lost {
            MessageRow::from_message(&message)?.write_row(connection, now)?;
            recovered.sends += 1;
        }
    }
    let flights = "SELECT body FROM in_flight";
    for mut flight in query_all::<InFlightSend>(connection, flights, [])? {
        flight.until = flight.until.min(now);
        let sql = "UPDATE in_flight SET body = ?3 WHERE message = ?1 AND nonce = ?2";
        let body = crate::sql_records::encode_json(&flight)?;
        execute_sql(
            connection,
            sql,
            params![flight.message.as_str(), flight.nonce.as_str(), body],
        )?;
    }
    Ok(recovered)
}

impl Embedded {
    /// Takes over from a process that did not end by [`Self::shut_down`]. Hands its queue messages out again, ends its
    /// leases, and marks sends that it had begun as of unknown outcome. To be called once, before any worker starts.
    pub async fn recover_after_crash(&self) -> PortResult<RecoveryCounts> {
        let now = self.current_time();
        self.run_write("recovery", move |c| recover_rows(c, now)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Clock;
    use recado_domain::ids::InstanceId;
    use recado_ports::ports::OutboxStore;
    use std::time::Duration;

    #[test]
    fn what_was_handed_out_comes_again_at_once() {
        futures::executor::block_on(async {
            let store = Embedded::in_memory(Clock::from_system()).unwrap();
            let job = serde_json::from_value(serde_json::json!({
                "conversation": "c_0123456789abcdef0123456789abcdef-1", "tenant": "t", "ordinal": 1, "correlation": "k",
            }));
            recado_ports::ports::Queues::enqueue_turn_job(&store, &job.unwrap(), Duration::ZERO)
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
            let put = move |c: &Connection| execute_sql(c, sql, params![instance.as_str(), body]);
            store.run_write("test", put).await.unwrap();
            store.recover_after_crash().await.unwrap();
            let notes = store.list_in_flight(&id).await.unwrap();
            assert_eq!(notes.len(), 1, "its echo may still come");
            assert!(notes[0].until <= store.current_time());
        });
    }
}
