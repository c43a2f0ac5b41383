//! Looks at booked events that people may have moved or deleted in the calendar. Sends the reminders that are due.

use crate::effects::{allow_refusal, change_journal, find_tool_of_effect, follow_booked_event, leave_note};
use jiff::{SignedDuration, Timestamp};
use recado_domain::calendar::{TimeSpan, name_reminder};
use recado_domain::effects::{Booking, Journal, JournalChange, RemindedAppointment};
use recado_domain::metadata::Metadata;
use recado_domain::millis::add_duration;
use recado_domain::options::SendOptions;
use recado_domain::scheduled::{ScheduledMessage, ScheduledState};
use recado_domain::service_window::is_window_open;
use recado_domain::tools::CalendarFunction;
use recado_pipeline::Deps;
use recado_pipeline::deps::capabilities;
use recado_pipeline::steps::linked_threads::find_latest_conversation;
use recado_ports::ports::{BookedEvent, CommitOutcome, PortResult, ToolFailure};
use recado_ports::random_id::generate_correlation_id;
use recado_ports::records::configuration::find_config_by_id;
use recado_ports::records::scheduled_messages::put_scheduled;
use recado_ports::time_limit::run_within;
use recado_sends::due_message::release_due_message;
use serde_json::json;
use std::time::Duration;

/// Longest time for one event.
const ONE_EVENT: Duration = Duration::from_secs(20);

/// Pause before a calendar that did not answer is asked again while a reminder waits.
const ASK_AGAIN: SignedDuration = SignedDuration::from_mins(1);

/// Looks at the events of a thread's bookings that are due. Returns whether there were any. Each look begins before `until`.
pub(super) async fn look_at_due_bookings(
    deps: &Deps,
    journal: &Journal,
    until: Timestamp,
) -> PortResult<bool> {
    let due: Vec<Booking> = journal
        .bookings_to_look_at(deps.system().now())
        .into_iter()
        .cloned()
        .collect();
    for booking in &due {
        if deps.system().now() >= until {
            break;
        }
        let looks = Box::pin(look_at_due_booking(deps, journal, booking));
        run_within(deps.system(), ONE_EVENT, looks).await.transpose()?;
    }
    Ok(!due.is_empty())
}

async fn look_at_due_booking(deps: &Deps, journal: &Journal, booking: &Booking) -> PortResult<()> {
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
        Ok(BookedEvent::Gone) => change(deps, journal, |journal, _| journal.drop_booking(event)).await,
        Ok(BookedEvent::Present { time, .. }) => {
            follow_event_in_calendar(deps, journal, booking, (&*function, time)).await?;
            if !show_confirmation(deps, journal, booking, &function).await? {
                let later = |journal: &mut Journal, now: Timestamp| {
                    journal.put_booking_look_off(event, add_duration(now, ASK_AGAIN));
                };
                return change_plainly(deps, journal, later).await;
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

/// Shows people in the calendar whether the contact confirmed an appointment. It does so if that is still to be done and no effect on the
/// event is open. Returns `false` if the calendar did not take it.
async fn show_confirmation(
    deps: &Deps,
    journal: &Journal,
    booking: &Booking,
    function: &CalendarFunction,
) -> PortResult<bool> {
    let (event, confirmed) = (&booking.event, booking.confirmed);
    if !booking.mark_due || journal.is_event_busy(event) {
        return Ok(true);
    }
    let marks = deps
        .llm()
        .mark_event_confirmed(&function.calendar, event, confirmed);
    match run_within(deps.system(), ONE_EVENT / 2, marks).await {
        Some(Ok(())) => {
            let shown = |journal: &mut Journal, _| journal.note_confirmation_shown(event, confirmed);
            change_plainly(deps, journal, shown).await?;
            Ok(true)
        }
        Some(Err(_)) | None => Ok(false),
    }
}

/// Follows an event that people moved, takes cells that another event gave up since, and tells people of a clash.
async fn follow_event_in_calendar(
    deps: &Deps,
    journal: &Journal,
    booking: &Booking,
    (function, time): (&CalendarFunction, Option<TimeSpan>),
) -> PortResult<()> {
    let moved = time.filter(|time| function.find_appointment_time(booking) != Some(*time));
    let moved = moved.map(|time| function.span_of_event(time));
    let span = moved.or_else(|| booking.lacks_cells().then(|| booking.span.clone()));
    let followed = match &span {
        Some(span) => {
            let follows = follow_booked_event(deps, journal.tenant_and_thread(), &booking.event, Some(span));
            let written = allow_refusal(follows.await)?;
            written.and_then(|written| written.record.find_booking(&booking.event).cloned())
        }
        None => Some(booking.clone()),
    };
    let Some(followed) = followed.filter(Booking::is_clash_untold) else {
        return Ok(());
    };
    if !is_clash_shown(deps, function, &followed).await {
        return change_plainly(deps, journal, |journal, now| {
            journal.note_clash_elsewhere(&booking.event, now);
        })
        .await;
    }
    tracing::warn!(event = %followed.event, "an appointment is at the same time as another one in the calendar");
    let (_, latest) = find_latest_conversation(deps, journal.thread.clone()).await?;
    if let Some(conversation) = latest {
        leave_note(deps, &conversation.id, &followed.describe_clash()).await?;
    }
    change_plainly(deps, journal, |journal, now| {
        journal.note_clash_told(&booking.event, now);
    })
    .await
}

/// Returns whether people are to be told of a clash. They are not if the calendar shows no other event at the time: the one that holds
/// cells of it was moved or deleted there, too, and is followed later. A calendar that does not answer keeps no clash from people.
async fn is_clash_shown(deps: &Deps, function: &CalendarFunction, booking: &Booking) -> bool {
    let time = function.find_appointment_time(booking);
    let Some(time) = time.filter(|_| booking.lacks_cells()) else {
        return true;
    };
    let asks = deps
        .llm()
        .has_other_event(&function.calendar, &booking.event, time);
    let found = run_within(deps.system(), ONE_EVENT / 2, asks).await;
    found.and_then(Result::ok).unwrap_or(true)
}

/// Plans the reminders of a booking whose time has changed; else sends what is due.
async fn remind_of_booking(
    deps: &Deps,
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
    deps: &Deps,
    journal: &Journal,
    booking: &Booking,
    function: &CalendarFunction,
    (start, due): (Timestamp, Timestamp),
) -> PortResult<()> {
    let (_, latest) = find_latest_conversation(deps, journal.thread.clone()).await?;
    let bound = find_config_by_id(deps.store(), &journal.instance).await?;
    let (Some(conversation), Some(bound)) = (latest, bound) else {
        return Ok(());
    };
    let now = deps.system().now();
    let takes_text = !capabilities(deps, &bound).has_service_window
        || is_window_open(conversation.contact.last_inbound_at, now);
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
        reminds_of: Some(RemindedAppointment {
            thread: journal.thread.clone(),
            event: booking.event.clone(),
            start,
        }),
        // One that fell due before the start on a backup may have been sent since it was due.
        restored_from: deps.settings().restored_at.filter(|at| due <= *at).map(|_| due),
        state: ScheduledState::Pending,
    };
    // A conflict: it was handed over before a crash.
    if put_scheduled(deps.store(), &scheduled, &[]).await? == CommitOutcome::Committed {
        tracing::info!(message_id = %id, "a reminder of an appointment is due");
    }
    release_due_message(deps, &journal.tenant, &id).await.map(drop)
}

async fn change(
    deps: &Deps,
    journal: &Journal,
    change: impl Fn(&mut Journal, Timestamp) -> JournalChange,
) -> PortResult<()> {
    let changed = change_journal(deps, journal.tenant_and_thread(), |journal, now| {
        Ok(change(journal, now))
    });
    allow_refusal(changed.await).map(drop)
}

async fn change_plainly(
    deps: &Deps,
    journal: &Journal,
    by: impl Fn(&mut Journal, Timestamp),
) -> PortResult<()> {
    let plainly = |journal: &mut Journal, now| {
        by(journal, now);
        JournalChange::default()
    };
    change(deps, journal, plainly).await
}
