//! Messages that are to be sent later.
//!
//! A scheduled message is stored apart and has no place in its conversation until it falls due: ordinals are given in the
//! order in which messages really come.

use crate::contact::ContactAddress;
use crate::content::Content;
use crate::effects::RemindedAppointment;
use crate::hexadecimal::is_hexadecimal;
use crate::ids::{
    CorrelationId, GuestId, IdError, IdempotencyKey, InstanceId, MessageId, TenantId, TokenName,
};
use crate::invitations::ScheduledInvitation;
use crate::metadata::Metadata;
use crate::millis;
use crate::options::SendOptions;
use crate::reason::Reason;
use crate::text_conversions::text_conversions;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Time for which the record is kept of a scheduled message that was sent, cancelled or given up: 90 days.
const ENDED_RETENTION: SignedDuration = SignedDuration::from_hours(90 * 24);

/// The id of a scheduled message: `s_` and 32 hexadecimal digits. It still names the message after it was sent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ScheduledId(MessageId);

impl ScheduledId {
    /// Reads `s_` and 32 hexadecimal digits.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        if !text
            .strip_prefix("s_")
            .is_some_and(|digits| is_hexadecimal(digits, 32))
        {
            return Err(IdError::Malformed {
                kind: "scheduled message id",
            });
        }
        Ok(Self(MessageId::parse(text)?))
    }

    /// Returns the id as a message id, as a client sees it.
    pub fn as_message_id(&self) -> &MessageId {
        &self.0
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for ScheduledId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text_conversions!(ScheduledId, IdError);

/// The state of a scheduled message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ScheduledState {
    /// The message waits for its time.
    Pending,
    /// The message fell due and became a message of a conversation.
    Became {
        /// Id of the message in its conversation.
        message: MessageId,
        /// Time of this change.
        #[serde(with = "millis")]
        at: Timestamp,
    },
    /// A client cancelled the message.
    Cancelled {
        /// Time of the cancellation.
        #[serde(with = "millis")]
        at: Timestamp,
        /// Name of the token with which it was cancelled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancelled_by: Option<TokenName>,
    },
    /// The message could not become a message of a conversation.
    GivenUp {
        /// Time at which it was given up.
        #[serde(with = "millis")]
        at: Timestamp,
        /// Reason why it was given up.
        reason: Reason,
    },
}

impl ScheduledState {
    /// Returns the name of the state in errors.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Became { .. } => "due",
            Self::Cancelled { .. } => "cancelled",
            Self::GivenUp { .. } => "given up",
        }
    }
}

/// The record of a scheduled message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScheduledMessage {
    /// Id of the scheduled message.
    pub id: ScheduledId,
    /// The tenant that the message belongs to.
    pub tenant: TenantId,
    /// The instance over which the message is to be sent.
    pub instance: InstanceId,
    /// Address of the recipient.
    pub to: ContactAddress,
    /// Content of the message.
    pub content: Content,
    /// Options that the client set.
    #[serde(default, skip_serializing_if = "SendOptions::is_empty")]
    pub options: SendOptions,
    /// Metadata that the client attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Earliest time at which the message is to be sent.
    #[serde(with = "millis")]
    pub send_at: Timestamp,
    /// Time of the client's request.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// Correlation id, which follows the message through every queue, record and log line.
    pub correlation: CorrelationId,
    /// Name of the token with which the message was ordered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<TokenName>,
    /// Idempotency key of the client's request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The invitation that the message is; `None` for another message. Its guest is asked for opt-outs and the rules of deliveries
    /// when the message falls due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invitation: Option<ScheduledInvitation>,
    /// The appointment of which the message reminds; `None` for another message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminds_of: Option<RemindedAppointment>,
    /// Time of the backup from which the record was restored, if the message fell due after that: it may have been sent since.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub restored_from: Option<Timestamp>,
    /// State of the scheduled message.
    #[serde(flatten)]
    pub state: ScheduledState,
}

/// The error for a change of a scheduled message that is no longer pending. Holds the name of its state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the scheduled message is {0}, no longer pending")]
pub struct NotPending(pub &'static str);

impl ScheduledMessage {
    fn leave_pending(&mut self, state: ScheduledState) -> Result<(), NotPending> {
        if self.state != ScheduledState::Pending {
            return Err(NotPending(self.state.as_str()));
        }
        self.state = state;
        self.remove_content();
        Ok(())
    }

    /// Removes what is personal. A message that was sent holds it in its conversation, and nobody needs it of a message
    /// that will never be sent.
    fn remove_content(&mut self) {
        self.to = ContactAddress::removed();
        self.content = Content::Removed;
        self.options = SendOptions::default();
        self.metadata = None;
        self.idempotency_key = None;
        self.reminds_of = None;
        if let Some(invitation) = &mut self.invitation {
            // Clients choose a guest's id, and it may tell of the person. The invitation is found by its own id.
            invitation.guest = GuestId::removed();
        }
    }

    /// Moves `pending → became`: `message` is its id in the conversation.
    pub fn become_message(&mut self, message: MessageId, at: Timestamp) -> Result<(), NotPending> {
        self.leave_pending(ScheduledState::Became { message, at })
    }

    /// Moves `pending → cancelled`. `by`: name of the token with which it was cancelled.
    pub fn cancel_pending(&mut self, at: Timestamp, by: Option<&TokenName>) -> Result<(), NotPending> {
        self.leave_pending(ScheduledState::Cancelled {
            at,
            cancelled_by: by.cloned(),
        })
    }

    /// Moves `pending → given up`.
    pub fn give_up_pending(&mut self, at: Timestamp, reason: Reason) -> Result<(), NotPending> {
        self.leave_pending(ScheduledState::GivenUp { at, reason })
    }

    /// Puts a pending message off until `send_at`.
    pub fn postpone_pending(&mut self, send_at: Timestamp) -> Result<(), NotPending> {
        if self.state != ScheduledState::Pending {
            return Err(NotPending(self.state.as_str()));
        }
        self.send_at = send_at;
        Ok(())
    }

    /// Marks a message of a backup that was made at `taken_at`: it may have been sent since.
    pub fn doubt_restored(&mut self, taken_at: Timestamp) {
        self.restored_from = Some(taken_at);
    }

    /// Returns `true` if the record comes from a backup, and the message may have been sent since.
    pub fn may_have_been_sent(&self) -> bool {
        let of_invitation = self.invitation.as_ref().and_then(|one| one.restored_from);
        self.restored_from.or(of_invitation).is_some()
    }

    /// Returns the time at which the record is deleted; `None` while it is pending.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let ended_at = match &self.state {
            ScheduledState::Pending => return None,
            ScheduledState::Became { at, .. }
            | ScheduledState::Cancelled { at, .. }
            | ScheduledState::GivenUp { at, .. } => *at,
        };
        Some(millis::add_duration(ended_at, ENDED_RETENTION))
    }

    /// Returns the time at which the message falls due; `None` if it is no longer pending.
    pub fn send_due_at(&self) -> Option<Timestamp> {
        (self.state == ScheduledState::Pending).then_some(self.send_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{InvitationId, OccasionId};
    use crate::millis::from_unix_millis;

    fn scheduled() -> ScheduledMessage {
        ScheduledMessage {
            id: ScheduledId::parse("s_0123456789abcdef0123456789abcdef").unwrap(),
            tenant: TenantId::parse("clinic").unwrap(),
            instance: InstanceId::parse("front-desk").unwrap(),
            to: ContactAddress::parse("5511900000001@s.whatsapp.net").unwrap(),
            content: Content::from_text("Até amanhã"),
            options: SendOptions::default(),
            metadata: None,
            send_at: from_unix_millis(2_000),
            created_at: from_unix_millis(1_000),
            correlation: CorrelationId::parse("r-1").unwrap(),
            by: None,
            idempotency_key: None,
            invitation: Some(ScheduledInvitation {
                id: InvitationId::parse("inv_1").unwrap(),
                occasion: OccasionId::parse("party").unwrap(),
                guest: GuestId::parse("ana-silva").unwrap(),
                batch: None,
                useful_until: None,
                restored_from: None,
            }),
            reminds_of: None,
            restored_from: None,
            state: ScheduledState::Pending,
        }
    }

    #[test]
    fn what_left_pending_changes_no_more_and_is_not_due() {
        type Way = fn(&mut ScheduledMessage) -> Result<(), NotPending>;
        let message = MessageId::parse("c_0-1.1").unwrap();
        let ways: [Way; 2] = [
            |scheduled| scheduled.cancel_pending(from_unix_millis(1_500), None),
            |scheduled| scheduled.give_up_pending(from_unix_millis(1_500), Reason::UnknownInstance),
        ];
        for leave in ways {
            let mut scheduled = scheduled();
            assert_eq!(scheduled.send_due_at(), Some(from_unix_millis(2_000)));
            leave(&mut scheduled).unwrap();
            let after = scheduled.clone();
            let text = serde_json::to_string(&after).unwrap();
            for personal in ["5511900000001", "amanhã", "ana-silva"] {
                assert!(!text.contains(personal), "{text}");
            }
            assert!(text.contains("inv_1"), "{text}");
            assert_eq!(scheduled.send_due_at(), None);
            assert!(
                scheduled
                    .become_message(message.clone(), from_unix_millis(2_000))
                    .is_err()
            );
            assert!(scheduled.cancel_pending(from_unix_millis(2_000), None).is_err());
            assert!(scheduled.postpone_pending(from_unix_millis(3_000)).is_err());
            assert_eq!(scheduled, after);
        }
    }

    #[test]
    fn a_record_survives_being_written_and_read() {
        let mut pending = scheduled();
        pending.metadata = serde_json::from_str::<Metadata>(r#""{\"order\":7}""#).ok();
        pending.by = TokenName::parse("shop").ok();
        assert!(pending.metadata.is_some() && pending.by.is_some());
        let mut cancelled = pending.clone();
        cancelled
            .cancel_pending(from_unix_millis(1_500), Some(&TokenName::installation()))
            .unwrap();
        for record in [pending, cancelled] {
            let text = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<ScheduledMessage>(&text).unwrap(), record);
            let with_revision = text.replacen('{', r#"{"rev":3,"#, 1);
            let of_before = serde_json::from_str::<ScheduledMessage>(&with_revision).unwrap();
            assert_eq!(of_before, record, "records before format 6 had a revision");
        }
    }

    #[test]
    fn only_ids_of_its_own_form_are_taken() {
        for bad in [
            "",
            "s_",
            "s_0123",
            "c_0123456789abcdef0123456789abcdef-1.1",
            "s_0123456789ABCDEF0123456789abcdef",
        ] {
            assert!(ScheduledId::parse(bad).is_err(), "{bad}");
        }
    }
}
