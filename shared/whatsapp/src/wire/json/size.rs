//! Estimates the number of values in a JSON text without building any of them.

/// Limit on the values of one body. Meta puts up to 1,000 messages into one body, with some 40 values each; a history of
/// Evolution's has about 200,000 values in 6 MB.
const VALUES_MAX: usize = 400_000;

/// Returns `true` if a text is so short, or has so few values, that it may be built in memory.
pub(super) fn is_small_enough(json: &[u8]) -> bool {
    json.len() <= VALUES_MAX || count_values(json) <= VALUES_MAX
}

/// Returns an upper bound of the number of values in a text: one, and one for each opening bracket and comma outside of
/// strings.
fn count_values(json: &[u8]) -> usize {
    let (mut values, mut in_text, mut at) = (1, false, 0);
    while let Some(byte) = json.get(at) {
        match byte {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            b'[' | b'{' | b',' if !in_text => values += 1,
            _ => {}
        }
        at += 1;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_texts_are_not_looked_into() {
        for (json, count) in [
            ("1", 1),
            (r#"{"a": [1, 2], "b": {"c": "x"}}"#, 6),
            (r#"["[[[,,,", "a\"[,\\", 1]"#, 4),
        ] {
            assert_eq!(count_values(json.as_bytes()), count, "{json}");
        }
    }

    #[test]
    fn a_long_text_is_built_and_very_many_values_are_not() {
        let long = format!(r#"["{}"]"#, ",".repeat(2 * VALUES_MAX));
        assert!(is_small_enough(long.as_bytes()));
        let many = format!("[{}0]", "[0],".repeat(VALUES_MAX / 2));
        assert!(!is_small_enough(many.as_bytes()));
    }
}
