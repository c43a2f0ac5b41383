//! The times for which a tenant's records are kept.

use crate::millis::add_duration;
use crate::text_conversions::describe_as;
use jiff::{SignedDuration, Timestamp};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The word that stands in place of a number of days where records are kept for ever.
const FOREVER: &str = "forever";

/// Greatest number of days of a period: a hundred years.
const DAYS_MAX: u32 = 36_500;

/// The time for which records are kept. Periods are ordered by their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetentionPeriod {
    /// The records are deleted after this number of days, 1 to 36,500.
    Days(u32),
    /// The records are never deleted by Recado itself.
    Forever,
}

impl RetentionPeriod {
    /// Returns the length of the period. One without end has the greatest length that there is.
    pub fn to_duration(self) -> SignedDuration {
        match self {
            Self::Days(days) => SignedDuration::from_hours(24 * i64::from(days)),
            Self::Forever => SignedDuration::MAX,
        }
    }

    /// Returns the time at or before which records are due for deletion at `now`. `None`: none ever is.
    pub fn due_before(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Days(_) => Some(add_duration(now, -self.to_duration())),
            Self::Forever => None,
        }
    }
}

impl Serialize for RetentionPeriod {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Days(days) => serializer.serialize_u32(*days),
            Self::Forever => serializer.serialize_str(FOREVER),
        }
    }
}

/// A number of days from 1 to 36,500, or the word `forever`.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(example = 365))]
#[serde(untagged)]
enum WrittenPeriod {
    Days(u32),
    Word(String),
}

describe_as!(RetentionPeriod, WrittenPeriod);

impl<'de> Deserialize<'de> for RetentionPeriod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match WrittenPeriod::deserialize(deserializer) {
            Ok(WrittenPeriod::Days(days)) if (1..=DAYS_MAX).contains(&days) => Ok(Self::Days(days)),
            Ok(WrittenPeriod::Word(word)) if word == FOREVER => Ok(Self::Forever),
            _ => Err(D::Error::custom(
                "a retention period must be a number of days from 1 to 36500, or \"forever\"",
            )),
        }
    }
}

/// Shortest period of events and deliveries: for so long, providers repeat webhooks.
const REPEATED: RetentionPeriod = RetentionPeriod::Days(7);

/// Reads the period of records that recognize what providers repeat.
fn read_long_enough<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RetentionPeriod, D::Error> {
    let period = RetentionPeriod::deserialize(deserializer)?;
    if period < REPEATED {
        return Err(D::Error::custom(
            "the retention period of events and deliveries must be at least 7 days: for so long, providers repeat webhooks",
        ));
    }
    Ok(period)
}

fn read_optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RetentionPeriod>, D::Error> {
    read_long_enough(deserializer).map(Some)
}

/// Shortest period of the sums of what models used: budgets are of a month.
const MONTH: RetentionPeriod = RetentionPeriod::Days(31);

/// Reads the period of the sums of what models used.
fn read_usage_period<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<RetentionPeriod>, D::Error> {
    let period = RetentionPeriod::deserialize(deserializer)?;
    if period < MONTH {
        return Err(D::Error::custom(
            "the retention period of usage must be at least 31 days: budgets count the sums of a month",
        ));
    }
    Ok(Some(period))
}

/// What is kept of a tenant's records, and for how long. An absent field has its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Retention))]
#[serde(deny_unknown_fields, default)]
pub struct RetentionPolicy {
    /// Time for which messages are kept, counted from when each was stored.
    pub messages: RetentionPeriod,
    /// Time for which a conversation is kept after its last message, if it is longer than that of messages. If absent, a
    /// conversation goes with its last message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conversations: Option<RetentionPeriod>,
    /// Time for which the files of messages are kept, if it is shorter than that of messages. It counts from when each message was
    /// stored. If absent, a file goes with its message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<RetentionPeriod>,
    /// Time for which dead letters are kept, counted from the failure. Then they are given up for good.
    pub dead_letters: RetentionPeriod,
    /// Time for which an applied event is recognized again, at least 7 days. If absent, the installation's.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_optional")]
    pub events: Option<RetentionPeriod>,
    /// Time for which deliveries are kept, counted from when the provider accepted the message: at least 7 days.
    #[serde(deserialize_with = "read_long_enough")]
    pub deliveries: RetentionPeriod,
    /// Time for which the sums of what models used are kept after their day: at least 31 days. If absent, 400 days.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "read_usage_period"
    )]
    pub usage: Option<RetentionPeriod>,
    /// `true` if a message loses its content when the contact deletes it for everyone.
    pub remove_deleted_content: bool,
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self {
            messages: RetentionPeriod::Days(365),
            conversations: None,
            media: None,
            dead_letters: RetentionPeriod::Days(365),
            events: None,
            deliveries: RetentionPeriod::Days(30),
            usage: None,
            remove_deleted_content: true,
        }
    }
}

impl RetentionPolicy {
    /// Returns `true` if this is the policy of a tenant that configures none.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the time until which the file of a message is kept that was stored at `stored_at`. `None`: as long as the
    /// message.
    pub fn file_end(&self, stored_at: Timestamp) -> Option<Timestamp> {
        let period = self.media.filter(|period| *period < self.messages)?;
        Some(add_duration(stored_at, period.to_duration()))
    }

    /// Returns the time for which a conversation without messages is still kept after its last message.
    pub fn conversation_period(&self) -> RetentionPeriod {
        self.conversations.unwrap_or(self.messages).max(self.messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::millis::from_unix_millis;

    fn read(json: &str) -> Result<RetentionPolicy, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_year_is_the_default_and_for_ever_must_be_written() {
        assert_eq!(read("{}").unwrap(), RetentionPolicy::default());
        assert_eq!(RetentionPolicy::default().messages, RetentionPeriod::Days(365));
        let forever = read(r#"{"messages":"forever"}"#).unwrap();
        assert_eq!(forever.messages, RetentionPeriod::Forever);
        assert_eq!(
            serde_json::to_string(&forever).unwrap(),
            r#"{"messages":"forever","dead_letters":365,"deliveries":30,"remove_deleted_content":true}"#
        );
        for field in ["conversations", "dead_letters", "events", "deliveries", "usage"] {
            let policy = read(&format!(r#"{{"{field}":"forever"}}"#)).unwrap();
            assert!(
                serde_json::to_string(&policy)
                    .unwrap()
                    .contains(&format!(r#""{field}":"forever""#))
            );
        }
    }

    #[test]
    fn what_recognizes_repeated_webhooks_is_kept_for_seven_days_at_least() {
        for field in ["events", "deliveries"] {
            assert!(read(&format!(r#"{{"{field}":6}}"#)).is_err_and(|why| why.contains("at least 7 days")));
            assert!(read(&format!(r#"{{"{field}":7}}"#)).is_ok());
        }
    }

    #[test]
    fn a_file_has_an_end_of_its_own_only_before_that_of_its_message() {
        let end = |json: &str| read(json).unwrap().file_end(from_unix_millis(0));
        let day = |days: i64| Some(from_unix_millis(days * 86_400_000));
        assert_eq!(end("{}"), None);
        assert_eq!(end(r#"{"media":30}"#), day(30));
        assert_eq!(end(r#"{"media":30,"messages":"forever"}"#), day(30));
        assert_eq!(end(r#"{"media":30,"messages":30}"#), None, "with its message");
        assert_eq!(end(r#"{"media":"forever","messages":"forever"}"#), None);
    }

    #[test]
    fn sums_are_kept_for_a_month_at_least() {
        assert!(read(r#"{"usage":30}"#).is_err_and(|why| why.contains("at least 31 days")));
        assert_eq!(
            read(r#"{"usage":31}"#).unwrap().usage,
            Some(RetentionPeriod::Days(31))
        );
    }

    #[test]
    fn a_conversation_is_kept_at_least_as_long_as_its_messages() {
        let of = |json| read(json).unwrap().conversation_period();
        assert_eq!(of(r#"{"messages":30}"#), RetentionPeriod::Days(30));
        assert_eq!(
            of(r#"{"messages":30,"conversations":90}"#),
            RetentionPeriod::Days(90)
        );
        assert_eq!(of(r#"{"messages":"forever"}"#), RetentionPeriod::Forever);
    }

    #[test]
    fn no_days_too_many_days_and_other_words_are_refused() {
        for wrong in [
            "0",
            "-1",
            "36501",
            "1.5",
            "null",
            "\"never\"",
            "\"\"",
            "true",
            "\"30\"",
        ] {
            let found = read(&format!(r#"{{"messages":{wrong}}}"#));
            assert!(
                found.is_err_and(|why| why.contains("retention period")),
                "{wrong}"
            );
        }
        assert!(read(r#"{"message":30}"#).is_err());
    }

    #[test]
    fn records_are_due_after_as_many_days_as_the_period_has() {
        let now = from_unix_millis(100 * 86_400_000);
        assert_eq!(
            RetentionPeriod::Days(30).due_before(now),
            Some(from_unix_millis(70 * 86_400_000))
        );
        assert_eq!(RetentionPeriod::Forever.due_before(now), None);
        assert_eq!(
            add_duration(now, RetentionPeriod::Forever.to_duration()),
            Timestamp::MAX
                .round(jiff::Unit::Millisecond)
                .unwrap_or(Timestamp::MAX)
        );
        assert!(RetentionPeriod::Days(DAYS_MAX).due_before(now).is_some());
    }
}
