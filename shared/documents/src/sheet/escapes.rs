//! Characters that Excel writes as `_x000D_`, since XML cannot hold them, and underscores that would read as such (`_x005F_`).

use std::borrow::Cow;

/// Length of an escape, in bytes.
const ESCAPE_BYTES: usize = 7;

/// Returns a text with the characters for which its escapes stand.
pub(super) fn resolve_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains("_x") {
        return Cow::Borrowed(text);
    }
    // A character beyond the first 65,536 has two escapes, one for each half.
    let (mut units, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.find("_x") {
        let (before, from) = rest.split_at(at);
        units.extend(before.encode_utf16());
        let escaped = parse_escape(from);
        let (taken, after) = from.split_at(escaped.map_or("_x".len(), |_| ESCAPE_BYTES));
        match escaped {
            Some(unit) => units.push(unit),
            None => units.extend(taken.encode_utf16()),
        }
        rest = after;
    }
    units.extend(rest.encode_utf16());
    Cow::Owned(String::from_utf16_lossy(&units))
}

/// Returns the half or whole character for which the escape at the beginning of a text stands.
fn parse_escape(text: &str) -> Option<u16> {
    let digits = text.get(..ESCAPE_BYTES)?.strip_prefix("_x")?.strip_suffix('_')?;
    let is_number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| u16::from_str_radix(digits, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_the_characters_for_which_they_stand() {
        for (text, shown) in [
            ("linha1_x000D_\nlinha2", "linha1\r\nlinha2"),
            ("a_x005F_b", "a_b"),
            ("_x005F_x000D_", "_x000D_"),
            ("__x0041_", "_A"),
            ("_x_x0041_", "_xA"),
            ("_xD83D__xDE00_", "😀"),
            ("_xD83D_", "\u{fffd}"),
            // No escapes.
            ("foto_x2.jpg", "foto_x2.jpg"),
            ("_X0041_", "_X0041_"),
            ("_x+041_", "_x+041_"),
            ("_x00é1_", "_x00é1_"),
            ("preço_x004", "preço_x004"),
            ("", ""),
        ] {
            assert_eq!(resolve_escapes(text), shown);
        }
    }
}
