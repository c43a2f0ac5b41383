use super::{PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::ids::{ConversationId, IdempotencyKey, InstanceId, MessageId, Ordinal, ThreadId};
use recado_domain::message::Message;
use std::future::Future;

/// Which part of a list is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest {
    /// At most so many.
    pub limit: usize,
    /// Where the page before ended, as it said.
    pub cursor: Option<String>,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Where the next one begins; absent on the last.
    pub next_cursor: Option<String>,
}

/// Which conversations are wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    /// Of this instance only.
    pub instance: Option<InstanceId>,
    /// In this mode only.
    pub mode: Option<ConversationMode>,
    /// In this status only.
    pub status: Option<ConversationStatus>,
}

/// A client's key for a request that it may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyClaim {
    /// Where the key counts: an instance or a conversation.
    pub scope: String,
    /// The key.
    pub key: IdempotencyKey,
    /// A hash of the request.
    pub request_hash: String,
    /// Until when it is kept.
    pub expires: Timestamp,
}

/// What a key was used for before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// A hash of the request then.
    pub request_hash: String,
    /// The message it made.
    pub message: MessageId,
}

/// What committing a message found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// It is stored.
    Committed,
    /// The conversation was changed meanwhile.
    Conflict,
    /// The client's key was used before.
    KeyTaken(IdempotencyRecord),
}

/// Conversations and their messages.
pub trait Conversations: Send + Sync {
    /// The newest conversation of a thread, active or resolved, read strongly.
    fn find_latest_conversation(
        &self,
        thread: &ThreadId,
    ) -> impl Future<Output = PortResult<Option<Conversation>>> + Send;

    /// The conversation, read strongly.
    fn find_conversation(
        &self,
        id: &ConversationId,
    ) -> impl Future<Output = PortResult<Option<Conversation>>> + Send;

    /// The conversation and its newest `limit` messages, by ordinal, in one strong read, and as they were at one time: the
    /// newest message is the conversation's `last`, and no ordinal is left out. Where that cannot be had, an error.
    fn find_with_history(
        &self,
        id: &ConversationId,
        limit: usize,
    ) -> impl Future<Output = PortResult<Option<(Conversation, Vec<Message>)>>> + Send;

    /// The first `limit` messages above `after`, by ordinal, read strongly.
    fn list_messages_after(
        &self,
        id: &ConversationId,
        after: Ordinal,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Message>>> + Send;

    /// Writes a conversation whose `rev` is one more than the stored one's.
    fn update_conversation(
        &self,
        conversation: &Conversation,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// In one transaction: the conversation as in [`Self::update_conversation`] (a `rev` of 1: it must not exist yet), its new
    /// message (which is open if it is queued), and the client's key, if there is one, on condition that it is new or
    /// expired. A used key is told before a conflict.
    fn commit_message(
        &self,
        conversation: &Conversation,
        message: &Message,
        key: Option<&IdempotencyClaim>,
    ) -> impl Future<Output = PortResult<CommitOutcome>> + Send;

    /// In one transaction: the conversation as in [`Self::update_conversation`], and the agent's reply: one message, or as many parts
    /// (10 at most) as it was taken apart into, by ordinal. All of them are open, or nothing is written.
    fn commit_reply(
        &self,
        conversation: &Conversation,
        parts: &[Message],
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// What a client's key was used for.
    fn find_idempotency_key(
        &self,
        scope: &str,
        key: &IdempotencyKey,
    ) -> impl Future<Output = PortResult<Option<IdempotencyRecord>>> + Send;

    /// Conversations, the most recently active first.
    fn search_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Conversation>>> + Send;

    /// A conversation's messages, the newest first; open ones as they are now.
    fn list_messages(
        &self,
        id: &ConversationId,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Message>>> + Send;

    /// One message, as it is now.
    fn find_message(&self, id: &MessageId) -> impl Future<Output = PortResult<Option<Message>>> + Send;
}
