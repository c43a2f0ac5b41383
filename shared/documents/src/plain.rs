//! Decodes text without a format.

use encoding_rs::{Encoding, WINDOWS_1252};
use std::borrow::Cow;

/// Decodes text: by the mark of its byte order, else as UTF-8, else as Windows' code page for Western Europe and America,
/// which programs such as Excel write.
pub(crate) fn decode_plain_text(bytes: &[u8]) -> Cow<'_, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}
