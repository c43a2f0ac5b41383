//! Paths' segments, percent-decoded and percent-encoded.

use super::WebhookRefusal;

/// The segments of what follows a provider's path: nothing, or `/` and segments. One that is empty makes it no route.
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

/// A segment, percent-decoded; `None` if that is not UTF-8. A `%` without two digits stands for itself.
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

/// The byte that `%` and two digits stand for, and what follows.
fn decode_escape(text: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, after @ ..] = text else {
        return None;
    };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = u8::try_from(digit(*high)? * 16 + digit(*low)?).ok()?;
    Some((byte, after))
}

/// A text as one segment of a path.
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
