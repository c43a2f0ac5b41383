//! Doubts the records of a backup: what they say is to be done may have been done since.

use super::conversation_row::ConversationRow;
use super::instances::{parse_state_row, upsert_state};
use super::messages::MessageRow;
use super::published_events::skip_lost_numbers;
use super::table::{PARTITION_NAME, apply_writes, make_writes};
use super::table_kinds::delete_unmoved_records;
use crate::db_error::{DbError, DbResult};
use crate::sql_records::{encode_json, query_all, query_all_rows};
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{Nonce, hash_parts};
use recado_domain::invitations::{Batch, BatchOrder, BatchState, Invitation, InvitationState};
use recado_domain::message::Message;
use recado_domain::reason::Reason;
use recado_domain::scheduled::ScheduledMessage;
use recado_ports::records::KINDS;
use recado_ports::table::{Kind, Record, Write};
use rusqlite::{Connection, params};

/// The numbers of records that the first start on a backup doubts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RestoredCounts {
    /// The time of the backup.
    pub taken_at: Timestamp,
    /// Messages that were to be sent: the provider is asked first.
    pub messages: usize,
    /// Conversations whose owed answer waits for a person.
    pub answers: usize,
    /// Scheduled messages that fell due since: the provider is asked first.
    pub scheduled: usize,
    /// Batches that are paused.
    pub batches: usize,
    /// E-mails that were given up: their carriers cannot be asked.
    pub emails: usize,
}

/// Doubts every record that says that something is to be done. `taken_at`: the time of the backup.
pub(crate) fn doubt_restored_rows(
    db: &Connection,
    taken_at: Timestamp,
    now: Timestamp,
) -> DbResult<RestoredCounts> {
    skip_lost_numbers(db, now)?;
    expect_missed_messages(db, taken_at)?;
    delete_unmoved_records(db)?;
    Ok(RestoredCounts {
        taken_at,
        messages: doubt_messages(db, taken_at, now)?,
        answers: doubt_answers(db, now)?,
        scheduled: doubt_scheduled(db, taken_at, now)?,
        batches: doubt_batches(db, taken_at, now)?,
        emails: doubt_invitations(db, taken_at, now)?,
    })
}

/// Has every instance look for what it missed since the backup.
fn expect_missed_messages(db: &Connection, taken_at: Timestamp) -> DbResult<()> {
    for (id, mut state) in query_all_rows(db, "SELECT id, body FROM instance_states", [], parse_state_row)? {
        state.expect_missed_messages(taken_at);
        upsert_state(db, &id, &state)?;
    }
    Ok(())
}

/// Makes every message that was to be sent one of unknown outcome.
fn doubt_messages(db: &Connection, taken_at: Timestamp, now: Timestamp) -> DbResult<usize> {
    let mut doubted = 0;
    for mut message in query_all::<Message>(db, "SELECT body FROM messages WHERE open = 1", [])? {
        let nonce = make_nonce(message.message_id().as_str(), taken_at)?;
        let out = message.out.as_mut();
        if out.is_some_and(|out| out.doubt_restored(nonce, taken_at, now).is_ok()) {
            MessageRow::from_message(&message)?.write_row(db, now)?;
            doubted += 1;
        }
    }
    Ok(doubted)
}

/// Makes the nonce of the attempt that may have been made since the backup.
fn make_nonce(message: &str, taken_at: Timestamp) -> DbResult<Nonce> {
    let at = taken_at.as_millisecond().to_string();
    let text = hash_parts(&["restored", message, &at], 16);
    Nonce::parse(&text).map_err(|_| DbError::Argument("a hash is no nonce"))
}

/// Leaves what agents owe to people.
fn doubt_answers(db: &Connection, now: Timestamp) -> DbResult<usize> {
    let owed = "SELECT body FROM conversations WHERE status = 'active'
        AND (CASE WHEN json_valid(body) THEN json_extract(body, '$.turn_upto') END > CASE WHEN json_valid(body) THEN json_extract(body, '$.answered') END
            OR CASE WHEN json_valid(body) THEN json_extract(body, '$.agent_returns_at') END IS NOT NULL)";
    let mut doubted = 0;
    for mut conversation in query_all::<Conversation>(db, owed, [])? {
        if conversation.doubt_restored() {
            conversation.raise_revision();
            ConversationRow::from_conversation(&conversation)?.write_row(db, now)?;
            doubted += 1;
        }
    }
    Ok(doubted)
}

/// Has scheduled messages that fell due since the backup looked for before they are sent.
fn doubt_scheduled(db: &Connection, taken_at: Timestamp, now: Timestamp) -> DbResult<usize> {
    let due = format!("SELECT body FROM records WHERE {PARTITION_NAME} = ?1 AND due <= ?2");
    let values = params![ScheduledMessage::KIND, now.as_millisecond()];
    let mut found: Vec<ScheduledMessage> = query_all(db, &due, values)?;
    for scheduled in &mut found {
        scheduled.doubt_restored(taken_at);
        apply_writes(db, &put_doubted(scheduled)?)?;
    }
    Ok(found.len())
}

/// Returns the writes that store a record that was doubted.
fn put_doubted<T: Record>(record: &T) -> DbResult<Vec<Write>> {
    let writes = Kind::of::<T>().put_writes(&encode_json(record)?);
    writes.map_err(|_| DbError::Argument("a doubted record that cannot be written"))
}

/// Marks the batches that may have sent something since the backup, and pauses those that run, or should have begun: nobody knows how
/// far they came. Returns how many are paused.
fn doubt_batches(db: &Connection, taken_at: Timestamp, now: Timestamp) -> DbResult<usize> {
    let mut paused = 0;
    let all = format!("SELECT body FROM records WHERE {PARTITION_NAME} = ?1");
    for mut batch in query_all::<Batch>(db, &all, [Batch::KIND])? {
        if !batch.doubt_restored(taken_at, now) {
            continue;
        }
        let is_due = batch.state == BatchState::Scheduled && batch.due_at.is_some_and(|due| due <= now);
        if (is_due || batch.is_expanding()) && batch.follow(BatchOrder::Pause, now).is_ok() {
            paused += 1;
        }
        apply_writes(db, &put_doubted(&batch)?)?;
    }
    Ok(paused)
}

/// Gives up the e-mails that wait, and marks the invitations that are to become messages. The carriers cannot be asked what they took.
/// Returns how many e-mails were given up.
fn doubt_invitations(db: &Connection, taken_at: Timestamp, now: Timestamp) -> DbResult<usize> {
    let open = format!(
        "SELECT body FROM records WHERE {PARTITION_NAME} = ?1
            AND (due IS NOT NULL OR CASE WHEN json_valid(body) THEN json_extract(body, '$.state') END = 'taken')"
    );
    let mut given_up = 0;
    for mut invitation in query_all::<Invitation>(db, &open, [Invitation::KIND])? {
        let is_doubted = if let InvitationState::Email { outbox } = &mut invitation.state {
            let why = "restored from a backup".to_owned();
            let is_given_up = outbox.give_up(Reason::UnknownOutcome, why, now).is_ok();
            given_up += usize::from(is_given_up);
            if is_given_up {
                invitation.raise_revision();
            }
            is_given_up
        } else {
            invitation.doubt_restored(taken_at)
        };
        if is_doubted {
            make_writes(db, &put_doubted(&invitation)?, &KINDS, now)?;
        }
    }
    Ok(given_up)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Embedded};
    use futures::executor::block_on;
    use recado_domain::access::ConsoleSession;
    use recado_domain::instance::InstanceState;
    use recado_ports::ports::{Conversations, Instances};
    use recado_ports::records::batches::{begin_batch, find_batch};
    use recado_ports::records::invitations::{begin_invitation, find_invitation};
    use recado_ports::records::scheduled_messages::{find_scheduled, put_scheduled};
    use recado_ports::records::sessions::find_session;
    use recado_ports::table::{Versioned, put_record};
    use recado_testkit::builders::{Fixture, at, identity_key};
    use serde_json::{Value, json};

    /// Reads a record of JSON, to which `state` is added.
    fn record<T: serde::de::DeserializeOwned>(mut fields: Value, state: &Value) -> T {
        let object = fields.as_object_mut().unwrap();
        object.extend(state.as_object().unwrap().clone());
        serde_json::from_value(fields).unwrap()
    }

    fn scheduled(id: &str, send_at: i64) -> ScheduledMessage {
        record(
            json!({"id": format!("s_{}", id.repeat(32)), "tenant": "t", "instance": "i", "to": "5511999998888",
                "content": {"type": "text", "text": "Oi"}, "send_at": at(send_at).as_millisecond(), "created_at": 0, "correlation": "k"}),
            &json!({"state": "pending"}),
        )
    }

    fn batch() -> Batch {
        record(
            json!({"tenant": "t", "id": format!("bat_{}", "0".repeat(32)), "occasion": "o", "channel": "whatsapp",
                "template": "invite", "by": "installation", "correlation": "k", "request_hash": "h"}),
            &json!({"state": "running", "recipients": 9, "expanded": 3, "due_at": 60, "created_at": 0,
                "keep_until": 9_000_000_000_000_i64}),
        )
    }

    fn invitation() -> Invitation {
        let outbox = json!({"sender": "s", "email_state": "queued", "not_before": 5, "attempts": 0, "wake_at": 5,
            "correlation": "k", "history": []});
        record(
            json!({"tenant": "t", "id": format!("inv_{}", "0".repeat(32)), "occasion": "o", "guest": "g",
                "channel": "email", "template": "invite", "by": "installation", "request_hash": "h"}),
            &json!({"state": "email", "outbox": outbox, "created_at": 0, "keep_until": 9_000_000_000_000_i64, "rev": 1}),
        )
    }

    #[test]
    fn nobody_is_signed_in_and_what_agents_owed_waits_for_people() {
        let (store, fixture) = (
            Embedded::in_memory(Clock::new(|| at(100))).unwrap(),
            Fixture::new(),
        );
        let (session, token) = (
            identity_key().hash_token("session"),
            identity_key().hash_token("token"),
        );
        let session = ConsoleSession::begin(session, token, None, at(0));
        block_on(put_record(&store, &session)).unwrap();
        let is_signed_in = || block_on(find_session(&store, &session.hash)).unwrap().is_some();
        assert!(is_signed_in());
        let mut owed = fixture.conversation(1);
        owed.receive_message(true, at(10)).unwrap();
        let id = owed.id.clone();
        let write = move |db: &Connection| ConversationRow::from_conversation(&owed)?.write_row(db, at(10));
        block_on(store.run_write("test", write)).unwrap();
        let doubt = |db: &Connection| doubt_restored_rows(db, at(50), at(100));
        assert_eq!(block_on(store.run_write("test", doubt)).unwrap().answers, 1);
        assert!(!is_signed_in());
        let waits = block_on(store.find_conversation(&id)).unwrap().unwrap();
        assert_eq!(waits.needs_person, Some(Reason::UnknownOutcome));
    }

    #[test]
    fn a_batch_for_later_is_paused_only_if_its_time_came_since_the_backup() {
        let store = Embedded::in_memory(Clock::new(|| at(100))).unwrap();
        let waits = |id: &str, due: i64| {
            let due = at(due);
            Batch {
                id: recado_domain::ids::BatchId::parse(id).unwrap(),
                state: BatchState::Scheduled,
                expanded: 0,
                send_at: Some(due),
                due_at: Some(due),
                ..batch()
            }
        };
        let (due, ahead) = (waits("batch_1", 90), waits("batch_2", 110));
        for one in [&due, &ahead] {
            let _ = block_on(begin_batch(&store, &mut Versioned::new(one.clone()), None, at(0))).unwrap();
        }
        let doubt = |db: &Connection| doubt_restored_rows(db, at(50), at(100));
        assert_eq!(block_on(store.run_write("test", doubt)).unwrap().batches, 1);
        let state = |one: &Batch| {
            let found = block_on(find_batch(&store, &one.tenant, &one.id)).unwrap();
            found.unwrap().record.state
        };
        assert_eq!(
            (state(&due), state(&ahead)),
            (BatchState::Paused, BatchState::Scheduled)
        );
    }

    #[test]
    fn what_fell_due_since_the_backup_what_ran_and_what_waited_for_a_carrier_is_doubted() {
        let store = Embedded::in_memory(Clock::new(|| at(100))).unwrap();
        let (due, ahead) = (scheduled("a", 90), scheduled("b", 110));
        block_on(put_scheduled(&store, &due, &[])).unwrap();
        block_on(put_scheduled(&store, &ahead, &[])).unwrap();
        let _ = block_on(begin_batch(&store, &mut Versioned::new(batch()), None, at(0))).unwrap();
        let _ = block_on(begin_invitation(
            &store,
            &mut Versioned::new(invitation()),
            &[],
            at(0),
        ))
        .unwrap();
        let fixture = Fixture::new();
        let state = InstanceState::default();
        let insert = {
            let id = fixture.instance().clone();
            move |db: &Connection| upsert_state(db, &id, &state)
        };
        block_on(store.run_write("test", insert)).unwrap();
        let doubt = |db: &Connection| doubt_restored_rows(db, at(50), at(100));
        let counts = block_on(store.run_write("test", doubt)).unwrap();
        assert_eq!((counts.scheduled, counts.batches, counts.emails), (1, 1, 1));
        let found = |id| {
            let found = block_on(find_scheduled(&store, &due.tenant, id)).unwrap();
            found.unwrap().record
        };
        assert_eq!(found(&due.id).restored_from, Some(at(50)));
        assert_eq!(
            found(&ahead.id).restored_from,
            None,
            "the original had no time to send it"
        );
        let paused = block_on(find_batch(&store, &batch().tenant, &batch().id)).unwrap();
        let paused = paused.unwrap().record;
        assert_eq!(
            (paused.state, paused.restored_from),
            (BatchState::Paused, Some(at(50)))
        );
        let dead = block_on(find_invitation(&store, &invitation().tenant, &invitation().id)).unwrap();
        assert_eq!(dead.unwrap().record.email_failed_at(), Some(at(100)));
        let state = block_on(store.read_instance_state(fixture.instance())).unwrap();
        assert_eq!(state.catch_up_from, Some(at(50)));
    }
}
