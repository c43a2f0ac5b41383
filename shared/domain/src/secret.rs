//! Secrets: never shown by `Debug`, compared in constant time, and the webhook secrets derived from one master.

use crate::ids::ExternalId;
use crate::provider::Provider;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq;

/// A key, token or password.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret. `None` when it is empty: an empty secret must never open anything.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The secret itself, to be handed to whoever needs it, never to a log.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `other` is the same, in time that does not tell how much of it is.
    pub fn matches(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// HMAC-SHA256 of `message` under `key`.
#[expect(
    clippy::expect_used,
    reason = "HMAC is defined for keys of every length, the error is for other algorithms"
)]
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// The webhook secret of an instance: lower-case hex of HMAC-SHA256(master, `recado:webhook:v1:{provider}:{instance}`).
/// It needs no look-up, so a forged instance is refused without a read, and one tenant's secret opens nothing of
/// another's.
pub fn webhook_secret(master: &Secret, provider: Provider, instance: &ExternalId) -> Secret {
    let message = format!("recado:webhook:v1:{provider}:{instance}");
    Secret(hex::encode(hmac_sha256(
        master.expose().as_bytes(),
        message.as_bytes(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_secret_is_no_secret_and_debug_shows_nothing() {
        assert!(Secret::new("  ").is_none());
        let secret = Secret::new("hunter2").unwrap();
        assert!(!format!("{secret:?}").contains("hunter2"));
        assert!(secret.matches("hunter2") && !secret.matches("hunter") && !secret.matches(""));
    }

    #[test]
    fn hmac_agrees_with_rfc_4231_case_2() {
        let mac = hmac_sha256(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(
            hex::encode(mac),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn each_instance_and_provider_has_its_own_webhook_secret() {
        let master = Secret::new("master").unwrap();
        let (a, b) = (ExternalId::parse("a").unwrap(), ExternalId::parse("b").unwrap());
        let secret = |provider, instance| webhook_secret(&master, provider, instance).expose().to_owned();
        assert_ne!(
            secret(Provider::named("evolution"), &a),
            secret(Provider::named("evolution"), &b)
        );
        assert_ne!(
            secret(Provider::named("evolution"), &a),
            secret(Provider::named("meta"), &a)
        );
        assert_eq!(secret(Provider::named("evolution"), &a).len(), 64);
    }
}
