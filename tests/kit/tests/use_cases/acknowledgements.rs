//! What a provider accepted, and what WhatsApp acknowledged of it.

use crate::world::Setup;
use jiff::SignedDuration;
use recado_domain::access::{Caller, Scope};
use recado_domain::delivery::{DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::ids::{MessageId, TenantId};
use recado_domain::provider::Provider;
use recado_operators::list_unacknowledged;
use recado_pipeline::ports::{OutboxStore, PageRequest};
use recado_testkit::builders::{Fixture, far_ahead};
use recado_testkit::ports::succeed;

/// The messages that are listed now.
async fn listed(setup: &Setup, caller: &Caller) -> Vec<MessageId> {
    let page = PageRequest::first(50);
    let found = succeed(list_unacknowledged(&setup.world, caller, None, &page)).await;
    found.items.into_iter().map(|item| item.message).collect()
}

/// Sends a reply, and lets so many seconds pass.
async fn sent(setup: &Setup, seconds: i64) -> MessageId {
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    setup.pass(seconds);
    reply.message_id()
}

#[tokio::test]
async fn a_message_is_listed_ten_minutes_after_evolution_accepted_it_until_a_status_comes() {
    let setup = Setup::set(Fixture::new()).await;
    let all = Caller::installation();
    let message = sent(&setup, 599).await;
    assert_eq!(listed(&setup, &all).await, []);
    setup.pass(1);
    assert_eq!(listed(&setup, &all).await, [message]);
    let stranger = Caller {
        scope: Scope::Tenant(TenantId::parse("stranger").unwrap()),
        ..Caller::installation()
    };
    assert_eq!(listed(&setup, &stranger).await, []);
    // The stand-in's id of the first message that it took.
    let update = StatusUpdate {
        key: DeliveryKey::from_provider_id(Provider::Evolution, &setup.fixture.external(), "P0"),
        status: DeliveryStatus::Delivered,
        at: setup.now(),
        provider_message_id: None,
        detail: None,
    };
    succeed(setup.world.store.record_status(&update, far_ahead(), None)).await;
    assert_eq!(listed(&setup, &all).await, []);
}

#[tokio::test]
async fn only_what_evolution_alone_accepted_is_waited_for() {
    for (provider, wait, expected) in [
        (Provider::Evolution, 600, 1),
        (Provider::Evolution, 0, 0),
        (Provider::Meta, 600, 0),
    ] {
        let mut setup = Setup::set(Fixture::on(provider)).await;
        setup.world.deps_mut().settings_mut().acknowledgement_wait = SignedDuration::from_secs(wait);
        sent(&setup, 7_200).await;
        let found = listed(&setup, &Caller::installation()).await;
        assert_eq!(found.len(), expected, "{provider}, {wait} s");
    }
}
