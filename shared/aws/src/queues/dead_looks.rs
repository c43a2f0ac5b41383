//! Decides when a dead-letter queue is looked through.
//!
//! SQS bills each request, and copies of dead letters may lie in a queue for two weeks. So a queue is asked how many messages it holds, and
//! is read if that changed: a message that it gave up changes the number. A copy that loses its dead letter does not, and does no harm
//! until the look of each hour. A process begins with a look.

use jiff::{SignedDuration, Timestamp};
use recado_domain::dead_letter::QueueName;
use recado_domain::millis::add_duration;
use recado_ports::ports::DeadQueueLook;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Time after which a queue is asked again: at the fifth pass of `reconcile`, whose time varies by some seconds.
const COUNT_EACH: SignedDuration = SignedDuration::from_secs(270);

/// Time after which a queue is read whatever it holds: at the pass of each hour.
const LOOK_EACH: SignedDuration = SignedDuration::from_mins(58);

/// The last look at a queue.
#[derive(Debug, Clone, Copy, Default)]
struct LastLook {
    counted_at: Timestamp,
    looked_at: Timestamp,
    /// Number of messages before the look.
    held: usize,
    /// Number of messages after it; `None`: not all were seen.
    left: Option<usize>,
}

/// The last look of this process at each dead-letter queue. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct DeadLooks(Arc<Mutex<BTreeMap<QueueName, LastLook>>>);

impl DeadLooks {
    fn lock_looks(&self) -> MutexGuard<'_, BTreeMap<QueueName, LastLook>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if it is time to ask a queue how many messages it holds.
    pub(super) fn is_count_due(&self, queue: QueueName, now: Timestamp) -> bool {
        let looks = self.lock_looks();
        let last = looks.get(&queue);
        last.is_none_or(|last| add_duration(last.counted_at, COUNT_EACH) <= now)
    }

    /// Returns the part that is to be looked through of a queue that holds `count` messages.
    pub(super) fn plan_look(&self, queue: QueueName, count: usize, now: Timestamp) -> DeadQueueLook {
        let mut looks = self.lock_looks();
        let last = looks.entry(queue).or_default();
        last.counted_at = now;
        if count == 0 {
            last.left = Some(0);
            return DeadQueueLook::Skip;
        }
        if last.left == Some(count) && add_duration(last.looked_at, LOOK_EACH) > now {
            return DeadQueueLook::Skip;
        }
        *last = LastLook {
            counted_at: now,
            looked_at: now,
            held: count,
            left: None,
        };
        DeadQueueLook::Whole
    }

    /// Notes how many messages a look received and removed. Some may be hidden, locked by their group, or more than there is time for.
    pub(super) fn note_look(&self, queue: QueueName, seen: usize, gone: usize) {
        if let Some(last) = self.lock_looks().get_mut(&queue) {
            last.left = (seen >= last.held).then(|| last.held.saturating_sub(gone));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DeadQueueLook::{Skip, Whole};
    use recado_domain::millis::from_unix_millis;

    /// A queue of dead letters that `reconcile` looks at each minute.
    #[derive(Default)]
    struct Minutes {
        looks: DeadLooks,
        minute: i64,
        counted: usize,
    }

    impl Minutes {
        /// The look of the next minute, at which the queue holds `count` messages.
        fn look_at(&mut self, count: usize) -> DeadQueueLook {
            self.minute += 1;
            // The schedule is some seconds early or late.
            let jitter = (self.minute % 3 - 1) * 4_000;
            let now = from_unix_millis(self.minute * 60_000 + jitter);
            if !self.looks.is_count_due(QueueName::Turns, now) {
                return Skip;
            }
            self.counted += 1;
            self.looks.plan_look(QueueName::Turns, count, now)
        }

        /// The minutes, of so many, at which a queue of `count` messages is read. `gone` are removed at the first look.
        fn read_in(&mut self, minutes: usize, mut count: usize, mut gone: usize) -> Vec<usize> {
            let mut read = Vec::new();
            for minute in 1..=minutes {
                if self.look_at(count) == Whole {
                    read.push(minute);
                    self.looks.note_look(QueueName::Turns, count, gone);
                    count -= gone;
                    gone = 0;
                }
            }
            read
        }
    }

    #[test]
    fn an_empty_queue_is_counted_each_five_minutes_and_never_read() {
        let mut minutes = Minutes::default();
        assert_eq!(minutes.read_in(60, 0, 0), Vec::<usize>::new());
        assert_eq!(minutes.counted, 12);
    }

    #[test]
    fn a_queue_that_keeps_its_number_is_read_at_the_start_and_each_hour() {
        let mut minutes = Minutes::default();
        assert_eq!(minutes.read_in(125, 25, 0), [1, 61, 121]);
        assert_eq!(minutes.counted, 25);
    }

    #[test]
    fn a_queue_with_another_number_is_read_within_five_minutes() {
        let mut minutes = Minutes::default();
        assert_eq!(minutes.read_in(7, 25, 0), [1]);
        // One more, which is removed.
        assert_eq!(minutes.read_in(30, 26, 1), [4]);
        // One less.
        assert_eq!(minutes.read_in(30, 24, 0), [4]);
        // Others, as many as before it was emptied.
        assert_eq!(minutes.read_in(5, 0, 0), Vec::<usize>::new());
        assert_eq!(minutes.read_in(5, 24, 0), [4]);
    }

    #[test]
    fn a_queue_of_which_not_all_was_seen_is_read_again() {
        let mut minutes = Minutes::default();
        assert_eq!(minutes.look_at(25), Whole);
        minutes.looks.note_look(QueueName::Turns, 10, 0);
        let again: Vec<DeadQueueLook> = (0..5).map(|_| minutes.look_at(25)).collect();
        assert_eq!(again, [Skip, Skip, Skip, Skip, Whole]);
        // A look that failed notes nothing.
        let failed: Vec<DeadQueueLook> = (0..5).map(|_| minutes.look_at(25)).collect();
        assert_eq!(failed, [Skip, Skip, Skip, Skip, Whole]);
    }
}
