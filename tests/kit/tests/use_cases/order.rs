//! Messages to one contact keep their order, whatever becomes of its conversations.

use crate::world::{Model, Stage, Time};
use recado_domain::Timestamp;
use recado_domain::conversation::ConversationMode;
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::millis::add_millis;
use recado_domain::outbox::OutboxState;
use recado_domain::wake_up::SendJob;
use recado_pipeline::ports::{
    ClaimOutcome, Conversations, OutboxStore, PortResult, SendOutcome, System, WriteOutcome,
};
use recado_pipeline::{Components, Verdict, operate, send};
use recado_testkit::builders::{Scene, correlation, nonce};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[tokio::test]
async fn a_message_of_the_next_conversation_waits_for_what_a_resolved_one_still_has_open() {
    let stage = Stage::set(Scene::new()).await;
    let (store, to) = (&stage.world.store, stage.scene.address.as_str());
    let first = stage.client_writes(to).await;
    let conversation = first.conversation.clone().unwrap();
    stage.answers(SendOutcome::Unknown {
        why: "HTTP 500".to_owned(),
        timed_out: false,
    });
    let _ = stage.kick(&conversation).await;
    operate::resolve_conversation(&stage.world, &conversation, None, &correlation())
        .await
        .unwrap();
    let second = stage.client_writes(to).await;
    let next = second.conversation.clone().unwrap();
    assert_ne!(next, conversation);
    let _ = stage.kick(&next).await;
    assert_eq!(stage.world.providers.sent(), 1, "the first is still unknown");
    stage.send(&next).await;
    for id in [&first.id, &second.id] {
        let message = store.find_message(id).await.unwrap().unwrap();
        assert!(matches!(message.out.unwrap().state, OutboxState::Sent { .. }));
    }
    assert_eq!(
        stage.world.providers.sent(),
        3,
        "the first went out again, then the second"
    );
    assert!(
        store
            .list_open_messages(next.thread_id())
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn a_cancelled_reply_is_a_conflict_for_who_read_the_conversation_before() {
    let stage = Stage::set(Scene::new()).await;
    let store = &stage.world.store;
    let reply = stage.replied().await;
    let id = &reply.conversation;
    operate::set_conversation_mode(&stage.world, id, ConversationMode::Manual, &correlation())
        .await
        .unwrap();
    let mut read_before = store.find_conversation(id).await.unwrap().unwrap();
    stage.send(id).await;
    let cancelled = store.find_message(&reply.message_id()).await.unwrap().unwrap();
    assert!(matches!(
        cancelled.out.unwrap().state,
        OutboxState::Cancelled { .. }
    ));
    read_before.rev += 1;
    assert_eq!(
        store.update_conversation(&read_before).await.unwrap(),
        WriteOutcome::Conflict
    );
}

/// The stage's time; at the first look at the clock, something else happens from beginning to end.
struct Meanwhile {
    time: Time,
    happens: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

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
async fn attempt_ends_unheard(stage: &Stage, message: &Message) -> PortResult<()> {
    let mut sending = message.clone();
    let (nonce, until) = (nonce(), add_millis(stage.now(), 35_000));
    let out = sending.out.as_mut().unwrap();
    out.claim_attempt(nonce.clone(), stage.now(), until).unwrap();
    let flight = InFlightSend {
        message: message.message_id(),
        to: out.to.clone(),
        nonce,
        claimed_at: stage.now(),
        until,
        text_hash: String::new(),
        echo: None,
        maybe_echo: None,
    };
    let claimed = stage.world.store.claim_message(&sending, None, &flight).await?;
    assert_eq!(claimed, ClaimOutcome::Claimed);
    stage.pass(36);
    Ok(())
}

#[tokio::test]
async fn of_two_who_find_a_lease_over_the_slower_one_does_not_go_on_with_the_next_message() {
    let stage = Arc::new(Stage::set(Scene::new()).await);
    let to = stage.scene.address.as_str();
    let first = stage.client_writes(to).await;
    let conversation = first.conversation.unwrap();
    let message = stage.world.store.find_message(&first.id).await.unwrap();
    attempt_ends_unheard(&stage, &message.unwrap()).await.unwrap();
    stage.client_writes(to).await;
    let (other, id) = (stage.clone(), conversation.clone());
    let faster = move || {
        let verdict = futures::executor::block_on(other.kick(&id));
        assert!(matches!(verdict, Verdict::Retry { .. }));
    };
    let world = Components {
        store: stage.world.store.clone(),
        queues: stage.world.queues.clone(),
        providers: stage.world.providers.clone(),
        llm: Model::default(),
        system: Meanwhile {
            time: stage.world.system.clone(),
            happens: Mutex::new(Some(Box::new(faster))),
        },
        settings: stage.world.settings.clone(),
        retry_lock: recado_pipeline::RetryLock::default(),
    };
    let kick = SendJob::new(conversation.clone(), SendJob::ALL_OPEN, correlation());
    let body = serde_json::to_string(&kick).unwrap();
    assert_eq!(
        send::handle_outbound_message(&world, &body, 1, None).await,
        Verdict::RETRY_SOON
    );
    assert_eq!(world.providers.sent(), 0, "the first may still be on its way");
    stage.send(&conversation).await;
    assert_eq!(world.providers.sent(), 2);
}
