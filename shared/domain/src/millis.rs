//! Times as whole milliseconds, the form in which records are stored and compared. The rules themselves count in
//! [`Timestamp`] and [`SignedDuration`].

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serializer};

/// Returns the instant of `milliseconds`, clamped to the range of a timestamp (years -9999 to 9999).
pub fn from_unix_millis(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(if milliseconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

/// Returns `at` moved by `milliseconds`, clamped instead of overflowing.
pub fn add_millis(at: Timestamp, milliseconds: i64) -> Timestamp {
    from_unix_millis(at.as_millisecond().saturating_add(milliseconds))
}

/// Returns `duration` in milliseconds, clamped instead of overflowing.
pub fn to_millis(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(if duration.is_negative() {
        i64::MIN
    } else {
        i64::MAX
    })
}

/// Returns `at` moved by `duration`, cut to milliseconds, and clamped instead of overflowing.
pub fn add_duration(at: Timestamp, duration: SignedDuration) -> Timestamp {
    add_millis(at, to_millis(duration))
}

/// Returns the first full minute at or after `at`, for schedules, which are precise to a minute.
pub fn round_up_to_minute(at: Timestamp) -> Timestamp {
    let past = at.as_millisecond().rem_euclid(60_000);
    if past == 0 {
        at
    } else {
        add_millis(at, 60_000 - past)
    }
}

/// Serializes a [`Timestamp`] as milliseconds since the Unix epoch, for `serde(with = "millis")`.
pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(at.as_millisecond())
}

/// Reads a [`Timestamp`] that [`serialize`] wrote.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    i64::deserialize(deserializer).map(from_unix_millis)
}

/// Serialization of an `Option<Timestamp>`, for `serde(with = "millis::optional")`.
pub mod optional {
    use super::{Deserialize, Deserializer, Serializer, Timestamp, from_unix_millis};

    /// Serializes an optional timestamp as milliseconds; see [`super::serialize`].
    pub fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.serialize_some(&at.as_millisecond()),
            None => serializer.serialize_none(),
        }
    }

    /// Reads an optional timestamp; see [`super::deserialize`].
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(from_unix_millis))
    }
}

/// Serialization of a list of timestamps, for `serde(with = "millis::list")`.
pub mod list {
    use super::{Deserialize, Deserializer, Serializer, Timestamp, from_unix_millis};

    /// Serializes timestamps as milliseconds; see [`super::serialize`].
    pub fn serialize<S: Serializer>(times: &[Timestamp], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(times.iter().map(|at| at.as_millisecond()))
    }

    /// Reads a list of timestamps; see [`super::deserialize`].
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Timestamp>, D::Error> {
        let times = Vec::<i64>::deserialize(deserializer)?;
        Ok(times.into_iter().map(from_unix_millis).collect())
    }
}

/// Serialization of a [`SignedDuration`] as whole milliseconds, for `serde(with = "millis::duration")`.
pub mod duration {
    use super::{Deserialize, Deserializer, Serializer, SignedDuration, to_millis};

    /// Serializes a duration as milliseconds.
    pub fn serialize<S: Serializer>(duration: &SignedDuration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(to_millis(*duration))
    }

    /// Reads a duration that [`serialize`] wrote.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SignedDuration, D::Error> {
        i64::deserialize(deserializer).map(SignedDuration::from_millis)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_inside_a_minute_is_scheduled_for_the_next() {
        for (at, minute) in [(60_000, 60_000), (60_001, 120_000), (119_999, 120_000), (-1, 0)] {
            assert_eq!(round_up_to_minute(from_unix_millis(at)), from_unix_millis(minute));
        }
    }
}
