use super::InvitationChannel;
use crate::content::Content;
use crate::email::EmailOutbox;
use crate::hexadecimal::is_hexadecimal;
use crate::ids::{
    BatchId, CorrelationId, GuestId, InstanceId, InvitationId, InvitationTemplateName, MessageId, OccasionId,
    TenantId, TokenName,
};
use crate::metadata::Metadata;
use crate::millis::{self, from_unix_millis};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// The state of an invitation, as far as it is stored with it. Once it is a message, that message's record tells the rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum InvitationState {
    /// The invitation was taken, and is not a message yet.
    Taken {
        /// The message that it is to become; `None` in a record of an older version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        planned: Option<Box<PlannedMessage>>,
    },
    /// The invitation is this message.
    Message {
        /// Id of the message.
        message: MessageId,
    },
    /// The invitation is an e-mail.
    Email {
        /// The e-mail, and what became of it.
        outbox: Box<EmailOutbox>,
    },
    /// The same template went to the same guest before, within the dedupe window.
    Duplicate {
        /// The invitation that went before.
        of: InvitationId,
    },
    /// The invitation can never be sent.
    Refused {
        /// Reason.
        error: String,
    },
}

/// The status of an invitation as the log of deliveries shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum InvitationStatus {
    /// The message waits to be sent.
    Queued,
    /// The message is being sent, or nobody knows yet whether it was.
    Processing,
    /// The provider accepted it.
    Sent,
    /// The message is on the phone of the guest.
    Delivered,
    /// The guest has seen it.
    Read,
    /// The message could not be sent.
    Failed,
    /// The message was cancelled before it was sent.
    Cancelled,
    /// The same template went to the same guest before.
    Duplicate,
}

impl InvitationStatus {
    const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns `true` if the status may change without a request.
    pub fn may_change(self) -> bool {
        !matches!(self, Self::Read | Self::Duplicate | Self::Cancelled)
    }

    /// Returns the status with this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|status| status.as_str() == word)
    }

    /// Returns the word for the status.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// An invitation or a reminder: what was sent to one guest of an occasion, by one template.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invitation {
    /// The tenant that invites.
    pub tenant: TenantId,
    /// The id; it tells when the invitation was made.
    pub id: InvitationId,
    /// The occasion.
    pub occasion: OccasionId,
    /// The guest.
    pub guest: GuestId,
    /// The channel.
    pub channel: InvitationChannel,
    /// The template.
    pub template: InvitationTemplateName,
    /// Language of the template that was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The state.
    #[serde(flatten)]
    pub state: InvitationState,
    /// `true` if the guest's session of 24 hours was open when it was taken.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub is_free: bool,
    /// The session that was open then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Earliest time at which it leaves, if quiet hours or the frequency cap put it off when it was taken.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// Metadata of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Hash of the request, by which a repetition with the same idempotency key is recognized.
    pub request_hash: String,
    /// Time at which it was taken.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Time until which it is kept.
    #[serde(with = "millis")]
    pub keep_until: Timestamp,
    /// Revision: grows at every write.
    pub rev: u64,
}

impl Invitation {
    /// Raises the revision, once before each write. The transitions of an e-mail are those of its outbox, which does not know it.
    pub fn raise_revision(&mut self) {
        self.rev += 1;
    }

    /// Becomes the message `made`, which leaves at `not_before` at the earliest.
    pub fn become_message(&mut self, made: MessageId, not_before: Option<Timestamp>) {
        self.state = InvitationState::Message { message: made };
        self.not_before = not_before;
        self.raise_revision();
    }

    /// Returns the invitation as its message notes it, of this batch and of use until this time.
    pub fn describe_sent(
        &self,
        batch: Option<BatchId>,
        useful_until: Option<Timestamp>,
        restored_from: Option<Timestamp>,
    ) -> ScheduledInvitation {
        ScheduledInvitation {
            id: self.id.clone(),
            occasion: self.occasion.clone(),
            guest: self.guest.clone(),
            batch,
            useful_until,
            restored_from,
        }
    }

    /// Marks a taken invitation of a backup that was made at `taken_at`: its message may have been sent since. Returns `false` if it
    /// is not taken.
    pub fn doubt_restored(&mut self, taken_at: Timestamp) -> bool {
        let InvitationState::Taken {
            planned: Some(planned),
        } = &mut self.state
        else {
            return false;
        };
        planned.restored_from = Some(taken_at);
        self.raise_revision();
        true
    }

    /// Ends, because it can never be sent.
    pub fn refuse(&mut self, error: String) {
        self.state = InvitationState::Refused { error };
        self.raise_revision();
    }

    /// Returns the time at which the guest gets it, for the frequency cap. `None`: it was never to be sent.
    pub fn counted_at(&self) -> Option<Timestamp> {
        match self.state {
            InvitationState::Taken { .. }
            | InvitationState::Message { .. }
            | InvitationState::Email { .. } => Some(self.not_before.unwrap_or(self.created_at)),
            InvitationState::Duplicate { .. } | InvitationState::Refused { .. } => None,
        }
    }

    /// Returns the time from which on `reconcile` looks for its e-mail; `None` if nothing is left to do for it.
    pub fn overdue_at(&self) -> Option<Timestamp> {
        match &self.state {
            InvitationState::Email { outbox } => outbox.wake_at,
            _ => None,
        }
    }

    /// Returns the id by which the carrier knows its e-mail; `None` if no carrier accepted one.
    pub fn carrier_id(&self) -> Option<&str> {
        match &self.state {
            InvitationState::Email { outbox } => outbox.carrier_id(),
            _ => None,
        }
    }

    /// Returns the time at which its e-mail was given up; `None` if it was not.
    pub fn email_failed_at(&self) -> Option<Timestamp> {
        match &self.state {
            InvitationState::Email { outbox } => outbox.failed_at(),
            _ => None,
        }
    }
}

/// The message that a taken invitation is to become. Whoever makes the message goes by this alone, never by a request at hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedMessage {
    /// The instance that sends it.
    pub instance: InstanceId,
    /// Phone number of the guest. Personal data: never log it.
    pub to: String,
    /// The content.
    pub content: Content,
    /// Time before which it does not leave, as the request named it.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub send_at: Option<Timestamp>,
    /// The batch to which the invitation belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
    /// The time from which it is of no use, of a reminder.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub useful_until: Option<Timestamp>,
    /// Name of the token that ordered it.
    pub by: TokenName,
    /// Correlation id of the request that ordered it.
    pub correlation: CorrelationId,
    /// Time of the backup from which it was restored, or its batch: it may have been sent since.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<Timestamp>,
}

/// The invitation that a message is, or will be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScheduledInvitation {
    /// The invitation.
    pub id: InvitationId,
    /// The occasion.
    pub occasion: OccasionId,
    /// The guest.
    pub guest: GuestId,
    /// The batch to which the invitation belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
    /// The time from which it is of no use, of a reminder.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub useful_until: Option<Timestamp>,
    /// Time of the backup from which it was restored before it became a message, or its batch: it may have been sent since.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<Timestamp>,
}

const PREFIX: &str = "inv_";

/// Writes the id of an invitation that is made at `at`: the time in milliseconds, then random bits, all in hexadecimal.
#[expect(clippy::expect_used, reason = "hexadecimal digits are a valid id")]
pub fn write_invitation_id(at: Timestamp, random: u64) -> InvitationId {
    let millis = at.as_millisecond().unsigned_abs() & 0xffff_ffff_ffff;
    InvitationId::parse(&format!("{PREFIX}{millis:012x}{random:016x}")).expect("hexadecimal digits")
}

/// Returns the time at which the invitation with this id was made; `None` if nobody wrote such an id.
pub fn parse_invitation_time(id: &InvitationId) -> Option<Timestamp> {
    let digits = id.as_str().strip_prefix(PREFIX)?;
    let millis = i64::from_str_radix(digits.get(..12)?, 16).ok()?;
    is_hexadecimal(digits, 28).then(|| from_unix_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_tells_when_the_invitation_was_made(millis in 0_i64..253_000_000_000_000, random in any::<u64>()) {
            let at = from_unix_millis(millis);
            prop_assert_eq!(parse_invitation_time(&write_invitation_id(at, random)), Some(at));
        }
    }

    #[test]
    fn another_text_is_no_id_of_an_invitation() {
        for text in ["123", "inv_", "inv_zz", "inv_0123456789ABcdef0123456789abcdef"] {
            assert_eq!(
                parse_invitation_time(&InvitationId::parse(text).unwrap()),
                None,
                "{text}"
            );
        }
    }

    #[test]
    fn a_record_survives_being_written_and_read() {
        let id = |text: &str| InvitationId::parse(text).unwrap();
        let one = Invitation {
            tenant: TenantId::parse("t").unwrap(),
            id: id("inv_1"),
            occasion: OccasionId::parse("ev").unwrap(),
            guest: GuestId::parse("g").unwrap(),
            channel: InvitationChannel::Whatsapp,
            template: InvitationTemplateName::parse("invite").unwrap(),
            language: None,
            state: InvitationState::Duplicate { of: id("inv_0") },
            is_free: true,
            session: None,
            not_before: Some(from_unix_millis(7)),
            metadata: None,
            request_hash: "00".to_owned(),
            created_at: from_unix_millis(5),
            keep_until: from_unix_millis(6),
            rev: 1,
        };
        let json = serde_json::to_value(&one).unwrap();
        assert_eq!(json["state"], "duplicate");
        assert_eq!(serde_json::from_value::<Invitation>(json).unwrap(), one);
    }
}
