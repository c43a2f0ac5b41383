//! Repairs lone halves of surrogate pairs in escaped JSON.

/// Length of an escape `\\uXXXX`, in bytes.
const ESCAPE_LEN: usize = 6;

/// Replaces each lone half of a surrogate pair in `json` by `U+FFFD`. Both are escapes of the same length. `None` if
/// there is no lone half.
pub(super) fn replace_lone_surrogates(json: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < json.len() {
        if json[at] != b'\\' {
            at += 1;
            continue;
        }
        at += match parse_utf16_unit(json, at) {
            Some(0xd800..=0xdbff)
                if matches!(parse_utf16_unit(json, at + ESCAPE_LEN), Some(0xdc00..=0xdfff)) =>
            {
                2 * ESCAPE_LEN
            }
            Some(0xd800..=0xdfff) => {
                let copy = mended.get_or_insert_with(|| json.to_vec());
                copy[at..at + ESCAPE_LEN].copy_from_slice(br"\ufffd");
                ESCAPE_LEN
            }
            Some(_) => ESCAPE_LEN,
            // Any other escape has two bytes. Its second byte may be a backslash, which does not begin a new escape.
            None => 2,
        };
    }
    mended
}

/// Returns the UTF-16 unit that is escaped at `at`; `None` if there is no such escape.
fn parse_utf16_unit(json: &[u8], at: usize) -> Option<u32> {
    let digits = json.get(at..at + ESCAPE_LEN)?.strip_prefix(br"\u")?;
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit * 16 + digit)
    })
}

#[cfg(test)]
mod tests {
    use super::replace_lone_surrogates;
    use crate::wire::json::parse_lenient_json;
    use serde_json::json;

    #[test]
    fn half_a_pair_is_read_as_a_replacement_and_the_rest_as_it_is() {
        for (written, read) in [
            (r#"{"a":"oi \ud83d","b":1}"#, json!({"a": "oi \u{fffd}", "b": 1})),
            (r#"["\uDE00 x"]"#, json!(["\u{fffd} x"])),
            (r#"["\ud83d\ud83d\ude00"]"#, json!(["\u{fffd}\u{1f600}"])),
            (r#"["\ud83d\n"]"#, json!(["\u{fffd}\n"])),
            (r#"["\ud83d\u0041"]"#, json!(["\u{fffd}A"])),
            (r#"["\\ud83d \\\ud83d"]"#, json!(["\\ud83d \\\u{fffd}"])),
        ] {
            assert_eq!(parse_lenient_json(written.as_bytes()).unwrap(), read, "{written}");
        }
    }

    #[test]
    fn what_has_no_half_pair_is_not_copied_and_what_is_no_json_stays_so() {
        for whole in [
            r#"["\ud83d\ude00"]"#,
            r#"["\\ud83d"]"#,
            "",
            "\\",
            r"\u",
            r"\ud83",
            "{",
        ] {
            assert_eq!(replace_lone_surrogates(whole.as_bytes()), None, "{whole}");
        }
        for broken in [r#"{"a":"\ud83d""#, r#"["\ud83"]"#, r"\ud83d", r#"["\ud83d\x"]"#] {
            assert!(parse_lenient_json(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
