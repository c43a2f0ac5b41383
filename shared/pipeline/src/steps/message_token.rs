//! Tells whether two ids of a provider name the same message. WhatsApp writes the address of the chat into an id, so one message has
//! an id with the contact's number and another with the contact's user id; the token behind the address is the same in both.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The text before the encoded part of an id that holds a token.
const PREFIX: &str = "wamid.";

/// The shortest token that is compared: a shorter one could be a part of something else.
const TOKEN_MIN: usize = 16;

/// Returns `true` if the ids are equal, or if both hold the same token.
pub(crate) fn is_same_message(one: &str, other: &str) -> bool {
    one == other || find_token(one).is_some_and(|token| find_token(other).as_ref() == Some(&token))
}

/// Returns the token that an id of a provider holds; `None` if the id has another form. The token is the last field of the decoded
/// bytes: its length, as many hexadecimal digits, and a zero.
pub(crate) fn find_token(id: &str) -> Option<Vec<u8>> {
    let encoded = id.strip_prefix(PREFIX)?.trim_end_matches('=');
    let decoded = STANDARD_NO_PAD.decode(encoded).ok()?;
    let fields = decoded.strip_suffix(&[0])?;
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'A'..=b'F').contains(byte);
    let begins = fields.iter().rposition(|byte| !is_digit(byte))?;
    let token = &fields[begins + 1..];
    let is_whole = usize::from(fields[begins]) == token.len() && token.len() >= TOKEN_MIN;
    is_whole.then(|| token.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    fn id(address: &str, token: &str) -> String {
        let mut bytes = vec![0x1d, 0x08, u8::try_from(address.len()).unwrap()];
        bytes.extend(address.as_bytes());
        bytes.extend([0x15, 0x02, 0x00, 0x12, 0x18, u8::try_from(token.len()).unwrap()]);
        bytes.extend(token.as_bytes());
        bytes.push(0);
        format!("{PREFIX}{}", STANDARD.encode(bytes))
    }

    #[test]
    fn one_message_has_two_ids_and_another_has_none_of_them() {
        let (first, second) = ("3EB0C767D097B7C0A1B2", "A5F0C767D097B7C0A1B2C3D4E5F60718");
        for token in [first, second] {
            let (number, user) = (id("5511900000001", token), id("BR.7001234567890123", token));
            assert_ne!(number, user);
            assert!(is_same_message(&number, &user));
            assert!(is_same_message(&number, user.trim_end_matches('=')), "{user}");
        }
        assert!(!is_same_message(
            &id("5511900000001", first),
            &id("5511900000001", second)
        ));
    }

    #[test]
    fn only_equal_ids_of_another_form_name_the_same_message() {
        for id in [
            "W1",
            "wamid.W1",
            "wamid.",
            "wamid.AAAA",
            "3EB0C767D097B7C0A1B2",
            "",
        ] {
            assert_eq!(find_token(id), None, "{id}");
            assert!(is_same_message(id, id));
        }
        let short = id("5511900000001", "ABCDEF");
        assert_eq!(find_token(&short), None);
        assert!(!is_same_message(&short, &id("BR.7001234567890123", "ABCDEF")));
    }
}
