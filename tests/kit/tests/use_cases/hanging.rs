//! Attempts that time out: what they say of the message, and what of its instance.

use crate::waiting::{connection, dead_letter, out, state, stored};
use crate::world::Setup;
use recado_domain::instance::ConnectionStatus;
use recado_domain::message::{Message, MessageStatus};
use recado_domain::provider::Provider;
use recado_domain::reason::Reason;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{ConnectionAnswer, System};
use recado_pipeline::reconcile::reconcile;
use recado_pipeline::records::dead_letters::find_dead_letter;
use recado_testkit::builders::Fixture;
use recado_testkit::ports::succeed;

const PROVIDERS: [&str; 4] = ["evolution", "meta", "360dialog", "aws-social"];

async fn setup(provider: &'static str) -> Setup {
    Setup::set(Fixture::on(Provider::parse(provider).unwrap())).await
}

/// Kicks until so many requests went out.
async fn until_sent(setup: &Setup, message: &Message, requests: u64) {
    for _ in 0..100 {
        let verdict = setup.job(&message.conversation).await;
        if setup.world.providers.sent() == requests {
            return;
        }
        match verdict {
            Verdict::Done => panic!("request {requests} is not sent"),
            Verdict::Retry { after } => setup.world.system.sleep(after.unsigned_abs()).await,
        }
    }
    panic!("it is never sent");
}

#[tokio::test]
async fn a_message_that_always_times_out_stops_no_other_contact() {
    for provider in PROVIDERS {
        let setup = setup(provider).await;
        let reply = setup.replied().await;
        for attempt in 1..=5 {
            setup.times_out();
            until_sent(&setup, &reply, attempt).await;
            let found = state(&setup).await;
            assert_eq!((found.connection, found.timeouts), (ConnectionStatus::Open, 1));
        }
        assert_eq!(setup.world.providers.asked(), 4, "once before each repeat");
        let other = setup.replied().await;
        until_sent(&setup, &other, 6).await;
        assert_eq!(
            stored(&setup, &other).await.status_with_delivery(None),
            MessageStatus::Sent
        );
        let found = state(&setup).await;
        assert_eq!((found.timeouts, found.timed_out), (0, None));
        setup.send(&reply.conversation).await;
        let dead_letter = succeed(find_dead_letter(&setup.world.store, reply.message_id().as_str())).await;
        assert_eq!(dead_letter.unwrap().reason, Reason::UnknownOutcome);
    }
}

#[tokio::test]
async fn two_messages_that_time_out_close_the_instance_whatever_timed_out_before() {
    let setup = setup("evolution").await;
    let (first, second) = (setup.replied().await, setup.replied().await);
    for requests in 1..=2 {
        setup.times_out();
        until_sent(&setup, &first, requests).await;
        assert_eq!(state(&setup).await.connection, ConnectionStatus::Open);
    }
    setup.times_out();
    until_sent(&setup, &second, 3).await;
    assert_eq!(state(&setup).await.connection, ConnectionStatus::Closed);
}

#[tokio::test]
async fn a_message_that_timed_out_is_not_sent_again_while_the_provider_does_not_answer() {
    for provider in PROVIDERS {
        let setup = setup(provider).await;
        let reply = setup.replied().await;
        setup.times_out();
        until_sent(&setup, &reply, 1).await;
        setup.world.providers.is(ConnectionAnswer::Unclear);
        setup.send(&reply.conversation).await;
        assert_eq!(
            state(&setup).await.connection,
            ConnectionStatus::Closed,
            "{provider}"
        );
        // For half a day nobody answers, and no attempt is used up.
        for _ in 0..72 {
            setup.pass(600);
            reconcile(&setup.world).await.unwrap();
            setup.send(&reply.conversation).await;
        }
        assert_eq!(setup.world.providers.sent(), 1);
        assert_eq!(out(&setup, &reply).await.attempts, 1);
        setup.world.providers.is(ConnectionAnswer::Open);
        setup.pass(600);
        reconcile(&setup.world).await.unwrap();
        setup.send(&reply.conversation).await;
        assert_eq!(
            stored(&setup, &reply).await.status_with_delivery(None),
            MessageStatus::Sent
        );
        assert!(out(&setup, &reply).await.maybe_sent);
    }
}

#[tokio::test]
async fn a_message_whose_send_job_was_lost_is_given_up_after_three_days_too() {
    let setup = setup("evolution").await;
    let begun = setup.now();
    connection(&setup, ConnectionAnswer::Closed).await;
    let reply = setup.replied().await;
    let hours = || (setup.now().as_second() - begun.as_second()) / 3_600;
    while dead_letter(&setup, &reply).await.is_none() {
        setup.pass(600);
        reconcile(&setup.world).await.unwrap();
        assert!(hours() < 80, "it never ends");
    }
    assert_eq!(hours(), 72);
    assert_eq!(setup.world.providers.sent(), 0);
}
