//! Knowledge about the contact, which is carried over when a new conversation follows a resolved one.

use super::{ContactPicture, Conversation, ConversationStatus};
use crate::config::InstanceConfig;
use crate::contact::ContactAddress;
use crate::content::Content;
use crate::ids::{ConversationId, ThreadId};
use crate::invitations::InvitedGuest;
use crate::millis;
use crate::opt_out::{OptOutWord, recognize_preference};
use crate::rate::Rate;
use crate::service_window;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What is known of the contact of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ContactFacts {
    /// The contact's identity without a number that was learnt to belong to `address`, so that it is not learnt again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<ContactAddress>,
    /// The contact's phone number, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// The name that the contact gives itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The contact's picture, as the provider last told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub picture: Option<ContactPicture>,
    /// Time of the contact's last message, in this conversation or an earlier one. Meta's 24 hours count from it.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub last_inbound_at: Option<Timestamp>,
    /// Time of the message that began the contact's session of 24 hours, by the provider's clock.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub session_started_at: Option<Timestamp>,
    /// Time since which the contact wants no marketing messages.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub marketing_stopped_at: Option<Timestamp>,
    /// The theoretical arrival time (see [`crate::rate`]) of the contact's own rate limit, if the provider has one.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub pair_arrival: Option<Timestamp>,
}

impl Conversation {
    /// Reserves the next message's slot in the contact's own rate limit at `now`. Returns the time at which the message
    /// may leave; `None` if it may leave at once.
    pub fn reserve_pair_slot(&mut self, rate: Rate, now: Timestamp) -> Option<Timestamp> {
        let slot = rate.reserve_slot(self.contact.pair_arrival, now);
        self.contact.pair_arrival = Some(slot.arrival);
        (slot.at > now).then_some(slot.at)
    }

    /// Records when a message of the contact was written, which may be long before it arrived.
    pub fn record_contact_activity(&mut self, written_at: Timestamp) {
        self.begin_session(written_at);
        self.contact.last_inbound_at = self.contact.last_inbound_at.max(Some(written_at));
    }

    /// Records what a message, written at `written_at`, says about the contact. That is the time of the contact's
    /// message, and a request to stop or resume unsolicited messages. A stop is undone only by a resume that is not
    /// older.
    pub fn apply_preference(&mut self, content: &Content, written_at: Timestamp) {
        if service_window::opens_window(content) {
            self.record_contact_activity(written_at);
        }
        match recognize_preference(content) {
            Some((OptOutWord::Stop, _)) => {
                self.contact.marketing_stopped_at = self.contact.marketing_stopped_at.max(Some(written_at));
            }
            Some((OptOutWord::Resume, _)) if self.contact.marketing_stopped_at <= Some(written_at) => {
                self.contact.marketing_stopped_at = None;
            }
            _ => {}
        }
    }

    /// Records the address from which the contact wrote: replies go there from now on. In a conversation that began
    /// with a client's message, the number may be in a spelling that differs from WhatsApp's.
    pub fn set_reply_address(&mut self, address: &ContactAddress) {
        self.address.clone_from(address);
    }

    /// Returns the thread's active conversation, or a new conversation that begins now. `latest` is the thread's newest
    /// conversation.
    pub fn continue_or_start(
        latest: Option<Self>,
        thread: &ThreadId,
        bound: &InstanceConfig,
        address: &ContactAddress,
        phone: Option<String>,
        now: Timestamp,
    ) -> Self {
        let numbered = |number| {
            let id = ConversationId::new(thread.clone(), number);
            Self::start_new(id, bound, address.clone(), phone, now)
        };
        match latest {
            Some(conversation) if conversation.status == ConversationStatus::Active => conversation,
            Some(resolved) => {
                let mut begun = numbered(resolved.id.number_in_thread().saturating_add(1));
                begun.carry_over(&resolved);
                begun.keep_with_people(&resolved, bound.instance.agent_returns);
                begun
            }
            None => numbered(1),
        }
    }

    /// Copies from the resolved conversation what belongs to the contact rather than to a conversation. The name stays: each message
    /// tells it. Copied are also what the contact used of the agent's limits, as whom it was invited, what it was told of a closure, the
    /// last re-engagement, the mark of a journal of effects, and the conversations under other identities. Of an erased contact, only the
    /// opt-out is copied.
    pub fn carry_over(&mut self, resolved: &Self) {
        self.contact.marketing_stopped_at = resolved.contact.marketing_stopped_at;
        if resolved.erased_at.is_some() {
            return;
        }
        self.contact = ContactFacts {
            phone: self.contact.phone.take(),
            name: self.contact.name.take(),
            ..resolved.contact.clone()
        };
        self.limits = resolved.limits;
        self.linked.beside.clone_from(&resolved.linked.beside);
        self.opening.closed_told_at = resolved.opening.closed_told_at;
        self.features.invited = resolved
            .features
            .invited
            .clone()
            .map(InvitedGuest::without_ordinal);
        self.features.reengaged.clone_from(&resolved.features.reengaged);
        self.features.has_journal = resolved.features.has_journal;
    }

    /// Stores the contact's name and, if none is known, the phone number. An empty name is ignored, and a name is cut
    /// to 200 characters.
    pub fn update_contact_details(&mut self, name: Option<&str>, phone: Option<&str>) {
        if let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) {
            self.contact.name = Some(name.chars().take(200).collect());
        }
        if self.contact.phone.is_none() {
            self.contact.phone = phone.map(str::to_owned);
        }
    }
}
