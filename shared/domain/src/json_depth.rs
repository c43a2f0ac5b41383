//! The depth to which JSON that others wrote may be nested.
//!
//! A reader of JSON gives up at 128 levels, and a record nests what it holds a few levels deeper. So JSON of 127 levels could be
//! accepted, stored, and never be read again. What is accepted from others stays far below that.

use serde_json::Value;
use std::borrow::Cow;

/// Greatest number of nested objects and lists in JSON that is accepted from others.
pub const JSON_DEPTH_MAX: usize = 64;

/// A reader of the brackets of a JSON text. Nothing of the text is built in memory, and nothing recurses.
#[derive(Default)]
struct BracketReader {
    at: usize,
    depth: usize,
    is_in_text: bool,
}

impl BracketReader {
    /// Reads the next byte, or the two of an escape. Returns the depth after it; `None` at the end.
    fn read_next(&mut self, json: &[u8]) -> Option<usize> {
        match json.get(self.at)? {
            b'\\' if self.is_in_text => self.at += 1,
            b'"' => self.is_in_text = !self.is_in_text,
            b'[' | b'{' if !self.is_in_text => self.depth += 1,
            b']' | b'}' if !self.is_in_text => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.at += 1;
        Some(self.depth)
    }
}

/// Returns `true` if a JSON text is nested deeper than [`JSON_DEPTH_MAX`].
pub fn is_nested_too_deep(json: &[u8]) -> bool {
    let mut reader = BracketReader::default();
    while let Some(depth) = reader.read_next(json) {
        if depth > JSON_DEPTH_MAX {
            return true;
        }
    }
    false
}

/// Returns `true` if a value is nested deeper than [`JSON_DEPTH_MAX`].
pub fn is_value_too_deep(value: &Value) -> bool {
    fn exceeds(value: &Value, levels: usize) -> bool {
        match value {
            Value::Array(members) => levels == 0 || members.iter().any(|member| exceeds(member, levels - 1)),
            Value::Object(fields) => levels == 0 || fields.values().any(|field| exceeds(field, levels - 1)),
            _ => false,
        }
    }
    exceeds(value, JSON_DEPTH_MAX)
}

/// Replaces by `null` what is nested deeper than [`JSON_DEPTH_MAX`] in a JSON text: one part of an answer that holds many must not
/// make the others unreadable.
pub fn prune_deep_values(json: &[u8]) -> Cow<'_, [u8]> {
    if !is_nested_too_deep(json) {
        return Cow::Borrowed(json);
    }
    let (mut reader, mut kept, mut before) = (BracketReader::default(), Vec::with_capacity(json.len()), 0);
    loop {
        let from = reader.at;
        let Some(depth) = reader.read_next(json) else {
            return Cow::Owned(kept);
        };
        let upto = reader.at.min(json.len());
        if depth.max(before) <= JSON_DEPTH_MAX {
            kept.extend_from_slice(&json[from..upto]);
        } else if before == JSON_DEPTH_MAX {
            kept.extend_from_slice(b"null");
        }
        before = depth;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nest(levels: usize) -> String {
        format!(r#"{}"[[[\"{{"{}"#, "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn levels_are_counted_and_texts_are_not_looked_into() {
        for (levels, is_too_deep) in [(JSON_DEPTH_MAX, false), (JSON_DEPTH_MAX + 1, true)] {
            assert_eq!(is_nested_too_deep(nest(levels).as_bytes()), is_too_deep);
            let value = serde_json::from_str(&nest(levels)).unwrap();
            assert_eq!(is_value_too_deep(&value), is_too_deep);
        }
        let side_by_side = format!("[{}0]", "[[{}]],".repeat(1_000));
        assert!(!is_nested_too_deep(side_by_side.as_bytes()));
    }

    #[test]
    fn only_what_is_too_deep_is_pruned() {
        let list = format!(r#"["a\"]", {}, {{"b": {}}}, "c"]"#, nest(50_000), nest(3));
        let pruned = prune_deep_values(list.as_bytes());
        let read: Value = serde_json::from_slice(&pruned).unwrap();
        assert!(!is_value_too_deep(&read));
        assert_eq!((&read[0], &read[3]), (&json!("a\"]"), &json!("c")));
        assert_eq!(read[2]["b"], json!([[["[[[\"{"]]]));
        assert!(matches!(prune_deep_values(b"[[1]]"), Cow::Borrowed(b"[[1]]")));
    }
}
