//! Decides if a webhook of Evolution is authentic.

use super::jwt;
use jiff::Timestamp;
use recado_domain::ids::{ExternalId, Nonce};
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, SecretParts, derive_webhook_secrets, find_shown_secret};
use std::fmt;

/// The parts of a request that can prove that it is authentic. The body's `apikey` proves nothing: it is Evolution's own
/// credential, not Recado's.
#[derive(Clone, Copy, Default)]
pub struct EvolutionCredentials<'a> {
    /// Value of the header `apikey`: the instance's webhook secret.
    pub apikey: Option<&'a str>,
    /// Value of the header `Authorization`: `Bearer` with the secret, or with a JWT that Evolution signs with the secret
    /// (`jwt_key`).
    pub authorization: Option<&'a str>,
    /// Secret in the path, for version 1, which cannot set headers.
    pub path_token: Option<&'a str>,
}

impl fmt::Debug for EvolutionCredentials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(***)")
    }
}

/// Finds the webhook secrets of `instance` that `proof` shows, or with which its JWT was signed. None: it is not authentic.
///
/// The secrets are derived from `masters` (two during a rotation). A JWT shows no salt, so it is checked with `salt`, that of
/// the configured instance, and with none. Each secret is compared in constant time.
pub fn find_proven_secrets(
    proof: &EvolutionCredentials<'_>,
    masters: &[Secret],
    instance: &ExternalId,
    salt: Option<&Nonce>,
    now: Timestamp,
) -> Vec<SecretParts> {
    let bearer = proof.authorization.and_then(parse_bearer_token);
    let shown = [proof.apikey, bearer, proof.path_token].into_iter().flatten();
    let plain = shown.filter_map(|shown| find_shown_secret(shown, masters, Provider::Evolution, instance));
    let mut proven: Vec<SecretParts> = plain.collect();
    if let Some(token) = bearer.filter(|token| jwt::is_jwt_at(token, now)) {
        let salts = salt.map(Some).into_iter().chain([None]);
        let mut secrets = salts.flat_map(|salt| {
            let masters = masters.iter();
            masters
                .flat_map(move |master| derive_webhook_secrets(master, Provider::Evolution, instance, salt))
        });
        let signer = secrets.find(|(_, secret)| jwt::verify_jwt(token, secret, now));
        proven.extend(signer.map(|(parts, _)| parts));
    }
    proven
}

/// Returns `true` if `proof` holds a JWT that may be authentic: the salt of its secret must be looked up.
pub(super) fn shows_jwt(proof: &EvolutionCredentials<'_>, now: Timestamp) -> bool {
    let bearer = proof.authorization.and_then(parse_bearer_token);
    bearer.is_some_and(|token| jwt::is_jwt_at(token, now))
}

fn parse_bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;
    use recado_domain::secret::{SecretVersion, derive_webhook_secret};

    fn masters() -> Vec<Secret> {
        ["new master", "old master"]
            .into_iter()
            .filter_map(Secret::new)
            .collect()
    }

    fn instance(name: &str) -> ExternalId {
        ExternalId::parse(name).unwrap()
    }

    fn parts(salt: Option<&Nonce>) -> SecretParts {
        SecretParts {
            version: SecretVersion::FIRST,
            salt: salt.cloned(),
        }
    }

    fn secret(master: usize, name: &str) -> String {
        derive_webhook_secret(
            &masters()[master],
            Provider::Evolution,
            &instance(name),
            &parts(None),
        )
        .expose_secret()
        .to_owned()
    }

    fn accepts(proof: EvolutionCredentials<'_>) -> bool {
        let now = from_unix_millis(1_760_000_000_000);
        !find_proven_secrets(&proof, &masters(), &instance("suporte-01"), None, now).is_empty()
    }

    #[test]
    fn the_secret_of_the_instance_opens_by_header_bearer_or_path_under_either_master() {
        for master in [0, 1] {
            let secret = secret(master, "suporte-01");
            let bearer = format!("bearer  {secret}");
            assert!(accepts(EvolutionCredentials {
                apikey: Some(&secret),
                ..EvolutionCredentials::default()
            }));
            assert!(accepts(EvolutionCredentials {
                authorization: Some(&bearer),
                ..EvolutionCredentials::default()
            }));
            assert!(accepts(EvolutionCredentials {
                path_token: Some(&secret),
                ..EvolutionCredentials::default()
            }));
        }
    }

    #[test]
    fn nothing_an_empty_text_another_instances_secret_or_the_master_open_nothing() {
        let other = secret(0, "suporte-02");
        for wrong in ["", " ", "x", other.as_str(), "new master"] {
            let bearer = format!("Bearer {wrong}");
            assert!(!accepts(EvolutionCredentials {
                apikey: Some(wrong),
                authorization: Some(&bearer),
                path_token: Some(wrong)
            }));
        }
        assert!(!accepts(EvolutionCredentials::default()));
        let good = secret(0, "suporte-01");
        let basic = format!("Basic {good}");
        assert!(!accepts(EvolutionCredentials {
            authorization: Some(&basic),
            ..EvolutionCredentials::default()
        }));
        let proof = EvolutionCredentials {
            apikey: Some(&good),
            ..EvolutionCredentials::default()
        };
        let name = instance("suporte-01");
        let unproven = find_proven_secrets(&proof, &[], &name, None, from_unix_millis(0));
        assert!(unproven.is_empty());
        assert!(!format!("{proof:?}").contains(&good));
    }

    #[test]
    fn a_jwt_is_checked_with_the_salt_that_is_configured_and_with_none() {
        let now = from_unix_millis(1_760_000_000_000);
        let name = instance("suporte-01");
        let [own, other] = ["0", "1"].map(|digit| Nonce::parse(&digit.repeat(32)).unwrap());
        for salt in [Some(&own), None] {
            let secret = derive_webhook_secret(&masters()[0], Provider::Evolution, &name, &parts(salt));
            let at = now.as_second();
            let token = recado_testkit::webhooks::jwt_hs256(secret.expose_secret(), at, at + 600);
            let bearer = format!("Bearer {token}");
            let proof = EvolutionCredentials {
                authorization: Some(&bearer),
                ..EvolutionCredentials::default()
            };
            let find = |salt| find_proven_secrets(&proof, &masters(), &name, salt, now);
            assert!(shows_jwt(&proof, now));
            assert_eq!(find(Some(&own)), [parts(salt)]);
            let expected: Vec<_> = salt.is_none().then(|| parts(None)).into_iter().collect();
            assert_eq!(find(Some(&other)), expected, "the salt of another entry");
            assert_eq!(find(None), expected);
            let late = from_unix_millis(1_770_000_000_000);
            assert!(
                !shows_jwt(&proof, late),
                "nothing is looked up for what is too old"
            );
        }
    }
}
