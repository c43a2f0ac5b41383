//! A contact whose window is over is written to once, however many messages wait for it.

use super::Conversation;
use crate::ids::MessageId;
use crate::millis::{self, shift};
use crate::window::WINDOW_MS;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A note that is older is made anew by the message that it is for, in milliseconds: what counts is when the template leaves.
const RENEWED_MS: i64 = 3_600_000;

/// The instance's template went to the contact, or is about to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reengaged {
    /// When that was decided.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// In whose place it goes out.
    pub by: MessageId,
}

/// Whether the instance's template may go out in a message's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reengagement {
    /// It may, and that is noted now.
    Noted,
    /// It may: this is the message that it was noted for.
    Ours,
    /// It went out in the place of this one, or is about to.
    Another(MessageId),
}

impl Conversation {
    /// Asks at `now` for the template in the place of `by`. The contact, who wrote last at `heard_at`, gets one in 24 hours,
    /// unless it wrote in between.
    pub fn reengage(&mut self, by: &MessageId, heard_at: Option<Timestamp>, now: Timestamp) -> Reengagement {
        match &self.reengaged {
            Some(last) if last.by == *by && Some(last.at) > heard_at && now < shift(last.at, RENEWED_MS) => {
                Reengagement::Ours
            }
            // It waited long before it left, or was redriven: the day counts from now.
            Some(last) if last.by == *by => {
                self.reengage_instead(by, now);
                Reengagement::Noted
            }
            Some(last) if Some(last.at) > heard_at && now < shift(last.at, WINDOW_MS) => {
                Reengagement::Another(last.by.clone())
            }
            _ => {
                self.reengage_instead(by, now);
                Reengagement::Noted
            }
        }
    }

    /// Notes it for `by` whatever was noted before: nothing left in the place of that one.
    pub fn reengage_instead(&mut self, by: &MessageId, now: Timestamp) {
        let by = by.clone();
        self.reengaged = Some(Reengaged { at: now, by });
    }
}
