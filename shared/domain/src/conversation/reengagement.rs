//! Limits re-engagement: a contact whose service window is over gets one template, however many messages wait.

use super::Conversation;
use crate::ids::MessageId;
use crate::millis::{self, add_duration};
use crate::service_window::WINDOW;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Age after which the message of a record makes the record again. The 24 hours then count from the
/// newer time, because the time at which the template leaves matters.
const RENEWED: SignedDuration = SignedDuration::from_hours(1);

/// A record that the instance's re-engagement template went to the contact, or is about to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReengagementRecord {
    /// Time of the decision to send the template.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// The message in whose place the template goes out.
    pub by: MessageId,
}

/// The answer to a message's request for the re-engagement template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReengagementDecision {
    /// The template may go out in this message's place; that is recorded now.
    Recorded,
    /// The template may go out: it was recorded for this message before.
    AlreadyRecorded,
    /// The template went out, or is about to, in the place of the message named here.
    RecordedForOther(MessageId),
}

impl Conversation {
    /// Requests, at `now`, the template in the place of message `by`. The contact, who wrote last at `last_inbound_at`, gets
    /// at most one template in 24 hours, unless the contact writes in between.
    pub fn request_reengagement(
        &mut self,
        by: &MessageId,
        last_inbound_at: Option<Timestamp>,
        now: Timestamp,
    ) -> ReengagementDecision {
        match &self.features.reengaged {
            Some(last)
                if last.by == *by
                    && Some(last.at) > last_inbound_at
                    && now < add_duration(last.at, RENEWED) =>
            {
                ReengagementDecision::AlreadyRecorded
            }
            // The message waited long before it left, or was redriven: the 24 hours count from now.
            Some(last) if last.by == *by => {
                self.record_reengagement(by, now);
                ReengagementDecision::Recorded
            }
            Some(last) if Some(last.at) > last_inbound_at && now < add_duration(last.at, WINDOW) => {
                ReengagementDecision::RecordedForOther(last.by.clone())
            }
            _ => {
                self.record_reengagement(by, now);
                ReengagementDecision::Recorded
            }
        }
    }

    /// Records the template for `by`, and replaces an earlier record: no template went out in the place of that
    /// message.
    pub fn record_reengagement(&mut self, by: &MessageId, now: Timestamp) {
        let by = by.clone();
        self.features.reengaged = Some(ReengagementRecord { at: now, by });
    }
}
