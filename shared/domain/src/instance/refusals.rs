//! Equal refusals that the newest sends of an instance got. After some of them the fault is not with the messages: the instance's
//! messages wait, and one of them is tried now and then.

use super::{FIRST_CONTACT_TRIAL, InstanceState};
use crate::ids::ConversationId;
use crate::millis::add_duration;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Number of equal refusals in a row, each of another conversation, after which an instance's messages wait.
pub const REFUSALS_MAX: u32 = 3;

/// The equal refusals that the newest sends of an instance got, with no accepted send between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalRun {
    /// The refusal, in Recado's own words.
    pub why: String,
    /// Number of sends that got it.
    pub count: u32,
    /// The conversation that was refused last. Its further messages do not count: the fault may be with it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// `true` if the provider said that it refuses everything: one refusal suffices, and the provider can be asked when that is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub everything: bool,
    /// Number of tries with one message since the instance's messages wait.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub trials: u32,
}

impl RefusalRun {
    /// Adds a refusal to those before it (`run`). Another refusal than theirs begins anew.
    pub(super) fn add_refusal(
        run: Option<Self>,
        why: &str,
        conversation: Option<&ConversationId>,
        everything: bool,
    ) -> Self {
        let fresh = Self {
            why: why.to_owned(),
            count: 0,
            conversation: None,
            everything,
            trials: 0,
        };
        let mut run = run.filter(|run| run.why == why).unwrap_or(fresh);
        if let Some(conversation) = conversation
            && run.conversation.as_ref() != Some(conversation)
        {
            run.count = run.count.saturating_add(1);
            run.conversation = Some(conversation.clone());
        }
        run.everything = everything;
        run
    }

    /// Returns `true` if the refusals are of the whole instance, so that its messages wait.
    pub fn concerns_instance(&self) -> bool {
        self.everything || self.count >= REFUSALS_MAX
    }
}

impl InstanceState {
    /// Counts a refusal. Returns `true` if the instance's messages must wait.
    pub(super) fn count_refusal(
        &mut self,
        why: &str,
        conversation: Option<&ConversationId>,
        everything: bool,
    ) -> bool {
        let run = RefusalRun::add_refusal(self.refusals.take(), why, conversation, everything);
        let waits = run.concerns_instance();
        self.refusals = Some(run);
        waits
    }

    /// Stops messages to people who never wrote until `until`. Returns `true` if they were not stopped for as long before.
    pub(super) fn stop_first_contacts(&mut self, until: Timestamp) -> bool {
        let is_longer = self.first_contacts_from.is_none_or(|before| before < until);
        if is_longer {
            self.first_contact_tried = false;
            self.first_contacts_from = Some(until);
        }
        is_longer
    }

    /// Lets one message to a person who never wrote go after the stop until `until`. After its trial the stop is forgotten. Returns
    /// `false` if the stop is another by now.
    pub(super) fn try_first_contact(&mut self, until: Timestamp, now: Timestamp) -> bool {
        if self.first_contacts_from != Some(until) {
            return false;
        }
        let trial = (!self.first_contact_tried).then(|| add_duration(now, FIRST_CONTACT_TRIAL));
        self.first_contact_tried = trial.is_some();
        self.first_contacts_from = trial;
        true
    }

    /// Notes that another program holds a thread of the number. Returns `true` if that was not seen for a day.
    pub(super) fn note_other_agent(&mut self, at: Timestamp) -> bool {
        let day = SignedDuration::from_hours(24);
        let is_new = self
            .other_agent_at
            .is_none_or(|before| add_duration(before, day) <= at);
        if is_new {
            self.other_agent_at = Some(at);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ThreadId;

    fn conversation(number: u32) -> ConversationId {
        let thread = ThreadId::parse(&"a".repeat(32)).unwrap();
        ConversationId::new(thread, number)
    }

    #[test]
    fn three_equal_refusals_of_three_conversations_are_of_the_instance() {
        let refuse = |run, why, number| {
            Some(RefusalRun::add_refusal(
                run,
                why,
                Some(&conversation(number)),
                false,
            ))
        };
        let mut run = None;
        for number in [1, 2] {
            run = refuse(run, "HTTP 422: refused", number);
            assert!(!run.as_ref().unwrap().concerns_instance());
        }
        let again = refuse(run.clone(), "HTTP 422: refused", 2);
        assert_eq!(again.unwrap().count, 2, "the same conversation");
        let other = refuse(run.clone(), "HTTP 405: refused", 3);
        assert_eq!(other.unwrap().count, 1, "another refusal");
        assert!(refuse(run, "HTTP 422: refused", 3).unwrap().concerns_instance());
    }

    #[test]
    fn one_refusal_of_everything_suffices() {
        let run = RefusalRun::add_refusal(None, "HTTP 503: no licence", None, true);
        assert!(run.concerns_instance());
    }
}
