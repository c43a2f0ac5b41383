//! Looks at booked events that people may have moved or deleted in the calendar, and sends the reminders that are due.

use crate::Deps;
use crate::deps::capabilities;
use crate::ports::{
    CommitOutcome, ConfigurationStore, EventLook, PortResult, ScheduledMessages, System, ToolFailure, Tools,
};
use crate::steps::due_message::release_due_message;
use crate::steps::effects::{change_journal, find_tool_of_effect};
use crate::steps::linked_threads::find_latest_conversation;
use crate::steps::random_id::generate_correlation_id;
use crate::steps::time_limit::run_within;
use jiff::{SignedDuration, Timestamp};
use recado_domain::calendar::{TimeSpan, name_reminder};
use recado_domain::effects::{Booking, EntryError, Journal, JournalChange};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_domain::options::SendOptions;
use recado_domain::scheduled::{ScheduledMessage, ScheduledState};
use recado_domain::service_window::is_window_open;
use recado_domain::tools::CalendarFunction;
use serde_json::json;
use std::time::Duration;

/// Longest time for one event.
const ONE_EVENT: Duration = Duration::from_secs(20);

/// Pause before a calendar that did not answer is asked again while a reminder waits.
const ASK_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// Looks at the events of a thread's bookings that are due. Returns whether there were any.
pub(super) async fn look_at_due_bookings(deps: &impl Deps, journal: &Journal) -> PortResult<bool> {
    let due: Vec<Booking> = journal
        .bookings_to_look_at(deps.system().now())
        .into_iter()
        .cloned()
        .collect();
    for booking in &due {
        let looks = Box::pin(look_at_due_booking(deps, journal, booking));
        run_within(deps.system(), ONE_EVENT, looks).await.transpose()?;
    }
    Ok(!due.is_empty())
}

async fn look_at_due_booking(deps: &impl Deps, journal: &Journal, booking: &Booking) -> PortResult<()> {
    let event = &booking.event;
    if booking.is_over_at(deps.system().now()) {
        return change(deps, journal, |journal, _| journal.drop_booking(event)).await;
    }
    let tool = find_tool_of_effect(deps, &journal.tenant, &booking.tool).await?;
    let Some(function) = tool.and_then(|tool| tool.function) else {
        return change_plainly(deps, journal, |journal, now| {
            journal.note_booking_look(event, now);
        })
        .await;
    };
    let looks = deps.llm().look_at_event(&function.calendar, event);
    let looked = run_within(deps.system(), ONE_EVENT / 2, looks).await;
    match looked.unwrap_or(Err(ToolFailure::TimedOut)) {
        Ok(EventLook::Gone) => change(deps, journal, |journal, _| journal.drop_booking(event)).await,
        Ok(EventLook::Present { time, .. }) => {
            let moved = time.filter(|time| function.find_appointment_time(booking) != Some(*time));
            if let Some(time) = moved {
                let span = function.span_of_event(time);
                let follows = |journal: &mut Journal, now| journal.follow_booking(event, span.clone(), now);
                change(deps, journal, follows).await?;
            }
            remind_of_booking(deps, journal, booking, (&*function, time)).await
        }
        Err(_) => {
            let waits = booking.reminders.iter().any(|at| *at <= deps.system().now());
            let later = |journal: &mut Journal, now: Timestamp| {
                if waits {
                    journal.put_booking_look_off(event, add_duration(now, ASK_AGAIN));
                } else {
                    journal.note_booking_look(event, now);
                }
            };
            change_plainly(deps, journal, later).await
        }
    }
}

/// Plans the reminders of a booking, if its time is another than they were planned for; else sends what is due.
async fn remind_of_booking(
    deps: &impl Deps,
    journal: &Journal,
    booking: &Booking,
    (function, time): (&CalendarFunction, Option<TimeSpan>),
) -> PortResult<()> {
    let event = &booking.event;
    let time = time.or_else(|| function.find_appointment_time(booking));
    let Some(start) = time.map(|time| time.from) else {
        return change_plainly(deps, journal, |journal, now| {
            journal.note_booking_look(event, now);
        })
        .await;
    };
    if booking.reminded_for != Some(start) {
        let times = function.list_reminder_times(start);
        let plans = |journal: &mut Journal, now| journal.plan_reminders(event, start, &times, now);
        return change_plainly(deps, journal, plans).await;
    }
    let now = deps.system().now();
    let due = booking.reminders.iter().copied().filter(|at| *at <= now).max();
    if let Some(due) = due.filter(|_| start > now) {
        send_reminder(deps, journal, booking, function, (start, due)).await?;
    }
    change_plainly(deps, journal, |journal, _| journal.note_reminded(event, now)).await
}

/// Hands a reminder over to be sent, once: its scheduled message has an id that is derived from it.
async fn send_reminder(
    deps: &impl Deps,
    journal: &Journal,
    booking: &Booking,
    function: &CalendarFunction,
    (start, due): (Timestamp, Timestamp),
) -> PortResult<()> {
    let (_, latest) = find_latest_conversation(deps, journal.thread.clone()).await?;
    let bound = deps.store().instance_config(&journal.instance).await?;
    let (Some(conversation), Some(bound)) = (latest, bound) else {
        return Ok(());
    };
    let now = deps.system().now();
    let takes_text =
        !capabilities(deps, &bound).has_service_window || is_window_open(conversation.last_inbound_at, now);
    let content = function.make_reminder(start, due, takes_text);
    let (Some(content), Some(id)) = (content, name_reminder(&booking.event, start, due)) else {
        tracing::warn!(instance = %journal.instance, "a reminder was not sent: outside the window it has no template");
        return Ok(());
    };
    let names = json!({"appointment": booking.event});
    let scheduled = ScheduledMessage {
        id: id.clone(),
        tenant: journal.tenant.clone(),
        instance: journal.instance.clone(),
        to: conversation.address.clone(),
        content,
        options: SendOptions::default(),
        metadata: names
            .as_object()
            .and_then(|names| Metadata::from_object(names).ok()),
        send_at: now,
        created_at: now,
        correlation: generate_correlation_id(deps.system()),
        by: None,
        idempotency_key: None,
        invitation: None,
        restored_from: None,
        state: ScheduledState::Pending,
        rev: 1,
    };
    // A conflict: it was handed over before a crash.
    if deps.store().put_scheduled(&scheduled, None).await? == CommitOutcome::Committed {
        tracing::info!(message_id = %id, "a reminder of an appointment is due");
    }
    release_due_message(deps, &id).await.map(drop)
}

async fn change(
    deps: &impl Deps,
    journal: &Journal,
    change: impl Fn(&mut Journal, Timestamp) -> JournalChange,
) -> PortResult<()> {
    let changed = change_journal(deps, &journal.thread, |journal, now| {
        Ok::<_, EntryError>(change(journal, now))
    });
    changed.await.map(drop)
}

async fn change_plainly(
    deps: &impl Deps,
    journal: &Journal,
    by: impl Fn(&mut Journal, Timestamp),
) -> PortResult<()> {
    let plainly = |journal: &mut Journal, now| {
        by(journal, now);
        JournalChange::default()
    };
    change(deps, journal, plainly).await
}
