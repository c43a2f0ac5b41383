//! The contact's session of 24 hours: from the first message that opened the service window until the window closes.

use super::Conversation;
use crate::ids::hash_parts;
use crate::millis::add_duration;
use crate::service_window::WINDOW;
use jiff::Timestamp;

/// A session of 24 hours, which each message of the contact renews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContactSession {
    /// Id of the session, derived from the thread and the begin.
    pub id: String,
    /// Time of the message that began it.
    pub started_at: Timestamp,
    /// Time of the contact's last message.
    pub last_message_at: Timestamp,
    /// End of the session, unless the contact writes before.
    pub expires_at: Timestamp,
}

impl ContactSession {
    /// Returns `true` if the session goes on at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now < self.expires_at
    }
}

impl Conversation {
    /// Begins a session with a message written at `written_at`, unless one goes on.
    pub(super) fn begin_session(&mut self, written_at: Timestamp) {
        let is_over = |last: Timestamp| written_at >= add_duration(last, WINDOW);
        if self.contact.last_inbound_at.is_none_or(is_over) {
            self.contact.session_started_at = Some(written_at);
        }
    }

    /// Returns the contact's newest session, which may be over; `None` if the contact never wrote.
    pub fn newest_session(&self) -> Option<ContactSession> {
        let last_message_at = self.contact.last_inbound_at?;
        let started_at = self.contact.session_started_at.unwrap_or(last_message_at);
        let thread = self.id.thread_id().as_str();
        let begin = started_at.as_millisecond().to_string();
        Some(ContactSession {
            id: format!("ws_{}", hash_parts(&["session", thread, &begin], 16)),
            started_at,
            last_message_at,
            expires_at: add_duration(last_message_at, WINDOW),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use crate::millis::from_unix_millis;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn a_session_is_renewed_by_each_message_and_another_begins_after_24_hours() {
        let mut one = conversation();
        assert_eq!(one.newest_session(), None);
        one.record_contact_activity(from_unix_millis(0));
        let first = one.newest_session().unwrap();
        assert_eq!(first.expires_at, from_unix_millis(24 * HOUR));
        assert!(first.is_open(from_unix_millis(24 * HOUR - 1)) && !first.is_open(first.expires_at));
        one.record_contact_activity(from_unix_millis(23 * HOUR));
        let renewed = one.newest_session().unwrap();
        assert_eq!((&renewed.id, renewed.started_at), (&first.id, first.started_at));
        assert_eq!(renewed.expires_at, from_unix_millis(47 * HOUR));
        one.record_contact_activity(from_unix_millis(47 * HOUR));
        let next = one.newest_session().unwrap();
        assert_ne!(next.id, first.id);
        assert_eq!(next.started_at, from_unix_millis(47 * HOUR));
        // A late message of before changes nothing.
        one.record_contact_activity(from_unix_millis(HOUR));
        assert_eq!(one.newest_session(), Some(next));
    }
}
