//! A reply of the agent that a takeover made void keeps nobody's words waiting, whatever it waits for itself.

use crate::world::{Setup, TEXT_MAX, World, beside};
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::{Conversation, ConversationMode};
use recado_domain::dead_letter::QueueName;
use recado_domain::event::EventKind;
use recado_domain::ids::{ConversationId, CorrelationId, MessageId};
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::options::SendOptions;
use recado_domain::rate::Rate;
use recado_domain::wake_up::{OutboundJob, SendJob};
use recado_pipeline::ports::{
    ConnectionAnswer, ConversationFilter, Conversations, Instances, OutboxStore, PageRequest, SendOutcome,
};
use recado_pipeline::settings::VisibilityTimeouts;
use recado_pipeline::{Verdict, handle_outbound_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use serde_json::Value;
use std::time::Duration;

/// What no wait in these cases may exceed, in seconds: that of a send job which lost a race.
const AT_ONCE: i64 = 2;

/// How long the provider asks to wait: in the queue, and beside it.
const WAITS: [u64; 2] = [120, 3_600];

fn busy(seconds: u64) -> SendOutcome {
    SendOutcome::Retryable {
        why: "429".to_owned(),
        after: Some(Duration::from_secs(seconds)),
    }
}

/// The contact has written, and the agent's reply was answered `outcome`: it waits.
async fn waiting(outcome: SendOutcome) -> (Setup, Message) {
    let setup = Setup::set(Fixture::new()).await;
    setup.answers(outcome);
    let reply = replied(&setup, "W1", "a resposta").await;
    setup.sender(add_millis(setup.now(), 1_000)).await;
    assert_eq!(setup.world.providers.sent(), 1);
    assert_eq!(state(&setup, &reply.message_id()).await, "queued");
    setup.pass(5);
    (setup, reply)
}

/// The contact writes, and the agent replies with this; the sender has not come yet.
async fn replied(setup: &Setup, id: &str, text: &str) -> Message {
    *setup.world.llm.says.lock().unwrap() = Some(text.to_owned());
    setup.message(&setup.fixture, id, "Oi", false).await;
    setup.turn(&setup.fixture).await
}

async fn state(setup: &Setup, id: &MessageId) -> &'static str {
    let found = setup.world.store.find_message(id).await.unwrap().unwrap();
    found.out.unwrap().state.as_str()
}

async fn answers(world: &World, conversation: &ConversationId, text: &str) -> MessageId {
    let answer = recado_operators::OperatorAnswer {
        content: Content::from_text(text),
        options: SendOptions::default(),
        seen: None,
        key: None,
        correlation: correlation(),
    };
    let made =
        recado_operators::answer_as_operator(world, &Caller::installation(), conversation, answer).await;
    made.unwrap().message.message_id()
}

async fn set_mode(setup: &Setup, conversation: &ConversationId, mode: ConversationMode) -> Conversation {
    let changed = recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        conversation,
        mode,
        &correlation(),
    )
    .await;
    changed.unwrap()
}

/// The sender works for so long that something which goes at once has gone.
async fn at_once(setup: &Setup) {
    setup.sender(add_millis(setup.now(), AT_ONCE * 1_000)).await;
}

fn said(setup: &Setup) -> Vec<String> {
    let contents = setup.world.providers.contents();
    contents.iter().map(Content::render_text).collect()
}

#[tokio::test]
async fn a_persons_answer_leaves_at_once_although_a_void_reply_waits_for_its_time() {
    for seconds in WAITS {
        let (setup, reply) = waiting(busy(seconds)).await;
        let answer = answers(&setup.world, &reply.conversation, "sou eu").await;
        at_once(&setup).await;
        assert_eq!(state(&setup, &reply.message_id()).await, "cancelled", "{seconds}");
        assert_eq!(state(&setup, &answer).await, "sent", "{seconds}");
        // Nothing is left but the send job that waits.
        setup.sender(add_millis(setup.now(), 7_200_000)).await;
        assert_eq!(said(&setup), ["a resposta", "sou eu"]);
    }
}

#[tokio::test]
async fn a_takeover_alone_cancels_at_once_what_waits_and_what_a_client_sent_behind_it_leaves() {
    for (seconds, typed) in [(120, false), (120, true), (3_600, false), (3_600, true)] {
        let (setup, reply) = waiting(busy(seconds)).await;
        let behind = setup.client_writes(setup.fixture.address.as_str()).await;
        at_once(&setup).await;
        assert_eq!(said(&setup), ["a resposta"], "it waits for the reply");
        if typed {
            setup.message(&setup.fixture, "T1", "eu cuido", true).await;
        } else {
            set_mode(&setup, &reply.conversation, ConversationMode::Manual).await;
        }
        at_once(&setup).await;
        assert_eq!(state(&setup, &reply.message_id()).await, "cancelled", "{seconds}");
        assert_eq!(state(&setup, &behind.id).await, "sent", "{seconds}");
    }
}

#[tokio::test]
async fn a_takeover_that_comes_again_after_a_crash_cancels_at_once_too() {
    let (setup, reply) = waiting(busy(120)).await;
    set_mode(&setup, &reply.conversation, ConversationMode::Manual).await;
    // Its send job was never sent.
    setup.send_jobs().await;
    set_mode(&setup, &reply.conversation, ConversationMode::Manual).await;
    at_once(&setup).await;
    assert_eq!(state(&setup, &reply.message_id()).await, "cancelled");
}

async fn who_waits(setup: &Setup) -> Vec<ConversationId> {
    let page = PageRequest::first(10);
    let (all, caller) = (ConversationFilter::default(), Caller::installation());
    let listed = recado_operators::list_waiting_conversations(&setup.world, &caller, all, &page).await;
    listed.unwrap().items.into_iter().map(|one| one.id).collect()
}

#[tokio::test]
async fn what_a_void_reply_was_to_answer_waits_for_a_person_until_one_answers() {
    let (setup, reply) = waiting(busy(120)).await;
    assert!(who_waits(&setup).await.is_empty());
    set_mode(&setup, &reply.conversation, ConversationMode::Manual).await;
    at_once(&setup).await;
    assert_eq!(state(&setup, &reply.message_id()).await, "cancelled");
    assert_eq!(who_waits(&setup).await, std::slice::from_ref(&reply.conversation));
    answers(&setup.world, &reply.conversation, "sou eu").await;
    assert!(who_waits(&setup).await.is_empty());
}

#[tokio::test]
async fn after_a_give_back_the_next_reply_leaves_at_once() {
    for seconds in WAITS {
        let (setup, reply) = waiting(busy(seconds)).await;
        set_mode(&setup, &reply.conversation, ConversationMode::Manual).await;
        // Nobody sends between the two.
        let back = set_mode(&setup, &reply.conversation, ConversationMode::Ai).await;
        assert!(back.owes_answer(), "what the void reply covered is owed again");
        *setup.world.llm.says.lock().unwrap() = Some("de novo".to_owned());
        setup.turns(&setup.fixture).await;
        at_once(&setup).await;
        assert_eq!(state(&setup, &reply.message_id()).await, "cancelled", "{seconds}");
        assert_eq!(said(&setup), ["a resposta", "de novo"], "{seconds}");
    }
}

#[tokio::test]
async fn after_a_resolve_the_next_conversations_reply_leaves_at_once() {
    for seconds in WAITS {
        let (setup, reply) = waiting(busy(seconds)).await;
        succeed(recado_operators::resolve_conversation(
            &setup.world,
            &Caller::installation(),
            &reply.conversation,
            None,
            &correlation(),
        ))
        .await;
        let next = replied(&setup, "W2", "outra").await;
        assert_ne!(next.conversation, reply.conversation);
        at_once(&setup).await;
        assert_eq!(state(&setup, &reply.message_id()).await, "cancelled", "{seconds}");
        assert_eq!(state(&setup, &next.message_id()).await, "sent", "{seconds}");
    }
    // By the resolve alone, too.
    let (setup, reply) = waiting(busy(120)).await;
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &reply.conversation,
        None,
        &correlation(),
    ))
    .await;
    at_once(&setup).await;
    assert_eq!(state(&setup, &reply.message_id()).await, "cancelled");
}

#[tokio::test]
async fn a_reply_that_is_not_void_keeps_its_time_and_what_comes_behind_it_keeps_its_place() {
    for (seconds, jobs) in [(120, (1, 2)), (3_600, (0, 0))] {
        let (setup, reply) = waiting(busy(seconds)).await;
        let first = setup.client_writes(setup.fixture.address.as_str()).await;
        let second = setup.client_writes(setup.fixture.address.as_str()).await;
        setup.sender(add_millis(setup.now(), 60_000)).await;
        assert_eq!(setup.world.providers.sent(), 1);
        let depth = setup.world.queues.queue_depth(QueueName::Outbound).await.unwrap();
        assert_eq!(
            (depth.in_flight, depth.visible),
            jobs,
            "those behind it wait in its group"
        );
        setup
            .sender(add_millis(setup.now(), i64::try_from(seconds).unwrap() * 1_000))
            .await;
        if jobs == (0, 0) {
            recado_pipeline::reconcile::reconcile(&setup.world).await.unwrap();
            at_once(&setup).await;
        }
        assert_eq!(said(&setup), ["a resposta", "a resposta", "Olá", "Olá"]);
        for id in [reply.message_id(), first.id, second.id] {
            assert_eq!(state(&setup, &id).await, "sent");
        }
    }
}

/// A setup at whose rate a message leaves each minute, and one has just left.
async fn one_a_minute() -> Setup {
    let mut fixture = Fixture::new();
    fixture.bound.instance.rate = Some(Rate {
        per_second: 1.0 / 60.0,
        burst: 1,
    });
    let setup = Setup::set(fixture).await;
    let before = setup.replied().await;
    setup.send(&before.conversation).await;
    assert_eq!(setup.world.providers.sent(), 1);
    setup
}

#[tokio::test]
async fn a_void_reply_is_cancelled_before_its_slot_is_reserved_and_with_it_its_parts() {
    let setup = one_a_minute().await;
    let long = format!("{0}\n\n{0}\n\n{0}", "é".repeat(TEXT_MAX / 2));
    let last = replied(&setup, "W1", &long).await;
    let answer = answers(&setup.world, &last.conversation, "sou eu").await;
    setup.sender(add_millis(setup.now(), 61_000)).await;
    assert_eq!(
        state(&setup, &answer).await,
        "sent",
        "in the first minute's place"
    );
    assert_eq!(said(&setup)[1..], ["sou eu"]);
}

#[tokio::test]
async fn a_void_reply_that_waits_for_its_slot_is_cancelled_at_once_and_so_are_its_parts() {
    let setup = one_a_minute().await;
    let long = format!("{0}\n\n{0}\n\n{0}", "é".repeat(TEXT_MAX / 2));
    let last = replied(&setup, "W1", &long).await;
    setup.sender(add_millis(setup.now(), 10_000)).await;
    set_mode(&setup, &last.conversation, ConversationMode::Manual).await;
    at_once(&setup).await;
    assert_eq!(state(&setup, &last.message_id()).await, "cancelled");
    let answer = answers(&setup.world, &last.conversation, "sou eu").await;
    // One place was reserved for the first part, none for the others.
    setup.sender(add_millis(setup.now(), 120_000)).await;
    assert_eq!(state(&setup, &answer).await, "sent");
}

#[tokio::test]
async fn a_void_reply_of_a_closed_instance_is_cancelled_and_the_answer_leaves_when_it_opens() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = replied(&setup, "W1", "a resposta").await;
    setup.world.providers.is(ConnectionAnswer::Closed);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    assert_eq!(setup.receive(&job, 1).await, Verdict::Done);
    at_once(&setup).await;
    let parked = succeed(setup.world.store.list_parked(setup.fixture.instance(), 10)).await;
    assert_eq!(parked.len(), 1);
    let answer = answers(&setup.world, &reply.conversation, "sou eu").await;
    at_once(&setup).await;
    assert_eq!(state(&setup, &reply.message_id()).await, "cancelled");
    assert_eq!(state(&setup, &answer).await, "queued");
    setup.world.providers.is(ConnectionAnswer::Open);
    let job = setup.event(EventKind::Connection, Value::Null).await;
    while setup.receive(&job, 1).await != Verdict::Done {
        setup.pass(1);
    }
    at_once(&setup).await;
    assert_eq!(said(&setup), ["sou eu"]);
}

#[tokio::test]
async fn words_behind_a_reply_that_is_being_sent_leave_with_its_outcome() {
    for seconds in WAITS {
        let setup = Setup::set(Fixture::new()).await;
        let reply = replied(&setup, "W1", "a resposta").await;
        setup.answers(busy(seconds));
        let (world, id) = (beside(&setup.world), reply.conversation.clone());
        setup.world.providers.meanwhile.set(async move {
            answers(&world, &id, "sou eu").await;
            // Another sender has their send job, and finds the reply being sent.
            let queues = &world.queues;
            let job = queues
                .receive_messages(QueueName::Outbound, 1, VisibilityTimeouts::OUTBOUND)
                .await;
            let job = job.unwrap().remove(0);
            assert_eq!(job.group.as_deref(), Some(id.thread_id().as_str()));
            let verdict = handle_outbound_message(&world, &Idle, &job.body, 1, None).await;
            assert_eq!(
                verdict,
                Verdict::Done,
                "it goes where the reply's outcome is known first"
            );
            assert!(queues.delete_received(&job.receipt).await.unwrap());
        });
        at_once(&setup).await;
        assert_eq!(state(&setup, &reply.message_id()).await, "cancelled");
        assert_eq!(said(&setup), ["a resposta", "sou eu"]);
    }
}

#[tokio::test]
async fn the_parts_of_a_reply_share_a_group_and_what_people_send_the_contacts() {
    let setup = Setup::set(Fixture::new()).await;
    let long = format!("{0}\n\n{0}\n\n{0}", "é".repeat(TEXT_MAX / 2));
    let last = replied(&setup, "W1", &long).await;
    let open = succeed(
        setup
            .world
            .store
            .list_open_messages(last.conversation.thread_id()),
    )
    .await;
    assert_eq!(open.len(), 3);
    assert!(
        open.iter()
            .all(|part| part.reply_id() == Some(open[0].message_id()))
    );
    let job = setup.send_jobs().await.remove(0);
    assert_eq!(job.group.as_deref(), Some(open[0].message_id().as_str()));
    answers(&setup.world, &last.conversation, "sou eu").await;
    let job = setup.send_jobs().await.remove(0);
    assert_eq!(job.group.as_deref(), Some(last.conversation.thread_id().as_str()));
}

#[tokio::test]
async fn a_send_job_that_was_handed_out_often_is_sent_anew_where_it_waits() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    let job = OutboundJob::Send(SendJob {
        reply: reply.reply_id(),
        ..SendJob::new(
            reply.conversation.clone(),
            reply.ordinal,
            CorrelationId::parse("k").unwrap(),
        )
    });
    let body = serde_json::to_string(&job).unwrap();
    let verdict = handle_outbound_message(&setup.world, &Idle, &body, 500, None).await;
    assert_eq!(verdict, Verdict::Done);
    let renewed = setup.send_jobs().await.remove(0);
    assert_eq!(renewed.group.as_deref(), Some(reply.message_id().as_str()));
    assert_eq!(renewed.body, body);
}
