//! Reads JSON whose types are not reliable: numbers that come as strings, lists that come as one object, 64-bit numbers
//! that come as `{low, high}`.

pub(crate) mod extract;
mod size;
mod surrogate;

use jiff::Timestamp;
use recado_domain::json_depth::{is_nested_too_deep, prune_deep_values};
use recado_domain::millis;
use serde::de::Error;
use serde_json::{Map, Value};

/// Largest number that counts as seconds. In seconds a larger one would be after the year 5138, so it is milliseconds.
const SECONDS_MAX: i64 = 100_000_000_000;

/// Upper bound of a time, in milliseconds: the year 3000. No provider means a later time.
const MILLISECONDS_MAX: i64 = 32_503_680_000_000;

/// The reason why a body is not a valid webhook: HTTP 400. The texts never repeat the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookParseError {
    /// Body is not JSON.
    #[error("the body is not JSON")]
    NotJson,
    /// Body is nested so deeply that its record could not be read again.
    #[error("the body is nested too deeply")]
    TooDeep,
    /// Body has more values than any provider sends at once. In memory it would take many times its own size.
    #[error("the body holds too many values")]
    TooManyValues,
    /// Body is JSON, but not of this provider's form.
    #[error("the body is not a webhook of this provider: {what}")]
    NotEnvelope {
        /// Description of the missing or wrong part.
        what: &'static str,
    },
}

/// Parses a body that must be a JSON object.
pub(crate) fn parse_json_object(body: &[u8]) -> Result<Map<String, Value>, WebhookParseError> {
    match parse_json_body(body)? {
        Value::Object(fields) => Ok(fields),
        _ => Err(WebhookParseError::NotEnvelope {
            what: "not an object",
        }),
    }
}

/// Parses a body that must be JSON with a limited number of values.
pub(crate) fn parse_json_body(body: &[u8]) -> Result<Value, WebhookParseError> {
    if !size::is_small_enough(body) {
        return Err(WebhookParseError::TooManyValues);
    }
    if is_nested_too_deep(body) {
        return Err(WebhookParseError::TooDeep);
    }
    parse_lenient_json(body).map_err(|_| WebhookParseError::NotJson)
}

/// Parses any JSON and replaces lone halves of surrogate pairs by `U+FFFD`. A text that was cut in the middle of an
/// emoji ends with a lone half: JSON allows it, Rust's strings do not, and the rest of the body must still be readable. JSON that is
/// [nested too deeply](recado_domain::json_depth) is refused: what is kept of it must be readable in its record.
pub fn parse_lenient_json(body: &[u8]) -> serde_json::Result<Value> {
    if is_nested_too_deep(body) {
        return Err(serde_json::Error::custom("nested too deeply"));
    }
    serde_json::from_slice(body).or_else(|error| match surrogate::replace_lone_surrogates(body) {
        Some(mended) => serde_json::from_slice(&mended),
        None => Err(error),
    })
}

/// Parses JSON as [`parse_lenient_json`] does, but leaves out only what is nested too deeply: one record of many must not hide the
/// others.
pub(crate) fn parse_pruned_json(body: &[u8]) -> serde_json::Result<Value> {
    parse_lenient_json(&prune_deep_values(body))
}

/// Returns the text at `key`, trimmed; `None` if it is empty, missing or not a text.
pub fn get_text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value
        .get(key)
        .and_then(Value::as_str)
        .map(str::trim)
        .filter(|text| !text.is_empty())
}

/// Returns the text at `key` untrimmed; `None` if it is missing or has nothing but spaces.
pub(crate) fn get_untrimmed_text(value: &Value, key: &str) -> Option<String> {
    value
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.trim().is_empty())
        .map(str::to_owned)
}

/// Returns the text or number at `key` as text.
pub(crate) fn get_scalar_text(value: &Value, key: &str) -> Option<String> {
    match value.get(key)? {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the members of a list. A value that is not a list counts as its only member; a missing value or `null` has
/// none.
pub fn list_members(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::Array(members)) => members,
        None | Some(Value::Null) => &[],
        Some(one) => std::slice::from_ref(one),
    }
}

/// Reads an integer from a number, a string of digits, or `{low, high}` (protobuf.js' 64-bit form).
pub(crate) fn parse_integer(value: &Value) -> Option<i64> {
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
            // `low` is a signed number even if the 64-bit number is unsigned.
            Some((high << 32) | (low & 0xffff_ffff))
        }
        _ => None,
    }
}

/// Reads a time in seconds or milliseconds since the epoch; `None` if the value cannot be a time.
pub(crate) fn parse_timestamp(value: Option<&Value>) -> Option<Timestamp> {
    let number = parse_integer(value?).filter(|number| *number > 0)?;
    let milliseconds = if number > SECONDS_MAX {
        number
    } else {
        number.saturating_mul(1000)
    };
    (milliseconds < MILLISECONDS_MAX).then(|| millis::from_unix_millis(milliseconds))
}

/// Returns a name that a provider chose (an event, a field) if it is safe to log, or else `unknown`.
pub(crate) fn sanitize_label(raw: &str) -> &str {
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
        let at = millis::from_unix_millis(1_760_000_000_000);
        for written in [
            json!(1_760_000_000),
            json!("1760000000"),
            json!({"low": 1_760_000_000, "high": 0, "unsigned": true}),
            json!(1_760_000_000_000_i64),
            json!("1760000000000"),
            json!(1_760_000_000.4),
        ] {
            assert_eq!(parse_timestamp(Some(&written)), Some(at), "{written}");
        }
        for nonsense in [
            json!("asdf"),
            json!(0),
            json!(-5),
            json!(null),
            json!({"low": "x"}),
            json!(1e300),
        ] {
            assert_eq!(parse_timestamp(Some(&nonsense)), None, "{nonsense}");
        }
    }

    #[test]
    fn json_that_its_record_could_not_hold_is_refused_also_within_other_json() {
        let nest = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse_lenient_json(nest(64).as_bytes()).is_ok());
        assert!(parse_lenient_json(nest(65).as_bytes()).is_err());
        assert_eq!(
            parse_json_body(nest(127).as_bytes()),
            Err(WebhookParseError::TooDeep)
        );
        let answer = format!("[{}, 1]", nest(500));
        assert_eq!(parse_pruned_json(answer.as_bytes()).unwrap()[1], 1);
    }

    #[test]
    fn halves_with_a_negative_low_part_make_the_right_number() {
        assert_eq!(parse_integer(&json!({"low": -1, "high": 1})), Some(0x1_ffff_ffff));
    }

    #[test]
    fn a_label_is_a_short_plain_name_or_unknown() {
        assert_eq!(
            sanitize_label("template_category_update"),
            "template_category_update"
        );
        assert_eq!(sanitize_label("5511900000001"), "unknown");
        assert_eq!(sanitize_label("Maria Silva"), "unknown");
        assert_eq!(sanitize_label(""), "unknown");
    }
}
