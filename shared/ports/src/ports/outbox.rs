use super::{PortResult, WriteOutcome};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::{AwaitedAcknowledgement, Delivery, DeliveryKey, StatusUpdate};
use recado_domain::ids::{ConversationId, InstanceId, ThreadId};
use recado_domain::instance::{Echo, InFlightSend};
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;

/// The state that a conversation must have for an agent's message to be claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimGuard {
    /// Conversation that must be in AI mode.
    pub conversation: ConversationId,
    /// Epoch that the conversation must have.
    pub epoch: u64,
}

/// The result of claiming a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The claim was won: the caller may send the message.
    Claimed,
    /// The message was changed by another worker since it was read.
    Conflict,
    /// The conversation is no longer the agent's, or it is in another epoch.
    Stopped,
}

/// A link from the provider's id to Recado's message, by which its statuses and echoes are recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryLink {
    /// Key of the delivery record.
    pub key: DeliveryKey,
    /// Key made of the provider's id, if `key` is made of Recado's own. From then on it names the record of `key`, also where
    /// another link of `key` follows; what statuses told under it before becomes part of that record.
    pub provider_key: Option<DeliveryKey>,
    /// Provider's id of the message.
    pub provider_message_id: Option<String>,
    /// Time until which the delivery is kept.
    pub expires: Timestamp,
    /// The acknowledgement that the message waits for, if its provider's acceptance does not count as one. The first status
    /// of the delivery ends the wait, also if it comes before the link.
    pub acknowledgement: Option<AwaitedAcknowledgement>,
}

/// A change of the note of an in-flight send.
#[derive(Debug, Clone, Copy)]
pub enum NoteChange<'a> {
    /// Stores the provider's id of the echo that is assigned to this attempt, and how sure that is. The same id again is the same
    /// echo. A note that has another echo which is as sure stays as it is.
    Echo(&'a str, Echo),
    /// Writes the note as it was given in place of the stored one.
    Replace,
}

/// A change of deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryChange {
    /// Ends the wait for the acknowledgement: the message was accepted again, under another id. Statuses of the delivery are stored as
    /// before.
    StopAwaiting,
    /// Deletes the record, if there is one, and notes that it was erased. Until `expires` a status of it is ignored.
    Erase {
        /// Time until which the note is kept.
        expires: Timestamp,
    },
}

/// A store of outgoing messages and of the delivery records, which hold the statuses of accepted ones.
///
/// Open messages are stored in a list of their own, so that one strong read finds all of a contact's. A `dead` message counts as open
/// until its dead letter exists. After a [`DeliveryLink`], the key of the provider's id and that of Recado's own name one record, in
/// every method here.
#[async_trait]
pub trait OutboxStore: Send + Sync {
    /// Lists a contact's open messages, by conversation and ordinal, by a strong read. If a part of a reply is listed,
    /// its earlier parts that are open are listed too.
    async fn list_open_messages(&self, thread: &ThreadId) -> PortResult<Vec<Message>>;

    /// Writes an open message if its `out.rev` is the stored one plus one. If `finished_send` is given, the in-flight note of
    /// that attempt is removed in the same transaction.
    async fn save_open_message(
        &self,
        message: &Message,
        finished_send: Option<&InFlightSend>,
    ) -> PortResult<WriteOutcome>;

    /// Claims a message for sending in one transaction. The transaction writes the message as
    /// [`Self::save_open_message`] does (its state is `sending` now), checks `guard` and stores the in-flight note
    /// `flight`. A stored claim with the same nonce is the caller's own, because the client library repeated the
    /// request: the result is [`ClaimOutcome::Claimed`].
    async fn claim_message(
        &self,
        message: &Message,
        guard: Option<&ClaimGuard>,
        flight: &InFlightSend,
    ) -> PortResult<ClaimOutcome>;

    /// Closes a message that is no longer open, in one transaction. The message leaves the open list and its record
    /// becomes final (`out.rev` is the open message's plus one). The in-flight note `finished_send` is removed. `link` connects
    /// the delivery record with the message (a status that came first is kept). The conversation, if given, is written
    /// as in [`super::Conversations::update_conversation`].
    async fn settle_message(
        &self,
        message: &Message,
        finished_send: Option<&InFlightSend>,
        link: Option<&DeliveryLink>,
        conversation: Option<&Conversation>,
    ) -> PortResult<WriteOutcome>;

    /// Writes a message that is not open, if its revision is the stored one plus one. That is `out.rev` of an outgoing message, and `rev`
    /// of another. An outgoing one that became `queued` or `dead` again is open again. An open message is a conflict here, and so is a
    /// missing one, and one that goes out where the stored one does not. A message that is not open is a conflict in
    /// [`Self::save_open_message`]. The same transaction adds `used` to the sums of the message's tenant.
    async fn update_closed_message(
        &self,
        message: &Message,
        used: Option<&UsageSum>,
    ) -> PortResult<WriteOutcome>;

    /// Lists the in-flight sends of an instance by a strong read. These are sends whose outcome is not stored yet, and
    /// sends that were repeated without their outcome ever being known. A note is kept for at least
    /// [`InFlightSend::RETENTION`], unless the provider tells the outcome of its attempt.
    async fn list_in_flight(&self, instance: &InstanceId) -> PortResult<Vec<InFlightSend>>;

    /// Changes the note of an in-flight send in one conditional write. `false`, and nothing is written: the note is gone, or is not as
    /// the change needs it.
    async fn change_in_flight(
        &self,
        instance: &InstanceId,
        flight: &InFlightSend,
        change: NoteChange<'_>,
    ) -> PortResult<bool>;

    /// Stores the time of a delivery status in one conditional upsert, by [`Delivery::record_status`]. The record's
    /// status is the best of all statuses that were stored. A repeated status is no error. A new record expires at
    /// `expires`. The time of a known one does not change: a [`DeliveryLink`] sets it. A status that tells of the provider's charge adds
    /// `charge` to the sums of use: both at once, or neither. Of all statuses of a message one adds its charge, also when several
    /// come at once. A repeated status adds nothing, nor does one of an erased message.
    async fn record_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: Option<&UsageSum>,
    ) -> PortResult<()>;

    /// Makes a change of these deliveries, one after the other. A repeat does no harm.
    async fn change_deliveries(&self, keys: &[DeliveryKey], change: DeliveryChange) -> PortResult<()>;

    /// Returns a delivery record by a strong read, also that of an erased message. `None`: it does not exist or is expired.
    async fn find_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>>;

    /// Returns many delivery records at once, in the order of `keys`. The same key may occur more than once. Those of erased messages
    /// are left out.
    async fn find_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>>;
}
