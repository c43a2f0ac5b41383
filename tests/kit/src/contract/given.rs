//! What a case begins from, stored by the ports themselves.

use crate::builders::Fixture;
use crate::ports::succeed;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::event::InboundJob;
use recado_domain::ids::{ConversationId, IdempotencyKey, MessageId, Ordinal};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::moving::HeldKey;
use recado_ports::ports::{
    ClaimOutcome, CommitOutcome, DeliveryChange, InboundWrite, PortResult, RecordEventOutcome, Store,
    StoreInboundOutcome, WriteOutcome,
};
use recado_ports::records::client_keys::{find_client_key, hold_client_key};
use recado_ports::table::Write;
use std::panic::Location;

/// Records `job` and stores the message that it brings to `conversation`, which becomes what is stored.
pub(crate) async fn received<S: Store>(
    store: &S,
    fixture: &Fixture,
    conversation: &mut Conversation,
    job: &InboundJob,
) -> Message {
    assert_eq!(succeed(store.record_event(job)).await, RecordEventOutcome::New);
    let message = fixture.inbound(conversation, job);
    let write = InboundWrite {
        event: &job.event,
        conversation,
        message: &message,
        finish: None,
    };
    assert_eq!(
        succeed(store.store_inbound(write)).await,
        StoreInboundOutcome::Stored
    );
    message
}

/// A stored conversation that a first message began.
pub(crate) async fn begun<S: Store>(store: &S, fixture: &Fixture) -> Conversation {
    let mut conversation = fixture.conversation(1);
    received(store, fixture, &mut conversation, &fixture.job()).await;
    conversation
}

/// Commits a reply of the agent to `conversation`, which becomes what is stored.
pub(crate) async fn replied<S: Store>(
    store: &S,
    fixture: &Fixture,
    conversation: &mut Conversation,
) -> Message {
    let message = fixture.reply(conversation);
    committed(store, conversation, &message).await;
    message
}

/// Returns a fixture, its stored conversation, and the agent's reply that is committed to it.
pub(crate) async fn with_reply<S: Store>(store: &S) -> (Fixture, Conversation, Message) {
    let fixture = Fixture::new();
    let mut conversation = begun(store, &fixture).await;
    let message = replied(store, &fixture, &mut conversation).await;
    (fixture, conversation, message)
}

/// Erases deliveries, and notes it until `expires`.
pub(crate) async fn erase_deliveries<S: Store>(store: &S, keys: &[DeliveryKey], expires: Timestamp) {
    succeed(store.change_deliveries(keys, DeliveryChange::Erase { expires })).await;
}

/// Asserts that a conditional write is done.
#[track_caller]
pub(crate) fn assert_written(
    call: impl Future<Output = PortResult<impl Into<WriteOutcome>>>,
) -> impl Future<Output = ()> {
    assert_outcome(call, WriteOutcome::Written)
}

/// Asserts that a conditional write is refused.
#[track_caller]
pub(crate) fn assert_conflict(
    call: impl Future<Output = PortResult<impl Into<WriteOutcome>>>,
) -> impl Future<Output = ()> {
    assert_outcome(call, WriteOutcome::Conflict)
}

#[track_caller]
fn assert_outcome(
    call: impl Future<Output = PortResult<impl Into<WriteOutcome>>>,
    expected: WriteOutcome,
) -> impl Future<Output = ()> {
    let (caller, call) = (Location::caller(), succeed(call));
    async move {
        let found: WriteOutcome = call.await.into();
        assert_eq!(found, expected, "of the write at {caller}");
    }
}

/// Claims a message, whose state is `sending` already, for the attempt of `flight`.
pub(crate) async fn claim<S: Store>(store: &S, sending: &Message, flight: &InFlightSend) {
    let found = succeed(store.claim_message(sending, None, flight)).await;
    assert_eq!(found, ClaimOutcome::Claimed);
}

/// Commits `message` with `conversation` under a client's key.
pub(crate) async fn committed_once<S: Store>(
    store: &S,
    conversation: &Conversation,
    message: &Message,
    key: &HeldKey,
) {
    let beside = naming(key, &message.message_id());
    let found = succeed(store.commit_messages(conversation, std::slice::from_ref(message), &beside)).await;
    assert_eq!(found, CommitOutcome::Committed);
}

/// The writes by which a client's key names `message`.
pub(crate) fn naming(key: &HeldKey, message: &MessageId) -> Vec<Write> {
    let held = HeldKey {
        message: message.clone(),
        ..key.clone()
    };
    hold_client_key(held).unwrap()
}

/// Returns a client's key as it is stored.
pub(crate) async fn find_held<S: Store>(store: &S, key: &HeldKey) -> Option<HeldKey> {
    let tenant = key.tenant.as_ref().unwrap();
    succeed(find_client_key(store, tenant, &key.scope, &key.key)).await
}

/// Lists the open messages of a conversation's contact.
pub(crate) async fn list_open<S: Store>(store: &S, conversation: &ConversationId) -> Vec<Message> {
    succeed(store.list_open_messages(conversation.thread_id())).await
}

/// Returns a message as it is stored.
pub(crate) async fn find_stored<S: Store>(store: &S, message: &Message) -> Option<Message> {
    succeed(store.find_message(&message.message_id())).await
}

/// Commits `message` with `conversation`.
pub(crate) async fn committed<S: Store>(store: &S, conversation: &Conversation, message: &Message) {
    assert_eq!(
        succeed(store.commit_messages(conversation, std::slice::from_ref(message), &[])).await,
        CommitOutcome::Committed
    );
}

/// Writes `conversation` as changed, one `rev` later.
pub(crate) async fn updated<S: Store>(store: &S, conversation: &mut Conversation) {
    conversation.rev += 1;
    assert_eq!(
        succeed(store.update_conversation(conversation, &[])).await,
        WriteOutcome::Written
    );
}

/// A client's key of the fixture's tenant in `scope`. It names no message that is stored.
pub(crate) fn client_key(fixture: &Fixture, scope: &str, key: &str, expires: Timestamp) -> HeldKey {
    HeldKey {
        tenant: Some(fixture.bound.tenant.id.clone()),
        scope: scope.to_owned(),
        key: IdempotencyKey::parse(key).unwrap(),
        request_hash: "hash-1".to_owned(),
        message: MessageId::parse("c_0-1.1").unwrap(),
        expires,
    }
}

/// The ordinals of messages.
pub(crate) fn ordinals(messages: &[Message]) -> Vec<u64> {
    messages.iter().map(|message| message.ordinal.0).collect()
}

/// The ordinals of a conversation's open messages.
pub(crate) async fn open_ordinals<S: Store>(store: &S, conversation: &Conversation) -> Vec<u64> {
    ordinals(&succeed(store.list_open_messages(conversation.id.thread_id())).await)
}

/// Asserts that `store` holds the conversation and at this place no message.
pub(crate) async fn assert_untouched<S: Store>(store: &S, conversation: &Conversation, empty: Ordinal) {
    let id = &conversation.id;
    assert_eq!(
        succeed(store.find_conversation(id)).await.as_ref(),
        Some(conversation)
    );
    assert_eq!(succeed(store.find_message(&id.message_id(empty))).await, None);
    assert!(!open_ordinals(store, conversation).await.contains(&empty.0));
}
