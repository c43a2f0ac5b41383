//! What the functions ask of the table is within their roles.

use crate::world::World;
use futures::executor::block_on;
use recado_domain::ids::WebhookEndpointId;
use recado_domain::notice::{NewNotice, Notice, NoticeKind};
use recado_domain::provider::Provider;
use recado_domain::published_event::{EventCursor, PublishedEvent};
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent, LeftEvent, PostError};
use recado_pipeline::ports::{ConversationFilter, Conversations, PageRequest, WriteOutcome};
use recado_pipeline::records::configuration::{find_config_by_external, put_configuration};
use recado_pipeline::records::endpoints::{
    delete_endpoint_records, list_due_failed_events, remove_failed_event, save_endpoint_state,
};
use recado_pipeline::records::notices::put_notice;
use recado_pipeline::table::{Versioned, write_record};
use recado_testkit::builders::{Fixture, at, far_ahead, nonce};
use serde_json::json;

const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// The statements of a function's role.
fn statements_of(role: &str) -> Vec<&'static str> {
    let (_, rest) = TEMPLATE.split_once(&format!("\n  {role}:\n")).unwrap();
    // A resource ends with an empty line.
    let role = rest.split("\n\n").next().unwrap();
    role.split("- Sid: ").skip(1).collect()
}

/// Returns whether one of the patterns of a statement's condition matches the partition of a record.
fn allows_partition(statement: &str, partition: &str) -> bool {
    let (_, patterns) = statement.split_once("dynamodb:LeadingKeys: [").unwrap();
    let patterns = patterns.split(']').next().unwrap().split(", ");
    patterns
        .map(|pattern| pattern.trim_matches('"'))
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => partition.starts_with(beginning),
            None => partition == pattern,
        })
}

/// Asserts that a statement allows the partitions of all keys of a request.
fn assert_allowed(statement: &str, request: &str) {
    // A number, what is done, and the keys.
    for key in request.split(' ').skip(2) {
        let (partition, _) = key.split_once('/').unwrap();
        assert!(allows_partition(statement, partition), "{request}");
    }
}

/// Checks that the role of `webhook` allows all requests after the first ones, by the first statement that allows `action`.
fn assert_webhook_may(world: &World, first: usize, action: &str) {
    let statements = statements_of("WebhookRole");
    let statement = statements.iter().find(|one| one.contains(action)).unwrap();
    for request in world.trace().split_off(first) {
        assert_allowed(statement, &request);
    }
}

/// A world in which the fixture is configured.
fn configured() -> (World, Fixture) {
    let (world, fixture) = (World::new(), Fixture::new());
    block_on(put_configuration(&world.store, &fixture.document())).unwrap();
    (world, fixture)
}

#[test]
fn the_webhook_function_may_read_all_that_proves_a_webhook() {
    let (world, fixture) = configured();
    let (before, instance) = (world.trace().len(), &fixture.bound.instance);
    let external = instance.resolve_external_id().unwrap();
    let found = block_on(find_config_by_external(
        &world.store,
        instance.provider,
        &external,
    ))
    .unwrap();
    assert!(found.is_some());
    assert_webhook_may(&world, before, "dynamodb:BatchGetItem");
}

#[test]
fn the_webhook_function_may_write_a_notice() {
    let world = World::new();
    let told = NewNotice {
        kind: NoticeKind::Account,
        summary: "account: verified".to_owned(),
        at: None,
        details: json!({}),
    };
    let notice = Notice::with_derived_id(Provider::Meta, "200000000000021", told, at(0));
    block_on(put_notice(&world.store, &notice, far_ahead())).unwrap();
    assert!(!world.trace().is_empty());
    assert_webhook_may(&world, 0, "dynamodb:PutItem");
}

#[test]
fn the_processor_may_list_the_conversations_of_an_instance() {
    let (world, fixture) = configured();
    let before = world.trace().len();
    let filter = ConversationFilter {
        tenant: Some(fixture.bound.tenant.id.clone()),
        instance: Some(fixture.instance().clone()),
        ..ConversationFilter::default()
    };
    let page = PageRequest::first(20);
    block_on(world.store.search_conversations(&filter, &page)).unwrap();
    let requests = world.trace().split_off(before);
    assert!(!requests.is_empty());
    let statements = statements_of("ProcessorRole");
    for request in requests {
        let index = request.split(' ').nth(2).unwrap();
        let named = format!("/index/{index}\"");
        assert!(statements.iter().any(|one| one.contains(&named)), "{request}");
    }
}

/// Has an endpoint keep what comes of posts, as the function that posts does, and removes it.
async fn keep_results(world: &World, fixture: &Fixture) {
    let (store, tenant) = (&world.store, &fixture.bound.tenant.id);
    let endpoint = WebhookEndpointId::parse("crm").unwrap();
    let state = EndpointState::start_at(tenant, &endpoint, EventCursor(7), nonce());
    let failed = [8, 9].map(|cursor| {
        let left = LeftEvent {
            cursor: EventCursor(cursor),
            since: at(0),
            attempts: 1,
            is_given_up: false,
            error: "it answered 500".to_owned(),
        };
        let event = PublishedEvent::for_test(tenant, "event", at(0));
        FailedEvent::from_left(&state, left, event, at(0))
    });
    let mut state = Versioned::new(state);
    let saved = save_endpoint_state(store, &mut state, &failed).await;
    assert_eq!(saved.unwrap(), WriteOutcome::Written);
    let due = list_due_failed_events(store, tenant, &endpoint, far_ahead(), 10).await;
    let [mut first, second] = <[_; 2]>::try_from(due.unwrap()).unwrap();
    first.record.note_failure(&PostError::Gone, at(1));
    let replaced = write_record(store, &mut first).await;
    assert_eq!(replaced.unwrap(), WriteOutcome::Written);
    remove_failed_event(store, &second).await.unwrap();
    let generation = state.record.generation();
    let deleted = delete_endpoint_records(store, tenant, &endpoint, generation).await;
    deleted.unwrap();
}

#[test]
fn the_poster_may_keep_what_comes_of_its_posts() {
    let (world, fixture) = (World::new(), Fixture::new());
    block_on(keep_results(&world, &fixture));
    let statements = statements_of("PosterRole");
    let with = |action: &str| *statements.iter().find(|one| one.contains(action)).unwrap();
    let (reads, writes) = (with("dynamodb:BatchGetItem"), with("dynamodb:PutItem"));
    let requests = world.trace();
    let is_write = |request: &str| {
        [" Transact ", " Delete "]
            .iter()
            .any(|verb| request.contains(verb))
    };
    assert_eq!(requests.iter().filter(|request| is_write(request)).count(), 5);
    for request in &requests {
        assert_allowed(if is_write(request) { writes } else { reads }, request);
    }
}
