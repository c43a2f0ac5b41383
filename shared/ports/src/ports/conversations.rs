use super::{CommitOutcome, Page, PageRequest, PortResult, SearchWords, WriteOutcome};
use crate::table::{Write, WriteResult};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::access::Scope;
use recado_domain::conversation::{Conversation, ConversationLabel, ConversationMode, ConversationStatus};
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, InstanceId, MessageId, Ordinal, TenantId, ThreadId};
use recado_domain::message::Message;
use recado_domain::typing::TypingSign;
use recado_domain::usage::UsageSum;

/// Conditions for a list of conversations. A field that is `None` sets no condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConversationFilter {
    /// Tenant of the conversation.
    pub tenant: Option<TenantId>,
    /// Instance of the conversation.
    pub instance: Option<InstanceId>,
    /// Mode of the conversation.
    pub mode: Option<ConversationMode>,
    /// Status of the conversation.
    pub status: Option<ConversationStatus>,
    /// Label that the conversation has.
    pub label: Option<ConversationLabel>,
    /// `true`: those of `tenant` that nobody sees, in place of the others. They are tombstones, and those in which nobody wrote and
    /// that only lead elsewhere. The index may be some seconds old.
    pub unlisted: bool,
    /// Words of one message of the conversation. Only a store that searches texts finds any ([`ConversationPage::searched_until`]).
    pub text: Option<SearchWords>,
    /// Words of the contact's name, or a part of its number ([`SearchWords::parse_contact`]). Taken where `text` is.
    pub contact: Option<SearchWords>,
}

impl ConversationFilter {
    /// Makes the filter for all listed conversations of a tenant.
    pub fn of_tenant(tenant: &TenantId) -> Self {
        Self {
            tenant: Some(tenant.clone()),
            ..Self::default()
        }
    }

    /// Makes the filter for all listed conversations of a tenant's instance.
    pub fn of_instance(tenant: &TenantId, instance: &InstanceId) -> Self {
        Self {
            instance: Some(instance.clone()),
            ..Self::of_tenant(tenant)
        }
    }

    /// Limits the filter to the tenant of `scope`, if it has one.
    #[must_use]
    pub fn within_scope(mut self, scope: &Scope) -> Self {
        self.tenant = scope.tenant().cloned().or(self.tenant);
        self
    }

    /// Returns whether a conversation has the wanted label, or none is wanted.
    pub fn matches_label(&self, conversation: &Conversation) -> bool {
        let labels = &conversation.people.annotations.labels;
        self.label.as_ref().is_none_or(|label| labels.contains(label))
    }
}

/// A page of a list of conversations.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversationPage {
    /// The conversations.
    pub items: Vec<Conversation>,
    /// The cursor of the next page; `None` behind the last.
    pub next_cursor: Option<String>,
    /// Time up to which a search by words covers the messages: what was stored later is not found yet. `None`: this store searches no
    /// words, or none were wanted.
    pub searched_until: Option<Timestamp>,
}

impl From<Page<Conversation>> for ConversationPage {
    fn from(page: Page<Conversation>) -> Self {
        Self {
            items: page.items,
            next_cursor: page.next_cursor,
            searched_until: None,
        }
    }
}

/// The state that a conversation must have for an effect to begin: the one in which it was drafted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectGuard {
    /// Conversation that must be in AI mode.
    pub conversation: ConversationId,
    /// Epoch that the conversation must have.
    pub epoch: u64,
    /// Ordinal up to which it must be answered.
    pub answered: Ordinal,
    /// Newest ordinal that wants an answer.
    pub turn_upto: Ordinal,
}

/// A store of conversations, their messages and the newest signs of contacts' typing. It also has the installation's identity key,
/// from which the ids of threads are made.
#[async_trait]
pub trait Conversations: Send + Sync {
    /// Returns the newest conversation of a thread, active or resolved, by a strong read. `None`: the thread has no
    /// conversation.
    async fn find_latest_conversation(&self, thread: &ThreadId) -> PortResult<Option<Conversation>>;

    /// Returns a conversation by a strong read; `None` if it does not exist.
    async fn find_conversation(&self, id: &ConversationId) -> PortResult<Option<Conversation>>;

    /// Returns the conversation and its newest `limit` messages, by ordinal, in one strong read. Both are as they were
    /// at one time: the newest message is the conversation's `last`, and no ordinal is missing. If they cannot be read
    /// so, an error is returned. `None`: the conversation does not exist.
    async fn find_with_history(
        &self,
        id: &ConversationId,
        limit: usize,
    ) -> PortResult<Option<(Conversation, Vec<Message>)>>;

    /// Returns the first `limit` messages with an ordinal above `after`, by ordinal, by a strong read.
    async fn list_messages_after(
        &self,
        id: &ConversationId,
        after: Ordinal,
        limit: usize,
    ) -> PortResult<Vec<Message>>;

    /// Writes a conversation if its `rev` is the stored `rev` plus one. Adds `used` to the sums of its tenant in the same
    /// transaction. [`WriteOutcome::Conflict`]: another writer changed it.
    async fn update_conversation(
        &self,
        conversation: &Conversation,
        used: &[UsageSum],
    ) -> PortResult<WriteOutcome>;

    /// Stores new messages of a conversation in one transaction. They are one message, or the parts into which a reply was split (10
    /// at most), by ordinal. The transaction writes the conversation as [`Self::update_conversation`] does (with a `rev` of 1 it must not
    /// exist yet) and the messages (open if they are queued), and makes the writes `beside` as
    /// [`Table::write`](crate::table::Table::write) does. It adds what a reply used ([`recado_domain::usage::usage_of_reply`]) to the
    /// sums of its tenant. [`CommitOutcome::Refused`] takes precedence over [`CommitOutcome::Conflict`].
    async fn commit_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
        beside: &[Write],
    ) -> PortResult<CommitOutcome>;

    /// Makes writes as [`Table::write`](crate::table::Table::write) does, if the conversation is as `guard` says. All is one transaction, which
    /// only looks at the conversation. `None`: it is not, whatever of the writes is refused, and nothing was written.
    async fn write_guarded(&self, guard: &EffectGuard, writes: &[Write]) -> PortResult<Option<WriteResult>>;

    /// Lists the conversations that match `filter`, the most recently active first.
    async fn search_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<ConversationPage>;

    /// Lists a conversation's messages, the newest first. An open message is returned in its current state.
    async fn list_messages(&self, id: &ConversationId, page: &PageRequest) -> PortResult<Page<Message>>;

    /// Returns one message in its current state; `None` if it does not exist.
    async fn find_message(&self, id: &MessageId) -> PortResult<Option<Message>>;

    /// Keeps a sign of typing of the contact of `thread`, in place of an earlier one, for
    /// [`TYPING_SIGN_KEPT`](recado_domain::typing::TYPING_SIGN_KEPT). It may be lost: the reply then comes as if nobody typed.
    async fn put_typing_sign(&self, thread: &ThreadId, sign: &TypingSign) -> PortResult<()>;

    /// Returns the newest sign that is kept of these threads, which are one person's, in one read. It need not be strong.
    async fn find_typing_sign(&self, threads: &[ThreadId]) -> PortResult<Option<TypingSign>>;

    /// Returns the installation's identity key, which never changes; stores what `make` makes if there is none yet. It is kept with
    /// the records, so that a copy of the records contains it. A process asks its database once.
    async fn keep_identity_key(&self, make: &(dyn Fn() -> IdentityKey + Sync)) -> PortResult<IdentityKey>;
}
