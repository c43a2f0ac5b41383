//! The times for which a tenant's records are kept.

use crate::millis::add_duration;
use jiff::{SignedDuration, Timestamp};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The word that stands in place of a number of days where records are kept for ever.
const FOREVER: &str = "forever";

/// Greatest number of days of a period: a hundred years.
const DAYS_MAX: u32 = 36_500;

/// The time for which records are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetentionPeriod {
    /// The records are deleted after this number of days, 1 to 36,500.
    Days(u32),
    /// The records are never deleted by Recado itself.
    Forever,
}

impl RetentionPeriod {
    /// Returns the time at or before which records are due for deletion at `now`. `None`: none ever is.
    pub fn due_before(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Days(days) => {
                let period = SignedDuration::from_hours(24 * i64::from(days));
                Some(add_duration(now, -period))
            }
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

/// A period as it may be written. Any other form is refused with one message.
#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenPeriod {
    Days(u32),
    Word(String),
}

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

/// A tenant's retention: what is kept for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionPolicy {
    /// Time for which messages are kept, counted from when each was stored. A conversation goes with its last message.
    #[serde(default = "default_messages")]
    pub messages: RetentionPeriod,
    /// `true` if a message loses its content when the contact deletes it for everyone.
    #[serde(default = "default_true")]
    pub remove_deleted_content: bool,
}

fn default_messages() -> RetentionPeriod {
    RetentionPeriod::Days(365)
}

fn default_true() -> bool {
    true
}

impl Default for RetentionPolicy {
    fn default() -> Self {
        Self {
            messages: default_messages(),
            remove_deleted_content: true,
        }
    }
}

impl RetentionPolicy {
    /// Returns `true` if this is the policy of a tenant that configures none.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
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
            r#"{"messages":"forever","remove_deleted_content":true}"#
        );
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
        assert!(RetentionPeriod::Days(DAYS_MAX).due_before(now).is_some());
    }
}
