//! Corrects the work on a file after its process ended, and after a clock that ran ahead was set back.

use super::MessageFile;
use jiff::Timestamp;

impl MessageFile {
    /// Lets the work on the file be repeated at once, if its process ended during it. Returns whether it was under way. A reading that was cut
    /// off stays known as such ([`Self::was_reading_cut_off`]).
    pub fn free_work(&mut self, now: Timestamp) -> bool {
        let was_under_way = self.is_under_way;
        self.is_under_way &= self.next_reading_time().is_some();
        if was_under_way && let Some(next_at) = self.next_attempt_mut() {
            *next_at = now.min(*next_at);
        }
        was_under_way
    }

    /// Sets the time of the next attempt back to `now`, if a clock that ran ahead gave it. Returns whether it did.
    pub(crate) fn set_times_back(&mut self, now: Timestamp) -> bool {
        let next_at = self.next_attempt_mut().filter(|next_at| **next_at > now);
        let is_ahead = next_at.is_some();
        if let Some(next_at) = next_at {
            *next_at = now;
        }
        is_ahead
    }
}
