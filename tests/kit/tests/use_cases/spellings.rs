//! One person whose number has two spellings: what a client writes, and what WhatsApp says.

use crate::world::Setup;
use recado_domain::contact::ContactAddress;
use recado_domain::message::Message;
use recado_domain::outbox::OutboxState;
use recado_domain::provider::Provider;
use recado_pipeline::ports::Conversations;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

/// A mobile as people write it today, and as WhatsApp knows it.
const WRITTEN: &str = "5531980000001";
const KNOWN: &str = "553180000001";

async fn on_meta() -> (Setup, Fixture) {
    let mut fixture = Fixture::on(Provider::Meta);
    fixture.address = ContactAddress::parse(KNOWN).unwrap();
    (Setup::set(fixture.clone()).await, fixture)
}

/// Sent to the number as people write it.
async fn api_send(setup: &Setup) -> Message {
    let accepted = setup.client_writes(WRITTEN).await;
    setup.send(&accepted.conversation.unwrap()).await;
    succeed(setup.world.store.find_message(&accepted.id))
        .await
        .unwrap()
}

#[tokio::test]
async fn what_a_client_sends_lands_in_the_conversation_and_its_window_in_either_spelling() {
    let (setup, fixture) = on_meta().await;
    setup.message(&fixture, "W1", "oi", false).await;
    let conversation = succeed(setup.world.store.find_latest_conversation(&fixture.thread()))
        .await
        .unwrap();
    let sent = api_send(&setup).await;
    assert_eq!(sent.conversation, conversation.id);
    // On Meta, who never wrote gets nothing but templates.
    assert!(matches!(sent.out.unwrap().state, OutboxState::Sent { .. }));
    // It goes where the client said.
    let [to] = &setup.world.providers.recipients()[..] else {
        panic!("one message goes out");
    };
    assert_eq!(to.as_str(), WRITTEN);
}

#[tokio::test]
async fn replies_go_to_the_number_as_whatsapp_gave_it_also_where_a_client_wrote_first() {
    let (setup, fixture) = on_meta().await;
    let first = api_send(&setup).await;
    setup.message(&fixture, "W1", "oi", false).await;
    let reply = setup.turn(&fixture).await;
    assert_eq!(reply.conversation, first.conversation);
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.recipients().last(), Some(&fixture.address));
}
