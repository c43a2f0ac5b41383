//! The same shape with other names, texts and numbers.
//!
//! Whatever is not known to be harmless is replaced: a field that a provider adds tomorrow is somebody's name until it is
//! looked at. One person keeps one number throughout a file, so that conversations and statuses still belong together; which
//! number it is follows from the order in which they come, and nothing leads back.

mod shape;
#[cfg(test)]
mod tests;
use serde_json::{Map, Number, Value};
use shape::FieldShape;
use std::collections::BTreeMap;

/// Never kept, in whatever a recording holds.
const CREDENTIALS: [&str; 16] = [
    "apikey",
    "api_key",
    "token",
    "access_token",
    "verify_token",
    "authorization",
    "jwt_key",
    "hash",
    "secret",
    "password",
    "mediakey",
    "messagesecret",
    "headers",
    "d360-api-key",
    "flow_token",
    "qrcode",
];

/// Files and previews: of no use without the person in them.
const FILES: [&str; 3] = ["base64", "jpegthumbnail", "thumbnail"];

/// From so many digits on, a text of digits is a number that somebody has.
const DIGITS_MIN: usize = 7;

/// Larger numbers that are no times are numbers that somebody has.
const NUMBER_MIN: u64 = 10_000_000_000;

/// Takes credentials out, and nothing else.
pub(super) fn remove_credentials(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !is_named_in(&CREDENTIALS, name));
            fields.values_mut().for_each(remove_credentials);
        }
        Value::Array(members) => members.iter_mut().for_each(remove_credentials),
        _ => {}
    }
}

/// What stands for what, within one file.
#[derive(Debug, Default)]
pub(super) struct Redaction {
    people: BTreeMap<String, usize>,
    messages: BTreeMap<String, usize>,
}

impl Redaction {
    /// The same with other names, texts and numbers.
    pub(super) fn redact_body(&mut self, mut body: Value) -> Value {
        remove_credentials(&mut body);
        self.redact_value("", body)
    }

    fn redact_value(&mut self, name: &str, value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                let redacted = fields
                    .into_iter()
                    .filter(|(name, _)| !is_named_in(&FILES, name))
                    // Some objects have people as their keys.
                    .map(|(name, value)| (self.redact_key(&name), self.redact_value(&name, value)));
                Value::Object(redacted.collect::<Map<String, Value>>())
            }
            Value::Array(members) => {
                let redacted = members.into_iter().map(|member| self.redact_value(name, member));
                Value::Array(redacted.collect())
            }
            Value::String(text) => Value::String(self.redact_text(name, &text)),
            Value::Number(number) => Value::Number(redact_json_number(name, number)),
            other => other,
        }
    }

    fn redact_key(&mut self, name: &str) -> String {
        match self.redact_number(name) {
            Some(number) => number,
            None if shape::is_field_name(name) => name.to_owned(),
            None => name.chars().map(mask_character).collect(),
        }
    }

    fn redact_text(&mut self, name: &str, text: &str) -> String {
        // A JID and a `wamid` say who, wherever they stand; bare digits are a time or an id where that is known.
        if let Some(id) = text.strip_prefix("wamid.") {
            return format!("wamid.{}", self.redact_message_id(id));
        }
        let kept = FieldShape::for_field(name).is_some_and(|shape| shape.matches_text(text));
        if !kept && let Some(number) = self.redact_number(text) {
            return number;
        }
        if kept {
            return text.to_owned();
        }
        if text.starts_with("http://") || text.starts_with("https://") {
            return "https://redacted.example/file".to_owned();
        }
        if let Some((country, rest)) = text.split_once('.')
            && country.len() == 2
            && country.bytes().all(|b| b.is_ascii_uppercase())
            && rest.len() >= 10
            && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.')
        {
            // A business-scoped user id.
            return format!(
                "{country}.{}",
                pad_number(rest, "", assign_number(&mut self.people, text))
            );
        }
        text.chars().map(mask_character).collect()
    }

    /// Another number of the same shape, if it is one: digits with a `+`, spaces or signs between them, and what a JID has
    /// behind them.
    fn redact_number(&mut self, text: &str) -> Option<String> {
        let (user, rest) = match text.find(['@', ':']) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let plain: String = user.chars().filter(char::is_ascii_digit).collect();
        let fine = |c: char| c.is_ascii_digit() || "+-() .".contains(c);
        if plain.len() < DIGITS_MIN || !user.chars().all(fine) {
            return None;
        }
        let number = assign_number(&mut self.people, &plain);
        let mut other = pad_number(&plain, &plain[..4], number).into_bytes().into_iter();
        let user = user.chars().map(|c| match c {
            c if c.is_ascii_digit() => other.next().map_or('0', char::from),
            c => c,
        });
        Some(format!("{}{rest}", user.collect::<String>()))
    }

    /// Another id of the same length.
    fn redact_message_id(&mut self, id: &str) -> String {
        pad_number(id, "", assign_number(&mut self.messages, id))
    }
}

/// The place of a text among those that came before it.
fn assign_number(known: &mut BTreeMap<String, usize>, text: &str) -> usize {
    let next = known.len() + 1;
    *known.entry(text.to_owned()).or_insert(next)
}

/// `number` behind `prefix`, as long as `like`.
fn pad_number(like: &str, prefix: &str, number: usize) -> String {
    let width = like.chars().count().saturating_sub(prefix.len());
    format!("{prefix}{number:0>width$}")
}

fn is_named_in(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A letter for a letter, a digit for a digit; signs, spaces and emoji stay.
fn mask_character(c: char) -> char {
    match c {
        c if c.is_uppercase() => 'X',
        c if c.is_alphabetic() => 'x',
        c if c.is_numeric() => '0',
        c => c,
    }
}

/// A number as it is, unless it is where somebody is or what somebody is called by.
fn redact_json_number(name: &str, number: Number) -> Number {
    let name = name.to_ascii_lowercase();
    if name.contains("latitude") || name.contains("longitude") {
        return Number::from(0);
    }
    let time = name.contains("time") || name.contains("date") || FieldShape::for_field(&name).is_some();
    match number.as_u64() {
        Some(large) if large >= NUMBER_MIN && !time => Number::from(0),
        _ => number,
    }
}
