//! Reads fields of the API's JSON, of which the command line knows no types.

use serde_json::Value;

/// Returns a field that is a text.
pub(crate) fn find_text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// Returns the text at a place within, such as `/contact/name`.
pub(crate) fn text_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Returns a field that is a text, or `-`.
pub(crate) fn text_or_dash<'a>(value: &'a Value, name: &str) -> &'a str {
    find_text(value, name).unwrap_or("-")
}

/// Returns a field as the cell of a table: `-` if it is not there.
pub(crate) fn format_cell(value: &Value, name: &str) -> String {
    match value.get(name) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Returns a field that is a number, or 0.
pub(crate) fn number_or_zero(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// Returns the items of a field that is a list. They are none if it is not there.
pub(crate) fn list_items<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    let items = value.get(name).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

/// Joins the texts of a field that is a list, with commas.
pub(crate) fn join_texts(value: &Value, name: &str) -> String {
    let texts = list_items(value, name).iter().filter_map(Value::as_str);
    texts.collect::<Vec<_>>().join(", ")
}

/// Returns `true` if a field is there and true.
pub(crate) fn is_field_true(value: &Value, name: &str) -> bool {
    value.get(name) == Some(&Value::Bool(true))
}
