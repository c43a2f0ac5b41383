//! The contact's picture: where it is, and when the provider was asked for it.

use super::{Conversation, ConversationStatus};
use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Longest URL of a picture that is kept, in bytes.
const URL_MAX: usize = 1_000;

/// The picture that a contact shows in WhatsApp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContactPicture {
    /// URL of the picture at WhatsApp, which works for some days; `None` if the contact shows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Time at which the provider was asked.
    #[serde(with = "millis")]
    pub asked_at: Timestamp,
}

impl Conversation {
    /// Returns `true` if the provider is to be asked for the contact's picture: the contact has written, and the last answer
    /// is older than `refresh`. A `refresh` of zero means never.
    pub fn picture_is_due(&self, refresh: SignedDuration, now: Timestamp) -> bool {
        let goes_on = self.status == ConversationStatus::Active && self.linked.moved_to.is_none();
        let is_old = |picture: &ContactPicture| add_duration(picture.asked_at, refresh) <= now;
        let wrote = !self.last_inbound.is_zero();
        refresh.is_positive() && goes_on && wrote && self.contact.picture.as_ref().is_none_or(is_old)
    }

    /// Stores the provider's answer about the contact's picture. A URL that is too long, or not of the web, is left out.
    pub fn record_picture(&mut self, url: Option<String>, asked_at: Timestamp) {
        let url = url.filter(|url| url.starts_with("https://") && url.len() <= URL_MAX);
        self.contact.picture = Some(ContactPicture { url, asked_at });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::millis::from_unix_millis;

    #[test]
    fn a_picture_is_asked_for_once_the_contact_wrote_and_again_when_the_answer_is_old() {
        let (day, mut c) = (SignedDuration::from_hours(24), conversation());
        let at = |hours: i64| from_unix_millis(hours * 3_600_000);
        assert!(!c.picture_is_due(day, at(1)), "the contact has not written");
        c.receive_message(true, at(1)).unwrap();
        assert!(c.picture_is_due(day, at(1)) && !c.picture_is_due(SignedDuration::ZERO, at(1)));
        c.record_picture(Some("https://pps.whatsapp.net/a.jpg".to_owned()), at(1));
        assert!(!c.picture_is_due(day, at(24)) && c.picture_is_due(day, at(25)));
        let mut next = conversation();
        next.carry_over(&c);
        assert_eq!(next.contact.picture, c.contact.picture, "it is the contact's");
        for wrong in [
            "javascript:alert(1)".to_owned(),
            format!("https://{}", "a".repeat(URL_MAX)),
        ] {
            c.record_picture(Some(wrong), at(2));
            assert_eq!(c.contact.picture.as_ref().unwrap().url, None);
        }
        c.begin_erasure(at(3));
        assert!(!c.picture_is_due(day, at(99)));
        c.finish_erasure();
        assert_eq!(c.contact.picture, None);
    }
}
