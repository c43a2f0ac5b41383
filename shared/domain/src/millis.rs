//! Instants as whole milliseconds since the Unix epoch, the form in which records are stored and compared.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serializer};

/// The instant of `milliseconds`, clamped to what a timestamp can hold (years -9999 to 9999).
pub fn from_unix_millis(milliseconds: i64) -> Timestamp {
    Timestamp::from_millisecond(milliseconds).unwrap_or(if milliseconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    })
}

/// `at` moved by `milliseconds`, clamped instead of overflowing.
pub fn add_millis(at: Timestamp, milliseconds: i64) -> Timestamp {
    from_unix_millis(at.as_millisecond().saturating_add(milliseconds))
}

/// `serde(with = "millis")` for a [`Timestamp`].
pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(at.as_millisecond())
}

/// See [`serialize`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    i64::deserialize(deserializer).map(from_unix_millis)
}

/// `serde(with = "millis::optional")` for an `Option<Timestamp>`.
pub mod optional {
    use super::{Deserialize, Deserializer, Serializer, Timestamp, from_unix_millis};

    /// See [`super::serialize`].
    pub fn serialize<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => serializer.serialize_some(&at.as_millisecond()),
            None => serializer.serialize_none(),
        }
    }

    /// See [`super::deserialize`].
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
        Ok(Option::<i64>::deserialize(deserializer)?.map(from_unix_millis))
    }
}
