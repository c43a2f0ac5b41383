//! Indexes that are behind.

use crate::world::World;
use futures::executor::block_on;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::InboundJob;
use recado_domain::ids::TenantId;
use recado_domain::millis::add_millis;
use recado_dynamo_simulation::Fault;
use recado_pipeline::ports::{
    ConversationFilter, Conversations, DeadLetterFilter, DeadLetters, InboundWrite, Inbox, OverdueIndex,
    OverdueWork, PageRequest, System,
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

#[test]
fn a_tenants_dead_letters_are_read_without_those_of_others() {
    let (world, fixture) = (World::new(), Fixture::new());
    let own = fixture.bound.tenant.id.clone();
    let put = |number: i64, tenant: &TenantId| {
        let dead = DeadLetter {
            id: format!("{tenant}-{number}"),
            tenant: Some(tenant.clone()),
            at: add_millis(world.time.now(), number),
            ..fixture.dead_letter()
        };
        assert!(block_on(world.store.put_dead_letter(&dead)).unwrap());
    };
    let other = TenantId::parse("another-tenant").unwrap();
    (0..300).for_each(|number| put(number, &other));
    (0..3).for_each(|number| put(number, &own));
    let before = world.trace().len();
    let filter = DeadLetterFilter {
        tenant: Some(own.clone()),
        ..DeadLetterFilter::default()
    };
    let page = PageRequest {
        limit: 10,
        cursor: None,
    };
    let page = block_on(world.store.list_dead_letters(&filter, &page)).unwrap();
    assert_eq!(page.items.len(), 3);
    let requests = world.trace().split_off(before);
    assert_eq!(
        requests.len(),
        2,
        "one query, one read of its records: {requests:#?}"
    );
    assert!(requests[0].contains("tenants"), "{requests:#?}");
    assert!(!requests.concat().contains("another-tenant"), "{requests:#?}");
}
