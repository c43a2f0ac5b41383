//! Answers that are lost: what was asked is done.

use crate::world::{World, unavailable};
use futures::executor::block_on;
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::message::Message;
use recado_dynamo_simulation::{Fault, Verb};
use recado_pipeline::ports::{Conversations, InboundStored, InboundWrite, Inbox, Recorded};
use recado_testkit::builders::Scene;

/// An event that is recorded, and what it brings.
fn arrived(world: &World) -> (InboundJob, Conversation, Message) {
    let scene = Scene::new();
    let (mut conversation, job) = (scene.conversation(1), scene.job());
    assert_eq!(block_on(world.store.record_event(&job)).unwrap(), Recorded::New);
    let message = scene.inbound(&mut conversation, &job);
    (job, conversation, message)
}

fn stored(
    world: &World,
    job: &InboundJob,
    conversation: &Conversation,
    message: &Message,
) -> Result<InboundStored, recado_pipeline::ports::PortError> {
    block_on(world.store.store_inbound(InboundWrite {
        event: &job.event,
        conversation,
        message,
    }))
}

#[test]
fn a_write_whose_answer_is_lost_is_unavailable_and_was_done() {
    let (world, job) = (World::new(), Scene::new().job());
    world.fails_times(1, Fault::FailAfter);
    assert_eq!(
        unavailable(block_on(world.store.record_event(&job))),
        "connection"
    );
    assert_eq!(world.dynamo.records().unwrap().len(), 1);
    assert_eq!(
        block_on(world.store.record_event(&job)).unwrap(),
        Recorded::Pending
    );
}

#[test]
fn a_transaction_whose_answer_is_lost_is_unavailable_and_was_done_whole() {
    let world = World::new();
    let (job, conversation, message) = arrived(&world);
    world.fails_times(1, Fault::FailAfter);
    let outcome = stored(&world, &job, &conversation, &message);
    assert_eq!(unavailable(outcome), "connection");
    let found = block_on(world.store.message(&message.id())).unwrap();
    assert_eq!(found, Some(message.clone()));
    let again = stored(&world, &job, &conversation, &message).unwrap();
    assert!(matches!(again, InboundStored::Already(_)), "{again:?}");
}

#[test]
fn a_refusal_that_is_lost_is_unavailable_and_nothing_was_done() {
    let (world, job) = (World::new(), Scene::new().job());
    let _ = block_on(world.store.record_event(&job)).unwrap();
    let records = world.dynamo.records().unwrap();
    world.fails(|_| Fault::FailAfter);
    assert_eq!(
        unavailable(block_on(world.store.record_event(&job))),
        "connection"
    );
    assert_eq!(world.dynamo.records().unwrap(), records);
}

#[test]
fn a_write_that_the_sdk_repeats_after_a_lost_answer_is_known_as_its_own() {
    let (world, job) = (World::with_attempts(3), Scene::new().job());
    world.fails_times(1, Fault::FailAfter);
    assert_eq!(block_on(world.store.record_event(&job)).unwrap(), Recorded::New);
    assert_eq!(world.dynamo.requests(), 2);
}

#[test]
fn a_transaction_that_the_sdk_repeats_after_a_lost_answer_takes_effect_once() {
    let world = World::with_attempts(3);
    let (job, conversation, message) = arrived(&world);
    world.fails_times(2, Fault::FailAfter);
    let outcome = stored(&world, &job, &conversation, &message).unwrap();
    assert_eq!(outcome, InboundStored::Yes);
    let transactions = world
        .trace()
        .iter()
        .filter(|line| line.contains("Transact"))
        .count();
    assert_eq!(transactions, 3);
}

#[test]
fn a_read_whose_answer_is_lost_is_unavailable() {
    let (world, job) = (World::new(), Scene::new().job());
    world.fails(|operation| match operation.verb {
        Verb::Get => Fault::FailAfter,
        _ => Fault::None,
    });
    let _ = block_on(world.store.record_event(&job)).unwrap();
    assert_eq!(unavailable(block_on(world.store.event(&job.event))), "connection");
    world.recovers();
    assert!(block_on(world.store.event(&job.event)).unwrap().is_some());
}
