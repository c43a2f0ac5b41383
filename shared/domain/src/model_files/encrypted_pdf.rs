//! Tells from the bytes of a PDF document whether it is encrypted.

/// The entry of the trailer that names how a document is encrypted. The trailer itself is never encrypted or compressed
/// (ISO 32000-1, 7.5.8 and 7.6.1).
const ENTRY: &[u8] = b"/Encrypt";

/// Returns `true` if the trailer of a PDF document names an encryption: `/Encrypt 12 0 R`, or the dictionary itself.
pub fn is_encrypted_pdf(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'/') {
        rest = &rest[at..];
        if rest.strip_prefix(ENTRY).is_some_and(is_object_or_reference) {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// Returns `true` if a dictionary, or a reference to one, stands here.
fn is_object_or_reference(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    if bytes.starts_with(b"<<") {
        return true;
    }
    let after_number = |bytes: &[u8]| -> Option<usize> {
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let spaces = bytes[digits..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        (digits > 0 && spaces > 0).then_some(digits + spaces)
    };
    // No number of an object and no space between is longer.
    let mut rest = &bytes[..bytes.len().min(64)];
    for _ in 0..2 {
        let Some(taken) = after_number(rest) else {
            return false;
        };
        rest = &rest[taken..];
    }
    rest.starts_with(b"R")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_or_a_dictionary_of_encryption_is_found() {
        for encrypted in [
            &b"trailer\n<</Size 9/Encrypt 12 0 R/Root 1 0 R>>"[..],
            b"/Encrypt\n 7\r\n0 R",
            b"<< /Encrypt << /Filter /Standard >> >>",
            b"//Encrypt 1 0 R",
        ] {
            assert!(is_encrypted_pdf(encrypted), "{}", encrypted.escape_ascii());
        }
    }

    #[test]
    fn words_about_encryption_are_none() {
        for plain in [
            &b"%PDF-1.4 /Root 1 0 R"[..],
            b"/EncryptMetadata true",
            b"(how to use /Encrypt in a document)",
            b"/Encrypt 12 R",
            b"/Encrypt",
            b"/Encrypt 1 0",
            b"",
        ] {
            assert!(!is_encrypted_pdf(plain), "{}", plain.escape_ascii());
        }
    }
}
