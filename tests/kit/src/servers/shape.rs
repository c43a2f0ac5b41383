//! Checks of a JSON body's shape that stand-ins share.

use super::call::{Refusal, wrong};
use serde_json::{Map, Value};

type Checked<T = ()> = Result<T, Refusal>;

/// A text of 1 to `max` characters.
pub(super) fn text<'a>(of: &'a Value, field: &str, max: usize) -> Checked<&'a str> {
    match of.get(field) {
        Some(Value::String(text)) if !text.is_empty() && text.chars().count() <= max => Ok(text),
        Some(Value::String(_)) => wrong(format!("{field} does not have 1 to {max} characters")),
        Some(_) => wrong(format!("{field} is no string")),
        None => wrong(format!("requires property \"{field}\"")),
    }
}

/// The same, if it is there.
pub(super) fn text_if(of: &Value, field: &str, max: usize) -> Checked {
    of.get(field).map_or(Ok(()), |_| text(of, field, max).map(|_| ()))
}

/// A number.
pub(super) fn number(of: &Value, field: &str) -> Checked<f64> {
    match of.get(field).and_then(Value::as_f64) {
        Some(number) => Ok(number),
        None => wrong(format!("{field} is no number")),
    }
}

/// A boolean, if it is there.
pub(super) fn flag_if(of: &Value, field: &str) -> Checked {
    match of.get(field) {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(_) => wrong(format!("{field} is no boolean")),
    }
}

/// An object.
pub(super) fn object<'a>(of: &'a Value, field: &str) -> Checked<&'a Value> {
    match of.get(field) {
        Some(object) if object.is_object() => Ok(object),
        _ => wrong(format!("{field} is no object")),
    }
}

/// A list with so many members.
pub(super) fn list<'a>(of: &'a Value, field: &str, least: usize, most: usize) -> Checked<&'a Vec<Value>> {
    match of.get(field) {
        Some(Value::Array(members)) if (least..=most).contains(&members.len()) => Ok(members),
        _ => wrong(format!("{field} is no list of {least} to {most} members")),
    }
}

/// No fields but these: the real server would pass over others, and then something is missing.
pub(super) fn only(of: &Value, fields: &[&str]) -> Checked {
    let none = Map::new();
    let found = of.as_object().unwrap_or(&none);
    match found.keys().find(|key| !fields.contains(&key.as_str())) {
        None => Ok(()),
        Some(unknown) => wrong(format!("{unknown} is no field that is known")),
    }
}

/// A URL that the provider can fetch.
pub(super) fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://127.0.0.1")
}
