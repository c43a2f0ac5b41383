//! The places of a tenant's turns: one record, written on condition that it is as it was read.

use crate::builders::{Fixture, at, nonce};
use crate::ports::succeed;
use futures::future::join_all;
use recado_domain::conversation::Conversation;
use recado_domain::turn_places::{PlaceAnswer, TurnPlaces};
use recado_ports::ports::{Store, WriteOutcome};
use recado_ports::records::turn_places::find_turn_places;
use recado_ports::table::{Versioned, write_record};
use std::num::NonZeroU32;

/// The conversation's turn takes a place.
fn take_place(places: &mut Versioned<TurnPlaces>, conversation: &Conversation) {
    let turn = (&conversation.id, &nonce());
    let answer = places
        .record
        .ask_for_place(NonZeroU32::MAX, turn, at(0), at(95_000));
    assert_eq!(answer, PlaceAnswer::Taken);
}

async fn save<S: Store>(store: &S, places: &mut Versioned<TurnPlaces>) -> WriteOutcome {
    succeed(write_record(store, places)).await
}

pub async fn the_places_of_a_tenants_turns_are_read_as_they_were_written<S: Store>(store: &S) {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    let conversation = fixture.conversation(1);
    let (tenant, another) = (&fixture.bound.tenant.id, &other.bound.tenant.id);
    let mut places = succeed(find_turn_places(store, tenant)).await;
    assert_eq!(places.record, TurnPlaces::new(tenant.clone()));
    take_place(&mut places, &conversation);
    assert_eq!(save(store, &mut places).await, WriteOutcome::Written);
    let found = succeed(find_turn_places(store, tenant)).await;
    assert_eq!(found.record, places.record);
    let theirs = succeed(find_turn_places(store, another)).await;
    assert_eq!(theirs.record, TurnPlaces::new(another.clone()));
}

pub async fn places_that_another_worker_changed_are_not_written<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let tenant = &fixture.bound.tenant.id;
    let mut first = succeed(find_turn_places(store, tenant)).await;
    let mut second = first.clone();
    take_place(&mut first, &fixture.conversation(1));
    take_place(&mut second, &fixture.conversation(2));
    assert_eq!(save(store, &mut first).await, WriteOutcome::Written);
    assert_eq!(save(store, &mut second).await, WriteOutcome::Conflict);
    let mut third = succeed(find_turn_places(store, tenant)).await;
    take_place(&mut first, &fixture.conversation(3));
    take_place(&mut third, &fixture.conversation(4));
    assert_eq!(
        save(store, &mut first).await,
        WriteOutcome::Written,
        "its own write is no other's"
    );
    assert_eq!(save(store, &mut third).await, WriteOutcome::Conflict);
    let found = succeed(find_turn_places(store, tenant)).await;
    assert_eq!(found.record, first.record);
}

pub async fn of_ten_workers_that_take_a_place_at_once_one_writes<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let mut places = succeed(find_turn_places(store, &fixture.bound.tenant.id)).await;
    take_place(&mut places, &fixture.conversation(1));
    let mut workers = vec![places; 10];
    let written = join_all(workers.iter_mut().map(|places| write_record(store, places))).await;
    let won = written
        .iter()
        .filter(|written| matches!(written, Ok(WriteOutcome::Written)));
    assert_eq!(won.count(), 1);
}

pub async fn places_go_with_their_tenant<S: Store>(store: &S) {
    let fixture = Fixture::new();
    let conversation = fixture.conversation(1);
    let tenant = &fixture.bound.tenant.id;
    let mut places = succeed(find_turn_places(store, tenant)).await;
    take_place(&mut places, &conversation);
    assert_eq!(save(store, &mut places).await, WriteOutcome::Written);
    let instances = [fixture.bound.instance.clone()];
    while succeed(store.delete_tenant_records(tenant, &instances, 100)).await > 0 {}
    // A tenant that gets the name later has places of its own.
    let mut again = succeed(find_turn_places(store, tenant)).await;
    assert_eq!(again.record, TurnPlaces::new(tenant.clone()));
    take_place(&mut again, &conversation);
    assert_eq!(save(store, &mut again).await, WriteOutcome::Written);
    take_place(&mut places, &fixture.conversation(2));
    assert_eq!(save(store, &mut places).await, WriteOutcome::Conflict);
}
