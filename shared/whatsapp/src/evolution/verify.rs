//! Decides if a webhook of Evolution is authentic.

use super::jwt;
use jiff::Timestamp;
use recado_domain::ids::ExternalId;
use recado_domain::provider::Provider;
use recado_domain::secret::{Secret, SecretVersion, derive_webhook_secrets};
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

/// Returns the version of the webhook secret of `instance` that `proof` shows. The proof contains the secret, or a JWT that was signed
/// with it. Of several it is the newest.
///
/// The secrets are derived from `masters` (two during a rotation). One valid proof is enough. Each secret is compared in constant
/// time. A request that shows one proof is done with the first secret that fits, so its time tells the version, to who knows the secret.
pub fn verify_credentials(
    proof: &EvolutionCredentials<'_>,
    masters: &[Secret],
    instance: &ExternalId,
    now: Timestamp,
) -> Option<SecretVersion> {
    let bearer = proof.authorization.and_then(parse_bearer_token);
    let shown = [proof.apikey, bearer, proof.path_token];
    let fits = |secret: &Secret| {
        let shown = shown.into_iter().flatten();
        let plain = shown.fold(false, |found, shown| secret.matches(shown.trim()) | found);
        plain | bearer.is_some_and(|token| jwt::verify_jwt(token, secret, now))
    };
    let mut secrets = masters
        .iter()
        .flat_map(|master| derive_webhook_secrets(master, Provider::Evolution, instance));
    if shown.into_iter().flatten().count() <= 1 {
        return secrets
            .find(|(_, secret)| fits(secret))
            .map(|(version, _)| version);
    }
    secrets.fold(
        None,
        |found, (version, secret)| {
            if fits(&secret) { Some(version) } else { found }
        },
    )
}

fn parse_bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;
    use recado_domain::secret::derive_webhook_secret;

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
        derive_webhook_secret(&masters()[master], Provider::Evolution, &instance(name), version)
            .expose_secret()
            .to_owned()
    }

    fn accepts(proof: EvolutionCredentials<'_>) -> bool {
        verify_credentials(
            &proof,
            &masters(),
            &instance("suporte-01"),
            from_unix_millis(1_760_000_000_000),
        )
        .is_some()
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
        let unproven = verify_credentials(&proof, &[], &instance("suporte-01"), from_unix_millis(0));
        assert_eq!(unproven, None);
        assert!(!format!("{proof:?}").contains(&good));
    }
}
