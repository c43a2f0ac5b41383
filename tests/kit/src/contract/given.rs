//! What a case begins from, stored by the ports themselves.

use crate::builders::Fixture;
use recado_domain::conversation::Conversation;
use recado_domain::event::InboundJob;
use recado_domain::ids::{IdempotencyKey, Ordinal};
use recado_domain::message::Message;
use recado_pipeline::ports::{
    CommitOutcome, IdempotencyClaim, InboundWrite, RecordEventOutcome, Store, StoreInboundOutcome,
    WriteOutcome,
};

/// Records `job` and stores the message that it brings to `conversation`, which becomes what is stored.
pub(super) async fn received<S: Store>(
    store: &S,
    fixture: &Fixture,
    conversation: &mut Conversation,
    job: &InboundJob,
) -> Message {
    assert_eq!(store.record_event(job).await.unwrap(), RecordEventOutcome::New);
    let message = fixture.inbound(conversation, job);
    let write = InboundWrite {
        event: &job.event,
        conversation,
        message: &message,
    };
    assert_eq!(
        store.store_inbound(write).await.unwrap(),
        StoreInboundOutcome::Stored
    );
    message
}

/// A stored conversation that a first message began.
pub(super) async fn begun<S: Store>(store: &S, fixture: &Fixture) -> Conversation {
    let mut conversation = fixture.conversation(1);
    received(store, fixture, &mut conversation, &fixture.job()).await;
    conversation
}

/// Commits a reply of the agent to `conversation`, which becomes what is stored.
pub(super) async fn replied<S: Store>(
    store: &S,
    fixture: &Fixture,
    conversation: &mut Conversation,
) -> Message {
    let message = fixture.reply(conversation);
    committed(store, conversation, &message).await;
    message
}

/// Commits `message` with `conversation`.
pub(super) async fn committed<S: Store>(store: &S, conversation: &Conversation, message: &Message) {
    assert_eq!(
        store.commit_message(conversation, message, None).await.unwrap(),
        CommitOutcome::Committed
    );
}

/// Writes `conversation` as changed, one `rev` later.
pub(super) async fn updated<S: Store>(store: &S, conversation: &mut Conversation) {
    conversation.rev += 1;
    assert_eq!(
        store.update_conversation(conversation).await.unwrap(),
        WriteOutcome::Written
    );
}

/// A client's key in `scope`.
pub(super) fn key_claim(scope: &str, key: &str, expires: jiff::Timestamp) -> IdempotencyClaim {
    IdempotencyClaim {
        scope: scope.to_owned(),
        key: IdempotencyKey::parse(key).unwrap(),
        request_hash: "hash-1".to_owned(),
        expires,
    }
}

/// The ordinals of messages.
pub(super) fn ordinals(messages: &[Message]) -> Vec<u64> {
    messages.iter().map(|message| message.ordinal.0).collect()
}

/// The ordinals of a conversation's open messages.
pub(super) async fn open_ordinals<S: Store>(store: &S, conversation: &Conversation) -> Vec<u64> {
    ordinals(
        &store
            .list_open_messages(conversation.id.thread_id())
            .await
            .unwrap(),
    )
}

/// Asserts that `store` holds the conversation and at this place no message.
pub(super) async fn assert_untouched<S: Store>(store: &S, conversation: &Conversation, empty: Ordinal) {
    let id = &conversation.id;
    assert_eq!(
        store.find_conversation(id).await.unwrap().as_ref(),
        Some(conversation)
    );
    assert_eq!(store.find_message(&id.message_id(empty)).await.unwrap(), None);
    assert!(!open_ordinals(store, conversation).await.contains(&empty.0));
}
