//! Indexes that are behind.

use crate::world::World;
use futures::executor::block_on;
use recado_domain::event::InboundJob;
use recado_domain::ids::WebhookEndpointId;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, LeftEvent, PostError};
use recado_dynamo_simulation::Fault;
use recado_pipeline::ports::{
    ConversationFilter, Conversations, InboundWrite, Inbox, OverdueIndex, OverdueWork, PageRequest, System,
    WebhookRecords,
};
use recado_testkit::builders::{Fixture, at, far_ahead, nonce};
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
    block_on(world.store.settle_event(&job.event, None, now, far_ahead())).unwrap();
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
fn an_event_that_failed_once_more_is_not_posted_again_by_an_index_that_is_behind() {
    let (world, fixture) = (World::new(), Fixture::new());
    let (tenant, endpoint) = (&fixture.bound.tenant.id, WebhookEndpointId::parse("crm").unwrap());
    let mut state = EndpointState::start_at(tenant, &endpoint, EventCursor(7), nonce());
    state.raise_revision();
    let left = LeftEvent {
        cursor: EventCursor(8),
        since: at(0),
        attempts: 1,
        is_given_up: false,
        error: "it answered 500".to_owned(),
    };
    let event = PublishedEvent::for_test(tenant, "event", at(0));
    let mut failed = FailedEvent::from_left(&state, left, event, at(0));
    let _ = block_on(
        world
            .store
            .save_endpoint_state(&state, std::slice::from_ref(&failed)),
    )
    .unwrap();
    world.time.pass(10 * SECOND);
    let due = |now| {
        let found = world.store.list_due_failed_events(tenant, &endpoint, now, 10);
        block_on(found).unwrap().len()
    };
    let now = world.time.now();
    assert_eq!(due(now), 1);
    failed.note_failure(&PostError::Gone, now);
    let _ = block_on(world.store.replace_failed_event(&failed)).unwrap();
    world.fails(|_| Fault::StaleIndex(SECOND));
    assert_eq!(due(now), 0, "the index has the time before");
    world.recovers();
    assert_eq!((due(now), due(far_ahead())), (0, 1));
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
    let page = PageRequest {
        limit: 10,
        cursor: None,
    };
    let list = || {
        block_on(world.store.search_conversations(&filter, &page))
            .unwrap()
            .items
    };
    assert_eq!(list(), [], "a list is an index");
    world.recovers();
    assert_eq!(list(), [conversation]);
}
