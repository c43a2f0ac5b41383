//! The places of a tenant's turns: one record, written on condition that it is as it was read.

use crate::builders::{Fixture, at, nonce};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::conversation::Conversation;
use recado_domain::turn_places::{PlaceAnswer, TurnPlaces};
use recado_ports::ports::{Store, WriteOutcome};
use std::num::NonZeroU32;

/// The places after the conversation's turn took one.
fn with_turn_of(places: &TurnPlaces, conversation: &Conversation) -> TurnPlaces {
    let mut places = places.clone();
    let turn = (&conversation.id, &nonce());
    let answer = places.ask_for_place(NonZeroU32::MAX, turn, at(0), at(95_000));
    assert_eq!(answer, PlaceAnswer::Taken);
    places
}

pub async fn the_places_of_a_tenants_turns_are_read_as_they_were_written<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let conversation = fixture.conversation(1);
    let (tenant, another) = (&fixture.bound.tenant.id, &other.bound.tenant.id);
    assert_eq!(succeed(store.find_turn_places(tenant)).await, None);
    let places = with_turn_of(&TurnPlaces::default(), &conversation);
    let written = succeed(store.save_turn_places(tenant, &places)).await;
    assert_eq!(written, WriteOutcome::Written);
    assert_eq!(succeed(store.find_turn_places(tenant)).await, Some(places));
    assert_eq!(succeed(store.find_turn_places(another)).await, None);
}

pub async fn places_that_another_worker_changed_are_not_written<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = fixture.conversation(1);
    let tenant = &fixture.bound.tenant.id;
    let first = with_turn_of(&TurnPlaces::default(), &conversation);
    let second = with_turn_of(&first, &fixture.conversation(2));
    let early = succeed(store.save_turn_places(tenant, &second)).await;
    assert_eq!(early, WriteOutcome::Conflict, "there is nothing to follow");
    for (places, expected) in [
        (&first, WriteOutcome::Written),
        (&first, WriteOutcome::Conflict),
        (&second, WriteOutcome::Written),
        (&second, WriteOutcome::Conflict),
        (&first, WriteOutcome::Conflict),
    ] {
        let written = succeed(store.save_turn_places(tenant, places)).await;
        assert_eq!(written, expected, "revision {}", places.rev);
    }
    assert_eq!(succeed(store.find_turn_places(tenant)).await, Some(second));
}

pub async fn of_ten_workers_that_take_a_place_at_once_one_writes<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = fixture.conversation(1);
    let tenant = &fixture.bound.tenant.id;
    let places = with_turn_of(&TurnPlaces::default(), &conversation);
    let written = join_all((0..10).map(|_| store.save_turn_places(tenant, &places))).await;
    let won = written
        .iter()
        .filter(|written| matches!(written, Ok(WriteOutcome::Written)));
    assert_eq!(won.count(), 1);
}

pub async fn places_go_with_their_tenant<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = fixture.conversation(1);
    let tenant = &fixture.bound.tenant.id;
    let places = with_turn_of(&TurnPlaces::default(), &conversation);
    let written = succeed(store.save_turn_places(tenant, &places)).await;
    assert_eq!(written, WriteOutcome::Written);
    let instances = [fixture.bound.instance.clone()];
    while succeed(store.delete_tenant_records(tenant, &instances, 100)).await > 0 {}
    assert_eq!(succeed(store.find_turn_places(tenant)).await, None);
    // A tenant that gets the name later has places of its own, though they were written as often.
    let again = with_turn_of(&TurnPlaces::default(), &conversation);
    let written = succeed(store.save_turn_places(tenant, &again)).await;
    assert_eq!(written, WriteOutcome::Written);
    let late = with_turn_of(&places, &fixture.conversation(2));
    let written = succeed(store.save_turn_places(tenant, &late)).await;
    assert_eq!(written, WriteOutcome::Conflict);
}
