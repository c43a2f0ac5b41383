//! Nothing that waits for a time, or is held until one, may be missing in the list: not a column, and not a field of a record.

mod samples;

use super::*;
use crate::Clock;
use futures::executor::block_on;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::millis::from_unix_millis;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, LeftEvent};
use recado_ports::ports::WriteOutcome;
use recado_ports::records::endpoints::{list_due_failed_events, save_endpoint_state};
use recado_ports::table::Versioned;
use recado_testkit::builders::nonce;
use samples::{insert_samples, read_bodies};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The present time of these tests.
const NOW: i64 = 1_760_000_000_000;

/// A time that a clock gave which ran two days ahead.
const AHEAD: i64 = NOW + 2 * 86_400_000 + 17;

/// The end of what a process holds.
const HELD_UNTIL: i64 = NOW + 60_023;

/// Columns with times for which something waits, or until which something is held.
const WAITING_COLUMNS: [&str; 13] = [
    "queue_messages.visible_at",
    "queue_messages.sent_at",
    "queue_groups.free_at",
    "queue_dedup.until",
    "conversations.due",
    "conversations.last_at",
    "messages.due",
    "instance_states.due",
    "parked.since",
    "parked.due",
    "events.due",
    "records.due",
    "conversations.person_since",
];

/// Columns named `due` that other queries look for.
const LOOKED_FOR_ELSEWHERE: [&str; 1] = ["records.due"];

/// The other whole numbers: times of what happened or from which a row is deleted, and counts. Whether an acknowledgement is missing
/// (`ack_due`) is only told, and not for long.
const OTHER_COLUMNS: &str = "
    queue_messages.seq queue_messages.receives queue_messages.dead_at queue_messages.group_key queue_messages.event
    queue_groups.group_key queue_groups.head conversations.seq conversations.number conversations.epoch conversations.rev
    conversations.kept_since messages.seq messages.ordinal messages.rev messages.open deliveries.expires
    deliveries.ack_since deliveries.ack_due events.seq events.expires published_events.seq published_events.at
    records.version records.expires
    usage.replies usage.input_tokens usage.output_tokens usage.cache_read_tokens usage.cache_write_tokens usage.expires
    usage.discarded_drafts usage.recordings usage.audio_millis usage.charged_messages";

/// Fields until which a process holds something, with the table of their record.
pub(crate) const HELD_FIELDS: [(&str, &str); 8] = [
    ("TurnLease.until", "conversations"),
    ("OutboxState.lease_until", "messages"),
    ("FileState.next_at", "messages"),
    ("FileText.next_at", "messages"),
    ("InFlightSend.until", "in_flight"),
    ("TakenPlace.until", "records"),
    ("EffectEntry.until", "records"),
    ("EmailState.lease_until", "records"),
];

/// Fields for which something waits, with the table of their record.
const WAITING_FIELDS: [(&str, &str); 54] = [
    ("Conversation.waiting_since", "conversations"),
    ("OpeningWait.scheduled_for", "conversations"),
    ("OpeningWait.closed_told_at", "conversations"),
    ("Conversation.agent_returns_at", "conversations"),
    ("Conversation.last_message_at", "conversations"),
    ("OwedNudges.nudged_at", "conversations"),
    ("ContactFacts.pair_arrival", "conversations"),
    ("UsedLimits.paused_until", "conversations"),
    ("TurnLease.since", "conversations"),
    ("ReengagementRecord.at", "conversations"),
    ("ContactPicture.asked_at", "conversations"),
    ("Outbox.slot", "messages"),
    ("Outbox.not_before", "messages"),
    ("Outbox.look_at", "messages"),
    ("OutboxState.claimed_at", "messages"),
    ("Message.stored_at", "messages"),
    ("InstanceState.since", "instance_states"),
    ("InstanceState.lost_at", "instance_states"),
    ("InstanceState.probe_at", "instance_states"),
    ("InstanceState.arrival", "instance_states"),
    ("InstanceState.places", "instance_states"),
    ("InstanceState.batch_line", "instance_states"),
    ("InstanceState.confirmed_at", "instance_states"),
    ("InstanceState.asked_at", "instance_states"),
    ("InstanceState.released_at", "instance_states"),
    ("InstanceState.catch_up_from", "instance_states"),
    ("InstanceState.caught_up_at", "instance_states"),
    ("InstanceState.first_contacts_from", "instance_states"),
    ("InstanceState.other_agent_at", "instance_states"),
    ("ThreadHold.at", "conversations"),
    ("DownloadBlock.until", "instance_states"),
    ("DownloadBlock.failed", "instance_states"),
    ("ParkedConversation.since", "parked"),
    ("ParkedConversation.not_before", "parked"),
    ("InFlightSend.claimed_at", "in_flight"),
    ("InboundJob.received_at", "events"),
    ("EventRecord.again_at", "events"),
    ("WaitingTurn.kept_until", "records"),
    ("EffectEntry.next_at", "records"),
    ("EffectEntry.begun_at", "records"),
    ("Booking.look_at", "records"),
    ("EmailState.not_before", "records"),
    ("EmailOutbox.wake_at", "records"),
    ("EmailOutbox.waits_since", "records"),
    ("UnknownAttempt.at", "records"),
    ("Batch.due_at", "records"),
    ("EndpointState.next_at", "records"),
    ("EndpointState.failing_since", "records"),
    ("RefusedEvent.since", "records"),
    ("RefusedEvent.next_at", "records"),
    ("FailedEvent.next_at", "records"),
    ("Alert.since", "records"),
    ("Notification.due_at", "records"),
    ("TurnLease.left_since", "conversations"),
];

/// The other fields with times: of what happened, that people chose, or from which something is deleted.
const OTHER_FIELDS: &str = "
    Alert.ended_at Alert.fired_at AlertWatch.looked_at AuditEntry.at AwaitedAcknowledgement.accepted_at
    AwaitedAcknowledgement.due BacklogSample.at Batch.created_at Batch.keep_until Batch.restored_from Batch.send_at BatchChunk.counted_at
    BatchChunk.keep_until BatchEnd.at BatchReminder.begins_at Booking.reminded_for Booking.reminders
    BookingClash.cells CellSpan.end CellSpan.start ChangeTime.at ChangeTime.stored_at ChargedConversation.expires
    ConnectionCheck.at ConsoleSession.begun_at ConsoleSession.expires_at
    ContactFacts.last_inbound_at ContactFacts.marketing_stopped_at ContactFacts.session_started_at Conversation.created_at Conversation.erased_at
    KeptHistory.oldest_at OpeningWait.opens_at Dated.expires DeadLetter.at
    Delivery.at DeliveryTimes.at_delivered DeliveryTimes.at_failed DeliveryTimes.at_played DeliveryTimes.at_read
    DeliveryTimes.at_sent EffectEntry.ended_at EffectEntry.takes EmailJob.redrive EmailState.at EmailStep.at
    EndpointState.accepted_at EndpointState.switched_off_at EventRecord.settled_at FailedEvent.failed_at
    FailedEvent.since FailedReply.at Guest.created_at Guest.keep_until GuestReply.at HandOverNote.at Handover.at HeldKey.expires
    InboundJob.redrive Invitation.created_at Invitation.keep_until Invitation.not_before Journal.begun_at
    KnowledgeSource.added_at Message.told_at Message.written_at MessageChanges.deleted_at MessageFile.kept_until
    MinuteSample.at ModelFailures.since MovedCell.expires MovedCell.start MovedClaim.until MovedDelivery.expires MovedEvent.expires
    MovedPageChange.at MovedPageChange.expires Notice.at Notification.created_at NumberStanding.fell_at
    NumberStanding.since NumberStanding.told_at OpeningQueue.last_at OpeningQueue.opens_at OptOut.at Outbox.expires_at
    Outbox.last_inbound_at OutboxHistoryEntry.at OutboxState.at PersonNote.at PlannedMessage.restored_from
    PlannedMessage.send_at PlannedMessage.useful_until ProcessingRecord.started_at
    Redrive.failed_at RedrivenLetter.failed_at RemindedAppointment.start RemovedInstance.expires
    ScheduledInvitation.restored_from ScheduledInvitation.useful_until ScheduledMessage.created_at ScheduledMessage.restored_from
    ScheduledMessage.send_at ScheduledState.at SigningSalts.previous_until SpareSnapshot.since StatusUpdate.at
    Token.created_at Token.expires_at TrafficProfile.last TrafficProfile.silent_since TurnJob.due TurnRecord.asked_at
    TurnRecord.began_at TurnRecord.opening TurnsMessage.not_before TypingSign.at";

fn split_names(text: &'static str) -> BTreeSet<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn find_table(column: &str) -> Option<&'static TimedTable> {
    let (name, _) = column.split_once('.').unwrap();
    TIMED_TABLES.iter().find(|table| table.name == name)
}

/// The columns of whole numbers of a new database.
fn list_columns() -> BTreeSet<String> {
    let store = open();
    let read = |c: &Connection| {
        let sql = "SELECT tables.name || '.' || columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
            WHERE tables.type = 'table' AND columns.type = 'INTEGER'
                AND tables.name NOT LIKE '%\\_words\\_%' ESCAPE '\\' AND tables.name NOT LIKE 'sqlite%'";
        let mut statement = c.prepare(sql)?;
        let names = statement.query_map([], |row| row.get::<_, String>(0))?;
        Ok(names.collect::<Result<_, _>>()?)
    };
    block_on(store.run_read("columns", read)).unwrap()
}

fn open() -> Embedded {
    Embedded::in_memory(Clock::new(|| from_unix_millis(NOW))).unwrap()
}

#[test]
fn every_column_with_a_time_is_known() {
    let mut known = split_names(OTHER_COLUMNS);
    known.extend(WAITING_COLUMNS.map(str::to_owned));
    assert_eq!(
        list_columns(),
        known,
        "say of each new column what is done about its time"
    );
    for column in WAITING_COLUMNS {
        let table = find_table(column).unwrap_or_else(|| panic!("{column}"));
        let is_due = column.rsplit('.').next() == Some("due") && !LOOKED_FOR_ELSEWHERE.contains(&column);
        assert!(!is_due || !table.overdue.is_empty(), "{column} is overdue work");
    }
}

/// The names of all source files below a folder, but for tests.
fn list_sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            list_sources(&path, into);
        } else if path.extension().is_some_and(|end| end == "rs") && name != "tests.rs" && name != "millis.rs"
        {
            into.push(path);
        }
    }
}

/// The fields of records that are stored as times: `Type.field`.
fn list_fields() -> BTreeSet<String> {
    let mut sources = Vec::new();
    list_sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../domain/src"),
        &mut sources,
    );
    let mut fields = BTreeSet::new();
    for source in sources {
        let text = std::fs::read_to_string(source).unwrap();
        let shipped = text.split("#[cfg(test)]").next().unwrap();
        let (mut owner, mut is_time) = (String::new(), false);
        for line in shipped.lines().map(str::trim) {
            let bare = line
                .strip_prefix("pub ")
                .or(line.strip_prefix("pub(crate) "))
                .unwrap_or(line);
            if let Some(named) = bare.strip_prefix("struct ").or(bare.strip_prefix("enum ")) {
                named
                    .split([' ', '(', '<', '{'])
                    .next()
                    .unwrap()
                    .clone_into(&mut owner);
            } else if line.contains("millis\"")
                || line.contains("millis::optional\"")
                || line.contains("millis::list\"")
            {
                is_time = true;
            } else if let Some((field, _)) =
                bare.split_once(':').filter(|_| is_time && !line.starts_with('#'))
            {
                fields.insert(format!("{owner}.{field}"));
                is_time = false;
            }
        }
    }
    fields
}

#[test]
fn every_field_with_a_time_is_known() {
    let mut known = split_names(OTHER_FIELDS);
    known.extend(
        HELD_FIELDS
            .iter()
            .chain(&WAITING_FIELDS)
            .map(|(field, _)| (*field).to_owned()),
    );
    assert_eq!(
        list_fields(),
        known,
        "say of each new field what is done about its time"
    );
}

/// Whether the field has this time in one of the records.
fn has_time(bodies: &[serde_json::Value], field: &str, time: i64) -> bool {
    let key = field.split_once('.').unwrap().1;
    let is_time = |value: &serde_json::Value| match value {
        serde_json::Value::Array(list) => list.iter().any(|one| one.as_i64() == Some(time)),
        one => one.as_i64() == Some(time),
    };
    bodies.iter().any(|body| match body {
        serde_json::Value::Object(fields) => fields.iter().any(|(name, value)| {
            (name == key && is_time(value)) || has_time(std::slice::from_ref(value), field, time)
        }),
        serde_json::Value::Array(list) => has_time(list, field, time),
        _ => false,
    })
}

#[test]
fn every_time_that_waits_is_set_back_with_the_clock() {
    let store = open();
    block_on(store.run_write("samples", |c| insert_samples(c, AHEAD, AHEAD))).unwrap();
    let fields = HELD_FIELDS.iter().chain(&WAITING_FIELDS);
    for (field, table) in fields.clone() {
        assert!(
            has_time(&read_bodies(&store, table), field, AHEAD),
            "no sample has {field}"
        );
    }
    assert!(block_on(store.adjust_to_set_back_clock()).unwrap() > 0);
    for (field, table) in fields {
        assert!(!has_time(&read_bodies(&store, table), field, AHEAD), "{field}");
    }
    for column in WAITING_COLUMNS {
        let (table, name) = column.split_once('.').unwrap();
        let sql = format!(
            "SELECT count(*) FROM {table} WHERE {name} > {}",
            AHEAD - 86_400_000
        );
        let count = move |c: &Connection| Ok(c.query_row(&sql, [], |row| row.get::<_, i64>(0))?);
        assert_eq!(count_rows(&store, count), 0, "{column}");
    }
    assert_eq!(
        block_on(store.adjust_to_set_back_clock()).unwrap(),
        0,
        "nothing is ahead any more"
    );
}

#[test]
fn what_leads_to_a_record_by_its_time_is_set_back_with_it() {
    let store = open();
    let (tenant, endpoint) = (
        TenantId::parse("t").unwrap(),
        WebhookEndpointId::parse("crm").unwrap(),
    );
    let state = EndpointState::start_at(&tenant, &endpoint, EventCursor(1), nonce());
    let left = LeftEvent {
        cursor: EventCursor(2),
        since: from_unix_millis(NOW),
        attempts: 3,
        is_given_up: false,
        error: "it answered 500".to_owned(),
    };
    let event = PublishedEvent::for_test(&tenant, "event", from_unix_millis(NOW));
    let failed = FailedEvent::from_left(&state, left, event, from_unix_millis(AHEAD));
    block_on(async {
        let (mut state, now) = (Versioned::new(state), from_unix_millis(NOW));
        let saved = save_endpoint_state(&store, &mut state, &[failed]).await;
        assert_eq!(saved.unwrap(), WriteOutcome::Written);
        let due = async || list_due_failed_events(&store, &tenant, &endpoint, now, 10).await;
        assert_eq!(due().await.unwrap(), []);
        assert_eq!(store.adjust_to_set_back_clock().await.unwrap(), 1);
        let [found] = <[_; 1]>::try_from(due().await.unwrap()).unwrap();
        assert_eq!(found.record.next_at, Some(now));
    });
    let entries = "SELECT count(*) FROM records WHERE partition = 'failed-posts.due#t'";
    let count = move |c: &Connection| Ok(c.query_row(entries, [], |row| row.get::<_, i64>(0))?);
    assert_eq!(count_rows(&store, count), 1, "the one of before is gone");
}

fn count_rows(store: &Embedded, count: impl FnMut(&Connection) -> DbResult<i64> + Send + 'static) -> i64 {
    block_on(store.run_read("count", count)).unwrap()
}

#[test]
fn everything_that_a_process_held_is_free_after_a_start() {
    let store = open();
    block_on(store.run_write("samples", |c| insert_samples(c, NOW - 5, HELD_UNTIL))).unwrap();
    for (field, table) in HELD_FIELDS {
        assert!(
            has_time(&read_bodies(&store, table), field, HELD_UNTIL),
            "no sample has {field}"
        );
        let table = TIMED_TABLES.iter().find(|known| known.name == table).unwrap();
        assert!(table.free.is_some(), "{field}");
    }
    let counts = block_on(store.recover_after_crash()).unwrap();
    for (field, table) in HELD_FIELDS {
        assert!(
            !has_time(&read_bodies(&store, table), field, HELD_UNTIL),
            "{field}"
        );
    }
    let freed = (counts.turns, counts.sends, counts.files, counts.records);
    assert_eq!(freed, (1, 1, 2, 3));
}
