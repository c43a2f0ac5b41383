//! Records that another transaction holds.

use crate::world::{World, unavailable};
use futures::executor::block_on;
use recado_dynamo_simulation::{Fault, Verb};
use recado_pipeline::ports::{EventChange, InboundWrite, Inbox, RecordEventOutcome, StoreInboundOutcome};
use recado_testkit::builders::Fixture;

#[test]
fn a_transaction_that_collides_is_repeated_until_it_does_not() {
    let (world, fixture) = (World::new(), Fixture::new());
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    let _ = block_on(world.store.record_event(&job)).unwrap();
    let message = fixture.inbound(&mut conversation, &job);
    let write = || InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    let requests = world.dynamo.requests();
    world.fails(|_| Fault::TransactionConflict);
    assert_eq!(
        unavailable(block_on(world.store.store_inbound(write()))),
        "TransactionConflict"
    );
    assert_eq!(world.dynamo.requests() - requests, 7);
    world.fails_times(6, Fault::TransactionConflict);
    let stored = block_on(world.store.store_inbound(write())).unwrap();
    assert_eq!(stored, StoreInboundOutcome::Stored);
}

#[test]
fn a_single_write_that_collides_is_repeated_until_it_does_not() {
    let (world, job) = (World::new(), Fixture::new().job());
    world.fails(|_| Fault::TransactionConflict);
    assert_eq!(
        unavailable(block_on(world.store.record_event(&job))),
        "TransactionConflictException"
    );
    assert_eq!(world.dynamo.records().unwrap(), []);
    world.fails_times(6, Fault::TransactionConflict);
    assert_eq!(
        block_on(world.store.record_event(&job)).unwrap(),
        RecordEventOutcome::New
    );
    world.fails_times(1, Fault::TransactionConflict);
    assert!(
        block_on(
            world
                .store
                .change_event(&job.event, EventChange::SetAttempts { seen: 0, attempts: 1 })
        )
        .unwrap()
    );
}

#[test]
fn a_read_does_not_collide() {
    let (world, job) = (World::new(), Fixture::new().job());
    let _ = block_on(world.store.record_event(&job)).unwrap();
    world.fails(|operation| {
        assert_eq!(operation.verb, Verb::Get);
        Fault::TransactionConflict
    });
    assert!(block_on(world.store.find_event(&job.event)).unwrap().is_some());
}
