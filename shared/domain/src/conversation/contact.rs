//! What is known of the contact, and stays true when a resolved conversation is followed by a new one.

use super::Conversation;
use crate::contact::ContactAddress;
use crate::content::{Content, SystemNote};
use crate::service_window;
use jiff::Timestamp;

impl Conversation {
    /// Notes when a message of the contact was written, which may be long before it arrived.
    pub fn record_contact_activity(&mut self, written_at: Timestamp) {
        self.last_inbound_at = self.last_inbound_at.max(Some(written_at));
    }

    /// Takes in what a message of the contact, written at `written_at`, says of the contact: that it wrote, and whether
    /// it wants marketing messages. A wish is taken back only by a later one.
    pub fn apply_preference(&mut self, content: &Content, written_at: Timestamp) {
        if service_window::opens_window(content) {
            self.record_contact_activity(written_at);
        }
        match content {
            Content::System {
                what: SystemNote::MarketingStopped,
                ..
            } => self.marketing_stopped_at = self.marketing_stopped_at.max(Some(written_at)),
            Content::System {
                what: SystemNote::MarketingResumed,
                ..
            } if self.marketing_stopped_at <= Some(written_at) => self.marketing_stopped_at = None,
            _ => {}
        }
    }

    /// Notes that the contact wrote from this address: it is where replies go from now on. One that began with what a
    /// client wrote may have the number in another spelling than WhatsApp.
    pub fn set_reply_address(&mut self, address: &ContactAddress) {
        self.address.clone_from(address);
    }

    /// Carries over what is the contact's, whatever conversation it is: the contact's rate, the window with the template
    /// that went out after it, the opt-out, its other name and what was begun under that.
    pub fn carry_over(&mut self, resolved: &Self) {
        self.known_as.clone_from(&resolved.known_as);
        self.beside.clone_from(&resolved.beside);
        self.pair_arrival = resolved.pair_arrival;
        self.last_inbound_at = resolved.last_inbound_at;
        self.marketing_stopped_at = resolved.marketing_stopped_at;
        self.reengaged.clone_from(&resolved.reengaged);
    }
}
