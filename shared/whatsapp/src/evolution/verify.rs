//! Whether a webhook is authentic.

use super::jwt;
use jiff::Timestamp;
use recado_domain::ids::ExternalId;
use recado_domain::secret::{Secret, webhook_secrets};
use std::fmt;

/// What a request shows to prove itself. Its body's `apikey` is no proof: it is Evolution's own credential, not ours.
#[derive(Clone, Copy, Default)]
pub struct Proof<'a> {
    /// The header `apikey`: the instance's webhook secret.
    pub apikey: Option<&'a str>,
    /// The header `Authorization`: `Bearer` with the secret, or with a JWT that Evolution signs with it (`jwt_key`).
    pub authorization: Option<&'a str>,
    /// The secret in the path: version 1 can set no headers.
    pub path_token: Option<&'a str>,
}

impl fmt::Debug for Proof<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proof(***)")
    }
}

/// Whether `proof` was made with a webhook secret of `instance` under one of `masters` (two during a rotation). One
/// good proof is enough. All are compared, in time that does not tell which came near.
pub fn verify(proof: &Proof<'_>, masters: &[Secret], instance: &ExternalId, now: Timestamp) -> bool {
    let bearer = proof.authorization.and_then(bearer);
    let secrets = masters
        .iter()
        .flat_map(|master| webhook_secrets(master, crate::evolution::NAME, instance));
    secrets.fold(false, |found, secret| {
        let plain = [proof.apikey, bearer, proof.path_token]
            .into_iter()
            .flatten()
            .fold(false, |found, shown| secret.matches(shown.trim()) | found);
        let signed = bearer.is_some_and(|token| jwt::verify(token, &secret, now));
        found | plain | signed
    })
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::instant;
    use recado_domain::secret::{SecretVersion, webhook_secret};

    fn masters() -> Vec<Secret> {
        ["new master", "old master"]
            .into_iter()
            .filter_map(Secret::new)
            .collect()
    }

    fn instance(name: &str) -> ExternalId {
        ExternalId::parse(name).unwrap()
    }

    fn secret(master: usize, name: &str) -> String {
        let version = SecretVersion::FIRST;
        webhook_secret(
            &masters()[master],
            crate::evolution::NAME,
            &instance(name),
            version,
        )
        .expose()
        .to_owned()
    }

    fn accepts(proof: Proof<'_>) -> bool {
        verify(
            &proof,
            &masters(),
            &instance("suporte-01"),
            instant(1_760_000_000_000),
        )
    }

    #[test]
    fn the_secret_of_the_instance_opens_by_header_bearer_or_path_under_either_master() {
        for master in [0, 1] {
            let secret = secret(master, "suporte-01");
            let bearer = format!("bearer  {secret}");
            assert!(accepts(Proof {
                apikey: Some(&secret),
                ..Proof::default()
            }));
            assert!(accepts(Proof {
                authorization: Some(&bearer),
                ..Proof::default()
            }));
            assert!(accepts(Proof {
                path_token: Some(&secret),
                ..Proof::default()
            }));
        }
    }

    #[test]
    fn nothing_an_empty_text_another_instances_secret_or_the_master_open_nothing() {
        let other = secret(0, "suporte-02");
        for wrong in ["", " ", "x", other.as_str(), "new master"] {
            let bearer = format!("Bearer {wrong}");
            assert!(!accepts(Proof {
                apikey: Some(wrong),
                authorization: Some(&bearer),
                path_token: Some(wrong)
            }));
        }
        assert!(!accepts(Proof::default()));
        let good = secret(0, "suporte-01");
        let basic = format!("Basic {good}");
        assert!(!accepts(Proof {
            authorization: Some(&basic),
            ..Proof::default()
        }));
        let proof = Proof {
            apikey: Some(&good),
            ..Proof::default()
        };
        assert!(!verify(&proof, &[], &instance("suporte-01"), instant(0)));
        assert!(!format!("{proof:?}").contains(&good));
    }
}
