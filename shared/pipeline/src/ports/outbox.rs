use super::{PortResult, WriteOutcome};
use recado_domain::conversation::Conversation;
use recado_domain::delivery::DeliveryKey;
use recado_domain::ids::{ConversationId, InstanceId, ThreadId};
use recado_domain::instance::{Echo, InFlightSend};
use recado_domain::message::Message;
use std::future::Future;

/// What the conversation must be for an agent's message to be claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimGuard {
    /// Which conversation; its mode must be AI …
    pub conversation: ConversationId,
    /// … and its epoch this one.
    pub epoch: u64,
}

/// What claiming found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It is ours.
    Claimed,
    /// The message was changed meanwhile.
    Conflict,
    /// The conversation is no longer the agent's, or in another epoch.
    Stopped,
}

/// Ties the provider's id to our message, so that its statuses and echoes are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryLink {
    /// Under what the delivery is recorded.
    pub key: DeliveryKey,
    /// The provider's id.
    pub provider_message_id: Option<String>,
}

/// Messages on their way out. Open ones lie apart, so that one strong read finds all of a contact's; `dead` counts
/// as open until its dead letter exists.
pub trait OutboxStore: Send + Sync {
    /// A contact's open messages, by conversation and ordinal, read strongly: of a reply in parts no later part without an
    /// earlier one that is open too.
    fn list_open_messages(&self, thread: &ThreadId) -> impl Future<Output = PortResult<Vec<Message>>> + Send;

    /// Writes an open message whose `out.rev` is one more than the stored one's; with `landed`, the in-flight note of
    /// its attempt is removed in the same transaction.
    fn save_open_message(
        &self,
        message: &Message,
        landed: Option<&InFlightSend>,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// In one transaction: the message as in [`Self::save_open_message`] (it is `sending` now), the guard, and the in-flight
    /// note. A claim of the very same nonce that is found stored is ours: the client library repeated it.
    fn claim_message(
        &self,
        message: &Message,
        guard: Option<&ClaimGuard>,
        flight: &InFlightSend,
    ) -> impl Future<Output = PortResult<ClaimOutcome>> + Send;

    /// In one transaction: a message that is no longer open (its `out.rev` one more than the open one's) leaves the open
    /// list and its record becomes final; the in-flight note goes; the delivery is linked (a status that came first is
    /// kept); the conversation, if one is given, is written as in [`super::Conversations::update_conversation`].
    fn settle_message(
        &self,
        message: &Message,
        landed: Option<&InFlightSend>,
        link: Option<&DeliveryLink>,
        conversation: Option<&Conversation>,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Changes a message that is not open, `out.rev` one more than the stored one's; one that became `queued` or `dead`
    /// again is open again. One that is open is a conflict here, one that is not open in [`Self::save_open_message`].
    fn update_closed_message(
        &self,
        message: &Message,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// The sends of an instance that have begun and whose outcome is not stored, and those that were repeated without
    /// ever learning it, read strongly. A note is kept for [`InFlightSend::RETENTION_MS`] at least, unless its attempt lands.
    fn list_in_flight(
        &self,
        instance: &InstanceId,
    ) -> impl Future<Output = PortResult<Vec<InFlightSend>>> + Send;

    /// Notes the provider's id of the echo that is taken for this attempt's, surely or not; the same id again is no other
    /// echo. `false`, and nothing is written, if the note is gone or has another echo that is as sure.
    fn record_echo(
        &self,
        instance: &InstanceId,
        flight: &InFlightSend,
        id: &str,
        echo: Echo,
    ) -> impl Future<Output = PortResult<bool>> + Send;
}
