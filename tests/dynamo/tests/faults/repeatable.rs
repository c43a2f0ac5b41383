//! The same run twice.

use crate::world::World;
use futures::executor::block_on;
use recado_dynamo_simulation::{Fault, Record};
use recado_pipeline::ports::{ConfigurationStore, Conversations, InboundWrite, Inbox, OverdueIndex};
use recado_testkit::builders::{Scene, far_ahead};

/// A short story with a fault at every fourth request: each request, each answer, and what is stored in the end.
fn story(
    scene: &Scene,
    jobs: &[recado_domain::event::InboundJob],
) -> (Vec<String>, Vec<String>, Vec<Record>) {
    let world = World::with_attempts(3);
    world.fails(|operation| match operation.number % 8 {
        3 => Fault::FailAfter,
        7 => Fault::ThrottleBefore,
        _ => Fault::None,
    });
    let mut conversation = scene.conversation(1);
    let mut answers = vec![format!(
        "{:?}",
        block_on(world.store.apply_configuration(&scene.document()))
    )];
    for job in jobs {
        answers.push(format!("{:?}", block_on(world.store.record_event(job))));
        let mut message = scene.inbound(&mut conversation, job);
        message.provider_message_id = None;
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
        };
        answers.push(format!("{:?}", block_on(world.store.store_inbound(write))));
    }
    answers.push(format!(
        "{:?}",
        block_on(world.store.find_latest_conversation(&scene.thread()))
    ));
    answers.push(format!(
        "{:?}",
        block_on(world.store.list_overdue(far_ahead(), 10))
    ));
    answers.push(format!("{:?}", world.time.passed()));
    (world.trace(), answers, world.dynamo.records().unwrap())
}

#[test]
fn the_same_decisions_lead_to_the_same_requests_answers_and_records() {
    let scene = Scene::new();
    let jobs = [(); 8].map(|()| scene.job());
    let first = story(&scene, &jobs);
    assert!(
        first.0.len() > 40 && first.2.len() > 16,
        "{} requests, {} records",
        first.0.len(),
        first.2.len()
    );
    for _ in 0..3 {
        assert_eq!(story(&scene, &jobs), first);
    }
}
