//! The token of an unsubscribe link.
//!
//! The token holds the tenant and the recipient, sealed: who has the link learns neither, and nobody makes one without the identity
//! key. It is sealed as RFC 5297 does it (a synthetic IV), with HMAC-SHA256 for both parts: the tag is a MAC of what is sealed, and
//! what is sealed is hidden by a stream that begins with the tag. The same recipient gets the same token, which never expires: a
//! link in an old e-mail must work.

use super::RecipientKey;
use crate::hexadecimal::encode_hex;
use crate::identity::IdentityKey;
use crate::ids::TenantId;
use crate::secret::hmac_sha256;
use subtle::ConstantTimeEq;

/// Bytes of the tag.
const TAG_BYTES: usize = 16;

/// Longest token, in characters. A longer text is not read.
const TOKEN_MAX: usize = 512;

/// The content of an unsubscribe link's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsubscribeToken {
    /// The tenant whose messages end.
    pub tenant: TenantId,
    /// The recipient.
    pub recipient: RecipientKey,
}

impl UnsubscribeToken {
    /// Seals the content as the text of a link: hexadecimal digits.
    pub fn seal_token(&self, identity: &IdentityKey) -> String {
        let mut content = hex::decode(self.recipient.as_str()).unwrap_or_default();
        content.extend(self.tenant.as_str().as_bytes());
        let tag = compute_seal_tag(identity, &content);
        add_stream_to_content(identity, &tag, &mut content);
        format!("{}{}", encode_hex(&tag), encode_hex(&content))
    }

    /// Opens a token. `None`: this installation did not make it.
    pub fn open_token(identity: &IdentityKey, token: &str) -> Option<Self> {
        if token.len() > TOKEN_MAX {
            return None;
        }
        let bytes = hex::decode(token).ok()?;
        let (tag, hidden) = bytes.split_at_checked(TAG_BYTES)?;
        let tag: [u8; TAG_BYTES] = tag.try_into().ok()?;
        let mut content = hidden.to_vec();
        add_stream_to_content(identity, &tag, &mut content);
        if !bool::from(compute_seal_tag(identity, &content).ct_eq(&tag)) {
            return None;
        }
        let (recipient, tenant) = content.split_at_checked(RecipientKey::BYTES)?;
        Some(Self {
            tenant: TenantId::parse(std::str::from_utf8(tenant).ok()?).ok()?,
            recipient: RecipientKey::parse(&encode_hex(recipient)).ok()?,
        })
    }
}

fn compute_seal_tag(identity: &IdentityKey, content: &[u8]) -> [u8; TAG_BYTES] {
    let mac = hmac_sha256(&identity.derive_link_key("unsubscribe-tag"), content);
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&mac[..TAG_BYTES]);
    tag
}

/// Hides content, or shows it again: the stream is added to it without a carry.
fn add_stream_to_content(identity: &IdentityKey, tag: &[u8; TAG_BYTES], content: &mut [u8]) {
    let key = identity.derive_link_key("unsubscribe-stream");
    for (number, block) in content.chunks_mut(32).enumerate() {
        let mut input = tag.to_vec();
        input.extend((number as u64).to_be_bytes());
        for (byte, mask) in block.iter_mut().zip(hmac_sha256(&key, &input)) {
            *byte ^= mask;
        }
    }
}
