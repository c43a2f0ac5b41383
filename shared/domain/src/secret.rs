//! Secrets: hidden from `Debug` and compared in constant time. Also the webhook secrets derived from one master secret.

use crate::hexadecimal::encode_hex;
use crate::ids::ExternalId;
use crate::provider::Provider;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq;

/// A key, token or password.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret without surrounding spaces. `None` if it is empty, because an empty secret must never grant access.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Takes a secret that was just generated.
    pub fn from_generated(text: String) -> Self {
        Self(text)
    }

    /// Returns the secret itself. It must never be written to a log.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }

    /// Returns `true` if `other` equals the secret. The duration of the comparison does not reveal how many characters
    /// are equal.
    pub fn matches(&self, other: &str) -> bool {
        self.0.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Computes HMAC-SHA256 of `message` with `key`.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac = begin_hmac(key);
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// Begins HMAC-SHA256 with `key`. Clones of the result share the work that the key takes.
#[expect(
    clippy::expect_used,
    reason = "HMAC is defined for keys of every length, the error is for other algorithms"
)]
fn begin_hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key of any length")
}

/// The version of an instance's webhook secret, from 1 to 9. Each version is a different secret under the same master
/// secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct SecretVersion(u8);

/// The error for a number that is not a secret version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("secret_version must be a number from 1 to 9")]
pub struct NoSecretVersion;

impl SecretVersion {
    /// The first version, used by an instance that configures none.
    pub const FIRST: Self = Self(1);

    const LAST: u8 = 9;

    /// Returns `true` if this is the first version.
    pub fn is_first(&self) -> bool {
        *self == Self::FIRST
    }

    /// Returns the version after this one. The error: this is the last.
    pub fn next_version(self) -> Result<Self, NoSecretVersion> {
        Self::try_from(self.0 + 1)
    }

    /// Returns all possible versions, from 1 to 9.
    pub fn all_versions() -> impl Iterator<Item = Self> {
        (1..=Self::LAST).map(Self)
    }
}

impl Default for SecretVersion {
    fn default() -> Self {
        Self::FIRST
    }
}

impl TryFrom<u8> for SecretVersion {
    type Error = NoSecretVersion;

    fn try_from(number: u8) -> Result<Self, NoSecretVersion> {
        let known = (1..=Self::LAST).contains(&number);
        known.then_some(Self(number)).ok_or(NoSecretVersion)
    }
}

impl From<SecretVersion> for u8 {
    fn from(version: SecretVersion) -> Self {
        version.0
    }
}

/// Derives the webhook secret of an instance: HMAC-SHA256(master, `recado:webhook:v{version}:{provider}:{instance}`) in
/// lower-case hex. Nothing is looked up, so a forged instance is refused without a read, and a tenant's secret gives no
/// access to another tenant's instances.
pub fn derive_webhook_secret(
    master: &Secret,
    provider: Provider,
    instance: &ExternalId,
    version: SecretVersion,
) -> Secret {
    let mac = begin_hmac(master.expose_secret().as_bytes());
    finish_webhook_secret(mac, provider, instance, version)
}

fn finish_webhook_secret(
    mut mac: Hmac<Sha256>,
    provider: Provider,
    instance: &ExternalId,
    version: SecretVersion,
) -> Secret {
    mac.update(b"recado:webhook:v");
    mac.update(&[b'0' + version.0]);
    for part in [provider.as_str(), instance.as_str()] {
        mac.update(b":");
        mac.update(part.as_bytes());
    }
    Secret(encode_hex(&mac.finalize().into_bytes()))
}

/// Derives all webhook secrets of an instance under one master secret, each with its version.
pub fn derive_webhook_secrets<'a>(
    master: &'a Secret,
    provider: Provider,
    instance: &'a ExternalId,
) -> impl Iterator<Item = (SecretVersion, Secret)> + 'a {
    let keyed = begin_hmac(master.expose_secret().as_bytes());
    SecretVersion::all_versions().map(move |version| {
        let secret = finish_webhook_secret(keyed.clone(), provider, instance, version);
        (version, secret)
    })
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
        let secret = |provider, instance| {
            derive_webhook_secret(&master, provider, instance, SecretVersion::FIRST)
                .expose_secret()
                .to_owned()
        };
        assert_ne!(secret(Provider::Evolution, &a), secret(Provider::Evolution, &b));
        assert_ne!(secret(Provider::Evolution, &a), secret(Provider::Meta, &a));
        assert_eq!(secret(Provider::Evolution, &a).len(), 64);
    }

    /// Computed apart from this code: `printf 'recado:webhook:v1:evolution:suporte-01' | openssl dgst -sha256 -hmac master`.
    #[test]
    fn webhook_secrets_are_known() {
        let master = Secret::new("master").unwrap();
        let of = |provider, instance: &str, version: u8| {
            let instance = ExternalId::parse(instance).unwrap();
            let version = SecretVersion::try_from(version).unwrap();
            derive_webhook_secret(&master, Provider::parse(provider).unwrap(), &instance, version)
                .expose_secret()
                .to_owned()
        };
        assert_eq!(
            of("evolution", "suporte-01", 1),
            "74084bfeb6ad22fae1a2f5dd286e474f9588ce47c29958d60100ab9d20a231e0"
        );
        assert_eq!(
            of("evolution", "suporte-01", 2),
            "b0d4fab51b06f90ea06040d69d15d6a3c00d86f86c1142e72c5b1aee97f7d084"
        );
        assert_eq!(
            of("360dialog", "100000000000001", 1),
            "44d4ee4e91e53cb44c395e0adf26d91148701337fb3f546c2e326f004f1d1ed8"
        );
        assert_eq!(
            of("360dialog", "100000000000001", 2),
            "ae51073ab8dc36c3183d59336606b44279d1f02eb3af098b441a687c3bb0a404"
        );
    }

    #[test]
    fn a_version_is_a_number_from_1_to_9() {
        assert!(SecretVersion::try_from(0).is_err() && SecretVersion::try_from(10).is_err());
        assert_eq!(serde_json::to_string(&SecretVersion::FIRST).unwrap(), "1");
        assert!(serde_json::from_str::<SecretVersion>("0").is_err());
        assert_eq!(SecretVersion::all_versions().count(), 9);
        assert_eq!(SecretVersion::default(), SecretVersion::FIRST);
    }
}
