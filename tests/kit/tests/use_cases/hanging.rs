//! Attempts that time out: what they say of the message, and what of its instance.

use crate::waiting::{out, state, stored};
use crate::world::Stage;
use recado_domain::instance::ConnectionStatus;
use recado_domain::message::{Message, MessageStatus};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{ConnectionAnswer, DeadLetters, System};
use recado_pipeline::reconcile::reconcile;
use recado_testkit::builders::Scene;

const PROVIDERS: [&str; 4] = ["evolution", "meta", "360dialog", "aws-social"];

async fn stage(provider: &'static str) -> Stage {
    Stage::set(Scene::on(Provider::parse(provider).unwrap())).await
}

/// Kicks until so many requests went out.
async fn until_sent(stage: &Stage, message: &Message, requests: u64) {
    for _ in 0..100 {
        let verdict = stage.kick(&message.conversation).await;
        if stage.world.providers.sent() == requests {
            return;
        }
        match verdict {
            Verdict::Done => panic!("request {requests} is not sent"),
            Verdict::Retry { after } => stage.world.system.sleep(after).await,
        }
    }
    panic!("it is never sent");
}

#[tokio::test]
async fn a_message_that_always_times_out_stops_no_other_contact() {
    for provider in PROVIDERS {
        let stage = stage(provider).await;
        let reply = stage.replied().await;
        for attempt in 1..=5 {
            stage.times_out();
            until_sent(&stage, &reply, attempt).await;
            let found = state(&stage).await;
            assert_eq!((found.connection, found.timeouts), (ConnectionStatus::Open, 1));
        }
        assert_eq!(stage.world.providers.asked(), 4, "once before each repeat");
        let other = stage.replied().await;
        until_sent(&stage, &other, 6).await;
        assert_eq!(
            stored(&stage, &other).await.status_with_delivery(None),
            MessageStatus::Sent
        );
        let found = state(&stage).await;
        assert_eq!((found.timeouts, found.timed_out), (0, None));
        stage.send(&reply.conversation).await;
        let letter = stage
            .world
            .store
            .find_dead_letter(reply.message_id().as_str())
            .await
            .unwrap();
        assert_eq!(letter.unwrap().reason, Reason::UnknownOutcome);
    }
}

#[tokio::test]
async fn two_messages_that_time_out_close_the_instance_whatever_timed_out_before() {
    let stage = stage("evolution").await;
    let (first, second) = (stage.replied().await, stage.replied().await);
    for requests in 1..=2 {
        stage.times_out();
        until_sent(&stage, &first, requests).await;
        assert_eq!(state(&stage).await.connection, ConnectionStatus::Open);
    }
    stage.times_out();
    until_sent(&stage, &second, 3).await;
    assert_eq!(state(&stage).await.connection, ConnectionStatus::Closed);
}

#[tokio::test]
async fn a_message_that_timed_out_is_not_sent_again_while_the_provider_does_not_answer() {
    for provider in PROVIDERS {
        let stage = stage(provider).await;
        let reply = stage.replied().await;
        stage.times_out();
        until_sent(&stage, &reply, 1).await;
        stage.world.providers.is(ConnectionAnswer::Unclear);
        stage.send(&reply.conversation).await;
        assert_eq!(
            state(&stage).await.connection,
            ConnectionStatus::Closed,
            "{provider}"
        );
        // For half a day nobody answers, and no attempt is used up.
        for _ in 0..72 {
            stage.pass(600);
            reconcile(&stage.world).await.unwrap();
            stage.send(&reply.conversation).await;
        }
        assert_eq!(stage.world.providers.sent(), 1);
        assert_eq!(out(&stage, &reply).await.attempts, 1);
        stage.world.providers.is(ConnectionAnswer::Open);
        stage.pass(600);
        reconcile(&stage.world).await.unwrap();
        stage.send(&reply.conversation).await;
        assert_eq!(
            stored(&stage, &reply).await.status_with_delivery(None),
            MessageStatus::Sent
        );
        assert!(out(&stage, &reply).await.maybe_sent);
    }
}
