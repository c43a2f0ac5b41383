//! Reading JSON whose types cannot be relied on: numbers that come as strings, lists that come as one object, 64-bit
//! numbers that come as `{low, high}`.

pub(crate) mod pick;
mod size;
mod surrogate;

use crate::ParseError;
use jiff::Timestamp;
use recado_domain::millis;
use serde_json::{Map, Value};

/// From here on a number of an instant is taken for milliseconds: as seconds it would lie in the year 5138.
const SECONDS_MAX: i64 = 100_000_000_000;

/// The year 3000, in milliseconds: no provider means anything later.
const MILLISECONDS_MAX: i64 = 32_503_680_000_000;

/// Reads a body that must be a JSON object.
pub(crate) fn object_of(body: &[u8]) -> Result<Map<String, Value>, ParseError> {
    match value_of(body)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(ParseError::NotEnvelope {
            what: "not an object",
        }),
    }
}

/// Reads a body that must be JSON.
pub(crate) fn value_of(body: &[u8]) -> Result<Value, ParseError> {
    if !size::is_fit_to_be_built(body) {
        return Err(ParseError::TooManyValues);
    }
    parsed(body).map_err(|_| ParseError::NotJson)
}

/// Reads any JSON. Half of a surrogate pair, which a text cut in the middle of an emoji ends with, is read as `U+FFFD`:
/// JSON allows it, Rust's strings do not, and the rest of the body counts all the same.
pub(crate) fn parsed(body: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(body).or_else(|error| match surrogate::mended(body) {
        Some(mended) => serde_json::from_slice(&mended),
        None => Err(error),
    })
}

/// The text at `key`, trimmed; `None` if it is empty, missing or not a text.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value
        .get(key)
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// The text at `key` as an owned string, with its spaces; `None` if nothing but spaces is there.
pub(crate) fn prose(value: &Value, key: &str) -> Option<String> {
    value
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

/// The text or number at `key`, as text.
pub(crate) fn scalar(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// The members of a list; one that is not a list is its own only member, and nothing or `null` has none.
pub(crate) fn list(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(members)) => members,
        None | Some(Value::Null) => &[],
        Some(one) => std::slice::from_ref(one),
    }
}

/// An integer as a number, as a string of digits, or as `{low, high}` (protobuf.js' 64-bit form).
pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a fraction of a second is dropped on purpose"
        )]
        Value::Number(number) => number
            .as_i64()
            .or_else(|| number.as_f64().map(|float| float as i64)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Object(parts) => {
            let (low, high) = (parts.get("low")?.as_i64()?, parts.get("high")?.as_i64()?);
            // `low` is signed there even where the whole is not.
            Some((high << 32) | (low & 0xffff_ffff))
        }
        _ => None,
    }
}

/// An instant in seconds or milliseconds since the epoch; `None` for what cannot be one.
pub(crate) fn instant(value: Option<&Value>) -> Option<Timestamp> {
    let number = integer(value?).filter(|number| *number > 0)?;
    let milliseconds = if number > SECONDS_MAX {
        number
    } else {
        number.saturating_mul(1000)
    };
    (milliseconds < MILLISECONDS_MAX).then(|| millis::instant(milliseconds))
}

/// A name that a provider chose (an event, a field), fit to be logged; `unknown` if it looks like anything else.
pub(crate) fn label(raw: &str) -> &str {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let digits = raw.chars().filter(char::is_ascii_digit).count();
    if !raw.is_empty() && raw.len() <= 40 && digits < 6 && raw.chars().all(fine) {
        raw
    } else {
        "unknown"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_instant_may_be_a_number_a_string_two_halves_or_milliseconds() {
        let at = millis::instant(1_760_000_000_000);
        for written in [
            json!(1_760_000_000),
            json!("1760000000"),
            json!({"low": 1_760_000_000, "high": 0, "unsigned": true}),
            json!(1_760_000_000_000_i64),
            json!("1760000000000"),
            json!(1_760_000_000.4),
        ] {
            assert_eq!(instant(Some(&written)), Some(at), "{written}");
        }
        for nonsense in [
            json!("asdf"),
            json!(0),
            json!(-5),
            json!(null),
            json!({"low": "x"}),
            json!(1e300),
        ] {
            assert_eq!(instant(Some(&nonsense)), None, "{nonsense}");
        }
    }

    #[test]
    fn halves_with_a_negative_low_part_make_the_right_number() {
        assert_eq!(integer(&json!({"low": -1, "high": 1})), Some(0x1_ffff_ffff));
    }

    #[test]
    fn a_label_is_a_short_plain_name_or_unknown() {
        assert_eq!(label("template_category_update"), "template_category_update");
        assert_eq!(label("5511900000001"), "unknown");
        assert_eq!(label("Maria Silva"), "unknown");
        assert_eq!(label(""), "unknown");
    }
}
