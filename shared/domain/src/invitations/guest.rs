use super::{GuestAnswer, GuestRow, GuestStatus};
use crate::ids::{GuestId, OccasionId, Ordinal, TenantId};
use crate::millis;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The key by which a guest is found by phone number. The key is a keyed hash, so that nothing leads from it to the number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhoneKey(String);

impl PhoneKey {
    /// Makes the key from the digits that [`crate::identity::IdentityKey::derive_phone_key`] computes.
    pub(crate) fn from_digest(digest: String) -> Self {
        Self(digest)
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The answer that decided a guest's status, as `confirmation_payload` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestReply {
    /// The answer.
    pub answer: GuestAnswer,
    /// Time at which the guest wrote it.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// The session of 24 hours in which it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A guest of an occasion.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guest {
    /// The tenant that invites.
    pub tenant: TenantId,
    /// The occasion.
    pub occasion: OccasionId,
    /// The id of the guest, its own within the occasion.
    pub id: GuestId,
    /// Name of the guest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Digits of the phone number. Personal data: never log it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// Key by which the guest is found by the phone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone_key: Option<PhoneKey>,
    /// E-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Language in which the guest is written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// IANA time zone in which the guest lives, if another than the occasion's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Status of the guest.
    pub status: GuestStatus,
    /// The answer that decided the status; `None` while it is pending, and if people set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<GuestReply>,
    /// Time at which the guest was added.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Time until which the guest is kept.
    #[serde(with = "millis")]
    pub keep_until: Timestamp,
}

impl Guest {
    /// Returns the guest's own time zone; `None` if none is given.
    pub fn find_time_zone(&self) -> Option<TimeZone> {
        TimeZone::get(self.time_zone.as_deref()?).ok()
    }

    /// Fills in what a row of a list tells of the guest. Returns whether anything of it is new.
    pub fn fill_in_row(&mut self, row: &GuestRow) -> bool {
        let mut is_new = false;
        for (known, told) in [
            (&mut self.name, &row.name),
            (&mut self.email, &row.email),
            (&mut self.language, &row.language),
            (&mut self.time_zone, &row.time_zone),
        ] {
            if told.is_some() && known != told {
                known.clone_from(told);
                is_new = true;
            }
        }
        if let Some(status) = row.status.filter(|status| self.status != *status) {
            self.set_status(status);
            is_new = true;
        }
        is_new
    }

    /// Changes a stored guest as a row of a list tells, and keeps it until `keep_until` at least. Returns `false` if the row tells
    /// nothing new.
    pub fn apply_row(&mut self, row: &GuestRow, keep_until: Timestamp) -> bool {
        if !self.fill_in_row(row) {
            return false;
        }
        self.keep_until = self.keep_until.max(keep_until);
        true
    }

    /// Sets the status by order of people. What the guest answered before no longer decides it.
    pub fn set_status(&mut self, status: GuestStatus) {
        if self.status != status {
            self.status = status;
            self.reply = None;
        }
    }

    /// Applies an answer of the guest. An answer older than the one that decided the status changes nothing. Returns
    /// whether the guest changed.
    pub fn apply_reply(&mut self, reply: GuestReply) -> bool {
        let status = match reply.answer {
            GuestAnswer::Confirms => GuestStatus::Confirmed,
            GuestAnswer::Declines => GuestStatus::Declined,
        };
        let is_older = self.reply.as_ref().is_some_and(|known| known.at > reply.at);
        if is_older || self.status == status {
            return false;
        }
        self.status = status;
        self.reply = Some(reply);
        true
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest")
            .field("tenant", &self.tenant)
            .field("occasion", &self.occasion)
            .field("id", &self.id)
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}

/// The guest as whom a contact was invited last, noted in the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvitedGuest {
    /// The occasion.
    pub occasion: OccasionId,
    /// The guest.
    pub guest: GuestId,
    /// The ordinal of the invitation's message.
    #[serde(default, skip_serializing_if = "Ordinal::is_zero")]
    pub ordinal: Ordinal,
}

impl InvitedGuest {
    /// Returns the same guest for another conversation, in which the invitation's message is not.
    #[must_use]
    pub fn without_ordinal(self) -> Self {
        Self {
            ordinal: Ordinal::default(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    fn guest() -> Guest {
        Guest {
            tenant: TenantId::parse("t").unwrap(),
            occasion: OccasionId::parse("ev").unwrap(),
            id: GuestId::parse("g").unwrap(),
            name: Some("Ana".to_owned()),
            phone: Some("5511999998888".to_owned()),
            phone_key: None,
            email: None,
            language: None,
            time_zone: None,
            status: GuestStatus::Pending,
            reply: None,
            created_at: from_unix_millis(0),
            keep_until: from_unix_millis(1),
        }
    }

    fn reply(answer: GuestAnswer, at: i64) -> GuestReply {
        GuestReply {
            answer,
            at: from_unix_millis(at),
            session: Some("w_1".to_owned()),
        }
    }

    #[test]
    fn the_newest_answer_counts_in_whatever_order_they_come() {
        let mut one = guest();
        assert!(one.apply_reply(reply(GuestAnswer::Declines, 20)));
        assert!(!one.apply_reply(reply(GuestAnswer::Confirms, 10)));
        assert_eq!(one.status, GuestStatus::Declined);
        assert!(one.apply_reply(reply(GuestAnswer::Confirms, 30)));
        assert_eq!(one.status, GuestStatus::Confirmed);
        assert_eq!(
            one.reply.as_ref().and_then(|known| known.session.as_deref()),
            Some("w_1")
        );
    }

    #[test]
    fn a_status_that_people_set_is_no_answer_and_a_later_answer_counts() {
        let mut one = guest();
        assert!(one.apply_reply(reply(GuestAnswer::Confirms, 20)));
        let before = one.clone();
        one.set_status(GuestStatus::Confirmed);
        assert_eq!(one, before, "it was confirmed");
        one.set_status(GuestStatus::Declined);
        assert_eq!((one.status, &one.reply), (GuestStatus::Declined, &None));
        assert!(one.apply_reply(reply(GuestAnswer::Confirms, 30)));
        assert_eq!(one.status, GuestStatus::Confirmed);
    }

    #[test]
    fn a_repeated_answer_changes_nothing() {
        let mut one = guest();
        assert!(one.apply_reply(reply(GuestAnswer::Confirms, 20)));
        let before = one.clone();
        assert!(!one.apply_reply(reply(GuestAnswer::Confirms, 20)));
        assert_eq!(one, before);
    }

    #[test]
    fn a_row_that_tells_something_new_changes_the_guest() {
        let mut one = guest();
        let row = GuestRow {
            name: Some("Bia".to_owned()),
            email: Some("bia@example.com".to_owned()),
            ..GuestRow::default()
        };
        assert!(one.apply_row(&row, from_unix_millis(0)));
        assert_eq!(one.name.as_deref(), Some("Bia"));
        assert_eq!(one.keep_until, from_unix_millis(1), "the longer time counts");
        let before = one.clone();
        assert!(!one.apply_row(&row, from_unix_millis(9)));
        assert_eq!(one, before);
    }

    #[test]
    fn the_debug_text_of_a_guest_holds_no_name_and_no_number() {
        let text = format!("{:?}", guest());
        assert!(!text.contains("Ana") && !text.contains("5511999998888"), "{text}");
    }
}
