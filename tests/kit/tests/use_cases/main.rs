//! Use cases on the real store, where what matters is how often something is asked, or how long something counts.

#![expect(clippy::unwrap_used, reason = "this is test code")]

mod attempts;
mod bucket;
mod bursts;
mod catching_up;
mod changes;
mod clients;
mod clocks;
mod evidence;
mod hanging;
mod identities;
mod joined;
mod letters;
mod long_replies;
mod lookalikes;
mod memory;
mod order;
mod people;
mod phone;
mod sender;
mod spellings;
mod switches;
mod turns;
mod unknown;
mod uploads;
mod voids;
mod waiting;
mod window;
mod world;

use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::event::EventKind;
use recado_domain::instance::{ConnectionStatus, InstanceState};
use recado_domain::message::MessageStatus;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_pipeline::ports::{
    ConnectionAnswer, Conversations, InstanceStates, OutboxStore, OverdueIndex, OverdueWork,
};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::{Verdict, operate};
use recado_testkit::builders::{Scene, correlation};
use serde_json::Value;
use world::Stage;

async fn stage() -> Stage {
    Stage::set(Scene::new()).await
}

async fn state(stage: &Stage) -> InstanceState {
    stage
        .world
        .store
        .read_instance_state(stage.scene.instance())
        .await
        .unwrap()
}

async fn send_one(stage: &Stage) -> MessageStatus {
    let reply = stage.replied().await;
    stage.send(&reply.conversation).await;
    let stored = stage
        .world
        .store
        .find_message(&reply.message_id())
        .await
        .unwrap()
        .unwrap();
    stored.status_with_delivery(None)
}

#[tokio::test]
async fn an_instance_in_use_is_not_asked_and_one_that_rested_is_asked_once() {
    let stage = stage().await;
    for _ in 0..10 {
        assert_eq!(send_one(&stage).await, MessageStatus::Sent);
        stage.pass(240);
    }
    assert_eq!(stage.world.providers.asked(), 0, "accepted sends confirm it");
    stage.pass(600);
    for _ in 0..3 {
        assert_eq!(send_one(&stage).await, MessageStatus::Sent);
    }
    assert_eq!(stage.world.providers.asked(), 1);
}

#[tokio::test]
async fn a_provider_that_says_nothing_clear_is_asked_once_and_sent_to() {
    let stage = stage().await;
    send_one(&stage).await;
    stage.pass(1_000);
    stage.world.providers.is(ConnectionAnswer::Unclear);
    for _ in 0..3 {
        assert_eq!(send_one(&stage).await, MessageStatus::Sent);
    }
    assert_eq!(stage.world.providers.asked(), 1);
}

#[tokio::test]
async fn what_turns_out_closed_parks_the_message_and_its_opening_releases_it() {
    let stage = stage().await;
    send_one(&stage).await;
    stage.pass(601);
    stage.world.providers.is(ConnectionAnswer::Closed);
    let reply = stage.replied().await;
    assert_eq!(stage.kick(&reply.conversation).await, Verdict::Done);
    assert_eq!(stage.world.providers.sent(), 1, "nothing was tried");
    assert_eq!(state(&stage).await.connection, ConnectionStatus::Closed);
    let parked = stage
        .world
        .store
        .list_parked(stage.scene.instance(), 10)
        .await
        .unwrap();
    assert_eq!(parked.len(), 1);
    stage.world.providers.is(ConnectionAnswer::Open);
    let job = stage.event(EventKind::Connection, Value::Null).await;
    while let Verdict::Retry { .. } = stage.receive(&job, 1).await {
        stage.pass(1);
    }
    assert!(
        stage
            .world
            .store
            .list_parked(stage.scene.instance(), 10)
            .await
            .unwrap()
            .is_empty()
    );
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.sent(), 2);
}

#[tokio::test]
async fn meta_is_not_asked_before_sends() {
    let stage = Stage::set(Scene::on(Provider::Meta)).await;
    send_one(&stage).await;
    stage.pass(100_000);
    assert_eq!(send_one(&stage).await, MessageStatus::Sent);
    assert_eq!(stage.world.providers.asked(), 0);
}

#[tokio::test]
async fn only_two_time_outs_in_a_row_close_the_instance() {
    let stage = stage().await;
    for _ in 0..3 {
        stage.times_out();
        let reply = stage.replied().await;
        assert!(matches!(
            stage.kick(&reply.conversation).await,
            Verdict::Retry { .. }
        ));
        assert_eq!(state(&stage).await.timeouts, 1);
        assert_eq!(send_one(&stage).await, MessageStatus::Sent, "a first attempt");
        let after = state(&stage).await;
        assert_eq!((after.timeouts, after.connection), (0, ConnectionStatus::Open));
    }
    for connection in [ConnectionStatus::Open, ConnectionStatus::Closed] {
        stage.times_out();
        let reply = stage.replied().await;
        let looked_at_later = stage.kick(&reply.conversation).await;
        assert!(matches!(looked_at_later, Verdict::Retry { .. }));
        assert_eq!(state(&stage).await.connection, connection);
    }
}

#[tokio::test]
async fn many_connection_events_at_once_ask_a_few_times() {
    let stage = stage().await;
    let mut jobs = Vec::new();
    let before = stage.now();
    for number in 0..100 {
        stage.world.providers.is(if number % 2 == 0 {
            ConnectionAnswer::Closed
        } else {
            ConnectionAnswer::Open
        });
        jobs.push(stage.event(EventKind::Connection, Value::Null).await);
        stage.world.system.pass(100);
        let mut waiting = Vec::new();
        for job in jobs {
            if stage.receive(&job, 1).await != Verdict::Done {
                waiting.push(job);
            }
        }
        jobs = waiting;
    }
    let seconds = (stage.now().as_millisecond() - before.as_millisecond()) / 1000;
    let asked = i64::try_from(stage.world.providers.asked()).unwrap();
    assert!(asked >= 2 && asked <= seconds / 2 + 1, "{asked} in {seconds} s");
    stage.world.providers.is(ConnectionAnswer::Open);
    for job in jobs {
        while stage.receive(&job, 1).await != Verdict::Done {
            stage.pass(1);
        }
    }
    assert_eq!(
        state(&stage).await.connection,
        ConnectionStatus::Open,
        "the last answer counts"
    );
}

#[tokio::test]
async fn a_connection_that_comes_and_goes_releases_at_most_every_ten_seconds() {
    let stage = stage().await;
    let mut releases = std::collections::BTreeSet::new();
    for _ in 0..10 {
        for answer in [ConnectionAnswer::Closed, ConnectionAnswer::Open] {
            stage.world.providers.is(answer);
            let job = stage.event(EventKind::Connection, Value::Null).await;
            while stage.receive(&job, 1).await != Verdict::Done {
                stage.pass(1);
            }
            releases.extend(state(&stage).await.released_at);
        }
    }
    let times: Vec<_> = releases.into_iter().collect();
    assert!(times.len() >= 2);
    assert!(
        times
            .windows(2)
            .all(|pair| add_millis(pair[0], 10_000) <= pair[1]),
        "{times:?}"
    );
    let put_off = state(&stage).await;
    assert_eq!(put_off.connection, ConnectionStatus::Open);
    assert!(put_off.probe_at.is_some(), "what may still wait is looked after");
    stage.pass(70);
    assert_eq!(reconcile(&stage.world).await.unwrap().probes, 1);
    assert_eq!(state(&stage).await.probe_at, None);
}

#[tokio::test]
async fn the_late_echo_of_a_repeated_send_is_no_answer_and_an_equal_text_after_it_is() {
    let stage = stage().await;
    let contact = stage.scene.other_contact();
    stage.times_out();
    let reply = stage.replied_to(&contact).await;
    stage.send(&reply.conversation).await;
    let sent = stage
        .world
        .store
        .find_message(&reply.message_id())
        .await
        .unwrap()
        .unwrap();
    assert!(sent.out.as_ref().unwrap().maybe_sent);
    assert_eq!(stage.world.providers.sent(), 2);
    let text = sent.content.render_text();
    let mode = || async {
        stage
            .world
            .store
            .find_conversation(&reply.conversation)
            .await
            .unwrap()
            .unwrap()
            .mode
    };
    stage
        .message(
            &contact,
            sent.provider_message_id.as_deref().unwrap(),
            &text,
            true,
        )
        .await;
    stage.pass(60);
    stage.message(&contact, "LATE", &text, true).await;
    stage.message(&contact, "LATE", &text, true).await;
    assert_eq!(mode().await, ConversationMode::Ai);
    stage.message(&contact, "TYPED", &text, true).await;
    assert_eq!(mode().await, ConversationMode::Manual);
}

#[tokio::test]
async fn an_equal_text_typed_hours_after_a_repeated_send_is_an_answer() {
    let stage = stage().await;
    let contact = stage.scene.other_contact();
    stage.times_out();
    let reply = stage.replied_to(&contact).await;
    stage.send(&reply.conversation).await;
    stage.pass(2 * 3600);
    stage
        .message(&contact, "TYPED", &reply.content.render_text(), true)
        .await;
    let conversation = stage
        .world
        .store
        .find_conversation(&reply.conversation)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(conversation.mode, ConversationMode::Manual);
}

#[tokio::test]
async fn messages_of_a_closed_instance_make_room_for_others() {
    let stage = stage().await;
    let reply = stage.replied().await;
    stage.world.providers.is(ConnectionAnswer::Closed);
    let job = stage.event(EventKind::Connection, Value::Null).await;
    assert_eq!(stage.receive(&job, 1).await, Verdict::Done);
    stage.pass(360);
    let outgoing = || async {
        let overdue = stage.world.store.list_overdue(stage.now(), 1_000).await.unwrap();
        overdue
            .iter()
            .filter(|work| matches!(work, OverdueWork::Outgoing { .. }))
            .count()
    };
    assert_eq!(outgoing().await, 1);
    assert_eq!(reconcile(&stage.world).await.unwrap().kicked, 0);
    assert_eq!(outgoing().await, 0);
    stage.pass(31 * 60);
    assert_eq!(outgoing().await, 1, "it is not forgotten");
    stage.world.providers.is(ConnectionAnswer::Open);
    reconcile(&stage.world).await.unwrap();
    let left = outgoing().await;
    assert_eq!(reconcile(&stage.world).await.unwrap().kicked, left);
    assert_eq!(outgoing().await, 0, "also what was kicked makes room");
    stage.send(&reply.conversation).await;
    assert_eq!(stage.world.providers.sent(), 1);
}

#[tokio::test]
async fn answers_to_one_contact_of_meta_are_spaced_beyond_the_burst() {
    let stage = Stage::set(Scene::on(Provider::Meta)).await;
    let first = stage.replied().await;
    let mut places = Vec::new();
    for number in 0..50 {
        let answer = operate::OperatorAnswer {
            content: Content::from_text(format!("parte {number}")),
            options: SendOptions::default(),
            seen: None,
            key: None,
            correlation: correlation(),
        };
        let made = operate::answer_as_operator(&stage.world, &first.conversation, answer)
            .await
            .unwrap();
        places.push(made.message.out.unwrap().not_before);
    }
    let burst = usize::try_from(Rate::META_PAIR.burst).unwrap() - 1;
    assert!(places[..burst].iter().all(Option::is_none));
    let later: Vec<_> = places.iter().flatten().collect();
    assert!(later.len() >= 5);
    assert!(
        later
            .windows(2)
            .all(|pair| add_millis(*pair[0], 6_000) <= *pair[1])
    );
    let begun = stage.now();
    stage.send(&first.conversation).await;
    assert_eq!(
        stage.world.providers.sent(),
        50,
        "the reply of before was taken over"
    );
    assert!(stage.now() >= add_millis(begun, 30_000));
    assert!(
        stage
            .world
            .store
            .list_open_messages(first.conversation.thread_id())
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_silence_against_the_custom_is_told_once() {
    let stage = stage().await;
    let contact = stage.scene.other_contact();
    let mut told = 0;
    for look in 0..36 {
        stage.message(&contact, &format!("M{look}"), "Oi", false).await;
        told += reconcile(&stage.world).await.unwrap().silent;
        stage.pass(300);
    }
    assert_eq!(told, 0, "while messages come");
    // The same hours of the next day.
    stage.pass(21 * 3600);
    for _ in 0..36 {
        told += reconcile(&stage.world).await.unwrap().silent;
        stage.pass(300);
    }
    assert_eq!(told, 1);
    let silent = state(&stage).await.inactive_since().unwrap();
    assert!(silent < add_millis(stage.now(), -2 * 3_600_000));
    stage.message(&contact, "AGAIN", "Oi", false).await;
    reconcile(&stage.world).await.unwrap();
    assert_eq!(state(&stage).await.inactive_since(), None);
}
