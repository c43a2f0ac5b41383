//! The use of models: what each reply of an agent used, and the sums by tenant, agent, model and day.

use crate::ids::{AgentId, TenantId};
use crate::message::Message;
use crate::millis::add_duration;
pub use crate::model_use::{ModelUse, TokenUsage};
pub use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Time for which sums are kept after their day: 400 days.
pub const USAGE_RETENTION: SignedDuration = SignedDuration::from_hours(400 * 24);

/// The use of one model by one agent on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageSum {
    /// The agent's tenant.
    pub tenant: TenantId,
    /// The agent.
    pub agent: AgentId,
    /// The day, in UTC.
    pub day: Date,
    /// Name of the model, as its API reports it.
    pub model: String,
    /// Number of replies that the model wrote.
    pub replies: u64,
    /// Tokens of all of them, and of questions that the model wrote again for a search.
    #[serde(flatten)]
    pub tokens: TokenUsage,
}

impl UsageSum {
    /// Returns the time at which the record of the sum expires.
    pub fn expires_at(&self) -> Timestamp {
        let begin = self.day.to_zoned(TimeZone::UTC).map(|day| day.timestamp());
        add_duration(begin.unwrap_or(Timestamp::MAX), USAGE_RETENTION)
    }

    /// Adds another sum to this one.
    fn add_other_sum(&mut self, other: &Self) {
        self.replies = self.replies.saturating_add(other.replies);
        self.tokens = self.tokens.add_token_counts(other.tokens);
    }
}

/// Returns the day of a time, in UTC.
pub fn resolve_usage_day(at: Timestamp) -> Date {
    at.to_zoned(TimeZone::UTC).date()
}

/// Returns the time at which the day after that of `at` begins, in UTC.
pub fn begin_of_next_day(at: Timestamp) -> Timestamp {
    let today = resolve_usage_day(at).to_zoned(TimeZone::UTC);
    let begin = today.map_or(at, |day| day.timestamp());
    add_duration(begin, SignedDuration::from_hours(24))
}

/// Returns the day `days` days before `day`.
pub fn subtract_whole_days(day: Date, days: u32) -> Date {
    day.saturating_sub(SignedDuration::from_hours(24 * i64::from(days)))
}

/// Returns what the reply of these parts used, one sum for each model. It is empty if no model was asked, or if its agent is
/// not known.
pub fn usage_of_reply(parts: &[Message]) -> Vec<UsageSum> {
    let Some(first) = parts.first() else {
        return Vec::new();
    };
    let Some(turn) = first.out.as_ref().and_then(|out| out.turn.as_ref()) else {
        return Vec::new();
    };
    let Some(agent) = &turn.agent else {
        return Vec::new();
    };
    let sum = |model: &str, replies, tokens| UsageSum {
        tenant: first.tenant.clone(),
        agent: agent.clone(),
        day: resolve_usage_day(first.stored_at),
        model: model.to_owned(),
        replies,
        tokens,
    };
    let reply = first.model.as_deref().zip(first.usage);
    let reply = reply.map(|(model, tokens)| sum(model, 1, tokens));
    let rewriting = turn.rewriting.as_ref();
    let rewriting = rewriting.map(|used| sum(&used.model, 0, used.tokens));
    merge_usage_sums(reply.into_iter().chain(rewriting))
}

/// Merges sums of the same tenant, agent, day and model. The result is ordered by these.
pub fn merge_usage_sums(sums: impl IntoIterator<Item = UsageSum>) -> Vec<UsageSum> {
    let mut merged: BTreeMap<_, UsageSum> = BTreeMap::new();
    for sum in sums {
        let key = (sum.tenant.clone(), sum.day, sum.agent.clone(), sum.model.clone());
        match merged.get_mut(&key) {
            Some(known) => known.add_other_sum(&sum),
            None => {
                merged.insert(key, sum);
            }
        }
    }
    merged.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    fn sum(agent: &str, model: &str, input_tokens: u64) -> UsageSum {
        UsageSum {
            tenant: TenantId::parse("t").unwrap(),
            agent: AgentId::parse(agent).unwrap(),
            day: resolve_usage_day(from_unix_millis(86_400_000)),
            model: model.to_owned(),
            replies: 1,
            tokens: TokenUsage {
                input_tokens,
                ..TokenUsage::default()
            },
        }
    }

    #[test]
    fn sums_of_one_agent_and_model_become_one() {
        let merged = merge_usage_sums([
            sum("a", "m", 3),
            sum("b", "m", 5),
            sum("a", "m", 4),
            sum("a", "n", 1),
        ]);
        let told: Vec<_> = merged
            .iter()
            .map(|one| {
                (
                    one.agent.as_str(),
                    one.model.as_str(),
                    one.replies,
                    one.tokens.input_tokens,
                )
            })
            .collect();
        assert_eq!(told, [("a", "m", 2, 7), ("a", "n", 1, 1), ("b", "m", 1, 5)]);
    }

    #[test]
    fn a_sum_is_kept_for_400_days_after_the_beginning_of_its_day() {
        let text = serde_json::to_value(sum("a", "m", 3)).unwrap();
        assert_eq!(
            (&text["day"], &text["input_tokens"]),
            (&"1970-01-02".into(), &3.into())
        );
        let days = sum("a", "m", 3).expires_at().as_second() / 86_400;
        assert_eq!(days, 401);
    }
}
