//! The addresses from which a file that is to be sent may be loaded.

use crate::content::Content;
use crate::hexadecimal::is_hexadecimal;
use crate::web_url::{HostScope, WebUrl};

/// Prefix of a file's source that names an upload: the upload's id follows.
pub const UPLOAD_PREFIX: &str = "upload:";

/// Returns the key of the payload in which an upload is stored. `instance` is the message's instance, and `source` is
/// its content's source. `None` if the source is no upload.
pub fn upload_payload_key(instance: &str, source: &str) -> Option<String> {
    Some(build_upload_key(instance, source.strip_prefix(UPLOAD_PREFIX)?))
}

/// Builds the key of an upload's payload. The instance is part of the key: nobody can send an upload of another
/// instance.
pub fn build_upload_key(instance: &str, id: &str) -> String {
    format!("upload.{instance}.{id}")
}

/// Largest length of an address, in bytes.
const ADDRESS_MAX: usize = 2048;

/// Returns `true` if `text` is an `https` URL that leads to the public internet, judged by its text alone.
pub fn is_public_https_url(text: &str) -> bool {
    parse_web_url(text).is_some_and(|url| url.https && url.scope == HostScope::Public)
}

/// Returns `true` if `text` is an `http` or `https` URL of this machine or of a private or link-local network. A provider
/// that runs there would fetch the file and show it to the recipient, so this is allowed only by a setting
/// (`RECADO_PRIVATE_MEDIA`).
pub fn is_private_url(text: &str) -> bool {
    parse_web_url(text).is_some_and(|url| url.scope != HostScope::Public)
}

fn parse_web_url(text: &str) -> Option<WebUrl<'_>> {
    (text.len() <= ADDRESS_MAX).then(|| WebUrl::parse(text)).flatten()
}

/// Returns `true` if `content` sends a file that a client uploaded.
pub fn names_upload(content: &Content) -> bool {
    let source = content.media_file().and_then(|media| media.source.as_deref());
    source.is_some_and(|source| source.starts_with(UPLOAD_PREFIX))
}

/// Returns `true` if `text` is [`UPLOAD_PREFIX`] and an upload's id of 32 hexadecimal digits.
pub(super) fn is_upload_source(text: &str) -> bool {
    text.strip_prefix(UPLOAD_PREFIX)
        .is_some_and(|id| is_hexadecimal(id, 32))
}
