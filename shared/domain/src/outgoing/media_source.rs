//! Where a file that is to be sent may lie.

use crate::web_url::{HostScope, WebUrl};

/// What stands before the id of an upload, as the source of a file.
pub const UPLOAD_PREFIX: &str = "upload:";

/// The longest address, in bytes.
const ADDRESS_MAX: usize = 2048;

/// Whether `text` is an `https` URL that does not lead into somebody's own network, as far as its text tells.
pub fn is_public_https_url(text: &str) -> bool {
    parse_web_url(text).is_some_and(|url| url.https && url.scope == HostScope::Public)
}

/// Whether `text` is a URL, `http` or `https`, of this machine or of a network of one's own. A provider that runs there
/// would fetch it and show it to whoever gets the message, so it takes a setting to allow it.
pub fn is_private_url(text: &str) -> bool {
    parse_web_url(text).is_some_and(|url| url.scope != HostScope::Public)
}

fn parse_web_url(text: &str) -> Option<WebUrl<'_>> {
    (text.len() <= ADDRESS_MAX).then(|| WebUrl::parse(text)).flatten()
}

/// What follows [`UPLOAD_PREFIX`], where it can be an upload's id: 32 hexadecimal digits.
pub(super) fn is_upload_source(text: &str) -> bool {
    let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    text.strip_prefix(UPLOAD_PREFIX)
        .is_some_and(|id| id.len() == 32 && id.chars().all(hex))
}
