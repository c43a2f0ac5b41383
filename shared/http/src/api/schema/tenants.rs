//! Schemas of a tenant's budget and of the times for which its records are kept.

use serde::Serialize;
use utoipa::ToSchema;

/// A tenant's budget for each month, of tokens, of money, or of both.
#[derive(Serialize, ToSchema)]
#[schema(as = MonthlyBudget)]
#[serde(deny_unknown_fields)]
pub(super) struct MonthlyBudgetSchema {
    /// Number of tokens that its agents' models may use in a month.
    #[schema(minimum = 1)]
    tokens: Option<u64>,
    /// Amount that they may cost by the prices of the installation: a decimal number.
    #[schema(example = "250.00")]
    amount: Option<String>,
    /// Currency of the amount.
    #[schema(required = false, default = "USD", pattern = "^[A-Z]{3}$")]
    currency: String,
    /// `true` if the agents pause until the next month once the budget is used up.
    #[schema(required = false, default = false)]
    stop: bool,
}

/// What is kept of a tenant's records, and for how long.
#[derive(Serialize, ToSchema)]
#[schema(as = Retention)]
#[serde(deny_unknown_fields)]
pub(super) struct RetentionSchema {
    /// Time for which messages are kept, from when each was stored. If absent, 365 days.
    #[schema(required = false)]
    messages: RetentionPeriodSchema,
    /// Time for which a conversation is kept after its last message, not less than that of messages. If absent, it goes with
    /// its last message.
    conversations: Option<RetentionPeriodSchema>,
    /// Time for which the files of messages are kept, not more than that of messages. If absent, a file goes with its message.
    media: Option<RetentionPeriodSchema>,
    /// Time for which dead letters are kept, from the failure. If absent, 365 days.
    #[schema(required = false)]
    dead_letters: RetentionPeriodSchema,
    /// Time for which an applied event is recognized again, at least 7 days. If absent, the installation's.
    events: Option<RetentionPeriodSchema>,
    /// Time for which deliveries are kept, from when the message was accepted: at least 7 days. If absent, 30 days.
    #[schema(required = false)]
    deliveries: RetentionPeriodSchema,
    /// Time for which the sums of what models used are kept after their day: at least 31 days. If absent, 400 days.
    usage: Option<RetentionPeriodSchema>,
    /// `true` if a message loses its content when the contact deletes it for everyone.
    #[schema(required = false, default = true)]
    remove_deleted_content: bool,
}

/// A number of days from 1 to 36,500, or the word `forever`.
#[derive(Serialize, ToSchema)]
#[schema(as = RetentionPeriod, example = 365)]
#[serde(untagged)]
#[expect(dead_code, reason = "it only describes")]
enum RetentionPeriodSchema {
    Days(u32),
    Forever(String),
}
