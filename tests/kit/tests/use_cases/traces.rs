//! Messages that are looked for by their ids at the provider.

use crate::world::Setup;
use recado_domain::access::{Caller, Scope};
use recado_domain::ids::{InstanceId, TenantId};
use recado_domain::provider::Provider;
use recado_message_views::trace::{ProviderLookup, TraceTarget, find_provider_message, find_trace};
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

/// The id at the provider of the first event.
const ID: &str = "event-0";

/// The messages of the trace that a lookup leads to.
async fn traced(setup: &Setup, caller: &Caller, id: &str, instance: Option<&InstanceId>) -> Vec<String> {
    let found = succeed(find_provider_message(&setup.world, caller, id, instance)).await;
    let ProviderLookup::Found(target) = found else {
        assert_eq!(found, ProviderLookup::Unknown);
        return Vec::new();
    };
    let trace = Box::pin(find_trace(&setup.world, caller, &target));
    let trace = succeed(trace).await.unwrap();
    let messages = trace.messages.iter();
    messages.map(|view| view.message.content.render_text()).collect()
}

#[tokio::test]
async fn what_came_in_and_what_was_sent_is_found_by_the_providers_id() {
    let setup = Setup::set(Fixture::new()).await;
    setup
        .message(&setup.fixture, ID, "Vocês abrem hoje?", false)
        .await;
    let reply = setup.replied_to(&setup.fixture.other_contact()).await;
    setup.send(&reply.conversation).await;
    let all = Caller::installation();
    let own = setup.fixture.instance();
    let other = InstanceId::parse("another").unwrap();
    assert_eq!(traced(&setup, &all, ID, None).await, ["Vocês abrem hoje?"]);
    assert_eq!(traced(&setup, &all, ID, Some(own)).await, ["Vocês abrem hoje?"]);
    assert!(traced(&setup, &all, ID, Some(&other)).await.is_empty());
    assert!(traced(&setup, &all, "event-9", None).await.is_empty());
    // The stand-in's id of the first message that it took.
    let sent = succeed(find_provider_message(&setup.world, &all, "P0", None)).await;
    assert_eq!(
        sent,
        ProviderLookup::Found(TraceTarget::Message(reply.message_id()))
    );
    let stranger = Caller {
        scope: Scope::Tenant(TenantId::parse("stranger").unwrap()),
        ..Caller::installation()
    };
    for id in [ID, "P0"] {
        assert!(traced(&setup, &stranger, id, None).await.is_empty(), "{id}");
    }
}

#[tokio::test]
async fn a_message_sent_by_meta_is_found_by_its_wamid() {
    for provider in [Provider::Meta, Provider::Dialog360, Provider::AwsSocial] {
        let setup = Setup::set(Fixture::on(provider)).await;
        let reply = setup.replied().await;
        setup.send(&reply.conversation).await;
        let all = Caller::installation();
        let expected = ProviderLookup::Found(TraceTarget::Message(reply.message_id()));
        // The stand-in's id of the first message that it took.
        let sent = succeed(find_provider_message(&setup.world, &all, "P0", None)).await;
        assert_eq!(sent, expected, "{provider:?}");
        let stranger = Caller {
            scope: Scope::Tenant(TenantId::parse("stranger").unwrap()),
            ..Caller::installation()
        };
        let sought = succeed(find_provider_message(&setup.world, &stranger, "P0", None)).await;
        assert_eq!(sought, ProviderLookup::Unknown);
    }
}
