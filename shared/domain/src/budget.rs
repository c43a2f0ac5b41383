//! The budget of a tenant for a month, and how much of it was used.

use crate::price::{Cost, Currency, PriceList, format_millionths, parse_decimal};
use crate::usage::UsageSum;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::num::NonZeroU64;

/// Part of a budget, in per cent, from which on it is told.
const WARNING_PERCENT: u64 = 80;

/// Greatest budget: ten million units of a currency, in millionths.
const AMOUNT_MAX: u64 = 10_000_000_000_000;

/// An amount of money in millionths of a unit, more than nothing. It is written as a decimal number in quotes, such as `"250"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetAmount(u64);

impl Serialize for BudgetAmount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_millionths(self.0))
    }
}

impl<'de> Deserialize<'de> for BudgetAmount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = || {
            D::Error::custom(
                "the amount of a budget must be a decimal number in quotes, above 0 and up to 10000000, such as \"250\"",
            )
        };
        let text = String::deserialize(deserializer).map_err(|_| wrong())?;
        let amount = parse_decimal(&text).filter(|amount| (1..=AMOUNT_MAX).contains(amount));
        amount.map(Self).ok_or_else(wrong)
    }
}

/// A tenant's budget for each month, in UTC: of tokens, of money, or of both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MonthlyBudget {
    /// Number of tokens that its agents' models may use in a month.
    #[cfg_attr(feature = "schema", schema(value_type = Option<u64>, minimum = 1))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<NonZeroU64>,
    /// Amount that they may cost, by the prices of the installation: a decimal number.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "250.00"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<BudgetAmount>,
    /// Currency of the amount.
    #[cfg_attr(feature = "schema", schema(default = "USD"))]
    #[serde(default)]
    pub currency: Currency,
    /// `true` if the agents pause until the next month once the budget is used up. Otherwise it is only told.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop: bool,
}

impl MonthlyBudget {
    /// Checks that the budget limits something. Returns what is wrong.
    pub fn check_budget(&self) -> Result<(), &'static str> {
        if self.tokens.is_some() || self.amount.is_some() {
            return Ok(());
        }
        Err("budget needs tokens or amount")
    }

    /// Returns the used part of the budget, in whole per cent; of tokens and money the greater. `sums` are those of the month.
    pub fn measure_use(&self, sums: &[UsageSum], prices: &PriceList) -> BudgetUse {
        let mut cost = Cost::default();
        let mut tokens = 0_u64;
        for sum in sums {
            cost.add_cost(&prices.price_sum(sum));
            tokens = tokens.saturating_add(sum.tokens.count_all_tokens());
        }
        let share = |used: u64, limit: u64| u128::from(used) * 100 / u128::from(limit.max(1));
        let of_tokens = self.tokens.map(|limit| share(tokens, limit.get()));
        let spent = cost.find_amount(&self.currency);
        let of_amount = self.amount.map(|limit| share(spent, limit.0));
        let percent = of_tokens.max(of_amount).unwrap_or_default();
        BudgetUse {
            percent: u64::try_from(percent).unwrap_or(u64::MAX),
        }
    }
}

/// The used part of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetUse {
    /// The part, in whole per cent, rounded down.
    pub percent: u64,
}

impl BudgetUse {
    /// Returns `true` if people should know that the budget will be used up.
    pub fn is_nearly_used_up(self) -> bool {
        self.percent >= WARNING_PERCENT
    }

    /// Returns `true` if nothing is left.
    pub fn is_used_up(self) -> bool {
        self.percent >= 100
    }
}

/// Returns the time at which the month after that of `at` begins, in UTC.
pub fn begin_of_next_month(at: Timestamp) -> Timestamp {
    let first = at.to_zoned(TimeZone::UTC).date().first_of_month();
    let next = first.saturating_add(1.month());
    next.to_zoned(TimeZone::UTC).map_or(at, |begin| begin.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AgentId, TenantId};
    use crate::usage::TokenUsage;
    use serde_json::json;

    fn budget(written: &serde_json::Value) -> Result<MonthlyBudget, serde_json::Error> {
        serde_json::from_value(written.clone())
    }

    fn sum(model: &str, input_tokens: u64) -> UsageSum {
        let (tenant, agent) = (TenantId::parse("t").unwrap(), AgentId::parse("a").unwrap());
        let day = jiff::civil::date(2026, 11, 23);
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
    fn tokens_and_money_count_each_for_itself_and_the_greater_part_is_told() {
        let prices: PriceList =
            serde_json::from_value(json!([{"model": "large", "input": "10", "output": "10"}])).unwrap();
        let percent = |written: serde_json::Value, tokens| {
            budget(&written)
                .unwrap()
                .measure_use(&[sum("large", tokens), sum("other", 0)], &prices)
                .percent
        };
        assert_eq!(percent(json!({"tokens": 1_000}), 799), 79);
        assert_eq!(percent(json!({"tokens": 1_000}), 800), 80);
        assert_eq!(percent(json!({"amount": "0.01"}), 999), 99);
        assert_eq!(percent(json!({"amount": "0.01"}), 1_000), 100);
        assert_eq!(percent(json!({"amount": "0.01", "currency": "EUR"}), 1_000), 0);
        assert_eq!(percent(json!({"amount": "0.01", "tokens": 10_000}), 500), 50);
        assert_eq!(percent(json!({"amount": "10", "tokens": 1}), u64::MAX), u64::MAX);
        let used = |percent| BudgetUse { percent };
        assert!(!used(79).is_nearly_used_up() && used(80).is_nearly_used_up());
        assert!(!used(99).is_used_up() && used(100).is_used_up());
    }

    #[test]
    fn a_budget_limits_something_and_is_written_exactly() {
        assert!(budget(&json!({})).unwrap().check_budget().is_err());
        assert!(budget(&json!({"tokens": 1})).unwrap().check_budget().is_ok());
        let written = json!({"amount": "250.00", "currency": "BRL", "stop": true});
        assert_eq!(serde_json::to_value(budget(&written).unwrap()).unwrap(), written);
        for wrong in [
            json!({"amount": 250}),
            json!({"amount": "0"}),
            json!({"amount": "10000000.01"}),
            json!({"tokens": 0}),
            json!({"tokens": 1, "money": "1"}),
        ] {
            assert!(budget(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_month_ends_where_the_next_begins() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        for (now, next) in [
            ("2026-11-30T23:59:59Z", "2026-12-01T00:00:00Z"),
            ("2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
            ("2028-02-29T12:00:00Z", "2028-03-01T00:00:00Z"),
        ] {
            assert_eq!(begin_of_next_month(at(now)), at(next));
        }
    }
}
