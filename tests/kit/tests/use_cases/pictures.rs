//! Contacts' pictures, which are asked for beside all messages.

use crate::world::Setup;
use recado_domain::conversation::{Conversation, ConversationStatus};
use recado_domain::provider::Provider;
use recado_pipeline::ports::{Conversations, PictureAnswer, WriteOutcome};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::configuration::put_configuration;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

const URL: &str = "https://pps.whatsapp.net/a.jpg";

async fn passed(setup: &Setup) -> usize {
    let report = reconcile(&setup.world).await.unwrap();
    assert_eq!(report.failed, 0);
    report.count_of("pictures")
}

fn tells(setup: &Setup, answer: PictureAnswer) {
    *setup.world.providers.picture.lock().unwrap() = Some(answer);
}

fn times_asked(setup: &Setup) -> usize {
    setup.world.providers.pictured.lock().unwrap().len()
}

async fn conversation(setup: &Setup) -> Conversation {
    setup.latest_conversation().await.unwrap()
}

async fn shown(setup: &Setup) -> Option<String> {
    conversation(setup)
        .await
        .contact
        .picture
        .and_then(|picture| picture.url)
}

#[tokio::test]
async fn a_contacts_picture_is_asked_for_once_and_again_when_the_answer_is_old() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    assert_eq!(times_asked(&setup), 0, "never on the way of a message");
    assert_eq!(
        (passed(&setup).await, shown(&setup).await),
        (0, None),
        "it does not tell"
    );
    tells(&setup, PictureAnswer::Url(URL.to_owned()));
    assert_eq!(passed(&setup).await, 1);
    assert_eq!(shown(&setup).await.as_deref(), Some(URL));
    assert_eq!((passed(&setup).await, times_asked(&setup)), (0, 2));
    setup.pass(7 * 86_400 - 1);
    assert_eq!(passed(&setup).await, 0);
    setup.pass(1);
    tells(&setup, PictureAnswer::None);
    assert_eq!(
        (passed(&setup).await, shown(&setup).await),
        (1, None),
        "it was taken away"
    );
    assert_eq!(conversation(&setup).await.status, ConversationStatus::Active);
}

#[tokio::test]
async fn nobody_is_asked_where_pictures_are_switched_off_or_not_told() {
    for (provider, days) in [(Provider::Evolution, 0), (Provider::Meta, 30)] {
        let mut setup = Setup::set(Fixture::on(provider)).await;
        setup.world.deps_mut().settings_mut().picture_refresh = jiff::SignedDuration::from_hours(days * 24);
        tells(&setup, PictureAnswer::Url(URL.to_owned()));
        setup.message(&setup.fixture, "W1", "oi", false).await;
        assert_eq!((passed(&setup).await, times_asked(&setup)), (0, 0), "{provider}");
    }
}

#[tokio::test]
async fn a_pass_asks_for_ten_pictures_at_most_and_leaves_an_instance_that_does_not_tell() {
    let setup = Setup::set(Fixture::new()).await;
    for number in 0..15 {
        let contact = setup.fixture.other_contact();
        setup.message(&contact, &format!("W{number}"), "oi", false).await;
    }
    assert_eq!((passed(&setup).await, times_asked(&setup)), (0, 1));
    tells(&setup, PictureAnswer::None);
    assert_eq!((passed(&setup).await, times_asked(&setup)), (10, 11));
    assert_eq!((passed(&setup).await, passed(&setup).await), (5, 0));
}

#[tokio::test]
async fn a_busy_instance_keeps_no_others_contacts_without_a_picture() {
    let (setup, quiet) = (Setup::set(Fixture::new()).await, Fixture::new());
    let store = &setup.world.store;
    put_configuration(store, &quiet.document()).await.unwrap();
    let mut conversation = quiet.conversation(1);
    conversation.receive_message(true, setup.now()).unwrap();
    conversation.rev += 1;
    let written = succeed(store.update_conversation(&conversation, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
    setup.pass(1);
    for number in 0..60 {
        let contact = setup.fixture.other_contact();
        setup.message(&contact, &format!("W{number}"), "oi", false).await;
    }
    tells(&setup, PictureAnswer::None);
    for _ in 0..5 {
        assert_eq!(passed(&setup).await, 10);
        setup.pass(60);
    }
    let asked = setup.world.providers.pictured.lock().unwrap().clone();
    assert!(asked.contains(&conversation.address));
}
