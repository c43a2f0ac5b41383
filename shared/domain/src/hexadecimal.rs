//! Writes bytes as hexadecimal digits, and recognizes such digits.
//!
//! A webhook has some fifteen digests. The iterator of the crate `hex` over single digits stood in the profile of a webhook.

const DIGITS: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
];

/// Returns `bytes` as lower-case hexadecimal digits.
pub(crate) fn encode_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
    text
}

/// Returns `true` for so many lower-case hexadecimal digits.
pub(crate) fn is_hexadecimal(text: &str, digits: usize) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == digits && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_written_as_two_digits() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(encode_hex(&all), hex::encode(&all));
        assert_eq!(encode_hex(&[]), "");
    }
}
