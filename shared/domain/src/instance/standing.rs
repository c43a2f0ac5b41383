//! The standing of a number: its quality as WhatsApp judges it, and to how many people it may write first within 24 hours.

use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Time for which a limit that fell is told: 7 days. A business may be content with it.
const FALL_TOLD_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The quality of a number, as its recipients' blocks and reports make it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum NumberQuality {
    /// High.
    Green,
    /// Medium.
    Yellow,
    /// Low: the number may be restricted.
    Red,
    /// Not rated yet, or not told.
    #[default]
    Unknown,
}

impl NumberQuality {
    /// Reads Meta's word for a quality.
    pub fn parse(word: &str) -> Self {
        match word {
            "GREEN" => Self::Green,
            "YELLOW" => Self::Yellow,
            "RED" => Self::Red,
            _ => Self::Unknown,
        }
    }

    /// Returns the word for the quality.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The number of people to whom a business may write first within 24 hours: Meta's messaging limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagingLimit {
    /// At most so many.
    People(u32),
    /// Any number.
    Unlimited,
}

impl MessagingLimit {
    /// Reads Meta's word for a limit, such as `TIER_250`, `TIER_10K` or `TIER_UNLIMITED`. `None` for every other.
    pub fn parse(word: &str) -> Option<Self> {
        let tier = word.strip_prefix("TIER_")?;
        if tier == "UNLIMITED" {
            return Some(Self::Unlimited);
        }
        let (digits, times) = match tier.strip_suffix('K') {
            Some(digits) => (digits, 1_000),
            None => (tier, 1),
        };
        let people = digits.parse::<u32>().ok()?.checked_mul(times)?;
        (people > 0).then_some(Self::People(people))
    }

    /// Returns the number of people; `None` if there is no limit.
    pub fn people(self) -> Option<u32> {
        match self {
            Self::People(people) => Some(people),
            Self::Unlimited => None,
        }
    }

    /// Returns the limit in words.
    pub fn describe(self) -> String {
        match self {
            Self::People(people) => format!("{people} people in 24 hours"),
            Self::Unlimited => "any number of people".to_owned(),
        }
    }
}

/// The standing of a number, as a provider told it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SeenStanding {
    /// The quality.
    pub quality: NumberQuality,
    /// The limit; `None`: it was not told.
    pub limit: Option<MessagingLimit>,
}

/// The standing of a number, as it was told last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberStanding {
    /// The quality.
    pub quality: NumberQuality,
    /// Time since which the quality is this one, as far as known.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// The limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<MessagingLimit>,
    /// The higher limit before it fell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_before: Option<MessagingLimit>,
    /// Time at which the limit was found to have fallen.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub fell_at: Option<Timestamp>,
    /// Time at which it was told last.
    #[serde(with = "millis")]
    pub told_at: Timestamp,
}

impl NumberStanding {
    /// Returns the standing after a provider told `seen` at `now`. A limit that is not told stays.
    pub fn after(known: Option<Self>, seen: SeenStanding, now: Timestamp) -> Self {
        let Some(known) = known else {
            return Self {
                quality: seen.quality,
                since: now,
                limit: seen.limit,
                limit_before: None,
                fell_at: None,
                told_at: now,
            };
        };
        let limit = seen.limit.or(known.limit);
        let mut fall = known.limit_before.zip(known.fell_at);
        if let Some(before) = known
            .limit
            .filter(|before| limit.is_some_and(|limit| limit < *before))
        {
            // Of several falls the highest limit is the one to get back to.
            fall = Some((fall.map_or(before, |(first, _)| first.max(before)), now));
        }
        let lasts = |(before, at): &(MessagingLimit, Timestamp)| {
            limit.is_some_and(|limit| limit < *before) && add_duration(*at, FALL_TOLD_FOR) > now
        };
        let (limit_before, fell_at) = fall.filter(lasts).unzip();
        Self {
            quality: seen.quality,
            since: if seen.quality == known.quality {
                known.since
            } else {
                now
            },
            limit,
            limit_before,
            fell_at,
            told_at: now,
        }
    }

    /// Returns `true` if a person should know: the quality is not high, or the limit fell.
    pub fn is_troubled(&self) -> bool {
        matches!(self.quality, NumberQuality::Yellow | NumberQuality::Red) || self.fell_at.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    fn hours(count: i64) -> Timestamp {
        from_unix_millis(count * 3_600_000)
    }

    fn seen(quality: NumberQuality, limit: &str) -> SeenStanding {
        SeenStanding {
            quality,
            limit: MessagingLimit::parse(limit),
        }
    }

    #[test]
    fn a_tier_is_a_number_of_people() {
        for (word, people) in [
            ("TIER_50", Some(50)),
            ("TIER_250", Some(250)),
            ("TIER_1K", Some(1_000)),
            ("TIER_100K", Some(100_000)),
        ] {
            assert_eq!(
                MessagingLimit::parse(word),
                people.map(MessagingLimit::People),
                "{word}"
            );
        }
        assert_eq!(
            MessagingLimit::parse("TIER_UNLIMITED"),
            Some(MessagingLimit::Unlimited)
        );
        for word in ["", "TIER_", "TIER_NOT_SET", "TIER_0", "TIER_99999999K", "1K"] {
            assert_eq!(MessagingLimit::parse(word), None, "{word}");
        }
        assert!(MessagingLimit::People(100_000) < MessagingLimit::Unlimited);
    }

    #[test]
    fn a_limit_that_fell_is_told_until_it_is_back_or_for_a_week() {
        let green = NumberQuality::Green;
        let first = NumberStanding::after(None, seen(green, "TIER_10K"), hours(0));
        assert!(!first.is_troubled());
        let fallen = NumberStanding::after(Some(first), seen(green, "TIER_1K"), hours(1));
        assert_eq!(fallen.limit_before, Some(MessagingLimit::People(10_000)));
        assert!(fallen.is_troubled());
        let again = NumberStanding::after(Some(fallen), seen(green, "TIER_250"), hours(2));
        assert_eq!(again.limit_before, Some(MessagingLimit::People(10_000)));
        let half_back = NumberStanding::after(Some(again), seen(green, "TIER_2K"), hours(3));
        assert!(half_back.is_troubled());
        let back = NumberStanding::after(Some(half_back), seen(green, "TIER_10K"), hours(4));
        assert!(!back.is_troubled() && back.limit_before.is_none());
        let untold = NumberStanding::after(Some(fallen), seen(green, ""), hours(5));
        assert_eq!((untold.limit, untold.fell_at), (fallen.limit, fallen.fell_at));
        let later = NumberStanding::after(Some(fallen), seen(green, "TIER_1K"), hours(1 + 7 * 24));
        assert!(!later.is_troubled());
    }

    #[test]
    fn a_quality_has_the_time_since_which_it_is_so() {
        let first = NumberStanding::after(None, seen(NumberQuality::Yellow, ""), hours(0));
        let same = NumberStanding::after(Some(first), seen(NumberQuality::Yellow, ""), hours(1));
        assert_eq!((same.since, same.told_at), (hours(0), hours(1)));
        assert!(same.is_troubled());
        let better = NumberStanding::after(Some(same), seen(NumberQuality::Green, ""), hours(2));
        assert_eq!((better.since, better.is_troubled()), (hours(2), false));
    }
}
