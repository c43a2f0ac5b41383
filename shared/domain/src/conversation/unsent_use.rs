//! The use of models in turns that ended without a reply: a draft that was discarded, or a turn that ended before its draft.

use super::Conversation;
use crate::ids::AgentId;
use crate::model_use::{ModelUse, TokenUsage};
use crate::retention::RetentionPeriod;
use crate::usage::{UsageSum, merge_usage_sums};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// Number of entries that a conversation keeps. Beyond it the oldest is added to the next of its agent and model.
const ENTRIES_MAX: usize = 8;

/// The use of models by a turn that ended without a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsentUse {
    /// The agent of the turn.
    pub agent: AgentId,
    /// The models that were asked, with their tokens.
    pub models: Vec<ModelUse>,
    /// Name of the model that wrote the draft; `None` if the turn ended before one was written.
    pub drafted_by: Option<String>,
    /// Time for which the tenant keeps sums of what models used, if it is not the usual one.
    pub kept: Option<RetentionPeriod>,
}

/// The use of one model by one agent on one day, in turns that ended without a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationUse {
    /// The agent.
    pub agent: AgentId,
    /// The day, in UTC; of several days the last.
    pub day: Date,
    /// Name of the model, as its API reports it.
    pub model: String,
    /// Number of finished drafts.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub drafts: u64,
    /// Tokens.
    #[serde(flatten)]
    pub tokens: TokenUsage,
}

impl Conversation {
    /// Records what a turn used that ended without a reply on this day. Returns what is to be added to the sums of the tenant,
    /// together with the write of the conversation.
    pub fn record_unsent_use(&mut self, unsent: &UnsentUse, day: Date) -> Vec<UsageSum> {
        let sum = |used: &ModelUse| UsageSum {
            tokens: used.tokens,
            kept: unsent.kept,
            ..UsageSum::start_empty(&self.tenant, &unsent.agent, day, &used.model)
        };
        let mut sums = merge_usage_sums(unsent.models.iter().map(sum));
        let drafted_by = unsent.drafted_by.as_deref();
        if let Some(drafted) = sums.iter_mut().find(|sum| Some(sum.model.as_str()) == drafted_by) {
            drafted.discarded_drafts = 1;
        }
        for sum in &sums {
            self.keep_unsent_use(ConversationUse {
                agent: sum.agent.clone(),
                day,
                model: sum.model.clone(),
                drafts: sum.discarded_drafts,
                tokens: sum.tokens,
            });
        }
        sums
    }

    /// Returns what models used in the conversation's turns without a reply.
    pub fn list_unsent_use(&self) -> impl Iterator<Item = UsageSum> {
        self.unsent_use.iter().map(|used| UsageSum {
            discarded_drafts: used.drafts,
            tokens: used.tokens,
            ..UsageSum::start_empty(&self.tenant, &used.agent, used.day, &used.model)
        })
    }

    fn keep_unsent_use(&mut self, used: ConversationUse) {
        let is_same = |known: &ConversationUse, other: &ConversationUse| {
            known.agent == other.agent && known.model == other.model
        };
        let add = |known: &mut ConversationUse, other: &ConversationUse| {
            known.drafts = known.drafts.saturating_add(other.drafts);
            known.tokens = known.tokens.add_token_counts(other.tokens);
        };
        let mut kept = self.unsent_use.iter_mut();
        match kept.find(|known| is_same(known, &used) && known.day == used.day) {
            Some(known) => add(known, &used),
            None => self.unsent_use.push(used),
        }
        if self.unsent_use.len() > ENTRIES_MAX {
            let oldest = self.unsent_use.remove(0);
            let mut kept = self.unsent_use.iter_mut();
            if let Some(next) = kept.find(|known| is_same(known, &oldest)) {
                add(next, &oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::conversation;
    use super::*;
    use jiff::civil::date;

    fn used(model: &str, input_tokens: u64) -> ModelUse {
        ModelUse {
            model: model.to_owned(),
            tokens: TokenUsage {
                input_tokens,
                ..TokenUsage::default()
            },
        }
    }

    fn unsent(models: Vec<ModelUse>) -> UnsentUse {
        UnsentUse {
            agent: AgentId::parse("clara").unwrap(),
            models,
            drafted_by: Some("large".to_owned()),
            kept: None,
        }
    }

    #[test]
    fn a_turn_without_a_reply_adds_to_the_sums_and_to_the_conversation() {
        let mut c = conversation();
        let turn = unsent(vec![used("large", 5), used("light", 2), used("large", 3)]);
        let sums = c.record_unsent_use(&turn, date(2026, 11, 23));
        let told: Vec<_> = sums
            .iter()
            .map(|sum| {
                (
                    sum.model.as_str(),
                    sum.tokens.input_tokens,
                    sum.discarded_drafts,
                    sum.replies,
                )
            })
            .collect();
        assert_eq!(told, [("large", 8, 1, 0), ("light", 2, 0, 0)]);
        assert_eq!(c.list_unsent_use().collect::<Vec<_>>(), sums);
        let nothing = UnsentUse {
            models: Vec::new(),
            ..turn
        };
        assert_eq!(c.record_unsent_use(&nothing, date(2026, 11, 23)), []);
    }

    #[test]
    fn after_many_days_the_sum_stays_whole_in_few_entries() {
        let mut c = conversation();
        for day in 1..=20 {
            c.record_unsent_use(&unsent(vec![used("large", 1)]), date(2026, 11, day));
        }
        let total: u64 = c.list_unsent_use().map(|sum| sum.tokens.input_tokens).sum();
        assert_eq!((c.unsent_use.len(), total), (ENTRIES_MAX, 20));
        assert_eq!(
            c.unsent_use.last().map(|entry| entry.day),
            Some(date(2026, 11, 20))
        );
    }
}
