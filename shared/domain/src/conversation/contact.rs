//! Knowledge about the contact, which is carried over when a new conversation follows a resolved one.

use super::{Conversation, ConversationStatus};
use crate::config::InstanceConfig;
use crate::contact::ContactAddress;
use crate::content::Content;
use crate::ids::{ConversationId, ThreadId};
use crate::invitations::InvitedGuest;
use crate::opt_out::{OptOutWord, recognize_preference};
use crate::rate::Rate;
use crate::service_window;
use jiff::Timestamp;

impl Conversation {
    /// Reserves the next message's slot in the contact's own rate limit at `now`. Returns the time at which the message
    /// may leave; `None` if it may leave at once.
    pub fn reserve_pair_slot(&mut self, rate: Rate, now: Timestamp) -> Option<Timestamp> {
        let slot = rate.reserve_slot(self.pair_arrival, now);
        self.pair_arrival = Some(slot.arrival);
        (slot.at > now).then_some(slot.at)
    }

    /// Records when a message of the contact was written, which may be long before it arrived.
    pub fn record_contact_activity(&mut self, written_at: Timestamp) {
        self.begin_session(written_at);
        self.last_inbound_at = self.last_inbound_at.max(Some(written_at));
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
                self.marketing_stopped_at = self.marketing_stopped_at.max(Some(written_at));
            }
            Some((OptOutWord::Resume, _)) if self.marketing_stopped_at <= Some(written_at) => {
                self.marketing_stopped_at = None;
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

    /// Copies from the resolved conversation what belongs to the contact rather than to a conversation. That is the
    /// contact's rate limit and what it used of the agent's, the service window with the template that went out after it, the session, as whom it was invited, what the contact was told of a closure, the marketing
    /// opt-out, the
    /// linked identity, the mark of a journal of effects and the conversations under that identity. Of an erased contact, only the opt-out is copied.
    pub fn carry_over(&mut self, resolved: &Self) {
        self.marketing_stopped_at = resolved.marketing_stopped_at;
        if resolved.erased_at.is_some() {
            return;
        }
        self.known_as.clone_from(&resolved.known_as);
        self.beside.clone_from(&resolved.beside);
        self.picture.clone_from(&resolved.picture);
        self.pair_arrival = resolved.pair_arrival;
        self.limits = resolved.limits;
        self.last_inbound_at = resolved.last_inbound_at;
        self.session_started_at = resolved.session_started_at;
        self.invited = resolved.invited.clone().map(InvitedGuest::without_ordinal);
        self.reengaged.clone_from(&resolved.reengaged);
        self.closed_told_at = resolved.closed_told_at;
        self.has_journal = resolved.has_journal;
    }
    /// Stores the contact's name and, if none is known, the phone number. An empty name is ignored, and a name is cut
    /// to 200 characters.
    pub fn update_contact_details(&mut self, name: Option<&str>, phone: Option<&str>) {
        if let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) {
            self.name = Some(name.chars().take(200).collect());
        }
        if self.phone.is_none() {
            self.phone = phone.map(str::to_owned);
        }
    }
}
