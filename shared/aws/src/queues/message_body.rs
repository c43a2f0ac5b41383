//! Encodes the bodies of queue messages: JSON in ASCII.

use recado_ports::ports::{PortError, PortResult};
use serde::Serialize;
use std::fmt::Write;

/// Encodes a queue message as JSON, with every character outside ASCII as an escape. SQS refuses some characters that
/// JSON allows and that people write
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>).
pub(crate) fn encode_body<T: Serialize>(what: &'static str, content: &T) -> PortResult<String> {
    let json = serde_json::to_string(content).map_err(|error| PortError::invalid(what, error))?;
    Ok(escape_non_ascii(&json))
}

fn escape_non_ascii(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    let mut units = [0; 2];
    for character in json.chars() {
        // Outside of strings, JSON is ASCII. Control characters are escaped already, except this one.
        if character.is_ascii() && character != '\u{7f}' {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut units) {
            // Writing to a string cannot fail.
            let _written = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_write_is_escaped() {
        let body = encode_body("test", &"olá 😀\u{0}\u{7f}\u{fffe}").unwrap();
        assert_eq!(body, "\"ol\\u00e1 \\ud83d\\ude00\\u0000\\u007f\\ufffe\"");
    }

    proptest! {
        #[test]
        fn every_text_survives_and_is_printable_ascii_on_the_way(text in any::<String>()) {
            let body = encode_body("test", &text).unwrap();
            prop_assert!(body.bytes().all(|byte| (0x20..0x7f).contains(&byte)));
            prop_assert_eq!(serde_json::from_str::<String>(&body).unwrap(), text);
        }
    }
}
