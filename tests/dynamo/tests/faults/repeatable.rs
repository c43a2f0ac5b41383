//! The same run twice.

use crate::world::World;
use futures::executor::block_on;
use recado_dynamo_simulation::{Fault, Record};
use recado_pipeline::ports::{Conversations, InboundWrite, Inbox, Overviews};
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::{Fixture, far_ahead};

/// A short story with a fault at every fourth request: each request, each answer, and what is stored in the end.
fn story(
    fixture: &Fixture,
    jobs: &[recado_domain::event::InboundJob],
) -> (Vec<String>, Vec<String>, Vec<Record>) {
    let world = World::with_attempts(3);
    world.fails(|operation| match operation.number % 8 {
        3 => Fault::FailAfter,
        7 => Fault::ThrottleBefore,
        _ => Fault::None,
    });
    let mut conversation = fixture.conversation(1);
    let mut answers = vec![format!(
        "{:?}",
        block_on(put_configuration(&world.store, &fixture.document()))
    )];
    for job in jobs {
        answers.push(format!("{:?}", block_on(world.store.record_event(job))));
        let mut message = fixture.inbound(&mut conversation, job);
        message.provider_message_id = None;
        let write = InboundWrite {
            event: &job.event,
            conversation: &conversation,
            message: &message,
            finish: None,
        };
        answers.push(format!("{:?}", block_on(world.store.store_inbound(write))));
    }
    answers.push(format!(
        "{:?}",
        block_on(world.store.find_latest_conversation(&fixture.thread()))
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
    let fixture = Fixture::new();
    let jobs = [(); 8].map(|()| fixture.job());
    let first = story(&fixture, &jobs);
    assert!(
        first.0.len() > 40 && first.2.len() > 16,
        "{} requests, {} records",
        first.0.len(),
        first.2.len()
    );
    for _ in 0..3 {
        assert_eq!(story(&fixture, &jobs), first);
    }
}
