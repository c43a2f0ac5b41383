//! Messages to one contact keep their order, whatever becomes of its conversations.

use crate::world::{Model, Setup, Time};
use async_trait::async_trait;
use recado_domain::Timestamp;
use recado_domain::access::Caller;
use recado_domain::conversation::ConversationMode;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::outbox::OutboxState;
use recado_domain::wake_up::{OutboundJob, SendJob};
use recado_features::FEATURES;
use recado_pipeline::ports::{
    ClaimOutcome, Conversations, OutboxStore, PortResult, SendOutcome, System, WriteOutcome,
};
use recado_pipeline::{Components, Verdict, handle_outbound_message};
use recado_testkit::builders::{Fixture, correlation, nonce};
use recado_testkit::idle::Idle;
use recado_testkit::ports::succeed;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Open messages are read, grouped and sent by contact, across conversations.
#[tokio::test]
async fn a_message_of_the_next_conversation_waits_for_what_a_resolved_one_still_has_open() {
    let setup = Setup::set(Fixture::new()).await;
    let (store, to) = (&setup.world.store, setup.fixture.address.as_str());
    let first = setup.client_writes(to).await;
    let conversation = first.conversation.clone().unwrap();
    setup.answers(SendOutcome::Unknown {
        why: "HTTP 500".to_owned(),
        timed_out: false,
    });
    let _ = setup.job(&conversation).await;
    succeed(recado_operators::resolve_conversation(
        &setup.world,
        &Caller::installation(),
        &conversation,
        None,
        &correlation(),
    ))
    .await;
    let second = setup.client_writes(to).await;
    let next = second.conversation.clone().unwrap();
    assert_ne!(next, conversation);
    let _ = setup.job(&next).await;
    assert_eq!(setup.world.providers.sent(), 1, "the first is still unknown");
    setup.send(&next).await;
    for id in [&first.id, &second.id] {
        let message = store.find_message(id).await.unwrap().unwrap();
        assert!(matches!(message.out.unwrap().state, OutboxState::Sent { .. }));
    }
    assert_eq!(
        setup.world.providers.sent(),
        3,
        "the first went out again, then the second"
    );
    assert!(
        succeed(store.list_open_messages(next.thread_id()))
            .await
            .is_empty()
    );
}

/// Otherwise a give-back counts the cancelled reply as an answer, and nobody answers.
#[tokio::test]
async fn a_cancelled_reply_is_a_conflict_for_who_read_the_conversation_before() {
    let setup = Setup::set(Fixture::new()).await;
    let store = &setup.world.store;
    let reply = setup.replied().await;
    let id = &reply.conversation;
    succeed(recado_operators::set_conversation_mode(
        &setup.world,
        &Caller::installation(),
        id,
        ConversationMode::Manual,
        &correlation(),
    ))
    .await;
    let mut read_before = store.find_conversation(id).await.unwrap().unwrap();
    setup.send(id).await;
    let cancelled = store.find_message(&reply.message_id()).await.unwrap().unwrap();
    assert!(matches!(
        cancelled.out.unwrap().state,
        OutboxState::Cancelled { .. }
    ));
    read_before.rev += 1;
    assert_eq!(
        store.update_conversation(&read_before, &[]).await.unwrap(),
        WriteOutcome::Conflict
    );
}

/// What happens once.
type Event = Box<dyn FnOnce() + Send>;

/// The time of the setup; at the first look at the clock, something else happens from beginning to end.
#[derive(Clone)]
struct Meanwhile {
    time: Time,
    happens: Arc<Mutex<Option<Event>>>,
}

#[async_trait]
impl System for Meanwhile {
    fn now(&self) -> Timestamp {
        let happens = self.happens.lock().unwrap().take();
        if let Some(happens) = happens {
            happens();
        }
        self.time.now()
    }

    fn random_u64(&self) -> u64 {
        self.time.random_u64()
    }

    async fn sleep(&self, duration: Duration) {
        self.time.sleep(duration).await;
    }
}

/// An attempt at `message` begins, and its function ends without an outcome: its lease is over.
async fn attempt_ends_unheard(setup: &Setup, message: &Message) -> PortResult<()> {
    let mut sending = message.clone();
    let (nonce, until) = (nonce(), add_millis(setup.now(), 35_000));
    let out = sending.out.as_mut().unwrap();
    out.claim_attempt(nonce.clone(), setup.now(), until).unwrap();
    let flight = InFlightSend {
        message: message.message_id(),
        to: out.to.clone(),
        nonce,
        claimed_at: setup.now(),
        until,
        text_hash: String::new(),
        echo: None,
        maybe_echo: None,
        erased: None,
        is_time_unsure: false,
    };
    let claimed = setup.world.store.claim_message(&sending, None, &flight).await?;
    assert_eq!(claimed, ClaimOutcome::Claimed);
    setup.pass(36);
    Ok(())
}

#[tokio::test]
async fn of_two_who_find_a_lease_over_the_slower_one_does_not_go_on_with_the_next_message() {
    let setup = Arc::new(Setup::set(Fixture::new()).await);
    let to = setup.fixture.address.as_str();
    let first = setup.client_writes(to).await;
    let conversation = first.conversation.unwrap();
    let message = setup.world.store.find_message(&first.id).await.unwrap();
    attempt_ends_unheard(&setup, &message.unwrap()).await.unwrap();
    setup.client_writes(to).await;
    let (other, id) = (setup.clone(), conversation.clone());
    let faster = move || {
        let verdict = futures::executor::block_on(other.job(&id));
        assert!(matches!(verdict, Verdict::Retry { .. }));
    };
    let world = Components::new(
        setup.world.store.clone(),
        setup.world.queues.clone(),
        setup.world.providers.clone(),
        Model::default(),
        Meanwhile {
            time: setup.world.system.clone(),
            happens: Arc::new(Mutex::new(Some(Box::new(faster)))),
        },
        &FEATURES,
        setup.world.settings().clone(),
    );
    let job = SendJob::new(conversation.clone(), SendJob::ALL_OPEN, correlation());
    let body = serde_json::to_string(&OutboundJob::Send(job)).unwrap();
    assert_eq!(
        handle_outbound_message(&world, &Idle, &body, 1, None).await,
        Verdict::RETRY_SOON
    );
    assert_eq!(world.providers.sent(), 0, "the first may still be on its way");
    setup.send(&conversation).await;
    assert_eq!(world.providers.sent(), 2);
}
