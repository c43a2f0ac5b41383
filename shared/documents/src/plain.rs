//! Decodes text without a format.

use encoding_rs::{Encoding, WINDOWS_1252};
use std::borrow::Cow;

/// Number of bytes at the beginning of a page in which its own charset stands.
const META_WINDOW: usize = 4_096;

/// Decodes text: by the mark of its byte order, else by the charset that was named with it, else as UTF-8, else as Windows' code page for
/// Western Europe and America, which programs such as Excel write.
pub(crate) fn decode_plain_text<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        return encoding.decode_without_bom_handling(&bytes[mark..]).0;
    }
    if let Some(encoding) = charset.and_then(|name| Encoding::for_label(name.as_bytes())) {
        return encoding.decode_without_bom_handling(bytes).0;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// Decodes a web page, which may name its charset itself.
pub(crate) fn decode_page<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    let named = charset.map(str::to_owned).or_else(|| find_page_charset(bytes));
    decode_plain_text(bytes, named.as_deref())
}

/// Decodes a part of a document.
#[cfg(feature = "archives")]
pub(crate) fn decode_part_xml(bytes: Vec<u8>) -> String {
    match Encoding::for_bom(&bytes) {
        Some((encoding, mark)) => encoding
            .decode_without_bom_handling(&bytes[mark..])
            .0
            .into_owned(),
        None => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

/// Returns the charset that a page names in an element `meta`. It counts only for bytes that this element could be read from, so not for
/// UTF-16.
fn find_page_charset(bytes: &[u8]) -> Option<String> {
    let window = &bytes[..bytes.len().min(META_WINDOW)];
    let head = String::from_utf8_lossy(window).to_ascii_lowercase();
    head.split("<meta").skip(1).find_map(|element| {
        let (inside, _) = element.split_once('>')?;
        let (_, named) = inside.split_once("charset")?;
        let named = named.trim_start().strip_prefix('=')?.trim_start();
        let named = named.trim_start_matches(['"', '\'']);
        let end = named.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')));
        let name = &named[..end.unwrap_or(named.len())];
        (!name.is_empty() && !name.starts_with("utf-16")).then(|| name.to_owned())
    })
}
