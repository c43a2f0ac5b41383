//! A contact whose window is over is written to once, however many messages wait for it.

use super::Conversation;
use crate::ids::MessageId;
use crate::millis::{self, add_millis};
use crate::service_window::WINDOW_MS;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A note that is older is made anew by the message that it is for, in milliseconds: what counts is when the template leaves.
const RENEWED_MS: i64 = 3_600_000;

/// The instance's template went to the contact, or is about to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReengagementRecord {
    /// When that was decided.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// In whose place it goes out.
    pub by: MessageId,
}

/// Whether the instance's template may go out in a message's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReengagementDecision {
    /// It may, and that is noted now.
    Recorded,
    /// It may: this is the message that it was noted for.
    AlreadyRecorded,
    /// It went out in the place of this one, or is about to.
    RecordedForOther(MessageId),
}

impl Conversation {
    /// Asks at `now` for the template in the place of `by`. The contact, who wrote last at `heard_at`, gets one in 24 hours,
    /// unless it wrote in between.
    pub fn request_reengagement(
        &mut self,
        by: &MessageId,
        heard_at: Option<Timestamp>,
        now: Timestamp,
    ) -> ReengagementDecision {
        match &self.reengaged {
            Some(last)
                if last.by == *by && Some(last.at) > heard_at && now < add_millis(last.at, RENEWED_MS) =>
            {
                ReengagementDecision::AlreadyRecorded
            }
            // It waited long before it left, or was redriven: the day counts from now.
            Some(last) if last.by == *by => {
                self.record_reengagement(by, now);
                ReengagementDecision::Recorded
            }
            Some(last) if Some(last.at) > heard_at && now < add_millis(last.at, WINDOW_MS) => {
                ReengagementDecision::RecordedForOther(last.by.clone())
            }
            _ => {
                self.record_reengagement(by, now);
                ReengagementDecision::Recorded
            }
        }
    }

    /// Notes it for `by` whatever was noted before: nothing left in the place of that one.
    pub fn record_reengagement(&mut self, by: &MessageId, now: Timestamp) {
        let by = by.clone();
        self.reengaged = Some(ReengagementRecord { at: now, by });
    }
}
