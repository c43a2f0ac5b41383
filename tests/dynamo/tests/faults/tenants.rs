//! What is read for one tenant beside many records of others.

use crate::world::World;
use futures::executor::block_on;
use recado_domain::content::Content;
use recado_domain::conversation::Conversation;
use recado_domain::dead_letter::DeadLetter;
use recado_domain::event::InboundJob;
use recado_domain::ids::TenantId;
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage, ScheduledState};
use recado_dynamo_simulation::RecordKey;
use recado_pipeline::ports::{
    CommitOutcome, ConversationFilter, Conversations, EventOwners, InboundWrite, Inbox, Overviews,
    PageRequest, RecordRemoval, System,
};
use recado_pipeline::records::configuration::put_configuration;
use recado_pipeline::records::dead_letters::{DeadLetterFilter, list_dead_letters, put_dead_letter};
use recado_pipeline::records::scheduled_messages::{list_pending_scheduled, put_scheduled};
use recado_testkit::builders::{BASE, Fixture, correlation, far_ahead, fresh};
use recado_testkit::{damaged_event_story, damaged_letter_story};
use std::collections::BTreeSet;

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
        assert!(block_on(put_dead_letter(&world.store, &dead)).unwrap());
    };
    let other = TenantId::parse("another-tenant").unwrap();
    (0..300).for_each(|number| put(number, &other));
    (0..3).for_each(|number| put(number, &own));
    let before = world.trace().len();
    let filter = DeadLetterFilter {
        tenant: Some(own.clone()),
        ..DeadLetterFilter::default()
    };
    let page = PageRequest::first(10);
    let page = block_on(list_dead_letters(&world.store, &filter, &page)).unwrap();
    assert_eq!(page.items.len(), 3);
    let requests = world.trace().split_off(before);
    assert_eq!(requests.len(), 1, "one query: {requests:#?}");
    assert!(!requests.concat().contains("another-tenant"), "{requests:#?}");
}

#[test]
fn a_dead_letter_whose_record_cannot_be_read_is_listed_all_the_same() {
    let world = World::new();
    block_on(damaged_letter_story::a_damaged_letter_is_listed_and_deleted(
        &world.store,
    ));
}

#[test]
fn an_event_whose_record_cannot_be_read_hides_no_other_and_can_be_settled() {
    let (world, fixtures) = (World::new(), [Fixture::new(), Fixture::new()]);
    let jobs = fixtures.map(|fixture| InboundJob {
        external: fixture.external(),
        ..fixture.job()
    });
    for job in &jobs {
        let _ = block_on(world.store.record_event(job)).unwrap();
    }
    let key = RecordKey {
        pk: format!("E#{}", jobs[0].event),
        sk: "E".to_owned(),
    };
    world.dynamo.damage(&key, "job").unwrap();
    block_on(damaged_event_story::a_damaged_event_hides_no_other_and_can_be_settled(&world.store, &jobs));
}

pub(crate) fn scheduled_message(fixture: &Fixture) -> ScheduledMessage {
    let id = fresh("s").replace("s-", "");
    ScheduledMessage {
        id: ScheduledId::parse(&format!("s_{id}{id}")).unwrap(),
        tenant: fixture.bound.tenant.id.clone(),
        instance: fixture.instance().clone(),
        to: fixture.address.clone(),
        content: Content::from_text("Até amanhã"),
        options: SendOptions::default(),
        metadata: None,
        send_at: far_ahead(),
        created_at: BASE,
        correlation: correlation(),
        by: None,
        idempotency_key: None,
        invitation: None,
        reminds_of: None,
        restored_from: None,
        state: ScheduledState::Pending,
    }
}

#[test]
fn an_erasure_reads_no_record_of_other_contacts_pending_work() {
    let (world, own, other) = (World::new(), Fixture::new(), Fixture::new());
    let schedule = |fixture: &Fixture| {
        let scheduled = scheduled_message(fixture);
        let put = block_on(put_scheduled(&world.store, &scheduled, &[])).unwrap();
        assert_eq!(put, CommitOutcome::Committed);
        scheduled
    };
    for _ in 0..100 {
        let _ = block_on(world.store.record_event(&other.job())).unwrap();
        schedule(&other);
    }
    let (job, scheduled) = (own.job(), schedule(&own));
    let _ = block_on(world.store.record_event(&job)).unwrap();
    let before = world.trace().len();
    let events = block_on(
        world
            .store
            .list_pending_events(EventOwners::Groups(&BTreeSet::from([job.group.clone()]))),
    )
    .unwrap();
    assert_eq!(events.iter().map(|event| &event.job).collect::<Vec<_>>(), [&job]);
    let instances = [own.bound.instance.clone()];
    let events = block_on(
        world
            .store
            .list_pending_events(EventOwners::Instances(&instances, 10)),
    )
    .unwrap();
    assert_eq!(events.iter().map(|event| &event.job).collect::<Vec<_>>(), [&job]);
    let tenant = &own.bound.tenant.id;
    let found = block_on(list_pending_scheduled(&world.store, tenant, own.instance())).unwrap();
    let found: Vec<ScheduledMessage> = found.into_iter().map(|found| found.record).collect();
    assert_eq!(found, [scheduled]);
    let requests = world.trace().split_off(before);
    assert_eq!(
        requests.len(),
        9 + 9 + 2,
        "eight shards and the records, twice; one query and its records: {requests:#?}"
    );
    // The database left the others out: a line has a number, what is done, and the keys of the records that are read.
    let reads = requests.iter().filter(|request| request.contains("BatchGet"));
    assert!(
        reads.clone().all(|request| request.split(' ').count() == 3),
        "{requests:#?}"
    );
    assert_eq!(reads.count(), 3, "{requests:#?}");
}

/// Stores the first message of a contact of `fixture`, which `job` brings.
pub(crate) fn store_first(world: &World, contact: &Fixture, job: &InboundJob) -> (Conversation, Message) {
    let mut conversation = contact.conversation(1);
    let _ = block_on(world.store.record_event(job)).unwrap();
    let message = contact.inbound(&mut conversation, job);
    let write = InboundWrite {
        event: &job.event,
        conversation: &conversation,
        message: &message,
        finish: None,
    };
    let _ = block_on(world.store.store_inbound(write)).unwrap();
    (conversation, message)
}

/// Begins a conversation on the instance of `fixture`.
fn begin(world: &World, fixture: &Fixture, at_minute: i64) -> Conversation {
    let contact = fixture.other_contact();
    let job = InboundJob {
        received_at: add_millis(BASE, at_minute * 60_000),
        ..contact.job()
    };
    store_first(world, &contact, &job).0
}

#[test]
fn a_trace_reads_no_record_of_a_tenant_that_used_the_same_correlation_id() {
    let (world, own, other) = (World::new(), Fixture::new(), Fixture::new());
    for fixture in [&own, &other] {
        block_on(put_configuration(&world.store, &fixture.document())).unwrap();
    }
    let correlation = correlation();
    let store = |fixture: &Fixture| {
        let contact = fixture.other_contact();
        let job = InboundJob {
            correlation: correlation.clone(),
            ..contact.job()
        };
        let (_, message) = store_first(&world, &contact, &job);
        (job, message)
    };
    (0..150).for_each(|_| drop(store(&other)));
    let (job, message) = store(&own);
    let before = world.trace().len();
    let tenant = own.bound.tenant.id.clone();
    let found = block_on(world.store.find_by_correlation(&correlation, Some(&tenant), 100)).unwrap();
    assert_eq!(found.messages, [message]);
    let events: Vec<_> = found.events.iter().map(|event| event.job.event.clone()).collect();
    assert_eq!(events, [job.event]);
    let requests = world.trace().split_off(before);
    assert!(requests.len() <= 9, "{requests:#?}");
    let events = requests.concat().matches("E#").count();
    assert_eq!(events, 1, "one event was read: {requests:#?}");
}

fn pages_of(
    world: &World,
    filter: &ConversationFilter,
    limit: usize,
) -> (Vec<Vec<Conversation>>, Vec<String>) {
    let before = world.trace().len();
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit, cursor };
        let page = block_on(world.store.search_conversations(filter, &page)).unwrap();
        pages.push(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            return (pages, world.trace().split_off(before));
        }
    }
}

#[test]
fn a_tenants_conversations_are_read_without_those_of_others() {
    let (world, own, other) = (World::new(), Fixture::new(), Fixture::new());
    (0..300).for_each(|minute| drop(begin(&world, &other, minute)));
    let mut expected: Vec<Conversation> = [1, 400, 90].map(|minute| begin(&world, &own, minute)).into();
    expected.sort_by_key(|conversation| std::cmp::Reverse(conversation.last_message_at));
    let filter = ConversationFilter {
        tenant: Some(own.bound.tenant.id.clone()),
        ..ConversationFilter::default()
    };
    let (pages, requests) = pages_of(&world, &filter, 10);
    assert_eq!(pages, [expected.clone()]);
    assert_eq!(
        requests.len(),
        4,
        "one query for each list of the tenant: {requests:#?}"
    );
    let name = other.bound.tenant.id.as_str();
    assert!(!requests.concat().contains(name), "{requests:#?}");
    // The tenant of a configured instance is known, so its list is read as well.
    block_on(put_configuration(&world.store, &own.document())).unwrap();
    let filter = ConversationFilter {
        instance: Some(own.instance().clone()),
        ..ConversationFilter::default()
    };
    let (pages, requests) = pages_of(&world, &filter, 10);
    assert_eq!(pages, [expected]);
    assert_eq!(requests.len(), 2, "its tenant, its list: {requests:#?}");
}

#[test]
fn the_conversations_of_all_tenants_come_in_order_whatever_the_hours() {
    let world = World::new();
    let fixtures = [Fixture::new(), Fixture::new(), Fixture::new()];
    let mut expected: Vec<Conversation> = (0..60)
        .map(|number: i64| {
            // Some hours hold many, some one, some none; each time once.
            let minute = (number * 37) % 61 + (number % 4) * 500;
            begin(&world, &fixtures[usize::try_from(number % 3).unwrap()], minute)
        })
        .collect();
    expected.sort_by_key(|conversation| {
        std::cmp::Reverse((conversation.last_message_at, conversation.id.to_string()))
    });
    let unknown = ConversationFilter {
        instance: Some(fixtures[1].instance().clone()),
        ..ConversationFilter::default()
    };
    for filter in [ConversationFilter::default(), unknown] {
        let wanted = |conversation: &&Conversation| {
            filter
                .instance
                .as_ref()
                .is_none_or(|instance| conversation.instance == *instance)
        };
        let expected: Vec<Conversation> = expected.iter().filter(wanted).cloned().collect();
        for limit in [1, 7, 59, 60, 100] {
            let (pages, _) = pages_of(&world, &filter, limit);
            assert_eq!(pages.concat(), expected, "by {limit}");
            assert_eq!(
                pages.len(),
                expected.len().div_ceil(limit),
                "no page is short but the last"
            );
        }
    }
}
