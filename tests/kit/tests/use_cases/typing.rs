//! A reply waits while the contact types.

use crate::world::Setup;
use recado_domain::SignedDuration;
use recado_domain::contact::ContactAddress;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_domain::typing::{TypingState, TypingUpdate};
use recado_pipeline::ports::{Conversations, Queues, WriteOutcome};
use recado_pipeline::{Verdict, handle_turns_message, ingest};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;

/// A contact has written `m1`. The debounce is 4 s; the waits for typing are 2 and 10 s.
async fn setup() -> Setup {
    let setup = switched_on().await;
    setup.message(&setup.fixture, "W1", "m1", false).await;
    setup
}

async fn switched_on() -> Setup {
    let mut setup = Setup::set(Fixture::new()).await;
    setup.world.deps_mut().settings_mut().typing.long = SignedDuration::from_secs(10);
    *setup.world.llm.says.lock().unwrap() = Some("certo".to_owned());
    setup
}

async fn shows(setup: &Setup, address: &ContactAddress, state: TypingState) {
    let update = TypingUpdate {
        provider: Provider::Evolution,
        external: setup.fixture.external(),
        address: address.clone(),
        state,
    };
    let items = vec![WebhookItem::Typing(update)];
    let taken = ingest::ingest(&setup.world, items, &correlation()).await;
    assert_eq!(taken.unwrap().events, 0);
}

async fn types(setup: &Setup) {
    shows(setup, &setup.fixture.address, TypingState::Typing).await;
}

/// The turn jobs do their work for so many seconds. Returns in which of them the model was asked, and for what.
async fn play(setup: &Setup, seconds: i64) -> Vec<(i64, String)> {
    let mut asked = Vec::new();
    for second in 1..=seconds {
        setup.pass(1);
        for job in setup.due_turns().await {
            let body = serde_json::to_string(&job).unwrap();
            if let Verdict::Retry { after } = handle_turns_message(&setup.world, &body, 1, None).await {
                let again = setup.world.queues.enqueue_turns_job(&job, after.unsigned_abs());
                again.await.unwrap();
            }
        }
        let mut calls = setup.world.llm.asked.lock().unwrap();
        asked.extend(calls.drain(..).map(|call| (second, call)));
    }
    asked
}

fn once(second: i64, what: &str) -> Vec<(i64, String)> {
    vec![(second, what.to_owned())]
}

#[tokio::test]
async fn what_is_typed_when_the_reply_is_due_is_answered_with_it() {
    let setup = setup().await;
    assert_eq!(play(&setup, 3).await, []);
    types(&setup).await;
    assert_eq!(play(&setup, 5).await, [], "the contact types");
    setup.message(&setup.fixture, "W2", "m2", false).await;
    // What was typed has come, so its own debounce counts.
    assert_eq!(play(&setup, 20).await, once(4, "m1\nm2"));
}

#[tokio::test]
async fn who_stops_typing_is_answered_soon_and_who_is_not_seen_any_more_after_the_long_wait() {
    let setup = setup().await;
    play(&setup, 3).await;
    types(&setup).await;
    // The sign is of second 3.
    assert_eq!(play(&setup, 20).await, once(10, "m1"));
    let setup = self::setup().await;
    play(&setup, 3).await;
    types(&setup).await;
    assert_eq!(play(&setup, 2).await, []);
    shows(&setup, &setup.fixture.address, TypingState::Paused).await;
    assert_eq!(play(&setup, 20).await, once(2, "m1"));
}

#[tokio::test]
async fn who_types_on_and_on_is_answered_after_the_longest_wait() {
    let setup = setup().await;
    let mut asked = play(&setup, 3).await;
    for round in 0..10 {
        types(&setup).await;
        let calls = play(&setup, 4).await.into_iter();
        asked.extend(calls.map(|(second, call)| (3 + round * 4 + second, call)));
    }
    assert_eq!(asked, once(20, "m1"));
}

#[tokio::test]
async fn nobody_is_waited_for_where_that_is_switched_off_nor_for_others_nor_for_what_came_already() {
    let mut off = setup().await;
    off.world.deps_mut().settings_mut().typing.long = SignedDuration::ZERO;
    play(&off, 3).await;
    types(&off).await;
    assert_eq!(play(&off, 20).await, once(1, "m1"));

    let others = setup().await;
    play(&others, 3).await;
    shows(
        &others,
        &others.fixture.other_contact().address,
        TypingState::Typing,
    )
    .await;
    assert_eq!(play(&others, 20).await, once(1, "m1"));

    let before = switched_on().await;
    types(&before).await;
    before.message(&before.fixture, "W1", "m1", false).await;
    assert_eq!(play(&before, 20).await, once(4, "m1"));
}

#[tokio::test]
async fn typing_is_seen_under_the_contacts_other_identity_too() {
    let setup = setup().await;
    let thread = setup.fixture.thread();
    let mut known = succeed(setup.world.store.find_latest_conversation(&thread))
        .await
        .unwrap();
    let identity = ContactAddress::parse("100000000000001@lid").unwrap();
    known.contact.known_as = Some(identity.clone());
    known.rev += 1;
    let written = succeed(setup.world.store.update_conversation(&known, &[])).await;
    assert_eq!(written, WriteOutcome::Written);
    play(&setup, 3).await;
    shows(&setup, &identity, TypingState::Typing).await;
    assert_eq!(play(&setup, 20).await, once(10, "m1"));
}
