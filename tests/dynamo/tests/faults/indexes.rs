//! Indexes that are behind.

use crate::world::World;
use futures::executor::block_on;
use recado_domain::event::InboundJob;
use recado_dynamo_simulation::Fault;
use recado_pipeline::ports::{
    ConversationFilter, Conversations, EventChange, InboundWrite, Inbox, OverdueWork, Overviews, PageRequest,
    System,
};
use recado_testkit::builders::{Fixture, far_ahead};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// How many events an index says are owed.
fn owed(world: &World) -> usize {
    let due = block_on(world.store.list_overdue(far_ahead(), 10)).unwrap();
    assert!(due.iter().all(|work| matches!(work, OverdueWork::Event(_))));
    due.len()
}

fn settle(world: &World, job: &InboundJob) {
    let now = world.time.now();
    block_on(world.store.change_event(
        &job.event,
        EventChange::Apply {
            at: now,
            expires: far_ahead(),
        },
    ))
    .unwrap();
}

#[test]
fn an_index_that_is_behind_does_not_know_what_was_just_written() {
    let (world, fixture) = (World::new(), Fixture::new());
    world.fails(|_| Fault::StaleIndex(SECOND));
    let _ = block_on(world.store.record_event(&fixture.job())).unwrap();
    assert_eq!(owed(&world), 0);
    world.time.pass(SECOND);
    assert_eq!(owed(&world), 1, "it has caught up by now");
    let _ = block_on(world.store.record_event(&fixture.job())).unwrap();
    assert_eq!(owed(&world), 1);
    world.recovers();
    assert_eq!(owed(&world), 2, "the others see all of it");
}

#[test]
fn an_index_that_is_behind_still_shows_what_was_changed_since() {
    let (world, fixture) = (World::new(), Fixture::new());
    let job = fixture.job();
    let _ = block_on(world.store.record_event(&job)).unwrap();
    world.time.pass(SECOND);
    settle(&world, &job);
    world.fails(|_| Fault::StaleIndex(SECOND));
    assert_eq!(owed(&world), 1);
    world.recovers();
    assert_eq!(owed(&world), 0);
}

#[test]
fn an_index_does_not_go_back() {
    let (world, fixture) = (World::new(), Fixture::new());
    let _ = block_on(world.store.record_event(&fixture.job())).unwrap();
    world.time.pass(SECOND);
    world.fails(|_| Fault::StaleIndex(Duration::ZERO));
    assert_eq!(owed(&world), 1);
    world.fails(|_| Fault::StaleIndex(60 * SECOND));
    assert_eq!(owed(&world), 1);
}

#[test]
fn what_is_read_strongly_is_never_behind() {
    let (world, fixture) = (World::new(), Fixture::new());
    let (mut conversation, job) = (fixture.conversation(1), fixture.job());
    world.fails(|_| Fault::StaleIndex(60 * SECOND));
    let _ = block_on(world.store.record_event(&job)).unwrap();
    let message = fixture.inbound(&mut conversation, &job);
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    let _ = block_on(world.store.store_inbound(write)).unwrap();
    assert!(block_on(world.store.find_event(&job.event)).unwrap().is_some());
    let latest = block_on(world.store.find_latest_conversation(&fixture.thread())).unwrap();
    assert_eq!(latest.as_ref(), Some(&conversation));
    let filter = ConversationFilter {
        instance: Some(fixture.instance().clone()),
        ..ConversationFilter::default()
    };
    let page = PageRequest::first(10);
    let list = || {
        block_on(world.store.search_conversations(&filter, &page))
            .unwrap()
            .items
    };
    assert_eq!(list(), [], "a list is an index");
    world.recovers();
    assert_eq!(list(), [conversation]);
}
