//! Instances at run time: the connection and the rate.

use super::patience::{INDEX, eventually};
use crate::builders::{Fixture, at, change_instance, seen};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::Timestamp;
use recado_domain::ids::{InstanceId, Ordinal};
use recado_domain::instance::{
    ConnectionStatus, ConnectionUpdate, InstanceChange, InstanceState, TrafficProfile, UnansweredAttempt,
};
use recado_domain::rate::Rate;
use recado_ports::ports::{Reservation, SlotTurn, Store};

/// The stored state, but for its revision.
async fn state<S: Store>(store: &S, fixture: &Fixture) -> InstanceState {
    let stored = succeed(store.read_instance_state(fixture.instance())).await;
    InstanceState { rev: 0, ..stored }
}

async fn set<S: Store>(
    store: &S,
    fixture: &Fixture,
    to: ConnectionStatus,
    now: i64,
    probe: Option<i64>,
) -> bool {
    let id = fixture.instance();
    change_instance(
        store,
        id,
        InstanceChange::Connection(seen(to, at(now), probe.map(at))),
    )
    .await
    .done
}

async fn time_out<S: Store>(store: &S, fixture: &Fixture, found: &UnansweredAttempt) -> u32 {
    let change = InstanceChange::Unanswered(found.clone());
    let changed = change_instance(store, fixture.instance(), change).await;
    changed.state.timeouts
}

async fn note_model_key<S: Store>(store: &S, fixture: &Fixture, missing: bool) -> bool {
    let change = InstanceChange::ModelKeyMissing(missing);
    change_instance(store, fixture.instance(), change).await.done
}

/// The slot that is given; `None` where the instance is not open.
async fn reserve<S: Store>(store: &S, fixture: &Fixture, rate: Rate, now: Timestamp) -> Option<Timestamp> {
    match succeed(store.reserve_slot(fixture.instance(), rate, SlotTurn::Next, now)).await {
        Reservation::Slot { at, .. } => Some(at),
        Reservation::NotOpen | Reservation::Place(_) => None,
    }
}

pub async fn an_instance_without_a_state_has_the_default_one<S: Store>(store: &S) {
    assert_eq!(state(store, &Fixture::new()).await, InstanceState::default());
}

pub async fn a_change_of_connection_is_told_and_begins_anew<S: Store>(store: &S) {
    let fixture = Fixture::new();
    time_out(store, &fixture, &UnansweredAttempt::Unreached).await;
    assert!(set(store, &fixture, ConnectionStatus::Closed, 10, Some(60_000)).await);
    let expected = InstanceState {
        connection: ConnectionStatus::Closed,
        since: Some(at(10)),
        lost_at: Some(at(10)),
        probe_at: Some(at(60_000)),
        catch_up_from: Some(at(10)),
        ..InstanceState::default()
    };
    assert_eq!(state(store, &fixture).await, expected);
    assert!(
        set(
            store,
            &fixture,
            ConnectionStatus::NeedsCredentials,
            20,
            Some(70_000)
        )
        .await
    );
    let expected = InstanceState {
        connection: ConnectionStatus::NeedsCredentials,
        since: Some(at(20)),
        lost_at: Some(at(10)),
        probe_at: Some(at(70_000)),
        catch_up_from: Some(at(10)),
        ..InstanceState::default()
    };
    assert_eq!(state(store, &fixture).await, expected);
    assert!(set(store, &fixture, ConnectionStatus::Open, 30, None).await);
    let expected = InstanceState {
        since: Some(at(30)),
        catch_up_from: Some(at(10)),
        ..InstanceState::default()
    };
    assert_eq!(state(store, &fixture).await, expected);
}

pub async fn the_same_connection_again_counts_a_probe<S: Store>(store: &S) {
    let fixture = Fixture::new();
    assert!(set(store, &fixture, ConnectionStatus::Closed, 10, Some(60_000)).await);
    time_out(store, &fixture, &UnansweredAttempt::Unreached).await;
    for probes in 1..=3u32 {
        let now = i64::from(probes) * 60_000;
        assert!(!set(store, &fixture, ConnectionStatus::Closed, now, Some(now + 60_000)).await);
        let state = state(store, &fixture).await;
        assert_eq!(
            (state.probes, state.since),
            (probes, Some(at(10))),
            "since the first"
        );
        assert_eq!((state.probe_at, state.timeouts), (Some(at(now + 60_000)), 1));
    }
    assert!(set(store, &fixture, ConnectionStatus::Open, 500_000, None).await);
    assert_eq!(state(store, &fixture).await.probes, 0);
}

pub async fn an_instance_without_a_state_is_open_already<S: Store>(store: &S) {
    assert!(!set(store, &Fixture::new(), ConnectionStatus::Open, 10, None).await);
}

pub async fn of_ten_who_see_it_closed_one_is_told_of_the_change<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let close = (0..10).map(|_| set(store, &fixture, ConnectionStatus::Closed, 10, Some(60_000)));
    let changed = join_all(close)
        .await
        .into_iter()
        .filter(|changed| *changed)
        .count();
    assert_eq!(changed, 1);
    assert_eq!(state(store, &fixture).await.probes, 9);
}

pub async fn a_change_is_made_of_the_stored_state_whatever_was_seen<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let id = fixture.instance();
    let unreached = InstanceChange::Unanswered(UnansweredAttempt::Unreached);
    let outdated = succeed(store.read_instance_state(id)).await;
    for expected in 1..=3 {
        let changed = succeed(store.change_instance_state(id, &outdated, &unreached)).await;
        assert_eq!((changed.done, changed.state.timeouts), (true, expected));
    }
    let stored = succeed(store.read_instance_state(id)).await;
    assert_eq!((stored.rev, stored.timeouts), (3, 3));
    reserve(store, &fixture, Rate::EVOLUTION, at(0)).await;
    // Nothing to change in what was seen, and something in what is stored; and the reverse.
    let missing = InstanceChange::ModelKeyMissing(true);
    assert!(change_instance(store, id, missing.clone()).await.done);
    let imagined = InstanceState {
        llm_needs_credentials: false,
        ..succeed(store.read_instance_state(id)).await
    };
    let cleared = InstanceChange::ModelKeyMissing(false);
    let change = store.change_instance_state(id, &outdated, &cleared);
    assert!(change.await.unwrap().done);
    let change = store.change_instance_state(id, &imagined, &cleared);
    assert!(!change.await.unwrap().done);
    let stored = succeed(store.read_instance_state(id)).await;
    assert_eq!((stored.rev, stored.timeouts), (5, 3), "a slot is no change");
    assert_eq!(
        stored.arrival,
        Some(Rate::EVOLUTION.reserve_slot(None, at(0)).arrival),
        "a change leaves the slots"
    );
}

pub async fn slots_follow_the_rates_arithmetic<S: Store>(store: &S) {
    let odd = Rate {
        per_second: 0.3,
        burst: 3,
    };
    // A burst, a busy time, a pause, a clock that goes back, and one that was a year ahead.
    let year = 365 * 86_400_000;
    let times = [
        0, 0, 0, 0, 0, 0, 0, 10, 10, 700, 2_500, 60_000, 60_000, 60_001, 59_000, 61_000, 200_000, year, year,
        300_000, 300_000, 301_000,
    ];
    for rate in [Rate::EVOLUTION, Rate::META, odd] {
        let (fixture, mut arrival) = (Fixture::new(), None);
        for now in times.map(at) {
            let expected = rate.reserve_slot(arrival, now);
            assert_eq!(
                reserve(store, &fixture, rate, now).await,
                Some(expected.at),
                "{rate:?}"
            );
            arrival = Some(expected.arrival);
            assert_eq!(state(store, &fixture).await.arrival, arrival);
        }
    }
}

pub async fn a_changed_rate_goes_on_from_the_stored_arrival<S: Store>(store: &S) {
    let (fixture, mut arrival) = (Fixture::new(), None);
    let rates = [
        Rate::EVOLUTION,
        Rate::EVOLUTION,
        Rate::META,
        Rate::EVOLUTION,
        Rate::META,
    ];
    for rate in rates.into_iter().cycle().take(20) {
        let expected = rate.reserve_slot(arrival, at(0));
        assert_eq!(reserve(store, &fixture, rate, at(0)).await, Some(expected.at));
        arrival = Some(expected.arrival);
    }
}

pub async fn twenty_reservations_at_once_get_twenty_slots<S: Store>(store: &S) {
    let (fixture, rate) = (Fixture::new(), Rate::EVOLUTION);
    let found = join_all((0..20).map(|_| reserve(store, &fixture, rate, at(0)))).await;
    let mut slots: Vec<Timestamp> = found.into_iter().flatten().collect();
    slots.sort_unstable();
    let (mut expected, mut arrival) = (Vec::new(), None);
    for _ in 0..20 {
        let slot = rate.reserve_slot(arrival, at(0));
        expected.push(slot.at);
        arrival = Some(slot.arrival);
    }
    assert_eq!(slots, expected);
}

pub async fn an_instance_that_is_not_open_gives_no_slot<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let rate = Rate::EVOLUTION;
    let first = rate.reserve_slot(None, at(0));
    assert_eq!(reserve(store, &fixture, rate, at(0)).await, Some(first.at));
    for (now, to) in [
        (10, ConnectionStatus::Closed),
        (20, ConnectionStatus::NeedsCredentials),
    ] {
        set(store, &fixture, to, now, Some(60_000)).await;
        assert_eq!(reserve(store, &fixture, rate, at(30)).await, None);
        assert_eq!(
            state(store, &fixture).await.arrival,
            Some(first.arrival),
            "nothing is used up"
        );
    }
    set(store, &fixture, ConnectionStatus::Open, 40, None).await;
    let next = rate.reserve_slot(Some(first.arrival), at(50));
    assert_eq!(reserve(store, &fixture, rate, at(50)).await, Some(next.at));
}

pub async fn instances_have_rates_of_their_own<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    for _ in 0..10 {
        reserve(store, &fixture, Rate::EVOLUTION, at(0)).await;
    }
    assert_eq!(reserve(store, &other, Rate::EVOLUTION, at(0)).await, Some(at(0)));
}

pub async fn timeouts_in_a_row_are_counted_and_forgotten<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let id = fixture.instance();
    let unreached = UnansweredAttempt::Unreached;
    change_instance(store, id, InstanceChange::ResetTimeouts).await;
    for expected in 1..=3 {
        assert_eq!(time_out(store, &fixture, &unreached).await, expected);
    }
    assert_eq!(state(store, &fixture).await.timeouts, 3);
    change_instance(store, id, InstanceChange::ResetTimeouts).await;
    assert_eq!(state(store, &fixture).await, InstanceState::default());
    assert_eq!(time_out(store, &fixture, &unreached).await, 1);
}

pub async fn a_message_that_times_out_again_is_counted_once<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let id = fixture.instance();
    let message = |ordinal| fixture.conversation(1).id.message_id(Ordinal(ordinal));
    let timed_out = |ordinal| UnansweredAttempt::TimedOut(message(ordinal));
    let mut expected = InstanceState::default();
    for (found, count) in [
        (timed_out(1), 1),
        (timed_out(1), 1),
        (timed_out(2), 2),
        (timed_out(2), 2),
        (timed_out(1), 3),
        (UnansweredAttempt::Unreached, 4),
        (timed_out(1), 5),
    ] {
        assert_eq!(time_out(store, &fixture, &found).await, count);
        expected.count_timeout(&found);
        assert_eq!(state(store, &fixture).await, expected);
    }
    assert_eq!(expected.timed_out, Some(message(1)));
    change_instance(store, id, InstanceChange::ResetTimeouts).await;
    assert_eq!(state(store, &fixture).await, InstanceState::default());
    assert_eq!(time_out(store, &fixture, &timed_out(1)).await, 1);
    set(store, &fixture, ConnectionStatus::Closed, 10, Some(60_000)).await;
    let closed = state(store, &fixture).await;
    assert_eq!(
        (closed.timeouts, closed.timed_out),
        (0, None),
        "a change forgets them"
    );
}

pub async fn a_missing_model_key_is_noted_and_a_change_told<S: Store>(store: &S) {
    let fixture = Fixture::new();
    assert!(!note_model_key(store, &fixture, false).await);
    assert!(note_model_key(store, &fixture, true).await);
    assert!(!note_model_key(store, &fixture, true).await);
    assert!(state(store, &fixture).await.llm_needs_credentials);
    assert!(note_model_key(store, &fixture, false).await);
    assert!(!state(store, &fixture).await.llm_needs_credentials);
}

pub async fn what_is_noted_of_an_instance_does_not_disturb_the_rest<S: Store>(store: &S) {
    let fixture = Fixture::new();
    change_instance(store, fixture.instance(), InstanceChange::ModelKeyMissing(true)).await;
    reserve(store, &fixture, Rate::EVOLUTION, at(0)).await;
    change_instance(store, fixture.instance(), InstanceChange::Confirm(at(5))).await;
    set(store, &fixture, ConnectionStatus::Closed, 10, Some(60_000)).await;
    time_out(store, &fixture, &UnansweredAttempt::Unreached).await;
    let mut pattern = TrafficProfile::default();
    pattern.record_message_time(at(0));
    pattern.record_message_time(at(90_000));
    change_instance(
        store,
        fixture.instance(),
        InstanceChange::Traffic(pattern.clone()),
    )
    .await;
    let expected = InstanceState {
        connection: ConnectionStatus::Closed,
        since: Some(at(10)),
        lost_at: Some(at(10)),
        probe_at: Some(at(60_000)),
        probes: 0,
        arrival: Some(Rate::EVOLUTION.reserve_slot(None, at(0)).arrival),
        slots: 1,
        timeouts: 1,
        llm_needs_credentials: true,
        asked_at: Some(at(0)),
        confirmed_at: Some(at(5)),
        catch_up_from: Some(at(10)),
        pattern: Some(pattern),
        ..InstanceState::default()
    };
    assert_eq!(state(store, &fixture).await, expected);
}

pub async fn a_slot_comes_with_the_state_after_it<S: Store>(store: &S) {
    let fixture = Fixture::new();
    time_out(store, &fixture, &UnansweredAttempt::Unreached).await;
    // An idle instance, and a busy one.
    for now in [0, 0, 10] {
        let found =
            succeed(store.reserve_slot(fixture.instance(), Rate::EVOLUTION, SlotTurn::Next, at(now))).await;
        let Reservation::Slot { state: told, .. } = found else {
            panic!("it is open")
        };
        assert_eq!(
            *told,
            succeed(store.read_instance_state(fixture.instance())).await
        );
        assert_eq!(
            (told.timeouts, told.asked_at),
            (1, Some(at(0))),
            "since the first slot"
        );
    }
}

pub async fn an_answer_confirms_the_state_and_a_guess_does_not<S: Store>(store: &S) {
    let fixture = Fixture::new();
    set(store, &fixture, ConnectionStatus::Closed, 10, Some(60_000)).await;
    assert_eq!(state(store, &fixture).await.confirmed_at, None);
    for (now, connection) in [
        (20, ConnectionStatus::Closed),
        (30, ConnectionStatus::Open),
        (40, ConnectionStatus::Open),
    ] {
        let answered = ConnectionUpdate {
            asked_at: Some(at(now - 5)),
            ..seen(connection, at(now), None)
        };
        change_instance(store, fixture.instance(), InstanceChange::Connection(answered)).await;
        assert_eq!(state(store, &fixture).await.confirmed_at, Some(at(now - 5)));
    }
    set(store, &fixture, ConnectionStatus::Closed, 50, Some(60_000)).await;
    assert_eq!(
        state(store, &fixture).await.confirmed_at,
        Some(at(35)),
        "the last answer"
    );
}

pub async fn an_opening_that_releases_is_noted_and_one_that_puts_it_off_is_not<S: Store>(store: &S) {
    let fixture = Fixture::new();
    set(store, &fixture, ConnectionStatus::Closed, 10, Some(60_000)).await;
    set(store, &fixture, ConnectionStatus::Open, 20, Some(30_000)).await;
    let put_off = state(store, &fixture).await;
    assert_eq!((put_off.released_at, put_off.probe_at), (None, Some(at(30_000))));
    for probe in [Some(at(90_000)), None] {
        let releasing = ConnectionUpdate {
            releases_waiting: true,
            ..seen(ConnectionStatus::Open, at(30_000), probe)
        };
        assert!(
            !change_instance(store, fixture.instance(), InstanceChange::Connection(releasing))
                .await
                .done
        );
        let released = state(store, &fixture).await;
        assert_eq!(
            (released.released_at, released.probe_at),
            (Some(at(30_000)), probe)
        );
    }
    set(store, &fixture, ConnectionStatus::Closed, 40_000, None).await;
    assert_eq!(state(store, &fixture).await.released_at, Some(at(30_000)));
}

pub async fn of_ten_who_find_the_state_old_one_asks<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let id = fixture.instance();
    let claim = |now: i64, before: i64| {
        let (now, before) = (at(now), at(before));
        change_instance(store, id, InstanceChange::ClaimCheck { now, before })
    };
    reserve(store, &fixture, Rate::EVOLUTION, at(0)).await;
    assert!(!claim(10, -1).await.done, "it is not that old");
    let claims = join_all((0..10).map(|_| claim(600_000, 0))).await;
    assert_eq!(claims.into_iter().filter(|asks| asks.done).count(), 1);
    assert_eq!(state(store, &fixture).await.asked_at, Some(at(600_000)));
    assert!(!claim(610_000, 10_000).await.done);
    assert!(claim(1_200_000, 600_000).await.done);
    change_instance(store, id, InstanceChange::Confirm(at(1_300_000))).await;
    assert!(!claim(1_800_000, 1_200_000).await.done, "it was confirmed since");
    set(
        store,
        &fixture,
        ConnectionStatus::Closed,
        1_900_000,
        Some(2_000_000),
    )
    .await;
    assert!(
        !claim(9_000_000, 8_000_000).await.done,
        "of one that is not open nobody asks so"
    );
    change_instance(store, id, InstanceChange::Confirm(at(1_950_000))).await;
    assert_eq!(
        state(store, &fixture).await.confirmed_at,
        Some(at(1_300_000)),
        "a send that was accepted before it closed says nothing"
    );
}

pub async fn the_states_of_many_instances_are_read_at_once<S: Store>(store: &S) {
    let fixtures: Vec<Fixture> = (0..130).map(|_| Fixture::new()).collect();
    let ids: Vec<InstanceId> = fixtures
        .iter()
        .map(|fixture| fixture.instance().clone())
        .collect();
    for id in &ids[..3] {
        let missing = InstanceChange::ModelKeyMissing(true);
        succeed(store.change_instance_state(id, &InstanceState::default(), &missing)).await;
    }
    let read = async || succeed(store.read_instance_states(&ids)).await;
    let found = eventually(INDEX, read, |found| found.len() == 3).await;
    for id in &ids[..3] {
        assert_eq!(found.get(id), Some(&succeed(store.read_instance_state(id)).await));
    }
    assert_eq!(found.len(), 3);
}
