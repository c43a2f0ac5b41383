//! Secrets: hidden from `Debug` and compared in constant time. Also the webhook secrets derived from one master secret.

use crate::hexadecimal::encode_hex;
use crate::ids::{ExternalId, Nonce};
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
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(minimum = 1, maximum = 9))]
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

/// Number of hexadecimal digits of a salt. A secret that was made with one begins with it.
const SALT_LENGTH: usize = 32;

/// Number of hexadecimal digits of HMAC-SHA256.
const MAC_LENGTH: usize = 64;

/// What one webhook secret of an instance is made of, beside the master secret and the instance's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretParts {
    /// The version of the secret.
    pub version: SecretVersion,
    /// The salt of the instance's entry. `None`: the secret is one of an entry from before there were salts.
    pub salt: Option<Nonce>,
}

/// Derives the webhook secret of an instance from one master secret.
///
/// With a salt it is the salt, and behind it in lower-case hex HMAC-SHA256(master,
/// `recado:salted-webhook:{salt}:v{version}:{provider}:{instance}`). The secret shows its salt, so nothing is looked up to
/// refuse a forged one, and whoever had the instance's name before has secrets of another salt. Without a salt it is
/// HMAC-SHA256(master, `recado:webhook:v{version}:{provider}:{instance}`) alone.
pub fn derive_webhook_secret(
    master: &Secret,
    provider: Provider,
    instance: &ExternalId,
    parts: &SecretParts,
) -> Secret {
    let mac = begin_hmac(master.expose_secret().as_bytes());
    finish_webhook_secret(mac, provider, instance, parts)
}

fn finish_webhook_secret(
    mut mac: Hmac<Sha256>,
    provider: Provider,
    instance: &ExternalId,
    parts: &SecretParts,
) -> Secret {
    let salt = parts.salt.as_ref().map_or("", Nonce::as_str);
    if salt.is_empty() {
        mac.update(b"recado:webhook");
    } else {
        mac.update(b"recado:salted-webhook:");
        mac.update(salt.as_bytes());
    }
    mac.update(b":v");
    mac.update(&[b'0' + parts.version.0]);
    for part in [provider.as_str(), instance.as_str()] {
        mac.update(b":");
        mac.update(part.as_bytes());
    }
    let mac = encode_hex(&mac.finalize().into_bytes());
    Secret(format!("{salt}{mac}"))
}

/// Derives the webhook secrets of all versions of an instance with one salt, under one master secret.
pub fn derive_webhook_secrets<'a>(
    master: &'a Secret,
    provider: Provider,
    instance: &'a ExternalId,
    salt: Option<&'a Nonce>,
) -> impl Iterator<Item = (SecretParts, Secret)> + 'a {
    let keyed = begin_hmac(master.expose_secret().as_bytes());
    SecretVersion::all_versions().map(move |version| {
        let salt = salt.cloned();
        let parts = SecretParts { version, salt };
        let secret = finish_webhook_secret(keyed.clone(), provider, instance, &parts);
        (parts, secret)
    })
}

/// Finds out of what a shown webhook secret is made; `None` if it is none of the instance under `masters`. Each
/// is compared in constant time. The work ends with the one that fits, so its time tells the version, to who knows the secret.
pub fn find_shown_secret(
    shown: &str,
    masters: &[Secret],
    provider: Provider,
    instance: &ExternalId,
) -> Option<SecretParts> {
    let shown = shown.trim();
    let salt = read_shown_salt(shown);
    masters
        .iter()
        .flat_map(|master| derive_webhook_secrets(master, provider, instance, salt.as_ref()))
        .find(|(_, secret)| secret.matches(shown))
        .map(|(parts, _)| parts)
}

/// Reads the salt with which a shown secret begins; `None` if it has another length than one with a salt.
fn read_shown_salt(shown: &str) -> Option<Nonce> {
    let (salt, mac) = shown.split_at_checked(SALT_LENGTH)?;
    let is_salted = mac.len() == MAC_LENGTH && salt.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_salted.then(|| Nonce::parse(salt).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: &str = "000102030405060708090a0b0c0d0e0f";

    fn parts(version: u8, salt: Option<&str>) -> SecretParts {
        SecretParts {
            version: SecretVersion::try_from(version).unwrap(),
            salt: salt.map(|salt| Nonce::parse(salt).unwrap()),
        }
    }

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
            derive_webhook_secret(&master, provider, instance, &parts(1, None))
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
            derive_webhook_secret(
                &master,
                Provider::parse(provider).unwrap(),
                &instance,
                &parts(version, None),
            )
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

    /// Computed apart from this code: `printf 'recado:salted-webhook:000102030405060708090a0b0c0d0e0f:v1:evolution:suporte-01' |
    /// openssl dgst -sha256 -hmac master`.
    #[test]
    fn a_salted_secret_is_its_salt_and_a_known_code() {
        let (master, instance) = (
            Secret::new("master").unwrap(),
            ExternalId::parse("suporte-01").unwrap(),
        );
        let secret = derive_webhook_secret(&master, Provider::Evolution, &instance, &parts(1, Some(SALT)));
        assert_eq!(
            secret.expose_secret(),
            "000102030405060708090a0b0c0d0e0fae0ff7f9dd0f986b633ad6b0337e6d8900e4e030a1a530b35fc54a62ee0b6a0d"
        );
    }

    #[test]
    fn a_shown_secret_is_found_by_its_own_salt_master_and_name_alone() {
        let masters = ["new", "old"].map(|text| Secret::new(text).unwrap());
        let instance = ExternalId::parse("suporte-01").unwrap();
        let find = |shown: &str, instance: &ExternalId| {
            find_shown_secret(shown, &masters, Provider::Evolution, instance)
        };
        for master in &masters {
            for parts in [
                parts(1, None),
                parts(9, None),
                parts(1, Some(SALT)),
                parts(9, Some(SALT)),
            ] {
                let secret = derive_webhook_secret(master, Provider::Evolution, &instance, &parts);
                let shown = secret.expose_secret();
                assert_eq!(find(&format!(" {shown} "), &instance), Some(parts.clone()));
                let other = ExternalId::parse("suporte-02").unwrap();
                assert_eq!(find(shown, &other), None, "another name");
                let salted = format!("{}{shown}", "0".repeat(SALT_LENGTH));
                for wrong in [&shown[1..], &shown.to_uppercase(), &salted, "", "\u{e9}"] {
                    assert_eq!(find(wrong, &instance), None, "{wrong}");
                }
                let changed = format!("f{}", &shown[1..]);
                assert_eq!(
                    find(&changed, &instance).is_some(),
                    changed == shown,
                    "another salt or code"
                );
            }
        }
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
