//! What clients send by the API, and ask for again.

use crate::world::Setup;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::ids::IdempotencyKey;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_sends::AcceptedMessage;
use recado_testkit::builders::{Fixture, correlation};

async fn schedule(setup: &Setup, at: Timestamp) -> AcceptedMessage {
    let send = recado_sends::DeliverRequest {
        to: "5511900000077".to_owned(),
        content: Content::from_text("Sua consulta é amanhã."),
        options: SendOptions::default(),
        key: IdempotencyKey::parse("consulta-17").ok(),
        metadata: None,
        send_at: Some(at),
        correlation: correlation(),
    };
    let accepted = recado_sends::accept_message(
        &setup.world,
        &Caller::installation(),
        setup.fixture.instance(),
        send,
    )
    .await;
    accepted.unwrap()
}

#[tokio::test]
async fn a_client_that_asks_again_what_it_scheduled_finds_it_until_after_it_was_sent() {
    let setup = Setup::set(Fixture::new()).await;
    let at = add_millis(setup.now(), 10 * 86_400_000);
    let first = schedule(&setup, at).await;
    assert!(!first.repeated);
    // Once before it leaves, once after.
    for days in [9, 2] {
        setup.pass(days * 86_400);
        recado_pipeline::reconcile::reconcile(&setup.world).await.unwrap();
        let again = schedule(&setup, at).await;
        assert!(again.repeated);
        assert_eq!(again.id, first.id);
    }
}
