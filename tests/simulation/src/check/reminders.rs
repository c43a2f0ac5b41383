//! A contact is reminded once of each time of an appointment, and of none that it does not have any more. What it answers holds, and the
//! calendar shows it.

use super::Told;
use crate::executor::START_MS;
use crate::fake_world::{FakeEvent, REMINDER_WORDS, calendar_of};
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use jiff::{SignedDuration, Timestamp};
use recado_domain::calendar::Reminder;
use recado_domain::config::InstanceConfig;
use recado_domain::effects::{EffectId, EffectState, Journal};
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_pipeline::ports::Store;
use recado_pipeline::records::effects::find_journal;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The time by which a reminder may be late: a crash is healed by the next passes, and WhatsApp may be gone.
const LATE: SignedDuration = SignedDuration::from_mins(15);

/// The time by which what somebody has just read may be old.
const JUST_NOW: SignedDuration = SignedDuration::from_mins(1);

/// An appointment at one time.
struct Appointment {
    event: EffectId,
    start: Timestamp,
    /// When it was asked for.
    from: Timestamp,
    /// When it had ended: it was moved or cancelled, or people deleted it.
    until: Option<Timestamp>,
}

/// A reminder that falls due.
struct DueReminder<'a> {
    appointment: &'a Appointment,
    due: Timestamp,
    text: String,
}

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for bound in &sim.bounds {
        let mut calendars = bound.tools.iter().filter_map(calendar_of);
        let Some(calendar) = calendars.find(|calendar| !calendar.reminders.is_empty()) else {
            continue;
        };
        let of_line = told
            .iter()
            .filter(|(conversation, _)| conversation.instance == bound.instance.id);
        for (conversation, messages) in of_line {
            let thread = conversation.id.thread_id();
            let found = block_on(find_journal(&sim.store, &conversation.tenant, thread));
            if let Some(found) = found.expect("journals are read") {
                check_thread(sim, (bound, &calendar.reminders), &found.record, messages);
            }
        }
    }
}

fn check_thread<S, Q>(
    sim: &Simulator<S, Q>,
    (bound, reminders): (&InstanceConfig, &[Reminder]),
    journal: &Journal,
    messages: &[Message],
) {
    let events = sim.fake_world.events();
    let appointments = list_appointments(journal, &events);
    let due = list_due_reminders(&appointments, bound, reminders);
    let sent: Vec<&Message> = messages.iter().filter(|message| was_said(message)).collect();
    for one in &due {
        check_reminder(sim, one, &sent);
    }
    for message in sent {
        let text = message.content.render_text();
        if !due.iter().any(|one| one.text == text) {
            let id = message.message_id();
            sim.common
                .broken(format!("{id} reminds of what nobody has: {text}"));
        }
    }
    for pair in messages.windows(2) {
        let reminded = due
            .iter()
            .find(|one| is_reminder(&pair[0]) && one.text == pair[0].content.render_text());
        if let Some(one) = reminded.filter(|_| pair[1].role == Role::User) {
            check_answer(sim, journal, &one.appointment.event, &pair[1]);
        }
    }
    for booking in &journal.bookings {
        let shown = events
            .get(&booking.event)
            .is_some_and(|event| event.mark.is_some());
        if booking.mark_due || shown != booking.confirmed {
            let (event, confirmed) = (&booking.event, booking.confirmed);
            sim.common.broken(format!(
                "the contact confirmed {event}: {confirmed}, and the calendar shows: {shown}"
            ));
        }
    }
}

fn is_reminder(message: &Message) -> bool {
    message.role != Role::User && message.content.render_text().starts_with(REMINDER_WORDS)
}

/// Returns `true` for a reminder that was not cancelled.
fn was_said(message: &Message) -> bool {
    let state = message.out.as_ref().map(|out| &out.state);
    is_reminder(message) && !matches!(state, Some(OutboxState::Cancelled { .. }))
}

/// Returns when the contact got a message, or when it was to get it.
fn said_at(message: &Message) -> Timestamp {
    match message.out.as_ref().map(|out| &out.state) {
        Some(OutboxState::Sent { at }) => *at,
        _ => message.stored_at,
    }
}

/// Lists the times that the thread's appointments had, by what its effects did and what people deleted.
fn list_appointments(journal: &Journal, events: &BTreeMap<EffectId, FakeEvent>) -> Vec<Appointment> {
    let mut listed: Vec<Appointment> = Vec::new();
    let done = journal
        .entries
        .iter()
        .filter(|entry| entry.state == EffectState::Done);
    for entry in done {
        let Some(event) = entry.event() else { continue };
        let mut before = listed.iter_mut();
        if let Some(before) = before.find(|one| one.event == *event && one.until.is_none()) {
            before.until = entry.ended_at;
        }
        if let Some(span) = entry.resulting_span() {
            listed.push(Appointment {
                event: event.clone(),
                start: span.start,
                from: entry.begun_at,
                until: None,
            });
        }
    }
    for one in listed.iter_mut().filter(|one| one.until.is_none()) {
        one.until = events.get(&one.event).and_then(|event| event.deleted_at);
    }
    listed
}

fn list_due_reminders<'a>(
    appointments: &'a [Appointment],
    bound: &InstanceConfig,
    reminders: &[Reminder],
) -> Vec<DueReminder<'a>> {
    let zone = jiff::tz::TimeZone::get(&bound.tenant.time_zone).expect("a zone");
    let mut listed = Vec::new();
    for appointment in appointments {
        for reminder in reminders {
            let content = reminder.make_content(appointment.start, &zone, true);
            let due = reminder.due_at(appointment.start, &zone);
            if let (Some(due), Some(content)) = (due, content) {
                let text = content.render_text();
                listed.push(DueReminder {
                    appointment,
                    due,
                    text,
                });
            }
        }
    }
    listed
}

/// A reminder is one message at its time, while the contact has the appointment.
fn check_reminder<S, Q>(sim: &Simulator<S, Q>, one: &DueReminder<'_>, sent: &[&Message]) {
    let DueReminder {
        appointment,
        due,
        text,
    } = one;
    let of_it: Vec<&Message> = sent
        .iter()
        .copied()
        .filter(|message| message.content.render_text() == *text)
        .collect();
    if of_it.len() > 1 {
        let count = of_it.len();
        sim.common
            .broken(format!("{text:?} was said to a contact {count} times"));
    }
    let early = |message: &Message| add_duration(message.stored_at, JUST_NOW) < *due;
    let late = |message: &Message| {
        let until = appointment.until.map(|until| add_duration(until, JUST_NOW));
        until.is_some_and(|until| said_at(message) > until)
    };
    if of_it.iter().any(|message| early(message) || late(message)) {
        sim.common.broken(format!(
            "{text:?} was said before its time, or of an appointment that had ended"
        ));
    }
    let now = sim.common.simulation.now();
    let had_until = appointment.until.unwrap_or(now).min(now);
    let is_owed = *due > add_duration(appointment.from, LATE) && add_duration(*due, LATE) < had_until;
    if is_owed && of_it.is_empty() && sim.reconciles {
        let at = due.as_millisecond() - START_MS;
        sim.common
            .broken(format!("{text:?} was never said, and was due after {at} ms"));
    }
}

/// A plain answer to a reminder confirms the appointment or cancels it.
fn check_answer<S, Q>(sim: &Simulator<S, Q>, journal: &Journal, event: &EffectId, answer: &Message) {
    let words = answer.content.render_text();
    let booking = journal.find_booking(event);
    let holds = match words.as_str() {
        "sim" => booking.is_none_or(|booking| booking.confirmed),
        "cancelar" => booking.is_none(),
        _ => true,
    };
    if !holds {
        sim.common
            .broken(format!("{event} is {booking:?} after its contact said {words:?}"));
    }
}
