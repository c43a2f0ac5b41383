//! Replaces personal data in recorded webhooks and keeps their structure.
//!
//! Every field is replaced unless it is on the list of harmless ones: a field that a provider adds tomorrow counts as
//! personal until somebody has looked at it. One person keeps one number throughout a file, so that conversations and
//! statuses still belong together. The numbers follow the order in which people appear, and nothing leads back to the
//! real ones.

mod shape;
#[cfg(test)]
mod tests;
use serde_json::{Map, Number, Value};
use shape::FieldShape;
use std::collections::BTreeMap;

/// The fields that hold credentials. They are removed from every recording.
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

/// The fields that hold files and previews. They are removed: without the person in them they are of no use.
const FILES: [&str; 3] = ["base64", "jpegthumbnail", "thumbnail"];

/// The number of digits from which a text of digits counts as a phone number or a personal id.
const DIGITS_MIN: usize = 7;

/// The smallest number that counts as a personal id. A field that is known to be harmless or holds a time is left out.
const NUMBER_MIN: u64 = 10_000_000_000;

/// Removes credentials, and nothing else.
pub fn remove_credentials(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !is_named_in(&CREDENTIALS, name));
            fields.values_mut().for_each(remove_credentials);
        }
        Value::Array(members) => members.iter_mut().for_each(remove_credentials),
        _ => {}
    }
}

/// The replacements within one file.
#[derive(Debug, Default)]
pub struct Redaction {
    people: BTreeMap<String, usize>,
    messages: BTreeMap<String, usize>,
}

impl Redaction {
    /// Replaces the personal data in a body, and removes its credentials and files.
    pub fn redact_body(&mut self, mut body: Value) -> Value {
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
        // A JID and a `wamid` name a person in any field. Bare digits are kept only in a field that is known to hold
        // times or ids.
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

    /// Replaces a number by another of the same shape. A number has at least 7 digits, perhaps with `+`, spaces or
    /// signs between them, and perhaps the rest of a JID behind them. `None` if the text is no such number.
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

    /// Replaces a message id by another of the same length.
    fn redact_message_id(&mut self, id: &str) -> String {
        pad_number(id, "", assign_number(&mut self.messages, id))
    }
}

/// Returns the number of a text: its place among all texts in the order of their first appearance.
fn assign_number(known: &mut BTreeMap<String, usize>, text: &str) -> usize {
    let next = known.len() + 1;
    *known.entry(text.to_owned()).or_insert(next)
}

/// Returns `number` behind `prefix`, padded with zeros to the length of `like`.
fn pad_number(like: &str, prefix: &str, number: usize) -> String {
    let width = like.chars().count().saturating_sub(prefix.len());
    format!("{prefix}{number:0>width$}")
}

fn is_named_in(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Replaces each letter by a letter and each digit by a digit. Signs, spaces and emoji stay.
fn mask_character(c: char) -> char {
    match c {
        c if c.is_uppercase() => 'X',
        c if c.is_alphabetic() => 'x',
        c if c.is_numeric() => '0',
        c => c,
    }
}

/// Replaces a number by 0 if it is a place on the map or a personal id. Other numbers stay.
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
