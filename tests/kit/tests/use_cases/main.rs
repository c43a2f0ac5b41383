//! Use cases on the real store, where what matters is how often something is asked, or how long something counts.

#![expect(clippy::unwrap_used, reason = "this is test code")]

mod access;
mod acknowledgements;
mod acting;
mod agent_removal;
mod agent_return;
mod annotations;
mod answers;
mod attempts;
mod batch_ends;
mod batches;
mod booking_set;
mod bucket;
mod burst_set;
mod bursts;
mod catching_up;
mod changes;
mod choices;
mod clients;
mod clocks;
mod connection_checks;
mod counter;
mod damaged_records;
mod dead_jobs;
mod dead_letters;
mod decisions;
mod disabled;
mod dropped_drafts;
mod effects;
mod email_batches;
mod email_deliveries;
mod erasure;
mod every_kind;
mod evidence;
mod exclusive_turns;
mod exports;
mod file_texts;
mod hanging;
mod held_replies;
mod http_agents;
mod identities;
mod identity_attempts;
mod interruptions;
mod invitation_log;
mod invitation_rules;
mod invitations;
mod joined;
mod joined_history;
mod knowledge;
mod knowledge_turns;
mod knowledge_vectors;
mod limits;
mod long_replies;
mod lookalikes;
mod measured;
mod media;
mod memory;
mod model_accounts;
mod model_failures;
mod moved_copies;
mod named_secrets;
mod occasion_reminders;
mod openings;
mod opt_outs;
mod order;
mod other_agents;
mod own_messages;
mod pass_time;
mod people;
mod phone;
mod pictures;
mod played_lines;
mod portfolio;
mod possible_sends;
mod present;
mod reactions;
mod refusals;
mod reminders;
mod repeated_requests;
mod replies;
mod reply_time;
mod restored_batches;
mod retention;
mod samples;
mod scheduled_deliveries;
mod sender;
mod signatures;
mod small_knowledge;
mod spelling_corrections;
mod spellings;
mod steps;
mod switches;
mod tenant_removal;
mod tools;
mod traces;
mod turns;
mod turns_at_once;
mod typing;
mod unknown;
mod uploads;
mod usage;
mod voids;
mod waiting;
mod web_pages;
mod webhook_files;
mod webhooks;
mod window;
mod world;

use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::event::EventKind;
use recado_domain::instance::{ConnectionStatus, InstanceState};
use recado_domain::message::MessageStatus;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::provider::Provider;
use recado_domain::rate::Rate;
use recado_pipeline::Verdict;
use recado_pipeline::ports::{
    ConnectionAnswer, Conversations, Instances, OutboxStore, OverdueWork, Overviews,
};
use recado_pipeline::reconcile::reconcile;
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use serde_json::Value;
use world::Setup;

async fn setup() -> Setup {
    Setup::set(Fixture::new()).await
}

async fn state(setup: &Setup) -> InstanceState {
    succeed(setup.world.store.read_instance_state(setup.fixture.instance())).await
}

async fn send_one(setup: &Setup) -> MessageStatus {
    let reply = setup.replied().await;
    setup.send(&reply.conversation).await;
    let stored = succeed(setup.world.store.find_message(&reply.message_id()))
        .await
        .unwrap();
    stored.status_with_delivery(None)
}

#[tokio::test]
async fn an_instance_in_use_is_not_asked_and_one_that_rested_is_asked_once() {
    let setup = setup().await;
    for _ in 0..10 {
        assert_eq!(send_one(&setup).await, MessageStatus::Sent);
        setup.pass(240);
    }
    assert_eq!(setup.world.providers.asked(), 0, "accepted sends confirm it");
    setup.pass(600);
    for _ in 0..3 {
        assert_eq!(send_one(&setup).await, MessageStatus::Sent);
    }
    assert_eq!(setup.world.providers.asked(), 1);
}

#[tokio::test]
async fn a_provider_that_says_nothing_clear_is_asked_once_and_sent_to() {
    let setup = setup().await;
    send_one(&setup).await;
    setup.pass(1_000);
    setup.world.providers.is(ConnectionAnswer::Unclear);
    for _ in 0..3 {
        assert_eq!(send_one(&setup).await, MessageStatus::Sent);
    }
    assert_eq!(setup.world.providers.asked(), 1);
}

#[tokio::test]
async fn what_turns_out_closed_parks_the_message_and_its_opening_releases_it() {
    let setup = setup().await;
    send_one(&setup).await;
    setup.pass(601);
    setup.world.providers.is(ConnectionAnswer::Closed);
    let reply = setup.replied().await;
    assert_eq!(setup.job(&reply.conversation).await, Verdict::Done);
    assert_eq!(setup.world.providers.sent(), 1, "nothing was tried");
    assert_eq!(state(&setup).await.connection, ConnectionStatus::Closed);
    let parked = succeed(setup.world.store.list_parked(setup.fixture.instance(), 10)).await;
    assert_eq!(parked.len(), 1);
    setup.world.providers.is(ConnectionAnswer::Open);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    while let Verdict::Retry { .. } = setup.receive(&job, 1).await {
        setup.pass(1);
    }
    assert!(
        succeed(setup.world.store.list_parked(setup.fixture.instance(), 10))
            .await
            .is_empty()
    );
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 2);
}

#[tokio::test]
async fn meta_is_not_asked_before_sends() {
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    send_one(&setup).await;
    setup.pass(100_000);
    assert_eq!(send_one(&setup).await, MessageStatus::Sent);
    assert_eq!(setup.world.providers.asked(), 0);
}

#[tokio::test]
async fn only_two_time_outs_in_a_row_close_the_instance() {
    let setup = setup().await;
    for _ in 0..3 {
        setup.times_out();
        let reply = setup.replied().await;
        assert!(matches!(
            setup.job(&reply.conversation).await,
            Verdict::Retry { .. }
        ));
        assert_eq!(state(&setup).await.timeouts, 1);
        assert_eq!(send_one(&setup).await, MessageStatus::Sent, "a first attempt");
        let after = state(&setup).await;
        assert_eq!((after.timeouts, after.connection), (0, ConnectionStatus::Open));
    }
    for connection in [ConnectionStatus::Open, ConnectionStatus::Closed] {
        setup.times_out();
        let reply = setup.replied().await;
        let looked_at_later = setup.job(&reply.conversation).await;
        assert!(matches!(looked_at_later, Verdict::Retry { .. }));
        assert_eq!(state(&setup).await.connection, connection);
    }
}

#[tokio::test]
async fn many_connection_events_at_once_ask_a_few_times() {
    let setup = setup().await;
    let mut jobs = Vec::new();
    let before = setup.now();
    for number in 0..100 {
        setup.world.providers.is(if number % 2 == 0 {
            ConnectionAnswer::Closed
        } else {
            ConnectionAnswer::Open
        });
        jobs.push(setup.event(EventKind::Connection, Value::Null).await);
        setup.world.system.pass(100);
        let mut waiting = Vec::new();
        for job in jobs {
            if setup.receive(&job, 1).await != Verdict::Done {
                waiting.push(job);
            }
        }
        jobs = waiting;
    }
    let seconds = (setup.now().as_millisecond() - before.as_millisecond()) / 1000;
    let asked = i64::try_from(setup.world.providers.asked()).unwrap();
    assert!(asked >= 2 && asked <= seconds / 2 + 1, "{asked} in {seconds} s");
    setup.world.providers.is(ConnectionAnswer::Open);
    for job in jobs {
        while setup.receive(&job, 1).await != Verdict::Done {
            setup.pass(1);
        }
    }
    assert_eq!(
        state(&setup).await.connection,
        ConnectionStatus::Open,
        "the last answer counts"
    );
}

#[tokio::test]
async fn a_connection_that_comes_and_goes_releases_at_most_every_ten_seconds() {
    let setup = setup().await;
    let mut releases = std::collections::BTreeSet::new();
    for _ in 0..10 {
        for answer in [ConnectionAnswer::Closed, ConnectionAnswer::Open] {
            setup.world.providers.is(answer);
            let job = setup.event(EventKind::Connection, Value::Null).await;
            while setup.receive(&job, 1).await != Verdict::Done {
                setup.pass(1);
            }
            releases.extend(state(&setup).await.released_at);
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
    let put_off = state(&setup).await;
    assert_eq!(put_off.connection, ConnectionStatus::Open);
    assert!(put_off.probe_at.is_some(), "what may still wait is looked after");
    setup.pass(70);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("probes"), 1);
    assert_eq!(state(&setup).await.probe_at, None);
}

#[tokio::test]
async fn the_late_echo_of_a_repeated_send_is_no_answer_and_an_equal_text_after_it_is() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    setup.times_out();
    let reply = setup.replied_to(&contact).await;
    setup.send(&reply.conversation).await;
    let sent = succeed(setup.world.store.find_message(&reply.message_id()))
        .await
        .unwrap();
    assert!(sent.out.as_ref().unwrap().maybe_sent);
    assert_eq!(setup.world.providers.sent(), 2);
    let text = sent.content.render_text();
    let mode = || async {
        succeed(setup.world.store.find_conversation(&reply.conversation))
            .await
            .unwrap()
            .mode
    };
    setup
        .message(
            &contact,
            sent.provider_message_id.as_deref().unwrap(),
            &text,
            true,
        )
        .await;
    setup.pass(60);
    setup.message(&contact, "LATE", &text, true).await;
    setup.message(&contact, "LATE", &text, true).await;
    assert_eq!(mode().await, ConversationMode::Ai);
    setup.message(&contact, "TYPED", &text, true).await;
    assert_eq!(mode().await, ConversationMode::Manual);
}

#[tokio::test]
async fn an_equal_text_typed_hours_after_a_repeated_send_is_an_answer() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    setup.times_out();
    let reply = setup.replied_to(&contact).await;
    setup.send(&reply.conversation).await;
    setup.pass(2 * 3600);
    setup
        .message(&contact, "TYPED", &reply.content.render_text(), true)
        .await;
    let conversation = succeed(setup.world.store.find_conversation(&reply.conversation))
        .await
        .unwrap();
    assert_eq!(conversation.mode, ConversationMode::Manual);
}

#[tokio::test]
async fn messages_of_a_closed_instance_make_room_for_others() {
    let setup = setup().await;
    let reply = setup.replied().await;
    setup.world.providers.is(ConnectionAnswer::Closed);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    setup.pass(360);
    let outgoing = || async {
        let overdue = setup.world.store.list_overdue(setup.now(), 1_000).await.unwrap();
        overdue
            .iter()
            .filter(|work| matches!(work, OverdueWork::Outgoing { .. }))
            .count()
    };
    assert_eq!(outgoing().await, 1);
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("send_jobs"), 0);
    assert_eq!(outgoing().await, 0);
    setup.pass(31 * 60);
    assert_eq!(outgoing().await, 1, "it is not forgotten");
    setup.world.providers.is(ConnectionAnswer::Open);
    reconcile(&setup.world).await.unwrap();
    let left = outgoing().await;
    assert_eq!(reconcile(&setup.world).await.unwrap().count_of("send_jobs"), left);
    assert_eq!(outgoing().await, 0, "also what was kicked makes room");
    setup.send(&reply.conversation).await;
    assert_eq!(setup.world.providers.sent(), 1);
}

#[tokio::test]
async fn answers_to_one_contact_of_meta_are_spaced_beyond_the_burst() {
    let setup = Setup::set(Fixture::on(Provider::Meta)).await;
    let first = setup.replied().await;
    let mut places = Vec::new();
    for number in 0..50 {
        let answer = recado_operators::OperatorAnswer {
            content: Content::from_text(format!("parte {number}")),
            options: SendOptions::default(),
            seen: None,
            key: None,
            correlation: correlation(),
        };
        let made = succeed(Box::pin(recado_operators::answer_as_operator(
            &setup.world,
            &Caller::installation(),
            &first.conversation,
            answer,
        )))
        .await;
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
    let begun = setup.now();
    setup.send(&first.conversation).await;
    assert_eq!(
        setup.world.providers.sent(),
        50,
        "the reply of before was taken over"
    );
    assert!(setup.now() >= add_millis(begun, 30_000));
    assert!(
        succeed(
            setup
                .world
                .store
                .list_open_messages(first.conversation.thread_id())
        )
        .await
        .is_empty()
    );
}

#[tokio::test]
async fn a_silence_against_the_custom_is_told_once() {
    let setup = setup().await;
    let contact = setup.fixture.other_contact();
    let mut told = 0;
    for look in 0..36 {
        setup.message(&contact, &format!("M{look}"), "Oi", false).await;
        told += reconcile(&setup.world).await.unwrap().count_of("silent");
        setup.pass(300);
    }
    assert_eq!(told, 0, "while messages come");
    // The same hours of the next day.
    setup.pass(21 * 3600);
    for _ in 0..36 {
        told += reconcile(&setup.world).await.unwrap().count_of("silent");
        setup.pass(300);
    }
    assert_eq!(told, 1);
    let silent = state(&setup).await.inactive_since().unwrap();
    assert!(silent < add_millis(setup.now(), -2 * 3_600_000));
    setup.message(&contact, "AGAIN", "Oi", false).await;
    reconcile(&setup.world).await.unwrap();
    assert_eq!(state(&setup).await.inactive_since(), None);
}
