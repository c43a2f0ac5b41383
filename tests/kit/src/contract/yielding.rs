//! Slots and places of messages that let others go before them.

use crate::builders::{Fixture, at, change_instance, seen};
use crate::ports::succeed;
use futures::future::join_all;
use jiff::Timestamp;
use recado_domain::instance::{ConnectionStatus, InstanceChange, InstanceState};
use recado_domain::rate::{Rate, YieldingSlot};
use recado_ports::ports::{Reservation, SlotTurn, Store};

/// What a message gets that lets others go before it: a slot, or a place.
async fn reserve_yielding<S: Store>(
    store: &S,
    fixture: &Fixture,
    holds_place: bool,
    now: Timestamp,
) -> Result<Timestamp, Timestamp> {
    let turn = if holds_place {
        SlotTurn::YieldingAgain
    } else {
        SlotTurn::Yielding
    };
    let reserved = store.reserve_slot(fixture.instance(), Rate::EVOLUTION, turn, now);
    match succeed(reserved).await {
        Reservation::Slot { at, .. } => Ok(at),
        Reservation::Place(at) => Err(at),
        Reservation::NotOpen => panic!("it is open"),
    }
}

pub async fn who_lets_others_go_first_gets_near_slots_and_places_behind_each_other<S: Store>(store: &S) {
    let (fixture, mut expected) = (Fixture::new(), InstanceState::default());
    // Many ask at once, some of them again at their places, and a reply comes in between.
    let asks = [
        (0, Some(false)),
        (0, Some(false)),
        (0, Some(false)),
        (0, Some(false)),
        (0, Some(false)),
        (0, Some(false)),
        (10, Some(false)),
        (20, None),
        (1_000, Some(true)),
        (2_000, Some(true)),
        (2_001, Some(true)),
        (90_000, Some(false)),
    ];
    for (now, holds_place) in asks {
        let now = at(now);
        let Some(holds_place) = holds_place else {
            let slot = Rate::EVOLUTION.reserve_slot(expected.arrival, now);
            expected.arrival = Some(slot.arrival);
            expected.slots += 1;
            let found =
                succeed(store.reserve_slot(fixture.instance(), Rate::EVOLUTION, SlotTurn::Next, now)).await;
            assert!(matches!(found, Reservation::Slot { at, .. } if at == slot.at));
            continue;
        };
        let told = match expected.reserve_yielding(Rate::EVOLUTION, holds_place, now) {
            YieldingSlot::Slot(slot) => Ok(slot.at),
            YieldingSlot::Place { at, .. } => Err(at),
        };
        assert_eq!(
            reserve_yielding(store, &fixture, holds_place, now).await,
            told,
            "at {now}"
        );
        let stored = succeed(store.read_instance_state(fixture.instance())).await;
        assert_eq!(
            (stored.arrival, stored.places),
            (expected.arrival, expected.places)
        );
        assert_eq!(stored.slots, expected.slots);
    }
}

pub async fn of_twenty_that_let_others_go_first_each_has_its_own_slot_or_place<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let asks = (0..20).map(|_| reserve_yielding(store, &fixture, false, at(0)));
    let (mut slots, mut places) = (Vec::new(), Vec::new());
    for found in join_all(asks).await {
        match found {
            Ok(slot) => slots.push(slot),
            Err(place) => places.push(place),
        }
    }
    slots.sort_unstable();
    places.sort_unstable();
    assert_eq!(slots, [0, 0, 0, 0, 1_000].map(at));
    assert_eq!(
        places,
        (1..=15).map(|second| at(second * 1_000)).collect::<Vec<_>>()
    );
    let change = InstanceChange::Connection(seen(ConnectionStatus::Closed, at(1), Some(at(60_000))));
    change_instance(store, fixture.instance(), change).await;
    let closed = store.reserve_slot(fixture.instance(), Rate::EVOLUTION, SlotTurn::Yielding, at(2));
    assert_eq!(succeed(closed).await, Reservation::NotOpen);
}
