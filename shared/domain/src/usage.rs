//! The use of models: what each reply of an agent used, and the sums by tenant, agent, model and day. Beside them stand the
//! messages for which the provider charges, by their category and the country of their recipients.

use crate::country::Country;
use crate::delivery::MessageCharge;
use crate::ids::{AgentId, TenantId};
use crate::message::Message;
use crate::millis::add_duration;
pub use crate::model_use::{ModelUse, TokenUsage};
use crate::provider::Provider;
use crate::retention::RetentionPeriod;
pub use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Time for which sums are kept after their day, unless their tenant says otherwise: 400 days.
pub const USAGE_RETENTION: SignedDuration = SignedDuration::from_hours(400 * 24);

/// The use of one model by one agent on one day. Or the charged messages of one category to one country.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageSum {
    /// The agent's tenant.
    pub tenant: TenantId,
    /// The agent.
    pub agent: AgentId,
    /// The day, in UTC.
    pub day: Date,
    /// Name of the model, as its API reports it; for charged messages the provider and the category, such as `meta:utility`.
    pub model: String,
    /// Country of the recipients of charged messages, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<Country>,
    /// Number of replies that the model wrote.
    pub replies: u64,
    /// Number of finished drafts that became no reply.
    #[serde(default)]
    pub discarded_drafts: u64,
    /// Number of recordings that the model transcribed.
    #[serde(default)]
    pub recordings: u64,
    /// Length of the recordings, in milliseconds, where the model's API tells it in place of tokens.
    #[serde(default)]
    pub audio_millis: u64,
    /// Number of messages for which the provider charges.
    #[serde(default)]
    pub charged_messages: u64,
    /// Tokens of all of them, and of questions that the model wrote again for a search.
    #[serde(flatten)]
    pub tokens: TokenUsage,
    /// Time for which the sum is kept after its day, as its tenant says when it is written. A sum that was read does not tell it.
    #[serde(skip)]
    pub kept: Option<RetentionPeriod>,
}

impl UsageSum {
    /// Makes the sum of nothing.
    pub fn start_empty(tenant: &TenantId, agent: &AgentId, day: Date, model: &str) -> Self {
        Self {
            tenant: tenant.clone(),
            agent: agent.clone(),
            day,
            model: model.to_owned(),
            country: None,
            replies: 0,
            discarded_drafts: 0,
            recordings: 0,
            audio_millis: 0,
            charged_messages: 0,
            tokens: TokenUsage::default(),
            kept: None,
        }
    }

    /// Returns the time at which the record of the sum expires.
    pub fn expires_at(&self) -> Timestamp {
        let begin = self.day.to_zoned(TimeZone::UTC).map(|day| day.timestamp());
        let kept = self.kept.map_or(USAGE_RETENTION, RetentionPeriod::to_duration);
        add_duration(begin.unwrap_or(Timestamp::MAX), kept)
    }

    /// Adds another sum to this one.
    fn add_other_sum(&mut self, other: &Self) {
        self.replies = self.replies.saturating_add(other.replies);
        self.discarded_drafts = self.discarded_drafts.saturating_add(other.discarded_drafts);
        self.recordings = self.recordings.saturating_add(other.recordings);
        self.audio_millis = self.audio_millis.saturating_add(other.audio_millis);
        self.charged_messages = self.charged_messages.saturating_add(other.charged_messages);
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
    let day = resolve_usage_day(first.stored_at);
    let sum = |model: &str, replies, tokens| UsageSum {
        replies,
        tokens,
        kept: turn.usage_kept,
        ..UsageSum::start_empty(&first.tenant, agent, day, model)
    };
    let reply = first.model.as_deref().zip(first.usage);
    let reply = reply.map(|(model, tokens)| sum(model, 1, tokens));
    let others = turn.rewriting.as_deref().into_iter().chain(&turn.unused_answers);
    let others = others.map(|used| sum(&used.model, 0, used.tokens));
    merge_usage_sums(reply.into_iter().chain(others))
}

/// Returns what the transcription of the message's recording used; `None` if it was not transcribed for an agent.
pub fn usage_of_transcript(message: &Message) -> Option<UsageSum> {
    let found = message.file.as_ref()?.found_text()?;
    let (used, model) = (found.used.as_deref()?, found.model.as_deref()?);
    Some(UsageSum {
        recordings: 1,
        audio_millis: used.audio_millis,
        tokens: used.tokens,
        kept: used.kept,
        ..UsageSum::start_empty(&message.tenant, &used.agent, used.day, model)
    })
}

/// Returns the sum of one message that the provider charges, under a name such as `meta:utility`.
pub fn usage_of_charge(
    charge: MessageCharge<'_>,
    provider: Provider,
    tenant: &TenantId,
    agent: &AgentId,
) -> UsageSum {
    let name = format!("{}:{}", provider.as_str(), charge.category);
    UsageSum {
        charged_messages: 1,
        country: charge.country,
        ..UsageSum::start_empty(tenant, agent, resolve_usage_day(charge.at), &name)
    }
}

/// Returns all that models used for a message: for the reply, or for the words of a recording.
pub fn usage_of_message(message: &Message) -> Vec<UsageSum> {
    let mut sums = usage_of_reply(std::slice::from_ref(message));
    sums.extend(usage_of_transcript(message));
    sums
}

/// Merges sums of the same tenant, agent, day, model and country. The result is ordered by these.
pub fn merge_usage_sums(sums: impl IntoIterator<Item = UsageSum>) -> Vec<UsageSum> {
    let mut merged: BTreeMap<_, UsageSum> = BTreeMap::new();
    for sum in sums {
        let names = (sum.tenant.clone(), sum.day, sum.agent.clone());
        let key = (names, sum.model.clone(), sum.country);
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
        let (tenant, agent) = (TenantId::parse("t").unwrap(), AgentId::parse(agent).unwrap());
        let day = resolve_usage_day(from_unix_millis(86_400_000));
        UsageSum {
            replies: 1,
            tokens: TokenUsage {
                input_tokens,
                ..TokenUsage::default()
            },
            ..UsageSum::start_empty(&tenant, &agent, day, model)
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
    fn a_sum_is_kept_for_400_days_after_the_beginning_of_its_day_or_as_its_tenant_says() {
        let text = serde_json::to_value(sum("a", "m", 3)).unwrap();
        assert_eq!(
            (&text["day"], &text["input_tokens"]),
            (&"1970-01-02".into(), &3.into())
        );
        let days = |kept| {
            let kept = UsageSum {
                kept,
                ..sum("a", "m", 3)
            };
            kept.expires_at().as_second() / 86_400
        };
        assert_eq!(days(None), 401);
        assert_eq!(days(Some(RetentionPeriod::Days(31))), 32);
        assert!(days(Some(RetentionPeriod::Forever)) > 2_000_000);
    }
}
