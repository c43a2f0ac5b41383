//! The limits of an agent in one thread: how many replies it wrote in the last hour, and the pause after a limit was reached.

use super::Conversation;
use crate::answer_loop::{LOOP_LENGTH, is_answer_loop};
use crate::budget::{BudgetUse, MonthlyBudget, begin_of_next_month};
use crate::config::AgentLimits;
use crate::message::Message;
use crate::millis::{self, add_duration};
use crate::reason::Reason;
use crate::usage::{UsageSum, begin_of_next_day};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// The time over which replies are counted.
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// The length of the parts of an hour in which replies are counted, in seconds.
const QUARTER_SECONDS: i64 = 15 * 60;

/// The replies of the agent in this quarter of an hour and the four before it. These cover every hour that ends now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(i64, [u32; 5])", into = "(i64, [u32; 5])")]
pub struct RecentReplies {
    /// Number of this quarter since 1970.
    quarter: i64,
    /// The replies in each, this one's first.
    counts: [u32; 5],
}

impl From<(i64, [u32; 5])> for RecentReplies {
    fn from((quarter, counts): (i64, [u32; 5])) -> Self {
        Self { quarter, counts }
    }
}

impl From<RecentReplies> for (i64, [u32; 5]) {
    fn from(counted: RecentReplies) -> Self {
        (counted.quarter, counted.counts)
    }
}

impl RecentReplies {
    /// Returns the counts as they are at `at`, without those that are too old. A clock that was set back moves nothing.
    fn at(self, at: Timestamp) -> Self {
        let quarter = at.as_second().div_euclid(QUARTER_SECONDS);
        let passed = usize::try_from(quarter - self.quarter).unwrap_or(0);
        let mut counts = [0; 5];
        for (new, old) in counts.iter_mut().skip(passed).zip(self.counts) {
            *new = old;
        }
        Self {
            quarter: quarter.max(self.quarter),
            counts,
        }
    }

    /// Counts a reply.
    pub(super) fn count_reply(&mut self, at: Timestamp) {
        *self = self.at(at);
        let [now, ..] = &mut self.counts;
        *now = now.saturating_add(1);
    }

    /// Returns the replies of the last 60 to 75 minutes: all of the last hour, and those of the quarter in which it began.
    pub fn count_last_hour(self, at: Timestamp) -> u32 {
        self.at(at).counts.into_iter().fold(0, u32::saturating_add)
    }
}

/// The use that a thread made of the agent's limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedLimits {
    /// The replies of the agent.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub replies: RecentReplies,
    /// Time until which the agent pauses, because a limit was reached.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub paused_until: Option<Timestamp>,
}

/// A pause of the agent in one conversation, because a limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentPause {
    /// The limit.
    pub reason: Reason,
    /// Time from which the contact's next message is answered by the agent again.
    pub until: Timestamp,
}

impl AgentPause {
    /// Returns the pause of a tenant whose agents used up its tokens of this day; `None` if they did not. `today` are the sums of
    /// the day, and the pause lasts until the next.
    pub fn for_spent_tokens(tokens_per_day: NonZeroU64, today: &[UsageSum], now: Timestamp) -> Option<Self> {
        let used = today.iter().map(|sum| sum.tokens.count_all_tokens());
        let used = used.fold(0, u64::saturating_add);
        (used >= tokens_per_day.get()).then(|| Self {
            reason: Reason::TokenBudget,
            until: begin_of_next_day(now),
        })
    }

    /// Returns the pause of a tenant that used up its budget of the month, if the agents stop then. It lasts until the next month.
    pub fn for_spent_budget(budget: &MonthlyBudget, used: BudgetUse, now: Timestamp) -> Option<Self> {
        (budget.stop && used.is_used_up()).then(|| Self {
            reason: Reason::TokenBudget,
            until: begin_of_next_month(now),
        })
    }
}

impl Conversation {
    /// Returns the pause that begins at `now` because the agent's limits are reached; `None` if they are not. `known` are the
    /// newest messages, ordered by ordinal.
    pub fn find_reached_limit(
        &self,
        limits: &AgentLimits,
        known: &[Message],
        now: Timestamp,
    ) -> Option<AgentPause> {
        let replies = self.limits.replies.count_last_hour(now);
        // After a give-back the count is new, and so a loop is looked for among new replies only.
        let reason = if limits.turns_per_hour > 0 && replies >= limits.turns_per_hour {
            Reason::TooManyTurns
        } else if limits.end_loops && replies + 1 >= LOOP_LENGTH && is_answer_loop(known) {
            Reason::AnswerLoop
        } else {
            return None;
        };
        Some(AgentPause {
            reason,
            until: add_duration(now, HOUR),
        })
    }

    /// Pauses the agent: what is owed waits for a person.
    pub fn pause_agent(&mut self, pause: AgentPause) {
        self.needs_person = Some(pause.reason);
        self.limits.paused_until = Some(pause.until);
        self.opening.scheduled_for = None;
    }

    /// Leaves what the agent owes to a person, because the records come from a backup: it may have been answered since. The agent
    /// does not come back by itself either. Returns `true` if that changed the conversation.
    pub fn doubt_restored(&mut self) -> bool {
        let owed = self.agent_owes_answer();
        if owed {
            self.needs_person = Some(Reason::UnknownOutcome);
            self.opening.scheduled_for = None;
        }
        self.agent_returns_at.take().is_some() || owed
    }

    /// Returns `true` if the agent pauses because the contact and it repeated themselves.
    pub fn pauses_for_loop(&self) -> bool {
        self.needs_person == Some(Reason::AnswerLoop)
    }

    /// Ends the pause for a loop, because the contact's message that came at `at` says something new.
    pub fn end_loop_pause(&mut self, at: Timestamp) {
        if self.pauses_for_loop() {
            self.reset_unread_turns();
            self.waiting_since = Some(at);
        }
    }

    /// Lets the agent read on with a new message of the contact that came at `at`. It does not if the agent is to wait for
    /// longer.
    pub(super) fn end_wait_with_message(&mut self, at: Timestamp) {
        self.end_failed_wait();
        let ends = match self.needs_person {
            Some(Reason::TooMuchToRead) => true,
            Some(Reason::TooManyTurns | Reason::AnswerLoop | Reason::TokenBudget) => {
                self.limits.paused_until.is_none_or(|until| until <= at)
            }
            _ => false,
        };
        if ends {
            self.reset_unread_turns();
            self.waiting_since = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use crate::millis::from_unix_millis;

    fn minute(minute: i64) -> Timestamp {
        from_unix_millis(minute * 60_000)
    }

    #[test]
    fn replies_of_the_last_hour_are_counted_and_older_ones_are_forgotten() {
        let mut replies = RecentReplies::default();
        for at in [10, 20, 30, 59] {
            replies.count_reply(minute(at));
        }
        let counted: Vec<u32> = [59, 70, 74, 75, 89, 90, 105, 119, 134, 135, 9_000]
            .map(|at| replies.count_last_hour(minute(at)))
            .to_vec();
        assert_eq!(counted, [4, 4, 4, 3, 3, 2, 1, 1, 0, 0, 0].map(|count: u32| count));
        replies.count_reply(minute(91));
        assert_eq!(replies.count_last_hour(minute(91)), 3);
        assert_eq!(
            replies.count_last_hour(minute(0)),
            3,
            "a clock that was set back forgets nothing"
        );
        let text = serde_json::to_string(&replies).unwrap();
        assert_eq!(text, "[6,[1,0,0,1,1]]");
        assert_eq!(serde_json::from_str::<RecentReplies>(&text).unwrap(), replies);
    }

    #[test]
    fn as_many_replies_as_allowed_pause_the_agent_for_an_hour_and_a_give_back_forgets_them() {
        let mut c = conversation();
        let limits = AgentLimits {
            turns_per_hour: 3,
            ..AgentLimits::default()
        };
        for at in 0..3 {
            assert_eq!(c.find_reached_limit(&limits, &[], minute(at)), None);
            c.limits.replies.count_reply(minute(at));
        }
        let pause = c.find_reached_limit(&limits, &[], minute(3)).unwrap();
        assert_eq!((pause.reason, pause.until), (Reason::TooManyTurns, minute(63)));
        let unlimited = AgentLimits {
            turns_per_hour: 0,
            ..limits
        };
        assert_eq!(c.find_reached_limit(&unlimited, &[], minute(3)), None);
        assert_eq!(c.find_reached_limit(&limits, &[], minute(75)), None);
        let mut next = conversation();
        next.carry_over(&c);
        assert_eq!(next.find_reached_limit(&limits, &[], minute(3)), Some(pause));
        c.pause_agent(pause);
        c.give_back_to_agent(c.last, minute(4));
        assert_eq!(c.find_reached_limit(&limits, &[], minute(4)), None);
    }

    #[test]
    fn a_pause_ends_with_the_first_message_after_it_or_with_a_person() {
        let pause = AgentPause {
            reason: Reason::TooManyTurns,
            until: minute(60),
        };
        let mut c = conversation();
        c.receive_message(true, minute(0)).unwrap();
        c.pause_agent(pause);
        assert!(!c.agent_owes_answer());
        assert_eq!(c.person_owed_since(), Some(minute(0)));
        c.receive_message(true, add_duration(minute(60), -SignedDuration::from_secs(1)))
            .unwrap();
        assert!(!c.agent_owes_answer());
        assert_eq!(
            c.person_owed_since(),
            Some(minute(0)),
            "one wait, and so one alert"
        );
        let mut given_back = c.clone();
        assert!(given_back.give_back_to_agent(c.last, minute(30)) && given_back.agent_owes_answer());
        c.receive_message(true, minute(60)).unwrap();
        assert!(c.agent_owes_answer() && c.waiting_since == Some(minute(60)));
    }

    #[test]
    fn only_a_pause_for_a_loop_ends_with_a_message_that_says_something_new() {
        for (reason, ends) in [(Reason::AnswerLoop, true), (Reason::TooManyTurns, false)] {
            let mut c = conversation();
            c.receive_message(true, minute(0)).unwrap();
            let until = minute(60);
            c.pause_agent(AgentPause { reason, until });
            c.receive_message(true, minute(1)).unwrap();
            assert!(!c.agent_owes_answer());
            c.end_loop_pause(minute(1));
            assert_eq!(c.agent_owes_answer(), ends, "{reason}");
            assert_eq!(c.waiting_since, Some(minute(i64::from(ends))));
        }
    }

    #[test]
    fn what_the_agent_owed_in_a_backup_waits_for_a_person_until_somebody_acts() {
        let mut c = conversation();
        assert!(!c.doubt_restored(), "nothing is owed");
        c.receive_message(true, minute(1)).unwrap();
        assert!(c.doubt_restored());
        assert_eq!(c.needs_person, Some(Reason::UnknownOutcome));
        c.receive_message(true, minute(2)).unwrap();
        assert!(
            !c.agent_owes_answer(),
            "another message does not tell whether it was answered"
        );
        assert!(!c.doubt_restored(), "once");
    }
}
