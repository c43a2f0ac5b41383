//! What has been open too long is found when it is due, not before, and not once it is done.

use super::given::{assert_written, begun, claim, received, replied, updated};
use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, accepted, change_instance, claimed, far_ahead, nonce, out, seen};
use crate::ports::succeed;
use jiff::{SignedDuration, Timestamp};
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::ids::Ordinal;
use recado_domain::instance::{
    ConnectionStatus, DEFAULT_PATIENCE, InstanceChange, ParkedConversation, UnansweredAttempt,
};
use recado_domain::message::Message;
use recado_domain::millis::{add_millis, from_unix_millis};
use recado_domain::reason::Reason;
use recado_ports::ports::{EventChange, OverdueWork, Overviews, Store, WriteOutcome};

/// What other cases have open lies decades later, what other cases here have open is little.
const LIMIT: usize = 1_000;

/// Each case lives in a year of its own, from 1991 on.
pub(super) fn year(index: i64) -> Timestamp {
    from_unix_millis((21 + index) * 31_557_600_000)
}

pub(super) fn minutes(from: Timestamp, minutes: i64) -> Timestamp {
    add_millis(from, minutes * 60_000)
}

/// Asserts that the work that `ours` knows is overdue from `due` on and not a millisecond earlier.
pub(super) async fn assert_due<S: Overviews>(
    store: &S,
    due: Timestamp,
    ours: impl Fn(&OverdueWork) -> bool,
) -> OverdueWork {
    let found_at = |now| {
        let ours = &ours;
        async move || {
            succeed(store.list_overdue(now, LIMIT))
                .await
                .into_iter()
                .filter(ours)
                .collect::<Vec<_>>()
        }
    };
    let found = eventually(INDEX, found_at(due), |found: &Vec<_>| found.len() == 1).await;
    assert_eq!(found.len(), 1, "due at {due}");
    let before = eventually(INDEX, found_at(add_millis(due, -1)), Vec::is_empty).await;
    assert_eq!(before, [], "not due before {due}");
    found.into_iter().next().unwrap()
}

/// Asserts that the work that `ours` knows is not overdue, whenever.
pub(super) async fn assert_done<S: Overviews>(
    store: &S,
    from: Timestamp,
    ours: impl Fn(&OverdueWork) -> bool,
) {
    let found = async || {
        let found = succeed(store.list_overdue(minutes(from, 7 * 24 * 60), LIMIT)).await;
        found.into_iter().filter(&ours).collect::<Vec<_>>()
    };
    assert_eq!(eventually(INDEX, found, Vec::is_empty).await, []);
}

pub(super) fn job_at(fixture: &Fixture, at: Timestamp) -> InboundJob {
    InboundJob {
        received_at: at,
        ..fixture.job()
    }
}

fn is_event(job: &InboundJob) -> impl Fn(&OverdueWork) -> bool {
    move |work| matches!(work, OverdueWork::Event(event) if *event == job.event)
}

pub async fn a_pending_event_is_overdue_until_applied<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(0));
    let job = job_at(&fixture, base);
    let _ = succeed(store.record_event(&job)).await;
    let found = assert_due(store, minutes(base, 2), is_event(&job)).await;
    assert_eq!(found, OverdueWork::Event(job.event.clone()));
    succeed(store.record_reenqueue(&job.event, minutes(base, 3))).await;
    assert_due(store, minutes(base, 13), is_event(&job)).await;
    succeed(store.record_reenqueue(&job.event, minutes(base, 14))).await;
    assert_due(store, minutes(base, 74), is_event(&job)).await;
    assert!(succeed(store.change_event(&job.event, EventChange::SetAttempts { seen: 0, attempts: 1 })).await);
    assert_due(store, minutes(base, 74), is_event(&job)).await;
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: minutes(base, 75),
            expires: far_ahead(),
        },
    ))
    .await;
    assert_done(store, base, is_event(&job)).await;
}

pub async fn a_dead_event_is_not_overdue_until_revived<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(1));
    let job = job_at(&fixture, base);
    let _ = succeed(store.record_event(&job)).await;
    let dead_letter = fixture.dead_letter_of(&job, base);
    succeed(store.change_event(
        &job.event,
        EventChange::GiveUp {
            dead_letter: &dead_letter,
            expires: base,
        },
    ))
    .await;
    assert_done(store, base, is_event(&job)).await;
    assert!(succeed(store.change_event(&job.event, EventChange::Revive { failed_at: base })).await);
    assert_due(store, minutes(base, 2), is_event(&job)).await;
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: base,
            expires: far_ahead(),
        },
    ))
    .await;
    assert_done(store, base, is_event(&job)).await;
}

pub async fn an_event_stays_overdue_when_its_message_is_stored<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(2));
    let job = job_at(&fixture, base);
    let mut conversation = fixture.conversation(1);
    received(store, &fixture, &mut conversation, &job).await;
    assert_due(store, minutes(base, 2), is_event(&job)).await;
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: base,
            expires: far_ahead(),
        },
    ))
    .await;
    assert_done(store, base, is_event(&job)).await;
    conversation.take_over();
    updated(store, &mut conversation).await;
}

/// A conversation of the year's with a queued reply; nothing else of it is open.
async fn replied_at<S: Store>(store: &S, fixture: &Fixture, base: Timestamp) -> (Conversation, Message) {
    let (mut conversation, job) = (fixture.conversation(1), job_at(fixture, base));
    received(store, fixture, &mut conversation, &job).await;
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: base,
            expires: far_ahead(),
        },
    ))
    .await;
    let mut message = fixture.reply(&mut conversation);
    (message.stored_at, message.written_at) = (base, base);
    super::given::committed(store, &conversation, &message).await;
    (conversation, message)
}

fn is_outgoing(message: &Message) -> impl Fn(&OverdueWork) -> bool {
    let expected = OverdueWork::Outgoing {
        conversation: message.conversation.clone(),
        ordinal: message.ordinal,
    };
    move |work| *work == expected
}

pub async fn an_open_message_is_overdue_until_sent<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(3));
    let (_, mut message) = replied_at(store, &fixture, base).await;
    assert_due(store, minutes(base, 5), is_outgoing(&message)).await;
    out(&mut message).record_slot(minutes(base, 20));
    assert_written(store.save_open_message(&message, None)).await;
    assert_due(store, minutes(base, 25), is_outgoing(&message)).await;
    out(&mut message).delay_until(minutes(base, 30));
    out(&mut message).rev += 1;
    assert_written(store.save_open_message(&message, None)).await;
    assert_due(store, minutes(base, 35), is_outgoing(&message)).await;
    out(&mut message).postpone_overdue(minutes(base, 65)).unwrap();
    assert_written(store.save_open_message(&message, None)).await;
    assert_due(store, minutes(base, 65), is_outgoing(&message)).await;
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    assert_due(store, minutes(base, 35), is_outgoing(&message)).await;
    let sent = accepted(&sending);
    assert_written(store.settle_message(&sent, Some(&flight), None, None)).await;
    assert_done(store, base, is_outgoing(&message)).await;
}

pub async fn a_dead_message_is_overdue_until_copied<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(4));
    let (_, message) = replied_at(store, &fixture, base).await;
    let (sending, flight) = claimed(&message);
    claim(store, &sending, &flight).await;
    let mut message = accepted(&sending);
    assert_written(store.settle_message(&message, Some(&flight), None, None)).await;
    assert_done(store, base, is_outgoing(&message)).await;
    out(&mut message).mark_dead(base, Reason::Stale, None).unwrap();
    assert_written(store.update_closed_message(&message, None)).await;
    assert_due(store, minutes(base, 5), is_outgoing(&message)).await;
    out(&mut message).mark_dead_lettered();
    assert_written(store.settle_message(&message, None, None, None)).await;
    assert_done(store, base, is_outgoing(&message)).await;
    out(&mut message).requeue_dead(base, base).unwrap();
    assert_written(store.update_closed_message(&message, None)).await;
    assert_due(store, minutes(base, 5), is_outgoing(&message)).await;
    out(&mut message).mark_cancelled(base, Reason::TakenOver).unwrap();
    assert_written(store.settle_message(&message, None, None, None)).await;
    assert_done(store, base, is_outgoing(&message)).await;
}

fn is_owed(conversation: &Conversation) -> impl Fn(&OverdueWork) -> bool {
    let expected = OverdueWork::Owed(conversation.id.clone());
    move |work| *work == expected
}

pub async fn an_owed_answer_is_overdue_until_given<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(5));
    let (mut conversation, job) = (fixture.conversation(1), job_at(&fixture, base));
    received(store, &fixture, &mut conversation, &job).await;
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: base,
            expires: far_ahead(),
        },
    ))
    .await;
    assert_due(store, minutes(base, 5), is_owed(&conversation)).await;
    conversation.schedule_turn(minutes(base, 600), minutes(base, 600));
    updated(store, &mut conversation).await;
    assert_due(store, minutes(base, 602), is_owed(&conversation)).await;
    conversation.nudges.nudged_at = Some(minutes(base, 700));
    conversation.opening.scheduled_for = None;
    updated(store, &mut conversation).await;
    assert_due(store, minutes(base, 705), is_owed(&conversation)).await;
    // Asked for in vain, it is asked for less and less often.
    for (at, due) in [
        (720, 725),
        (730, 740),
        (750, 770),
        (800, 840),
        (900, 960),
        (1000, 1060),
    ] {
        conversation.record_nudge(true, minutes(base, at));
        updated(store, &mut conversation).await;
        assert_due(store, minutes(base, due), is_owed(&conversation)).await;
    }
    conversation.record_nudge(false, minutes(base, 700));
    let mut reply = replied(store, &fixture, &mut conversation).await;
    assert_done(store, base, is_owed(&conversation)).await;
    // A cancelled reply makes it owed again, by the settlement.
    out(&mut reply).mark_cancelled(base, Reason::Stale).unwrap();
    assert!(conversation.reopen_unanswered(Ordinal(0), minutes(base, 800)));
    conversation.rev += 1;
    let found = succeed(store.settle_message(&reply, None, None, Some(&conversation))).await;
    assert_eq!(found, WriteOutcome::Written);
    assert_due(store, minutes(base, 805), is_owed(&conversation)).await;
    conversation.take_over();
    updated(store, &mut conversation).await;
    assert_done(store, base, is_owed(&conversation)).await;
}

pub async fn a_closed_instance_is_to_be_probed_until_open<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(6));
    let id = fixture.instance();
    let expected = OverdueWork::Probe(id.clone());
    let ours = |work: &OverdueWork| *work == expected;
    assert_done(store, base, ours).await;
    for (connection, after) in [
        (ConnectionStatus::Closed, 3),
        (ConnectionStatus::Closed, 9),
        (ConnectionStatus::NeedsCredentials, 30),
    ] {
        change_instance(
            store,
            id,
            InstanceChange::Connection(seen(connection, base, Some(minutes(base, after)))),
        )
        .await;
        assert_due(store, minutes(base, after), ours).await;
    }
    change_instance(store, id, InstanceChange::ModelKeyMissing(true)).await;
    change_instance(
        store,
        id,
        InstanceChange::Unanswered(UnansweredAttempt::Unreached),
    )
    .await;
    assert_due(store, minutes(base, 30), ours).await;
    change_instance(
        store,
        id,
        InstanceChange::Connection(seen(ConnectionStatus::Open, base, None)),
    )
    .await;
    assert_done(store, base, ours).await;
    // An open one, only to release what waits.
    change_instance(
        store,
        id,
        InstanceChange::Connection(seen(ConnectionStatus::Open, base, Some(minutes(base, 5)))),
    )
    .await;
    assert_due(store, minutes(base, 5), ours).await;
    // Without a time to ask at: at once.
    change_instance(
        store,
        id,
        InstanceChange::Connection(seen(ConnectionStatus::Closed, minutes(base, 40), None)),
    )
    .await;
    assert_due(store, minutes(base, 40), ours).await;
    change_instance(
        store,
        id,
        InstanceChange::Connection(seen(ConnectionStatus::Open, base, None)),
    )
    .await;
    assert_done(store, base, ours).await;
}

pub async fn a_parked_conversation_is_overdue_until_released<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(7));
    let mut parked = ParkedConversation {
        instance: fixture.instance().clone(),
        conversation: fixture.conversation(1).id,
        version: nonce(),
        since: base,
        not_before: Some(minutes(base, 50)),
        patience: DEFAULT_PATIENCE,
        reply: None,
    };
    let id = parked.conversation.clone();
    let ours = |work: &OverdueWork| matches!(work, OverdueWork::Parked(parked) if parked.conversation == id);
    succeed(store.put_parked(&parked)).await;
    let found = assert_due(store, minutes(base, 50), ours).await;
    assert_eq!(found, OverdueWork::Parked(parked.clone()));
    (parked.version, parked.not_before) = (nonce(), None);
    parked.since = minutes(base, 60);
    succeed(store.put_parked(&parked)).await;
    parked.since = base;
    let found = assert_due(store, minutes(base, 72 * 60), ours).await;
    assert_eq!(
        found,
        OverdueWork::Parked(parked.clone()),
        "72 hours after it was parked first"
    );
    (parked.version, parked.patience) = (nonce(), SignedDuration::from_mins(90));
    succeed(store.put_parked(&parked)).await;
    let found = assert_due(store, minutes(base, 90), ours).await;
    assert_eq!(
        found,
        OverdueWork::Parked(parked.clone()),
        "as long after that as its last parking says"
    );
    assert!(succeed(store.remove_parked(&parked)).await);
    assert_done(store, base, ours).await;
}

pub async fn the_longest_overdue_come_first_and_not_more_than_asked<S: Store>(store: &S) {
    // Before all other cases, so that a small limit shows these.
    let (fixture, base) = (Fixture::new(), year(-4));
    let mut ids = Vec::new();
    for after in [4, 1, 3, 0, 2] {
        let job = job_at(&fixture, minutes(base, after));
        let _ = succeed(store.record_event(&job)).await;
        ids.push((after, job));
    }
    // Another kind in between.
    let id = fixture.instance();
    change_instance(
        store,
        id,
        InstanceChange::Connection(seen(
            ConnectionStatus::Closed,
            base,
            Some(add_millis(minutes(base, 3), 30_000)),
        )),
    )
    .await;
    ids.sort_by_key(|(after, _)| *after);
    let place = |work: &OverdueWork| match work {
        OverdueWork::Event(event) => ids.iter().position(|(_, job)| job.event == *event),
        OverdueWork::Probe(probed) => (probed == id).then_some(100),
        _ => None,
    };
    let read = async || {
        let found = succeed(store.list_overdue(minutes(base, 60), LIMIT)).await;
        found.iter().filter_map(place).collect::<Vec<_>>()
    };
    let expected = vec![0, 1, 100, 2, 3, 4];
    assert_eq!(
        eventually(INDEX, read, |found| *found == expected).await,
        expected
    );
    for limit in [1, 3] {
        // Of each kind: much of one must not hide another.
        let found = succeed(store.list_overdue(minutes(base, 60), limit)).await;
        let events = found.iter().filter(|work| matches!(work, OverdueWork::Event(_)));
        assert_eq!(events.count(), limit);
        assert!(
            found.iter().any(|work| place(work) == Some(100)),
            "the probe is found as well"
        );
    }
    for (_, job) in &ids {
        succeed(store.change_event(
            &job.event,
            EventChange::Apply {
                at: base,
                expires: far_ahead(),
            },
        ))
        .await;
    }
    change_instance(
        store,
        id,
        InstanceChange::Connection(seen(ConnectionStatus::Open, base, None)),
    )
    .await;
}

pub async fn nothing_settled_from_the_start_is_ever_overdue<S: Store>(store: &S) {
    let (fixture, base) = (Fixture::new(), year(8));
    let mut conversation = begun(store, &fixture).await;
    let mut typed_on_the_phone = fixture.answer(&mut conversation);
    typed_on_the_phone.out = None;
    super::given::committed(store, &conversation, &typed_on_the_phone).await;
    assert_done(store, base, is_outgoing(&typed_on_the_phone)).await;
    let forty_years = minutes(base, 40 * 365 * 24 * 60);
    assert_done(store, forty_years, is_outgoing(&typed_on_the_phone)).await;
    assert_done(store, forty_years, is_owed(&conversation)).await;
}
