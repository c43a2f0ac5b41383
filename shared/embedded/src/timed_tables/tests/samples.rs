//! One record of each table in which something waits, with all of its times.

use super::NOW;
use crate::Embedded;
use crate::db_error::DbResult;
use crate::sql_records::{encode_json, execute_sql};
use crate::store::{ConversationRow, MessageRow};
use futures::executor::block_on;
use jiff::Timestamp;
use recado_domain::alert::{Alert, Notification};
use recado_domain::effects::{Booking, EffectId, Journal, ToolName};
use recado_domain::event::EventRecord;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::instance::{InFlightSend, InstanceState, ParkedConversation};
use recado_domain::invitations::{Batch, Invitation};
use recado_domain::message::{Message, MessageFile};
use recado_domain::millis::from_unix_millis;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::turn_places::TurnPlaces;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};
use recado_ports::table::Record;
use recado_testkit::builders::{Fixture, claimed, nonce};
use rusqlite::{Connection, params};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// `record` with these fields.
fn with<T: Serialize + DeserializeOwned>(record: &T, fields: &Value) -> T {
    let mut value = serde_json::to_value(record).unwrap();
    value
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    read(value)
}

fn now() -> Timestamp {
    from_unix_millis(NOW)
}

/// Stores the records: what waits does so for `waits`, and what is held is held until `held`.
pub(super) fn insert_samples(c: &Connection, waits: i64, held: i64) -> DbResult<()> {
    insert_conversations(c, waits, held)?;
    insert_messages(c, waits, held)?;
    insert_instances(c, waits, held)?;
    insert_queues(c, waits)?;
    insert_turns(c, waits, held)?;
    insert_invitations(c, waits, held)?;
    insert_posts(c, waits)
}

fn insert_conversations(c: &Connection, waits: i64, held: i64) -> DbResult<()> {
    let fixture = Fixture::new();
    let conversation = fixture.conversation(1);
    let by = format!("{}.1", conversation.id);
    let conversation = with(
        &conversation,
        &json!({"waiting_since": waits, "agent_returns_at": waits, "last_message_at": waits, "limits": {"paused_until": waits},
            "opening": {"scheduled_for": waits, "closed_told_at": waits}, "nudges": {"nudged_at": waits},
            "lease": {"nonce": "n", "since": waits, "until": held, "left_since": waits},
            "contact": {"pair_arrival": waits, "picture": {"asked_at": waits}},
            "features": {"reengaged": {"at": waits, "by": by}, "thread_hold": {"by": "page_inbox", "at": waits}}}),
    );
    ConversationRow::from_conversation(&conversation)?.write_row(c, now())
}

/// A message that is being sent, one of unknown outcome, and two whose files are under way.
fn insert_messages(c: &Connection, waits: i64, held: i64) -> DbResult<()> {
    let fixture = Fixture::new();
    let mut conversation = fixture.conversation(1);
    let job = fixture.job();
    let inbound = fixture.inbound(&mut conversation, &job);
    let (sending, _) = claimed(&fixture.reply(&mut conversation));
    let mut value = serde_json::to_value(&sending).unwrap();
    for (field, time) in [
        ("slot", waits),
        ("not_before", waits),
        ("look_at", waits),
        ("claimed_at", waits),
        ("lease_until", held),
    ] {
        value["out"][field] = json!(time);
    }
    value["stored_at"] = json!(waits);
    let sending: Message = read(value);
    let files = [
        json!({"state": "waiting", "next_at": held, "attempts": 1, "is_under_way": true}),
        json!({"state": "stored", "mime_type": "audio/ogg", "bytes": 1, "sha256": "00", "is_under_way": true,
            "text": {"state": "waiting", "next_at": held, "attempts": 1}}),
    ];
    let mut all = vec![sending];
    for (number, file) in files.into_iter().enumerate() {
        let file: MessageFile = read(file);
        let mut other = Fixture::new().conversation(1);
        let place = other.receive_message(true, now()).unwrap();
        all.push(Message {
            conversation: other.id.clone(),
            ordinal: place,
            file: Some(file),
            provider_message_id: Some(format!("file-{number}")),
            ..inbound.clone()
        });
    }
    all.iter()
        .try_for_each(|message| MessageRow::from_message(message)?.write_row(c, now()))
}

fn insert_instances(c: &Connection, waits: i64, held: i64) -> DbResult<()> {
    let fixture = Fixture::new();
    let id = fixture.instance().as_str();
    let state: InstanceState = read(
        json!({"connection": "closed", "since": waits, "lost_at": waits, "probe_at": waits,
        "arrival": waits, "places": waits, "batch_line": waits, "confirmed_at": waits, "asked_at": waits,
        "released_at": waits, "catch_up_from": waits, "caught_up_at": waits, "first_contacts_from": waits,
        "other_agent_at": waits,
        "downloads": {"failed": [waits], "until": waits}}),
    );
    let sql = "INSERT INTO instance_states (id, due, body) VALUES (?1, ?2, ?3)";
    execute_sql(c, sql, params![id, waits, encode_json(&state)?])?;
    let conversation = fixture.conversation(1).id;
    let parked: ParkedConversation = read(
        json!({"instance": id, "conversation": conversation, "version": "v",
        "since": waits, "not_before": waits}),
    );
    let sql = "INSERT INTO parked (instance, conversation, version, since, due, body) VALUES (?1, ?2, 'v', ?3, ?3, ?4)";
    execute_sql(
        c,
        sql,
        params![id, conversation.to_string(), waits, encode_json(&parked)?],
    )?;
    let message = format!("{conversation}.1");
    let flight: InFlightSend = read(
        json!({"message": message, "to": "1@lid", "nonce": "n", "text_hash": "h",
        "claimed_at": waits, "until": held}),
    );
    let sql = "INSERT INTO in_flight (instance, message, nonce, body) VALUES (?1, ?2, 'n', ?3)";
    execute_sql(c, sql, params![id, message, encode_json(&flight)?]).map(drop)
}

fn insert_queues(c: &Connection, waits: i64) -> DbResult<()> {
    let mut event = EventRecord::new_pending(Fixture::new().job());
    event.job.received_at = from_unix_millis(waits);
    event.again_at = Some(from_unix_millis(waits));
    let sql = "INSERT INTO events (id, due, body, correlation) VALUES ('e', ?1, ?2, 'k')";
    execute_sql(c, sql, params![waits, encode_json(&event)?])?;
    for sql in [
        "INSERT INTO queue_messages (queue, visible_at, sent_at, body) VALUES ('turns', ?1, ?1, '{}')",
        "INSERT INTO queue_groups (group_key, queue, head, owner, free_at) VALUES (7, 'inbound', 1, '', ?1)",
        "INSERT INTO queue_dedup (queue, grp, dedup, until) VALUES ('inbound', 'g', 'd', ?1)",
    ] {
        execute_sql(c, sql, [waits])?;
    }
    Ok(())
}

fn insert_turns(c: &Connection, waits: i64, held: i64) -> DbResult<()> {
    let fixture = Fixture::new();
    let conversation = fixture.conversation(1);
    let places: TurnPlaces = read(json!({"tenant": "t",
        "taken": [{"conversation": conversation.id, "nonce": "n", "until": held}],
        "waiting": [{"conversation": conversation.id, "kept_until": waits}]}));
    insert_record(c, &places)?;
    let (tenant, instance) = (conversation.tenant.clone(), conversation.instance.clone());
    let mut journal = Journal::start_new(conversation.id.thread_id().clone(), tenant, instance, now());
    let tool = ToolName {
        agent: fixture.bound.agent.id.clone(),
        name: "book".to_owned(),
    };
    let (event, booked) = (EffectId::from_random_bits(1, 2), EffectId::from_random_bits(1, 3));
    journal.entries.push(read(json!({"number": 1, "id": event, "tool": tool, "action": "other", "arguments": {},
        "conversation": conversation.id, "epoch": 0, "base": 0, "state": "doing", "nonce": nonce(), "until": held,
        "limit": 15_000, "next_at": waits, "begun_at": waits})));
    let booking: Booking = read(json!({"event": booked, "tool": tool, "look_at": waits,
        "span": {"calendar": "c", "start": NOW, "end": NOW + 900_000}}));
    journal.bookings.push(booking);
    journal.raise_revision();
    insert_record(c, &journal)
}

fn insert_invitations(c: &Connection, waits: i64, held: i64) -> DbResult<()> {
    let keep_until = NOW + 30 * 86_400_000;
    let email = |number: u32, state: Value| -> Invitation {
        let mut outbox = json!({"sender": "s", "attempts": 1, "wake_at": waits, "waits_since": waits,
            "unknown": {"at": waits, "sender": "h"}, "correlation": "k", "history": []});
        outbox
            .as_object_mut()
            .unwrap()
            .extend(state.as_object().unwrap().clone());
        read(
            json!({"tenant": "t", "id": format!("inv_{number:032}"), "occasion": "o", "guest": "g", "channel": "email",
            "template": "invite", "request_hash": "h", "by": "installation", "state": "email", "outbox": outbox,
            "created_at": NOW, "keep_until": keep_until, "rev": 1}),
        )
    };
    let sending = email(
        0,
        json!({"email_state": "sending", "nonce": "n", "lease_until": held}),
    );
    let queued = email(1, json!({"email_state": "queued", "not_before": waits}));
    for invitation in [sending, queued] {
        insert_record(c, &invitation)?;
    }
    let batch: Batch = read(
        json!({"tenant": "t", "id": format!("bat_{}", "0".repeat(32)), "occasion": "o",
        "channel": "whatsapp", "template": "invite", "by": "installation", "correlation": "k", "request_hash": "h",
        "state": "running", "recipients": 9, "expanded": 3, "due_at": waits, "created_at": NOW,
        "keep_until": keep_until}),
    );
    insert_record(c, &batch)
}

fn insert_posts(c: &Connection, waits: i64) -> DbResult<()> {
    let (tenant, endpoint) = (
        TenantId::parse("t").unwrap(),
        WebhookEndpointId::parse("crm").unwrap(),
    );
    let state = EndpointState::start_at(&tenant, &endpoint, EventCursor(1), nonce());
    let state = with(
        &state,
        &json!({"next_at": waits, "failing_since": waits,
            "refused": [{"cursor": 2, "attempts": 1, "since": waits, "next_at": waits}]}),
    );
    insert_record(c, &state)?;
    let failed = FailedEvent {
        event: PublishedEvent::for_test(&tenant, "n", now()),
        generation: state.generation(),
        tenant,
        endpoint,
        cursor: EventCursor(3),
        since: now(),
        failed_at: now(),
        attempts: 1,
        next_at: Some(from_unix_millis(waits)),
        error: "it answered 500".to_owned(),
    };
    insert_record(c, &failed)?;
    let mut notification = Notification::for_test("mail", None, 1, now());
    notification.due_at = from_unix_millis(waits);
    insert_record(c, &notification)?;
    let mut alert = Alert::for_test(from_unix_millis(waits));
    alert.fired_at = None;
    insert_record(c, &alert)?;
    let value = waits.to_string();
    execute_sql(
        c,
        "INSERT INTO installation (name, value) VALUES ('restored-at', ?1)",
        [value],
    )
    .map(drop)
}

/// Stores a record of the table `records`.
fn insert_record<T: Record>(c: &Connection, record: &T) -> DbResult<()> {
    let (key, due) = (
        record.key(),
        record.compute_due_time().map(Timestamp::as_millisecond),
    );
    let sql = "INSERT INTO records (partition, sort, version, due, body) VALUES (?1, ?2, 1, ?3, ?4)";
    let values = params![key.partition.to_string(), key.sort, due, encode_json(record)?];
    execute_sql(c, sql, values).map(drop)
}

/// Reads all records of a table.
pub(super) fn read_bodies(store: &Embedded, table: &str) -> Vec<Value> {
    let sql = format!("SELECT body FROM {table}");
    let read = move |c: &Connection| {
        let mut statement = c.prepare(&sql)?;
        let bodies = statement.query_map([], |row| row.get::<_, String>(0))?;
        Ok(bodies.collect::<Result<Vec<_>, _>>()?)
    };
    let bodies = block_on(store.run_read("bodies", read)).unwrap();
    bodies
        .iter()
        .map(|body| serde_json::from_str(body).unwrap())
        .collect()
}
