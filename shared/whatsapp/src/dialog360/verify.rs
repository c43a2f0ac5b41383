//! Decides if a webhook is authentic. Meta's own signature is in the request too, but it is made with 360dialog's app
//! secret, which nobody else has. So it proves nothing to Recado.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, SecretParts, find_shown_secret, hmac_sha256};
use std::fmt;

/// Header in which 360dialog is asked to send the number's secret.
pub const SECRET_HEADER: &str = "x-recado-webhook-secret";

/// Header with the signature of a partner's platform.
pub const SIGNATURE_HEADER: &str = "x-360dialog-signature";

/// The parts of a request that can prove that it is authentic.
#[derive(Clone, Copy, Default)]
pub struct Dialog360Credentials<'a> {
    /// Value of the header [`SECRET_HEADER`]: the number's webhook secret.
    pub secret: Option<&'a str>,
    /// Value of the header `Authorization`: `Basic` with any user, and the secret as the password.
    pub authorization: Option<&'a str>,
    /// Value of the header [`SIGNATURE_HEADER`]: HMAC-SHA256 of the body, in hexadecimal digits.
    pub signature: Option<&'a str>,
}

impl fmt::Debug for Dialog360Credentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(***)")
    }
}

/// The sender that a request was proven to come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialog360Sender {
    /// Sender who knows these secrets of this number, and may report about this number only.
    Number(ExternalId, Vec<SecretParts>),
    /// Sender who knows the partner's secret, and may report about every number and account of 360dialog.
    Partner,
}

/// Returns the sender that `proof` stands for. `proof` must hold the webhook secret of the only number in `numbers`,
/// under one of `masters` (two during a rotation), or a signature of the body with a partner's secret. `None`: not
/// authentic. All secrets are compared in constant time.
///
/// A number's secret proves only a body with that number and no other. Otherwise the holder of one secret could write in
/// the name of another number. For the same reason it does not prove a body without a number.
pub fn verify_credentials<'n>(
    proof: &Dialog360Credentials<'_>,
    masters: &[Secret],
    numbers: impl IntoIterator<Item = &'n ExternalId>,
    partners: &[Secret],
    body: &[u8],
) -> Option<Dialog360Sender> {
    let password = proof.authorization.and_then(decode_basic_password);
    let mut numbers = numbers.into_iter();
    let only = numbers.next().filter(|_| numbers.next().is_none());
    let shown = only.and_then(|number| {
        let shown = [proof.secret, password.as_deref()].into_iter().flatten();
        let found = shown.filter_map(|shown| find_shown_secret(shown, masters, Provider::Dialog360, number));
        let found: Vec<SecretParts> = found.collect();
        (!found.is_empty()).then(|| Dialog360Sender::Number(number.clone(), found))
    });
    if matches_signature(proof.signature, partners, body) {
        return Some(Dialog360Sender::Partner);
    }
    shown
}

fn matches_signature(signature: Option<&str>, partners: &[Secret], body: &[u8]) -> bool {
    let Some(shown) = signature.map(|text| text.trim().to_ascii_lowercase()) else {
        return false;
    };
    let shown = shown.strip_prefix("sha256=").unwrap_or(&shown);
    partners.iter().fold(false, |found, partner| {
        let mac = hex::encode(hmac_sha256(partner.expose_secret().as_bytes(), body));
        // `Secret` compares in constant time.
        Secret::new(&mac).is_some_and(|mac| mac.matches(shown)) | found
    })
}

/// Returns the password of `Basic base64(user:password)`; `None` for any other header.
fn decode_basic_password(header: &str) -> Option<String> {
    let (scheme, encoded) = header.trim().split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    decoded.split_once(':').map(|(_, password)| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    use recado_domain::secret::{SecretVersion, derive_webhook_secret};

    const BODY: &[u8] = b"{}";

    const FIRST: SecretParts = SecretParts {
        version: SecretVersion::FIRST,
        salt: None,
    };

    fn masters() -> Vec<Secret> {
        ["new master", "old master"]
            .into_iter()
            .filter_map(Secret::new)
            .collect()
    }

    fn number(name: &str) -> ExternalId {
        ExternalId::parse(name).unwrap()
    }

    fn secret(master: usize, name: &str) -> String {
        derive_webhook_secret(&masters()[master], Provider::Dialog360, &number(name), &FIRST)
            .expose_secret()
            .to_owned()
    }

    fn basic(user: &str, password: &str) -> String {
        format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
    }

    fn accepts(proof: Dialog360Credentials<'_>, numbers: &[&str]) -> bool {
        let numbers: Vec<ExternalId> = numbers.iter().map(|name| number(name)).collect();
        verify_credentials(&proof, &masters(), &numbers, &[], BODY).is_some()
    }

    #[test]
    fn the_numbers_secret_opens_by_header_or_as_basic_password_of_any_user() {
        for master in [0, 1] {
            let secret = secret(master, "100000000000001");
            let header = Dialog360Credentials {
                secret: Some(&secret),
                ..Dialog360Credentials::default()
            };
            assert!(accepts(header, &["100000000000001"]));
            for user in ["recado", "", "5511900000099"] {
                let basic = basic(user, &secret);
                let proof = Dialog360Credentials {
                    authorization: Some(&basic),
                    ..Dialog360Credentials::default()
                };
                assert!(accepts(proof, &["100000000000001"]), "{user}");
            }
        }
    }

    #[test]
    fn nothing_an_empty_text_another_numbers_secret_or_the_master_open_nothing() {
        let (other, good) = (secret(0, "100000000000002"), secret(0, "100000000000001"));
        for wrong in ["", " ", "x", other.as_str(), "new master"] {
            let basic = basic("recado", wrong);
            let proof = Dialog360Credentials {
                secret: Some(wrong),
                authorization: Some(&basic),
                signature: Some(wrong),
            };
            assert!(!accepts(proof, &["100000000000001"]), "{wrong}");
        }
        assert!(!accepts(Dialog360Credentials::default(), &["100000000000001"]));
        for header in [
            format!("Bearer {good}"),
            format!("Basic {good}"),
            "Basic".to_owned(),
            basic(&good, "x"),
        ] {
            let proof = Dialog360Credentials {
                authorization: Some(&header),
                ..Dialog360Credentials::default()
            };
            assert!(!accepts(proof, &["100000000000001"]), "{header}");
        }
        let evolution = derive_webhook_secret(
            &masters()[0],
            Provider::Evolution,
            &number("100000000000001"),
            &FIRST,
        );
        let proof = Dialog360Credentials {
            secret: Some(evolution.expose_secret()),
            ..Dialog360Credentials::default()
        };
        assert!(!accepts(proof, &["100000000000001"]));
        assert!(!format!("{proof:?}").contains(evolution.expose_secret()));
    }

    #[test]
    fn a_secret_does_not_speak_for_another_number_nor_for_none() {
        let secret = secret(0, "100000000000001");
        let proof = Dialog360Credentials {
            secret: Some(&secret),
            ..Dialog360Credentials::default()
        };
        assert!(accepts(proof, &["100000000000001"]));
        assert!(!accepts(proof, &["100000000000001", "100000000000002"]));
        assert!(!accepts(proof, &[]));
    }

    #[test]
    fn a_partners_signature_over_the_body_speaks_for_every_number() {
        let partners: Vec<Secret> = Secret::new("platform").into_iter().collect();
        let mac = hex::encode(hmac_sha256(b"platform", BODY));
        let verified = |signature: &str, body: &[u8], partners: &[Secret]| {
            let proof = Dialog360Credentials {
                signature: Some(signature),
                ..Dialog360Credentials::default()
            };
            verify_credentials(&proof, &[], [], partners, body) == Some(Dialog360Sender::Partner)
        };
        assert!(verified(&mac, BODY, &partners));
        assert!(verified(&mac.to_uppercase(), BODY, &partners));
        assert!(verified(&format!("sha256={mac}"), BODY, &partners));
        assert!(!verified(&mac, b"{ }", &partners));
        assert!(!verified(&mac, BODY, &[]));
        assert!(!verified(&mac[..63], BODY, &partners));
        assert!(!verified("", BODY, &partners));
    }
}
