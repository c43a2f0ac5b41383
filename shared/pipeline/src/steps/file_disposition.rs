//! The header with which a stored file is served.

use recado_domain::content::Content;
use recado_domain::message::{Message, StoredFile};
use std::fmt::Write;

/// Kinds of files that a browser shows without running anything. Any other file is saved, not shown: a page or a drawing of a
/// contact could run a script.
const SHOWN: [&str; 8] = [
    "image/jpeg",
    "image/png",
    "image/webp",
    "image/gif",
    "audio/ogg",
    "audio/mpeg",
    "audio/mp4",
    "video/mp4",
];

/// Returns the value of `Content-Disposition` for the stored file of a message.
pub(crate) fn build_disposition(message: &Message, stored: &StoredFile) -> String {
    let kind = if SHOWN.contains(&stored.mime_type.as_str()) {
        "inline"
    } else {
        "attachment"
    };
    match resolve_file_name(&message.content) {
        Some(name) => format!("{kind}; filename*=UTF-8''{}", encode_file_name(name)),
        None => kind.to_owned(),
    }
}

fn resolve_file_name(content: &Content) -> Option<&str> {
    content.media_file()?.file_name.as_deref()
}

/// Encodes a file name for the header (RFC 8187).
fn encode_file_name(name: &str) -> String {
    let mut encoded = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _written = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_header() {
        assert_eq!(
            encode_file_name("açaí \"a\".pdf\r\n"),
            "a%C3%A7a%C3%AD%20%22a%22.pdf%0D%0A"
        );
    }
}
