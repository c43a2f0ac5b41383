//! Encodes and decodes path segments.

use super::WebhookRefusal;

/// Splits the rest of a path after a provider's prefix: nothing, or `/` and segments. An empty segment makes the path
/// unknown ([`WebhookRefusal::NoRoute`]).
pub(super) fn split_segments(rest: &str) -> Result<Vec<String>, WebhookRefusal> {
    let Some(rest) = rest.strip_prefix('/') else {
        return Ok(Vec::new());
    };
    rest.split('/')
        .map(|segment| match segment {
            "" => Err(WebhookRefusal::NoRoute),
            segment => percent_decode(segment).ok_or(WebhookRefusal::BadRequest("the path is malformed")),
        })
        .collect()
}

/// Decodes a percent-encoded segment; `None` if the result is not UTF-8. A `%` without two hexadecimal digits is kept.
fn percent_decode(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, after @ ..] = rest {
        rest = if let Some((byte, after)) = decode_escape(rest) {
            bytes.push(byte);
            after
        } else {
            bytes.push(*first);
            after
        };
    }
    String::from_utf8(bytes).ok()
}

/// Decodes `%` and two hexadecimal digits at the start, and returns the byte and the rest.
fn decode_escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, after @ ..] = text else {
        return None;
    };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?;
    Some((byte, after))
}

/// Percent-encodes a text as one segment of a path.
pub(crate) fn percent_encode(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let [high, low] = [byte >> 4, byte & 15].map(|half| char::from(HEX[usize::from(half)]));
            encoded.extend(['%', high, low]);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn segments_are_decoded_one_by_one_and_a_slash_inside_one_stays_there() {
        assert_eq!(split_segments(""), Ok(vec![]));
        assert_eq!(
            split_segments("/a%2Fb/c"),
            Ok(vec!["a/b".to_owned(), "c".to_owned()])
        );
        assert_eq!(split_segments("/100%"), Ok(vec!["100%".to_owned()]));
        assert_eq!(split_segments("/%zz%4"), Ok(vec!["%zz%4".to_owned()]));
        for empty in ["/", "/a/", "//a", "/a//b"] {
            assert_eq!(split_segments(empty), Err(WebhookRefusal::NoRoute), "{empty}");
        }
        assert!(matches!(
            split_segments("/%ff"),
            Err(WebhookRefusal::BadRequest(_))
        ));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_one_segment_and_decodes_to_itself(text in ".+") {
            prop_assert_eq!(split_segments(&format!("/{}", percent_encode(&text))), Ok(vec![text]));
        }
    }
}
