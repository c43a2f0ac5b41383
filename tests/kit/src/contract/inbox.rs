//! Events: recorded once, settled once, revived on request.

use crate::builders::{Fixture, at, far_ahead, long_ago};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::Timestamp;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::{EventRecord, EventState, InboundJob};
use recado_domain::reason::Reason;
use recado_ports::ports::{EventChange, RecordEventOutcome, Store};
use recado_ports::records::dead_letters::{find_dead_letter, put_dead_letter};
use std::time::Duration;

async fn record<S: Store>(store: &S, job: &InboundJob) -> EventRecord {
    succeed(store.find_event(&job.event)).await.unwrap()
}

/// Gives the event up, which must be pending.
async fn give_up<S: Store>(store: &S, (fixture, job): (&Fixture, &InboundJob), when: Timestamp) {
    let dead_letter = fixture.dead_letter_of(job, when);
    let given_up = store.change_event(
        &job.event,
        EventChange::GiveUp {
            dead_letter: &dead_letter,
            expires: long_ago(),
        },
    );
    assert!(succeed(given_up).await);
}

/// The end of an event: with a dead letter, which is of a failure at `at`, it is given up.
fn end_of_event(dead_letter: Option<&DeadLetter>, at: Timestamp, expires: Timestamp) -> EventChange<'_> {
    match dead_letter {
        None => EventChange::Apply { at, expires },
        Some(dead_letter) => EventChange::GiveUp { dead_letter, expires },
    }
}

pub async fn a_new_event_is_recorded_as_pending<S: Store>(store: &S) {
    let job = Fixture::new().job();
    assert_eq!(succeed(store.find_event(&job.event)).await, None);
    assert_eq!(succeed(store.record_event(&job)).await, RecordEventOutcome::New);
    assert_eq!(record(store, &job).await, EventRecord::new_pending(job));
}

pub async fn a_repeated_event_is_pending_until_applied<S: Store>(store: &S) {
    let job = Fixture::new().job();
    assert_eq!(succeed(store.record_event(&job)).await, RecordEventOutcome::New);
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Pending
    );
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Pending
    );
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: at(1),
            expires: far_ahead(),
        },
    ))
    .await;
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Settled
    );
}

pub async fn a_repetition_changes_nothing<S: Store>(store: &S) {
    let job = Fixture::new().job();
    let _ = succeed(store.record_event(&job)).await;
    assert!(succeed(store.change_event(&job.event, EventChange::SetAttempts { seen: 0, attempts: 1 })).await);
    let before = record(store, &job).await;
    let mut later = job.clone();
    later.received_at = at(60_000);
    assert_eq!(
        succeed(store.record_event(&later)).await,
        RecordEventOutcome::Pending
    );
    assert_eq!(record(store, &job).await, before);
}

pub async fn fifty_webhooks_at_once_make_one_new_event<S: Store>(store: &S) {
    let job = Fixture::new().job();
    let found = join_all((0..50).map(|_| store.record_event(&job))).await;
    let found: Vec<RecordEventOutcome> = found.into_iter().map(Result::unwrap).collect();
    let count = |what| found.iter().filter(|found| **found == what).count();
    assert_eq!(
        (count(RecordEventOutcome::New), count(RecordEventOutcome::Pending)),
        (1, 49)
    );
}

pub async fn an_applied_event_drops_its_payload<S: Store>(store: &S) {
    let job = Fixture::new().job();
    let _ = succeed(store.record_event(&job)).await;
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: at(5),
            expires: far_ahead(),
        },
    ))
    .await;
    let record = record(store, &job).await;
    assert_eq!(
        (record.state, record.reason, record.settled_at),
        (EventState::Applied, None, Some(at(5)))
    );
    let kept = serde_json::to_string(&record.job.payload).unwrap();
    assert!(!kept.contains("Bom dia"), "the payload is still there");
    let payload = record.job.payload.clone();
    assert_eq!(record.job, InboundJob { payload, ..job }, "all else is kept");
}

pub async fn a_dead_event_is_settled_keeps_its_payload_and_does_not_expire<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let _ = succeed(store.record_event(&job)).await;
    give_up(store, (&fixture, &job), at(5)).await;
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Settled
    );
    let record = record(store, &job).await;
    assert_eq!(
        (record.state, record.reason, record.settled_at),
        (EventState::Dead, Some(Reason::Poison), Some(at(5)))
    );
    assert_eq!(record.job, job);
}

pub async fn an_expired_record_counts_as_absent<S: Store>(store: &S) {
    let job = Fixture::new().job();
    let _ = succeed(store.record_event(&job)).await;
    assert!(succeed(store.change_event(&job.event, EventChange::SetAttempts { seen: 0, attempts: 1 })).await);
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: at(5),
            expires: long_ago(),
        },
    ))
    .await;
    assert_eq!(succeed(store.find_event(&job.event)).await, None);
    assert_eq!(succeed(store.record_event(&job)).await, RecordEventOutcome::New);
    assert_eq!(record(store, &job).await, EventRecord::new_pending(job.clone()));
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Pending,
        "its expiry is forgotten"
    );
}

pub async fn a_settled_event_stays_as_it_is<S: Store>(store: &S) {
    let fixture = Fixture::new();
    for (dies, would_die) in [(false, true), (true, false), (true, true)] {
        let job = fixture.job();
        let [first, second] = [at(5), at(9)].map(|when| fixture.dead_letter_of(&job, when));
        let _ = succeed(store.record_event(&job)).await;
        let settled = store.change_event(
            &job.event,
            end_of_event(dies.then_some(&first), at(5), far_ahead()),
        );
        assert!(succeed(settled).await);
        let before = record(store, &job).await;
        let again = store.change_event(
            &job.event,
            end_of_event(would_die.then_some(&second), at(9), long_ago()),
        );
        assert!(!succeed(again).await);
        assert_eq!(record(store, &job).await, before);
        let letter = succeed(find_dead_letter(store, &first.id)).await;
        assert_eq!(letter, dies.then_some(first));
    }
}

pub async fn settling_an_unknown_event_makes_none<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let dead_letter = fixture.dead_letter_of(&job, at(5));
    for letter in [None, Some(&dead_letter)] {
        let settled = store.change_event(&job.event, end_of_event(letter, at(5), far_ahead()));
        assert!(!succeed(settled).await);
        assert_eq!(succeed(store.find_event(&job.event)).await, None);
        assert_eq!(succeed(find_dead_letter(store, &dead_letter.id)).await, None);
    }
    assert_eq!(succeed(store.record_event(&job)).await, RecordEventOutcome::New);
}

pub async fn an_event_is_given_up_with_its_dead_letter<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let _ = succeed(store.record_event(&job)).await;
    give_up(store, (&fixture, &job), at(5)).await;
    let dead_letter = fixture.dead_letter_of(&job, at(5));
    let found = succeed(find_dead_letter(store, &dead_letter.id)).await;
    assert_eq!(found, Some(dead_letter));
}

/// Whatever the clock said at an earlier failure: the event is pending, so that one was undone.
pub async fn the_dead_letter_of_an_earlier_failure_is_replaced<S: Store>(store: &S) {
    let fixture = Fixture::new();
    for earlier in [at(4), at(5), at(60_000)] {
        let job = fixture.job();
        let _ = succeed(store.record_event(&job)).await;
        let mut left = fixture.dead_letter_of(&job, earlier);
        left.attempts = 9;
        assert!(succeed(put_dead_letter(store, &left)).await);
        give_up(store, (&fixture, &job), at(5)).await;
        let found = succeed(find_dead_letter(store, &left.id)).await;
        assert_eq!(found, Some(fixture.dead_letter_of(&job, at(5))));
    }
}

pub async fn attempts_are_counted_while_pending<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let set = async |seen, attempts| {
        succeed(store.change_event(&job.event, EventChange::SetAttempts { seen, attempts })).await
    };
    assert!(!set(0, 1).await, "there is no such event");
    assert_eq!(succeed(store.find_event(&job.event)).await, None);
    let _ = succeed(store.record_event(&job)).await;
    for attempts in 1..=3 {
        assert!(set(attempts - 1, attempts).await);
    }
    assert!(!set(2, 3).await, "it is not as read");
    assert!(set(3, 2).await);
    assert_eq!(record(store, &job).await.attempts, 2);
    give_up(store, (&fixture, &job), at(5)).await;
    assert!(!set(2, 3).await, "it is no longer pending");
    assert_eq!(record(store, &job).await.attempts, 2);
}

pub async fn ten_attempts_at_once_are_one<S: Store>(store: &S) {
    let job = Fixture::new().job();
    let _ = succeed(store.record_event(&job)).await;
    let set = join_all(
        (0..10).map(|_| store.change_event(&job.event, EventChange::SetAttempts { seen: 0, attempts: 1 })),
    )
    .await;
    let set = set.into_iter().map(Result::unwrap).filter(|set| *set).count();
    assert_eq!((set, record(store, &job).await.attempts), (1, 1));
}

pub async fn a_dead_event_is_revived_with_its_attempts_back_at_0<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let _ = succeed(store.record_event(&job)).await;
    assert!(succeed(store.change_event(&job.event, EventChange::SetAttempts { seen: 0, attempts: 1 })).await);
    give_up(store, (&fixture, &job), at(5)).await;
    assert!(succeed(store.change_event(&job.event, EventChange::Revive { failed_at: at(5) })).await);
    assert_eq!(record(store, &job).await, EventRecord::new_pending(job.clone()));
    assert!(
        !succeed(store.change_event(&job.event, EventChange::Revive { failed_at: at(5) })).await,
        "it is not dead any more"
    );
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Pending
    );
}

pub async fn only_dead_events_are_revived<S: Store>(store: &S) {
    let job = Fixture::new().job();
    assert!(
        !succeed(store.change_event(&job.event, EventChange::Revive { failed_at: at(5) })).await,
        "there is none"
    );
    assert_eq!(succeed(store.find_event(&job.event)).await, None);
    let _ = succeed(store.record_event(&job)).await;
    assert!(
        !succeed(store.change_event(&job.event, EventChange::Revive { failed_at: at(5) })).await,
        "it is pending"
    );
    succeed(store.change_event(
        &job.event,
        EventChange::Apply {
            at: at(5),
            expires: far_ahead(),
        },
    ))
    .await;
    assert!(
        !succeed(store.change_event(&job.event, EventChange::Revive { failed_at: at(5) })).await,
        "it is applied"
    );
    assert_eq!(record(store, &job).await.state, EventState::Applied);
}

pub async fn an_event_is_revived_of_the_death_that_is_named_only<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let _ = succeed(store.record_event(&job)).await;
    let die = async |when| give_up(store, (&fixture, &job), when).await;
    die(at(5)).await;
    for other in [at(4), at(6)] {
        assert!(!succeed(store.change_event(&job.event, EventChange::Revive { failed_at: other })).await);
        assert_eq!(record(store, &job).await.failed_at(), Some(at(5)));
    }
    assert!(succeed(store.change_event(&job.event, EventChange::Revive { failed_at: at(5) })).await);
    assert_eq!(record(store, &job).await.failed_at(), None);
    die(at(9)).await;
    assert!(
        !succeed(store.change_event(&job.event, EventChange::Revive { failed_at: at(5) })).await,
        "that death was undone before"
    );
    assert_eq!(record(store, &job).await.failed_at(), Some(at(9)));
}

pub async fn a_purged_event_is_settled_for_good<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let _ = succeed(store.record_event(&job)).await;
    give_up(store, (&fixture, &job), at(5)).await;
    assert!(
        succeed(store.change_event(
            &job.event,
            EventChange::Purge {
                failed_at: at(5),
                at: at(8),
                expires: far_ahead()
            }
        ))
        .await
    );
    let record = record(store, &job).await;
    assert_eq!(
        (
            record.state,
            record.reason,
            record.settled_at,
            record.overdue_at()
        ),
        (EventState::Applied, Some(Reason::Purged), Some(at(8)), None)
    );
    let kept = serde_json::to_string(&record.job.payload).unwrap();
    assert!(!kept.contains("Bom dia"), "the payload is still there");
    assert!(
        !succeed(store.change_event(
            &job.event,
            EventChange::Purge {
                failed_at: at(5),
                at: at(9),
                expires: far_ahead()
            }
        ))
        .await
    );
    for failed_at in [at(5), at(8)] {
        assert!(!succeed(store.change_event(&job.event, EventChange::Revive { failed_at })).await);
    }
    assert_eq!(
        succeed(store.record_event(&job)).await,
        RecordEventOutcome::Settled
    );
}

pub async fn only_the_death_that_is_named_is_purged<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let purge = async |failed_at| {
        succeed(store.change_event(
            &job.event,
            EventChange::Purge {
                failed_at,
                at: at(9),
                expires: long_ago(),
            },
        ))
        .await
    };
    assert!(!purge(at(5)).await, "there is none");
    assert_eq!(succeed(store.find_event(&job.event)).await, None);
    let _ = succeed(store.record_event(&job)).await;
    assert!(!purge(at(5)).await, "it is pending");
    give_up(store, (&fixture, &job), at(5)).await;
    assert!(!purge(at(4)).await, "it died later");
    assert_eq!(record(store, &job).await.failed_at(), Some(at(5)));
    assert!(purge(at(5)).await);
    assert_eq!(
        succeed(store.find_event(&job.event)).await,
        None,
        "it expires like any applied one"
    );
}

pub async fn an_event_enqueued_again_is_due_later<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let due = async || record(store, &job).await.overdue_at();
    let absent = succeed(store.record_reenqueue(&job.event, at(1))).await;
    assert_eq!(absent, None, "there is no such event");
    let _ = succeed(store.record_event(&job)).await;
    let minutes = |minutes: i64| Some(at(minutes * 60_000));
    assert_eq!(due().await, minutes(2));
    let first = succeed(store.record_reenqueue(&job.event, at(3 * 60_000))).await;
    let stored = record(store, &job).await;
    assert_eq!((stored.again, &stored.job), (1, &job));
    assert_eq!(
        first,
        Some(stored),
        "it is told as it is stored, so that it can be enqueued"
    );
    assert_eq!(due().await, minutes(13));
    let second = succeed(store.record_reenqueue(&job.event, at(14 * 60_000))).await;
    assert_eq!(second.map(|record| record.again), Some(2));
    assert_eq!(due().await, minutes(74));
    give_up(store, (&fixture, &job), at(5)).await;
    let dead = succeed(store.record_reenqueue(&job.event, at(6))).await;
    assert_eq!(dead, None, "it is dead");
    assert_eq!((record(store, &job).await.again, due().await), (2, None));
}

pub async fn two_workers_that_settle_at_once_settle_once<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let job = fixture.job();
    let _ = succeed(store.record_event(&job)).await;
    let dead_letter = fixture.dead_letter_of(&job, at(5));
    let letters = [None, Some(&dead_letter), None, Some(&dead_letter)];
    let settle = |letter| store.change_event(&job.event, end_of_event(letter, at(5), far_ahead()));
    let settled = join_all(letters.map(settle))
        .await
        .into_iter()
        .map(Result::unwrap);
    assert!(settled.collect::<Vec<bool>>().contains(&true));
    let first = record(store, &job).await;
    let letter = succeed(find_dead_letter(store, &dead_letter.id)).await;
    assert_eq!(letter.is_some(), first.state == EventState::Dead);
    assert_eq!(
        first.reason.is_some(),
        first.state == EventState::Dead,
        "half one, half the other"
    );
    assert_eq!(first.job.payload == job.payload, first.state == EventState::Dead);
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert_eq!(record(store, &job).await, first);
}
