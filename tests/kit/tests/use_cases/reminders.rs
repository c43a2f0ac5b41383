//! Appointments carry reminders, which follow them, and contacts confirm or cancel by a word.

use crate::world::Setup;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use recado_actions::appointments::{AppointmentPlace, list_appointments};
use recado_domain::access::{Caller, Scope};
use recado_domain::calendar::TimeSpan;
use recado_domain::config::ConfigDocument;
use recado_domain::contact::ContactAddress;
use recado_domain::content::Content;
use recado_domain::effects::{Booking, EffectId, EffectState, Journal, JournalChange};
use recado_domain::ids::{TenantId, ThreadId};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_domain::scheduled::ScheduledState;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{
    BookedEvent, Conversations, ModelCall, OutboxStore, SendEvidence, SendOutcome, WriteOutcome,
};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::effects::list_held_cells;
use recado_pipeline::records::scheduled_messages::find_scheduled_by_id;
use recado_pipeline::steps::invited_tenant::TenantChoiceError;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;
use recado_testkit::stored_effect::{read_journal, replace_journal};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

const HOUR: i64 = 3_600;
const ZONE: &str = "America/Sao_Paulo";

/// A clinic whose appointments carry two reminders, a day and two hours before.
async fn clinic(provider: Provider) -> Setup {
    let mut fixture = Fixture::on(provider);
    if provider == Provider::Meta {
        let digits = fixture.address.phone_number().unwrap();
        fixture.address = ContactAddress::parse(digits.trim_start_matches('+')).unwrap();
    }
    let tenant = fixture.bound.tenant.id.clone();
    let always = json!(["00:00-24:00"]);
    let calendar: Value = json!({"id": format!("{tenant}-agenda"), "tenant": tenant, "simulated": true,
    "rules": {"grid_minutes": 30, "notice_minutes": 0, "hours": {"time_zone": ZONE, "mon": always, "tue": always,
        "wed": always, "thu": always, "fri": always, "sat": always, "sun": always}},
    "reminders": [
        {"before": "P1D", "text": "Lembrete: {date} às {time}. Confirma?",
            "template": {"name": "lembrete", "language": "pt_BR", "parameters": ["{date}", "{time}"]}},
        {"before": "PT2H", "text": "Até já, às {time}."},
    ]});
    let tool = json!({"id": format!("{tenant}-agenda"), "tenant": tenant, "name": "agenda", "description": "The agenda.",
        "effect": "acts", "timeout_seconds": 5, "calendar": format!("{tenant}-agenda")});
    let mut agent = fixture.bound.agent.clone();
    agent.tools = [serde_json::from_value(tool["id"].clone()).unwrap()].into();
    let setup = Setup::set(fixture).await;
    // Each refers to the one before.
    for part in [
        json!({"calendars": [calendar]}),
        json!({"tools": [tool]}),
        json!({"agents": [agent]}),
    ] {
        let part: ConfigDocument = serde_json::from_value(part).unwrap();
        succeed(put_configuration(&setup.world.store, &part)).await;
    }
    *setup.world.llm.says.lock().unwrap() = Some("Certo.".to_owned());
    setup
}

/// A whole half hour, these hours from now or a little later.
fn start_in(setup: &Setup, hours: i64) -> Timestamp {
    let half = 1_800;
    let at = setup.now().as_second() + hours * HOUR;
    Timestamp::from_second(at + half - at.rem_euclid(half)).unwrap()
}

fn written(start: Timestamp) -> String {
    let start = start.to_zoned(TimeZone::get(ZONE).unwrap());
    start.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

fn call(name: &str, arguments: Value) -> ModelCall {
    ModelCall {
        id: format!("id-{name}"),
        name: name.to_owned(),
        arguments,
        marks: Vec::new(),
    }
}

/// The contact writes, the model makes these calls, and the reply is sent.
async fn says(setup: &Setup, id: &str, words: &str, calls: Vec<ModelCall>) -> Message {
    if !calls.is_empty() {
        setup.world.llm.tooling.calls.lock().unwrap().push_back(calls);
    }
    setup.message(&setup.fixture, id, words, false).await;
    setup.pass(10);
    let reply = setup.turn(&setup.fixture).await;
    let conversation = setup.latest_conversation().await.unwrap();
    setup.send(&conversation.id).await;
    reply
}

async fn book(setup: &Setup, start: Timestamp) {
    let booking = call("agenda_book", json!({"start": written(start)}));
    says(setup, "B1", "Quero marcar", vec![booking]).await;
    assert_eq!(
        bookings(setup).await.len(),
        1,
        "{:?}",
        journal(setup).await.entries
    );
}

async fn journal(setup: &Setup) -> Journal {
    let tenant = &setup.fixture.bound.tenant.id;
    let found = read_journal(&setup.world.store, tenant, &setup.fixture.thread()).await;
    found.unwrap()
}

async fn bookings(setup: &Setup) -> Vec<Booking> {
    journal(setup).await.bookings
}

/// Time passes until `at`, and `reconcile` works and sends.
async fn pass_until(setup: &Setup, at: Timestamp) {
    setup.pass(at.duration_since(setup.now()).as_secs().max(0));
    for _ in 0..3 {
        setup.pass(61);
        succeed(Box::pin(reconcile(&setup.world))).await;
        let conversation = setup.latest_conversation().await.unwrap();
        setup.send(&conversation.id).await;
    }
}

/// The reminders that were sent, in order.
fn reminders(setup: &Setup) -> Vec<Content> {
    let sent = setup.world.providers.contents();
    let is_reminder = |content: &Content| {
        let text = content.render_text();
        matches!(content, Content::Template(_)) || text.starts_with("Lembrete") || text.starts_with("Até já")
    };
    sent.into_iter().filter(is_reminder).collect()
}

fn before(start: Timestamp, hours: i64) -> Timestamp {
    start - SignedDuration::from_hours(hours)
}

#[tokio::test]
async fn each_reminder_is_sent_once_at_its_time() {
    let setup = clinic(Provider::Evolution).await;
    let start = start_in(&setup, 30);
    book(&setup, start).await;
    assert_eq!(
        bookings(&setup).await[0].reminders,
        [before(start, 24), before(start, 2)]
    );
    pass_until(&setup, before(start, 25)).await;
    assert_eq!(reminders(&setup), [], "not yet");
    pass_until(&setup, before(start, 24)).await;
    let zoned = start.to_zoned(TimeZone::get(ZONE).unwrap());
    let first = zoned
        .strftime("Lembrete: %d/%m/%Y às %H:%M. Confirma?")
        .to_string();
    assert_eq!(reminders(&setup), [Content::from_text(first.clone())]);
    pass_until(&setup, before(start, 2)).await;
    let second = zoned.strftime("Até já, às %H:%M.").to_string();
    assert_eq!(
        reminders(&setup),
        [Content::from_text(first), Content::from_text(second)]
    );
    pass_until(&setup, start + SignedDuration::from_hours(1)).await;
    assert_eq!(reminders(&setup).len(), 2);
    assert_eq!(bookings(&setup).await, [], "it is over");
}

#[tokio::test]
async fn outside_the_window_a_template_is_sent_and_what_has_none_is_not() {
    let setup = clinic(Provider::Meta).await;
    let start = start_in(&setup, 30 + 24);
    book(&setup, start).await;
    pass_until(&setup, before(start, 24)).await;
    let [Content::Template(template)] = &reminders(&setup)[..] else {
        panic!("a template: {:?}", reminders(&setup))
    };
    assert_eq!(
        (template.name.as_str(), template.components.len()),
        ("lembrete", 1)
    );
    pass_until(&setup, before(start, 2)).await;
    assert_eq!(reminders(&setup).len(), 1, "the second has no template");
    assert_eq!(bookings(&setup).await[0].reminders, []);
}

#[tokio::test]
async fn reminders_move_with_the_appointment_and_go_with_it() {
    let setup = clinic(Provider::Evolution).await;
    let (start, later) = (start_in(&setup, 30), start_in(&setup, 60));
    book(&setup, start).await;
    says(
        &setup,
        "M1",
        "Pode mudar?",
        vec![call("agenda_move", json!({"start": written(later)}))],
    )
    .await;
    assert_eq!(
        bookings(&setup).await[0].reminders,
        [before(later, 24), before(later, 2)]
    );
    pass_until(&setup, before(start, 24)).await;
    assert_eq!(reminders(&setup), [], "of the time that was left");
    pass_until(&setup, before(later, 24)).await;
    assert_eq!(reminders(&setup).len(), 1);
    says(
        &setup,
        "C1",
        "Quero desmarcar por motivos de saúde",
        vec![call("agenda_cancel", json!({}))],
    )
    .await;
    assert_eq!(bookings(&setup).await, []);
    pass_until(&setup, later).await;
    assert_eq!(reminders(&setup).len(), 1);
}

#[tokio::test]
async fn what_people_change_in_the_calendar_changes_the_reminders() {
    let setup = clinic(Provider::Evolution).await;
    let (start, later) = (start_in(&setup, 40), start_in(&setup, 60));
    book(&setup, start).await;
    let span = TimeSpan {
        from: later,
        to: later + SignedDuration::from_mins(30),
    };
    let looks = |look| *setup.world.llm.tooling.looks.lock().unwrap() = Some(look);
    looks(BookedEvent::Present {
        version: "2".to_owned(),
        time: Some(span),
    });
    pass_until(&setup, before(start, 24)).await;
    assert_eq!(reminders(&setup), [], "they moved it");
    assert_eq!(
        bookings(&setup).await[0].reminders,
        [before(later, 24), before(later, 2)]
    );
    looks(BookedEvent::Gone);
    pass_until(&setup, before(later, 24)).await;
    assert_eq!(
        (reminders(&setup), bookings(&setup).await),
        (Vec::new(), Vec::new()),
        "they deleted it"
    );
}

#[tokio::test]
async fn a_plain_answer_to_a_reminder_confirms_or_cancels_and_other_words_are_the_models() {
    for (words, confirmed, cancelled) in [
        ("Sim", true, false),
        ("confirmo", true, false),
        ("Cancelar", false, true),
        ("não", false, true),
        ("Posso levar meu filho?", false, false),
    ] {
        let setup = clinic(Provider::Evolution).await;
        let start = start_in(&setup, 30);
        book(&setup, start).await;
        pass_until(&setup, before(start, 24)).await;
        let reply = says(&setup, "A1", words, Vec::new()).await;
        assert_eq!(reply.content.render_text(), "Certo.", "{words}");
        let found = bookings(&setup).await;
        assert_eq!(found.is_empty(), cancelled, "{words}");
        assert_eq!(
            found.iter().any(|booking| booking.confirmed),
            confirmed,
            "{words}"
        );
        if cancelled {
            let entries = journal(&setup).await.entries;
            let states: Vec<_> = entries.iter().map(|entry| entry.state).collect();
            assert_eq!(
                states,
                [EffectState::Done, EffectState::Done],
                "booked, and cancelled as an effect"
            );
        }
        // The same words without a reminder before them are left to the model.
        let before = journal(&setup).await.entries.len();
        says(&setup, "A2", words, Vec::new()).await;
        assert_eq!(journal(&setup).await.entries.len(), before, "{words}");
    }
}

#[tokio::test]
async fn a_reminder_that_fell_due_before_the_start_on_a_backup_is_looked_for() {
    for (provider, evidence, state) in [
        (
            Provider::Evolution,
            SendEvidence::Sent {
                provider_message_id: None,
            },
            "sent",
        ),
        (Provider::Meta, SendEvidence::None, "dead"),
    ] {
        let mut setup = clinic(provider).await;
        let start = start_in(&setup, 30);
        book(&setup, start).await;
        let at = before(start, 24);
        setup.pass(at.duration_since(setup.now()).as_secs() + 3600);
        setup.world.deps_mut().settings_mut().restored_at = Some(setup.now());
        *setup.world.providers.evidence.lock().unwrap() = evidence;
        let now = setup.now();
        pass_until(&setup, now).await;
        assert_eq!(reminders(&setup), [], "{provider:?}");
        let id = recado_domain::calendar::name_reminder(&bookings(&setup).await[0].event, start, at).unwrap();
        let scheduled = succeed(find_scheduled_by_id(&setup.world.store, &id)).await;
        let scheduled = scheduled.unwrap().record;
        let ScheduledState::Became { message, .. } = scheduled.state else {
            panic!("{scheduled:?}")
        };
        let message = succeed(setup.world.store.find_message(&message)).await.unwrap();
        assert_eq!(message.out.unwrap().state.as_str(), state, "{provider:?}");
    }
}

#[tokio::test]
async fn a_reminder_that_may_have_been_sent_is_not_sent_again_after_the_appointment_was_moved() {
    let setup = clinic(Provider::Evolution).await;
    let start = start_in(&setup, 30);
    book(&setup, start).await;
    let at = before(start, 24);
    setup.pass(at.duration_since(setup.now()).as_secs());
    setup.pass(61);
    succeed(Box::pin(reconcile(&setup.world))).await;
    setup.pass(61);
    succeed(Box::pin(reconcile(&setup.world))).await;
    setup.answers(SendOutcome::Unknown {
        why: "HTTP 500: server error".to_owned(),
        timed_out: false,
    });
    let conversation = setup.latest_conversation().await.unwrap().id;
    let _ = setup.job(&conversation).await;
    assert_eq!(reminders(&setup).len(), 1);
    *setup.world.llm.tooling.looks.lock().unwrap() = Some(BookedEvent::Gone);
    // An event is looked at once an hour.
    setup.pass(2 * HOUR);
    succeed(Box::pin(reconcile(&setup.world))).await;
    assert_eq!(bookings(&setup).await, [], "they deleted it");
    setup.send(&conversation).await;
    assert_eq!(reminders(&setup).len(), 1);
}

#[tokio::test]
async fn a_reminder_that_a_crash_cut_off_is_sent_once() {
    let setup = clinic(Provider::Evolution).await;
    let start = start_in(&setup, 30);
    book(&setup, start).await;
    pass_until(&setup, before(start, 24)).await;
    assert_eq!(reminders(&setup).len(), 1);
    // The journal as it was before the reminder was noted: the process ended in between.
    let mut stored = journal(&setup).await;
    stored.bookings[0].reminders.insert(0, before(start, 24));
    stored.bookings[0].look_at = setup.now();
    stored.rev += 1;
    replace_journal(&setup.world.store, &stored, &JournalChange::default()).await;
    pass_until(&setup, setup.now()).await;
    assert_eq!(reminders(&setup).len(), 1);
    assert_eq!(bookings(&setup).await[0].reminders, [before(start, 2)]);
}

#[tokio::test]
async fn a_reminder_that_still_waits_to_be_sent_goes_with_the_appointment_and_with_its_time() {
    for ends_by in ["agenda_cancel", "agenda_move", "its time"] {
        let setup = clinic(Provider::Evolution).await;
        let (start, later) = (start_in(&setup, 30), start_in(&setup, 60));
        book(&setup, start).await;
        setup.pass(before(start, 24).duration_since(setup.now()).as_secs());
        setup.pass(61);
        succeed(Box::pin(reconcile(&setup.world))).await;
        let conversation = setup.latest_conversation().await.unwrap();
        let open = succeed(setup.world.store.list_open_messages(&setup.fixture.thread())).await;
        assert_eq!(open.len(), 1, "the reminder waits");
        let (words, arguments) = match ends_by {
            "agenda_move" => ("Pode mudar?", json!({"start": written(later)})),
            _ => ("Quero desmarcar por motivos de saúde", json!({})),
        };
        if ends_by == "its time" {
            setup.pass(start.duration_since(setup.now()).as_secs() + 1);
            setup.send(&conversation.id).await;
        } else {
            says(&setup, "E1", words, vec![call(ends_by, arguments)]).await;
        }
        assert_eq!(reminders(&setup), [], "{ends_by}");
        let message = succeed(setup.world.store.find_message(&open[0].message_id())).await;
        let state = message.unwrap().out.unwrap().state;
        assert!(
            matches!(
                state,
                OutboxState::Cancelled {
                    reason: Reason::Expired,
                    ..
                }
            ),
            "{ends_by}: {state:?}"
        );
    }
}

/// Another contact of the same calendar has the appointment from `start` on. Returns the journal of its thread.
async fn give_to_other(setup: &Setup, start: Timestamp) -> Journal {
    give_to_other_of(setup, start, 0).await
}

/// The same for the contact of this number.
async fn give_to_other_of(setup: &Setup, start: Timestamp, number: u64) -> Journal {
    let mut other = journal(setup).await;
    let thread = format!("{number:08}{}", &other.thread.as_str()[8..]);
    other.thread = ThreadId::parse(&thread).unwrap();
    other.entries.clear();
    other.rev = 1;
    let booking = &mut other.bookings[0];
    booking.event = EffectId::from_random_bits(7, number);
    booking.span.start = start;
    booking.span.end = start + SignedDuration::from_mins(30);
    booking.reminders.clear();
    booking.look_at = start + SignedDuration::from_hours(1_000);
    let change = JournalChange {
        takes: booking.list_own_cells(),
        frees: Vec::new(),
    };
    replace_journal(&setup.world.store, &other, &change).await;
    other
}

/// Returns how many cells the booking lacks, and how many lines of the note for people tell of its clash.
async fn clash(setup: &Setup) -> (usize, usize) {
    let bookings = bookings(setup).await;
    let cells = bookings[0].clash.as_ref().map_or(0, |clash| clash.cells.len());
    let note = setup.latest_conversation().await.unwrap().people.hand_over_note;
    let note = note.map(|note| note.text).unwrap_or_default();
    let told = note
        .lines()
        .filter(|line| line.contains("same time as another one"));
    (cells, told.count())
}

/// People move an appointment to where another contact's is by the cells. Returns the other contact's journal, and the new time.
async fn move_to_taken_time(setup: &Setup) -> (Journal, TimeSpan) {
    let (start, taken) = (start_in(setup, 30), start_in(setup, 50));
    book(setup, start).await;
    let other = give_to_other(setup, taken).await;
    let moved = TimeSpan {
        from: taken + SignedDuration::from_mins(15),
        to: taken + SignedDuration::from_mins(45),
    };
    *setup.world.llm.tooling.looks.lock().unwrap() = Some(BookedEvent::Present {
        version: "2".to_owned(),
        time: Some(moved),
    });
    (other, moved)
}

/// From now on the calendar shows another event at the time of each, or none.
fn shows_other_event(setup: &Setup, is_shown: bool) {
    let shown = &setup.world.llm.tooling.has_other_event;
    shown.store(is_shown, Ordering::SeqCst);
}

/// The other contact's appointment is cancelled.
async fn drop_other(setup: &Setup, other: &mut Journal) {
    let change = JournalChange {
        takes: Vec::new(),
        frees: other.bookings.remove(0).list_own_cells(),
    };
    other.rev += 1;
    replace_journal(&setup.world.store, other, &change).await;
}

/// Returns how many cells of its time a booking holds.
async fn count_held_cells(setup: &Setup, booking: &Booking) -> usize {
    let tenant = &setup.fixture.bound.tenant.id;
    let listed = list_held_cells(&setup.world.store, tenant, &booking.span);
    let held = succeed(listed).await;
    held.iter().filter(|held| held.holder == booking.event).count()
}

#[tokio::test]
async fn an_appointment_that_people_move_to_a_taken_time_is_followed_and_told_once() {
    let setup = clinic(Provider::Evolution).await;
    let (mut other, moved) = move_to_taken_time(&setup).await;
    shows_other_event(&setup, true);
    // The draft that lists the appointments follows the event, too.
    let listing = vec![call("agenda_appointments", json!({}))];
    says(&setup, "L1", "Quando é?", listing).await;
    let booking = bookings(&setup).await.remove(0);
    assert_eq!(
        (booking.span.start, booking.list_own_cells().len()),
        (moved.from, 1)
    );
    pass_until(&setup, setup.now()).await;
    assert_eq!(clash(&setup).await, (1, 1));
    pass_until(&setup, before(moved.from, 24)).await;
    assert_eq!(reminders(&setup).len(), 1, "the contact comes at the new time");
    assert_eq!(clash(&setup).await, (1, 1), "people are told once");
    assert_eq!(count_held_cells(&setup, &booking).await, 1);
    // The other one goes: the time is the booking's alone.
    drop_other(&setup, &mut other).await;
    pass_until(&setup, setup.now() + SignedDuration::from_hours(1)).await;
    let held = count_held_cells(&setup, &booking).await;
    assert_eq!((held, clash(&setup).await.0), (2, 0));
}

#[tokio::test]
async fn an_appointment_that_people_move_to_a_time_that_another_just_left_is_no_clash() {
    let setup = clinic(Provider::Evolution).await;
    let (mut other, _) = move_to_taken_time(&setup).await;
    pass_until(&setup, setup.now() + SignedDuration::from_hours(1)).await;
    let booking = bookings(&setup).await.remove(0);
    assert_eq!(clash(&setup).await, (1, 0), "the other one is not followed yet");
    assert_eq!(count_held_cells(&setup, &booking).await, 1);
    assert!(
        booking.look_at > setup.now() + SignedDuration::from_mins(30),
        "nobody asks minute by minute"
    );
    drop_other(&setup, &mut other).await;
    pass_until(&setup, setup.now() + SignedDuration::from_hours(1)).await;
    let held = count_held_cells(&setup, &booking).await;
    assert_eq!((held, clash(&setup).await), (2, (0, 0)));
}

#[tokio::test]
async fn a_clash_that_the_calendar_shows_later_is_told_then() {
    let setup = clinic(Provider::Evolution).await;
    move_to_taken_time(&setup).await;
    for (is_shown, told) in [(false, 0), (true, 1), (true, 1)] {
        shows_other_event(&setup, is_shown);
        pass_until(&setup, setup.now() + SignedDuration::from_hours(1)).await;
        assert_eq!(clash(&setup).await, (1, told));
    }
}

#[tokio::test]
async fn what_was_done_before_people_took_the_conversation_over_is_noted_for_them() {
    let setup = clinic(Provider::Evolution).await;
    let booking = call("agenda_book", json!({"start": written(start_in(&setup, 30))}));
    setup
        .world
        .llm
        .tooling
        .calls
        .lock()
        .unwrap()
        .push_back(vec![booking]);
    setup.message(&setup.fixture, "B1", "Quero marcar", false).await;
    setup.pass(10);
    let reply = setup.turn(&setup.fixture).await;
    let conversation = setup.latest_conversation().await.unwrap();
    assert_eq!(conversation.people.hand_over_note, None, "the reply tells of it");
    // People take it over before the reply leaves.
    let mut taken = conversation;
    taken.take_over();
    taken.rev += 1;
    let written = succeed(setup.world.store.update_conversation(&taken, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
    setup.send(&taken.id).await;
    let found = setup.latest_conversation().await.unwrap();
    let note = found.people.hand_over_note.expect("a note").text;
    assert!(note.starts_with("Action 1, agenda_book with ") && note.ends_with(": was done."));
    assert_eq!(
        (setup.world.providers.contents(), reply.role),
        (Vec::new(), Role::Assistant)
    );
    // The turn job that comes again notes nothing twice.
    let (_, verdict) = setup.run_turn_job(&setup.fixture, None).await;
    assert_eq!(verdict, Verdict::Done);
    let again = setup.latest_conversation().await.unwrap().people.hand_over_note;
    assert_eq!(again.map(|again| again.text), Some(note));
}

#[tokio::test]
async fn a_calendar_that_hangs_holds_no_pass_up_and_each_appointment_is_looked_at_in_time() {
    let setup = clinic(Provider::Evolution).await;
    let start = start_in(&setup, 300);
    book(&setup, start).await;
    *setup.world.llm.tooling.looks_hang.lock().unwrap() = Some(setup.world.system.clone());
    let due_at = setup.now() + SignedDuration::from_mins(10);
    let mut threads = Vec::new();
    for number in 1..=40 {
        let later = start + SignedDuration::from_hours(i64::try_from(number).unwrap());
        let mut other = give_to_other_of(&setup, later, number).await;
        other.bookings[0].look_at = due_at;
        other.rev += 1;
        replace_journal(&setup.world.store, &other, &JournalChange::default()).await;
        threads.push(other.thread);
    }
    setup.pass(601);
    let count_due = || async {
        let mut due = 0;
        for thread in &threads {
            let found = read_journal(&setup.world.store, &setup.fixture.bound.tenant.id, thread).await;
            let journal = found.unwrap();
            due += usize::from(journal.bookings[0].look_at <= due_at);
        }
        due
    };
    assert_eq!(count_due().await, 40);
    let mut passes = 0;
    let mut left = 40;
    while left > 0 {
        succeed(Box::pin(reconcile(&setup.world))).await;
        let now_left = count_due().await;
        assert!(now_left < left, "{now_left} of {left}: the next pass goes on");
        (left, passes) = (now_left, passes + 1);
        setup.pass(60);
    }
    assert!(passes > 1, "one pass does not look at all");
}

#[tokio::test]
async fn the_calendar_shows_what_the_contact_confirmed_until_the_appointment_is_moved() {
    let setup = clinic(Provider::Evolution).await;
    let (start, later) = (start_in(&setup, 30), start_in(&setup, 60));
    book(&setup, start).await;
    pass_until(&setup, before(start, 24)).await;
    *setup.world.llm.tooling.marks_refused.lock().unwrap() = 1;
    says(&setup, "A1", "Sim", Vec::new()).await;
    let marks = || setup.world.llm.tooling.marks.lock().unwrap().clone();
    assert_eq!(marks(), [] as [bool; 0], "outside the turn");
    pass_until(&setup, setup.now()).await;
    assert_eq!(marks(), [true], "once, after the calendar refused the first");
    says(&setup, "A2", "Sim, confirmo", Vec::new()).await;
    pass_until(&setup, setup.now()).await;
    assert_eq!(marks(), [true]);
    let moves = call("agenda_move", json!({"start": written(later)}));
    says(&setup, "M1", "Pode mudar?", vec![moves]).await;
    assert!(!bookings(&setup).await[0].confirmed);
    pass_until(&setup, setup.now()).await;
    assert_eq!(marks(), [true, false]);
    assert!(bookings(&setup).await[0].look_at > setup.now(), "nothing is due");
}

#[tokio::test]
async fn what_people_enter_at_the_time_of_a_booking_just_then_is_told_to_the_model_and_to_people() {
    let setup = clinic(Provider::Evolution).await;
    shows_other_event(&setup, true);
    book(&setup, start_in(&setup, 30)).await;
    let told = setup.world.llm.tooling.exchanges.lock().unwrap().clone();
    let results: Vec<String> = told
        .iter()
        .flat_map(|exchange| exchange.results.clone())
        .collect();
    assert!(
        results
            .iter()
            .any(|result| result.contains("the team will confirm")),
        "{results:?}"
    );
    assert!(
        results.iter().all(|result| result.contains("\nToday is ")),
        "{results:?}"
    );
    pass_until(&setup, setup.now()).await;
    assert_eq!(clash(&setup).await, (0, 1));
    let passed = setup.now() + SignedDuration::from_hours(3);
    pass_until(&setup, passed).await;
    assert_eq!(clash(&setup).await, (0, 1), "once");
}

#[tokio::test]
async fn an_appointment_is_listed_with_its_time_its_contact_and_whether_it_is_confirmed() {
    let setup = clinic(Provider::Evolution).await;
    let start = start_in(&setup, 30);
    let booking = json!({"start": written(start), "title": "Limpeza"});
    says(&setup, "B1", "Quero marcar", vec![call("agenda_book", booking)]).await;
    let caller = Caller::installation();
    let list = async |limit, after: Option<&AppointmentPlace>| {
        let listed = list_appointments(&setup.world, &caller, None, limit, after);
        Box::pin(listed).await.unwrap()
    };
    let page = list(10, None).await;
    let [listed] = &page.items[..] else {
        panic!("one appointment: {page:?}")
    };
    assert_eq!(
        (listed.time.from, listed.title.as_deref()),
        (start, Some("Limpeza"))
    );
    assert_eq!(listed.zone.iana_name(), Some(ZONE));
    assert!(listed.calendar.is_some() && !listed.booking.confirmed);
    let latest = setup.latest_conversation().await;
    assert_eq!(listed.conversation, latest);
    says(&setup, "C1", "Confirmo", vec![call("agenda_confirm", json!({}))]).await;
    // A second one, before the first.
    let sooner = json!({"start": written(start_in(&setup, 20))});
    says(&setup, "B2", "E mais um", vec![call("agenda_book", sooner)]).await;
    let both = list(10, None).await;
    let confirmed: Vec<bool> = both.items.iter().map(|one| one.booking.confirmed).collect();
    assert_eq!((confirmed, both.next_cursor), (vec![false, true], None));
    let first = list(1, None).await;
    assert_eq!(first.items, both.items[..1]);
    let place = AppointmentPlace::parse(&first.next_cursor.unwrap()).unwrap();
    let second = list(1, Some(&place)).await;
    assert_eq!(
        (second.items, second.next_cursor),
        (both.items[1..].to_vec(), None)
    );
    let stranger = Caller {
        scope: Scope::Tenant(TenantId::parse("another-tenant").unwrap()),
        ..caller.clone()
    };
    let tenant = &setup.fixture.bound.tenant.id;
    let refused = list_appointments(&setup.world, &stranger, Some(tenant), 10, None).await;
    assert!(matches!(refused, Err(TenantChoiceError::Unknown)));
    setup.pass(32 * HOUR);
    assert_eq!(list(10, None).await.items, [], "both are over");
}
