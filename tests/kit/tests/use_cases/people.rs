//! People who answer, take conversations over and give them back.

use crate::world::Setup;
use async_trait::async_trait;
use recado_domain::access::Caller;
use recado_domain::content::Content;
use recado_domain::conversation::ConversationMode;
use recado_domain::ids::{ConversationId, IdempotencyKey, Ordinal};
use recado_domain::message::TokenUsage;
use recado_domain::options::SendOptions;
use recado_features::FEATURES;
use recado_pipeline::ports::{
    DocumentReader, Embedder, KnowledgeLibrary, Llm, LlmError, LlmReply, LlmRequest, Tools, Transcriber,
};
use recado_pipeline::{Components, Verdict, handle_turns_message};
use recado_testkit::builders::{Fixture, correlation};
use recado_testkit::ports::succeed;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[tokio::test]
async fn what_the_agent_answered_before_hundreds_of_messages_is_not_answered_again() {
    let setup = Setup::set(Fixture::new()).await;
    let reply = setup.replied().await;
    let id = &reply.conversation;
    setup.send(id).await;
    let set_mode = async |mode| {
        let set = recado_operators::set_conversation_mode(
            &setup.world,
            &Caller::installation(),
            id,
            mode,
            &correlation(),
        )
        .await;
        set.unwrap()
    };
    let taken_over = set_mode(ConversationMode::Manual).await;
    for _ in 0..210 {
        let sent = setup.client_writes(taken_over.address.as_str()).await;
        assert_eq!(sent.conversation.as_ref(), Some(id));
    }
    let given_back = set_mode(ConversationMode::Ai).await;
    assert_eq!(given_back.answered, Ordinal(1));
    assert!(!given_back.owes_answer());
    assert!(setup.due_turns().await.is_empty());
}

#[tokio::test]
async fn an_answer_that_is_sent_in_again_is_one_message_and_its_send_job_is_enqueued_again() {
    let setup = Setup::set(Fixture::new()).await;
    setup.message(&setup.fixture, "W1", "oi", false).await;
    let latest = setup.latest_conversation().await;
    let id = latest.unwrap().id;
    let answer = async || {
        let answer = recado_operators::OperatorAnswer {
            content: Content::from_text("Já vou"),
            options: SendOptions::default(),
            seen: None,
            key: IdempotencyKey::parse("answer-1").ok(),
            correlation: correlation(),
        };
        let made =
            recado_operators::answer_as_operator(&setup.world, &Caller::installation(), &id, answer).await;
        made.unwrap().message.ordinal
    };
    let first = answer().await;
    assert_eq!(setup.due_sends().await.len(), 1, "it is lost with its process");
    assert_eq!(answer().await, first);
    let again = setup.due_sends().await;
    assert_eq!(again.len(), 1);
    assert_eq!((&again[0].conversation, again[0].upto), (&id, first));
    setup.send(&id).await;
    assert_eq!(setup.world.providers.sent(), 1);
    assert_eq!(answer().await, first);
    assert!(setup.due_sends().await.is_empty(), "nothing is open any more");
}

/// A model; the first time that it thinks, the conversation is taken over and given back.
#[derive(Clone)]
struct Interrupted {
    setup: Arc<Setup>,
    conversation: ConversationId,
    thinks: Arc<AtomicU32>,
}

#[async_trait]
impl Transcriber for Interrupted {}

#[async_trait]
impl Embedder for Interrupted {}

#[async_trait]
impl DocumentReader for Interrupted {}

#[async_trait]
impl KnowledgeLibrary for Interrupted {}

#[async_trait]
impl Tools for Interrupted {}

#[async_trait]
impl Llm for Interrupted {
    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        if self.thinks.fetch_add(1, Ordering::SeqCst) == 0 {
            for mode in [ConversationMode::Manual, ConversationMode::Ai] {
                succeed(recado_operators::set_conversation_mode(
                    &self.setup.world,
                    &Caller::installation(),
                    &self.conversation,
                    mode,
                    &correlation(),
                ))
                .await;
            }
        }
        Ok(LlmReply {
            calls: Vec::new(),
            decision: None,
            ignored_calls: 0,
            text: "certo".to_owned(),
            usage: TokenUsage::default(),
            model: request.model.clone(),
        })
    }
}

#[tokio::test]
async fn a_draft_that_a_takeover_made_void_holds_up_no_turn_after_it() {
    let setup = Arc::new(Setup::set(Fixture::new()).await);
    setup.message(&setup.fixture, "W1", "oi", false).await;
    setup.pass(4);
    let job = setup.due_turns().await.remove(0);
    let id = job.conversation().unwrap().clone();
    let world = Components::new(
        setup.world.store.clone(),
        setup.world.queues.clone(),
        setup.world.providers.clone(),
        Interrupted {
            setup: setup.clone(),
            conversation: id.clone(),
            thinks: Arc::new(AtomicU32::new(0)),
        },
        setup.world.system.clone(),
        &FEATURES,
        setup.world.settings().clone(),
    );
    let body = serde_json::to_string(&job).unwrap();
    assert_eq!(
        handle_turns_message(&world, &body, 1, None).await,
        Verdict::RETRY_SOON
    );
    assert_eq!(handle_turns_message(&world, &body, 2, None).await, Verdict::Done);
    assert_eq!(world.llm.thinks.load(Ordering::SeqCst), 2);
    setup.send(&id).await;
    assert_eq!(setup.world.providers.contents(), [Content::from_text("certo")]);
}
