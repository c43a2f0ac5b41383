//! Requests that are refused for now, and requests that will always be.

use crate::world::{World, code, unavailable};
use futures::executor::block_on;
use recado_domain::event::EventPayload;
use recado_dynamo_simulation::{Fault, Verb};
use recado_pipeline::ports::{InboundWrite, Inbox, PortError, RecordEventOutcome, StoreInboundOutcome};
use recado_testkit::builders::Fixture;
use serde_json::json;
use std::time::Duration;

const EXCEEDED: &str = "ProvisionedThroughputExceededException";

#[test]
fn a_throttled_write_is_unavailable_and_changes_nothing() {
    let (world, job) = (World::new(), Fixture::new().job());
    world.fails_times(1, Fault::ThrottleBefore);
    assert_eq!(unavailable(block_on(world.store.record_event(&job))), EXCEEDED);
    assert_eq!(world.dynamo.records().unwrap(), []);
    assert_eq!(
        block_on(world.store.record_event(&job)).unwrap(),
        RecordEventOutcome::New
    );
}

#[test]
fn a_throttled_read_is_unavailable() {
    let (world, job) = (World::new(), Fixture::new().job());
    world.fails(|operation| match operation.verb {
        Verb::Get => Fault::ThrottleBefore,
        _ => Fault::None,
    });
    assert_eq!(
        block_on(world.store.record_event(&job)).unwrap(),
        RecordEventOutcome::New
    );
    assert_eq!(
        unavailable(block_on(world.store.find_event(&job.event))),
        EXCEEDED
    );
}

#[test]
fn a_throttled_transaction_is_tried_again_by_the_store_and_given_up_in_the_end() {
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
    world.fails_times(2, Fault::ThrottleBefore);
    let before = world.time.passed();
    let stored = block_on(world.store.store_inbound(write()));
    assert_eq!(stored.unwrap(), StoreInboundOutcome::Stored);
    assert!(world.time.passed() > before, "it waited between its tries");

    let other = fixture.other_contact();
    let (mut conversation, job) = (other.conversation(1), other.job());
    let _ = block_on(world.store.record_event(&job)).unwrap();
    let message = other.inbound(&mut conversation, &job);
    world.fails(|_| Fault::ThrottleBefore);
    let (records, requests) = (world.dynamo.records().unwrap(), world.dynamo.requests());
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    assert_eq!(
        unavailable(block_on(world.store.store_inbound(write))),
        "ThrottlingError"
    );
    assert_eq!(world.dynamo.requests() - requests, 7);
    assert_eq!(world.dynamo.records().unwrap(), records);
}

#[test]
fn the_sdk_tries_again_what_was_throttled_when_it_may() {
    let (world, job) = (World::with_attempts(3), Fixture::new().job());
    world.fails_times(2, Fault::ThrottleBefore);
    assert_eq!(
        block_on(world.store.record_event(&job)).unwrap(),
        RecordEventOutcome::New
    );
    assert_eq!(world.dynamo.requests(), 3);
    assert!(
        world.time.passed() >= Duration::from_millis(100),
        "it waited in between"
    );
}

#[test]
fn a_record_of_more_than_400_kb_is_refused_for_good() {
    let world = World::new();
    let mut job = Fixture::new().job();
    job.payload = EventPayload::Inline(json!({"text": "x".repeat(420_000)}));
    let error = block_on(world.store.record_event(&job)).unwrap_err();
    assert!(matches!(error, PortError::Invalid { .. }), "{error:?}");
    assert_eq!(code(&error), "ValidationException");
}
