//! Reads secrets and keeps each for some minutes.

use crate::cache::{Cache, CacheLookup};
use crate::clients::Clients;
use crate::error::none_if_missing;
use crate::system::OsSystem;
use futures::future::try_join;
use recado_domain::config::CredentialRef;
use recado_domain::secret::Secret;
use recado_ports::ports::{PortResult, Secrets, System};
use std::sync::Arc;
use std::time::Duration;

/// Time for which a secret is kept.
const FOUND_TTL: Duration = Duration::from_secs(600);
/// Time for which a missing secret is remembered as missing.
const MISSING_TTL: Duration = Duration::from_secs(30);
/// The same for a version of a secret before its current one: usually there is none, and each look costs money.
const NO_PREVIOUS_TTL: Duration = FOUND_TTL;

/// The place where a secret is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum SecretLocation {
    /// A parameter of Systems Manager.
    Parameter(String),
    /// A version of a secret of Secrets Manager.
    Managed { arn: String, stage: &'static str },
}

/// The stages of the version that counts, and of the version before it. Both count while a secret is being changed.
const CURRENT: &str = "AWSCURRENT";
const PREVIOUS: &str = "AWSPREVIOUS";

/// The secrets of the environment, of Parameter Store and of Secrets Manager. Clones share their cache.
#[derive(Debug, Clone)]
pub struct AwsSecrets<A = OsSystem> {
    clients: Clients,
    cache: Arc<Cache<SecretLocation, Secret>>,
    previous: Arc<Cache<SecretLocation, Secret>>,
    own: Arc<OwnParameters>,
    system: A,
}

/// The installation's own secrets that a function may read, each in an SSM parameter of its own.
#[derive(Debug, Default)]
pub struct OwnParameters {
    /// Beginning of the names of all parameters with credentials, with a slash at its end, such as `/recado/`. `None`: there are none.
    pub prefix: Option<String>,
    /// Names of the secrets, as the environment of one machine has them, such as `META_APP_SECRET`.
    pub secrets: Vec<&'static str>,
}

impl OwnParameters {
    /// Returns the name of the parameter that holds a secret: `/recado/own/meta-app-secret` for `META_APP_SECRET`.
    pub fn name_parameter(prefix: &str, secret: &str) -> String {
        let name = secret.strip_prefix("RECADO_").unwrap_or(secret);
        format!("{prefix}own/{}", name.to_ascii_lowercase().replace('_', "-"))
    }

    fn find_parameter(&self, secret: &str) -> Option<String> {
        let is_own = self.secrets.contains(&secret);
        let prefix = self.prefix.as_deref().filter(|_| is_own)?;
        Some(Self::name_parameter(prefix, secret))
    }
}

/// The variables that hold or name the installation's own secrets. They are read when a secret is needed.
pub const OWN_SECRET_VARIABLES: [&str; 6] =
    [TOKEN, TOKEN_ARN, MASTER, MASTER_ARN, MASTER_OLD, MASTER_OLD_ARN];
const TOKEN: &str = "RECADO_TOKEN";
const TOKEN_ARN: &str = "RECADO_TOKEN_SECRET_ARN";
const MASTER: &str = "RECADO_WEBHOOK_SECRET";
const MASTER_ARN: &str = "RECADO_WEBHOOK_SECRET_ARN";
const MASTER_OLD: &str = "RECADO_WEBHOOK_SECRET_OLD";
const MASTER_OLD_ARN: &str = "RECADO_WEBHOOK_SECRET_OLD_ARN";

fn read_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Resolves `reference` to a secret of the environment (`Ok`), to a parameter, or to nothing. Where the variable is not set,
/// one of the installation's own secrets is in its parameter.
fn resolve_reference(
    reference: &CredentialRef,
    environment: impl Fn(&str) -> Option<String>,
    own: &OwnParameters,
) -> Result<Secret, Option<SecretLocation>> {
    match reference {
        CredentialRef::Ssm(name) => Err(Some(SecretLocation::Parameter(name.clone()))),
        CredentialRef::Env(name) => match environment(name).as_deref().and_then(Secret::new) {
            Some(secret) => Ok(secret),
            None => Err(own.find_parameter(name).map(SecretLocation::Parameter)),
        },
    }
}

impl<A: System> AwsSecrets<A> {
    /// Creates the source of the secrets of the environment and of `own`.
    pub fn new(clients: &Clients, own: OwnParameters, system: A) -> Self {
        Self {
            clients: clients.clone(),
            cache: Arc::new(Cache::new(FOUND_TTL, MISSING_TTL)),
            previous: Arc::new(Cache::new(FOUND_TTL, NO_PREVIOUS_TTL)),
            own: Arc::new(own),
            system,
        }
    }

    async fn read_cached_secret(&self, place: SecretLocation) -> PortResult<Option<Secret>> {
        let cache = self.cache_of(&place);
        if let CacheLookup::Hit(known) = cache.get(&place, self.system.now()) {
            return Ok(known);
        }
        let found = match &place {
            SecretLocation::Parameter(name) => self.read_parameter(name).await?,
            SecretLocation::Managed { arn, stage } => self.read_managed_secret(arn, stage).await?,
        };
        let secret = found.as_deref().and_then(Secret::new);
        cache.insert_entry(place, secret.clone(), self.system.now());
        Ok(secret)
    }

    fn cache_of(&self, place: &SecretLocation) -> &Cache<SecretLocation, Secret> {
        match place {
            SecretLocation::Managed { stage: PREVIOUS, .. } => &self.previous,
            SecretLocation::Managed { .. } | SecretLocation::Parameter(_) => &self.cache,
        }
    }

    /// Forgets the version of `arn` before its current one if the current one is about to be read again. A new current
    /// version is then never used without the one that it replaced.
    fn forget_previous_of_expired(&self, arn: &str) {
        let version = |stage| SecretLocation::Managed {
            arn: arn.to_owned(),
            stage,
        };
        let current = self.cache.get(&version(CURRENT), self.system.now());
        if matches!(current, CacheLookup::Miss) {
            self.previous.remove_key(&version(PREVIOUS));
        }
    }

    async fn read_parameter(&self, name: &str) -> PortResult<Option<String>> {
        let request = self
            .clients
            .ssm()
            .get_parameter()
            .name(name)
            .with_decryption(true);
        let found = none_if_missing("reading a parameter", "ParameterNotFound", request.send().await)?;
        Ok(found
            .and_then(|output| output.parameter)
            .and_then(|parameter| parameter.value))
    }

    async fn read_managed_secret(&self, arn: &str, stage: &str) -> PortResult<Option<String>> {
        let request = self
            .clients
            .secrets()
            .get_secret_value()
            .secret_id(arn)
            .version_stage(stage);
        let sent = request.send().await;
        let found = none_if_missing("reading a secret", "ResourceNotFoundException", sent)?;
        Ok(found.and_then(|output| output.secret_string))
    }

    /// Returns the current value of a secret of Secrets Manager; `None` if there is none.
    pub async fn secret_by_arn(&self, arn: &str) -> PortResult<Option<Secret>> {
        self.read_cached_secret(SecretLocation::Managed {
            arn: arn.to_owned(),
            stage: CURRENT,
        })
        .await
    }

    /// Returns the operators' token: `RECADO_TOKEN`, else the secret that `RECADO_TOKEN_SECRET_ARN` names.
    pub async fn operator_token(&self) -> PortResult<Option<Secret>> {
        self.read_own_secret(TOKEN, TOKEN_ARN).await
    }

    /// Returns the masters of the webhook secrets, the current one first.
    ///
    /// The current master is `RECADO_WEBHOOK_SECRET`, else the secret that `RECADO_WEBHOOK_SECRET_ARN` names. The older
    /// one, which is accepted too while the master is being replaced, is `RECADO_WEBHOOK_SECRET_OLD`, else the secret
    /// that `RECADO_WEBHOOK_SECRET_OLD_ARN` names, else the version of the current secret before its current one.
    pub async fn webhook_masters(&self) -> PortResult<Vec<Secret>> {
        if let Some(arn) = read_environment(MASTER_ARN) {
            self.forget_previous_of_expired(&arn);
        }
        let (valid, old) = try_join(
            self.read_own_secret(MASTER, MASTER_ARN),
            Box::pin(self.older_master()),
        )
        .await?;
        Ok(valid.into_iter().chain(old).collect())
    }

    async fn older_master(&self) -> PortResult<Option<Secret>> {
        if let Some(old) = self.read_own_secret(MASTER_OLD, MASTER_OLD_ARN).await? {
            return Ok(Some(old));
        }
        match read_environment(MASTER_ARN) {
            Some(arn) if read_environment(MASTER).is_none() => {
                self.read_cached_secret(SecretLocation::Managed { arn, stage: PREVIOUS })
                    .await
            }
            _ => Ok(None),
        }
    }

    async fn read_own_secret(&self, name: &str, arn: &str) -> PortResult<Option<Secret>> {
        if let Some(secret) = read_environment(name).as_deref().and_then(Secret::new) {
            return Ok(Some(secret));
        }
        match read_environment(arn) {
            Some(arn) => self.secret_by_arn(&arn).await,
            None => Ok(None),
        }
    }
}

impl<A: System> Secrets for AwsSecrets<A> {
    async fn resolve_secret(&self, reference: &CredentialRef) -> PortResult<Option<Secret>> {
        match resolve_reference(reference, read_environment, &self.own) {
            Ok(secret) => Ok(Some(secret)),
            Err(Some(place)) => self.read_cached_secret(place).await,
            Err(None) => Ok(None),
        }
    }

    async fn forget_secret(&self, reference: &CredentialRef) {
        if let Err(Some(place)) = resolve_reference(reference, read_environment, &self.own) {
            self.cache.remove_key(&place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_trait::async_trait;

    fn env(name: &str) -> CredentialRef {
        CredentialRef::Env(name.to_owned())
    }

    fn own_parameters() -> OwnParameters {
        OwnParameters {
            prefix: Some("/clinic/".to_owned()),
            secrets: vec!["META_APP_SECRET", "RECADO_EMBEDDINGS_KEY"],
        }
    }

    #[test]
    fn an_own_secret_is_in_the_environment_or_in_the_parameter_of_its_name() {
        let set = |_: &str| Some("hunter2".to_owned());
        let resolved = resolve_reference(&env("META_APP_SECRET"), set, &own_parameters());
        assert_eq!(resolved.unwrap().expose_secret(), "hunter2");
        for (secret, parameter) in [
            ("META_APP_SECRET", "/clinic/own/meta-app-secret"),
            ("RECADO_EMBEDDINGS_KEY", "/clinic/own/embeddings-key"),
        ] {
            let place = resolve_reference(&env(secret), |_| None, &own_parameters()).unwrap_err();
            assert_eq!(place, Some(SecretLocation::Parameter(parameter.to_owned())));
        }
    }

    #[test]
    fn a_reference_that_leads_nowhere_is_no_secret() {
        let resolve = |reference| resolve_reference(&reference, |_| None, &own_parameters()).unwrap_err();
        assert_eq!(
            resolve(env("ANTHROPIC_API_KEY")),
            None,
            "the function may not read it"
        );
        let place = resolve(CredentialRef::Ssm("/a/b".to_owned()));
        assert_eq!(place, Some(SecretLocation::Parameter("/a/b".to_owned())));
    }

    #[derive(Debug, Clone, Copy)]
    struct At(i64);

    #[async_trait]
    impl System for At {
        fn now(&self) -> jiff::Timestamp {
            jiff::Timestamp::from_second(self.0).unwrap()
        }

        fn random_u64(&self) -> u64 {
            0
        }

        async fn sleep(&self, _duration: Duration) {}
    }

    fn secrets_at(second: i64) -> AwsSecrets<At> {
        let shared = aws_config::SdkConfig::builder()
            .behavior_version(aws_config::BehaviorVersion::latest())
            .build();
        AwsSecrets {
            clients: Clients::new(&shared, false),
            cache: Arc::new(Cache::new(FOUND_TTL, MISSING_TTL)),
            previous: Arc::new(Cache::new(FOUND_TTL, NO_PREVIOUS_TTL)),
            own: Arc::default(),
            system: At(second),
        }
    }

    /// Webhooks still carry the old secret while the master is replaced.
    #[test]
    fn a_new_current_version_is_never_used_without_the_one_before_it() {
        let version = |stage| SecretLocation::Managed {
            arn: "arn:aws:secretsmanager:sa-east-1:123456789012:secret:master".to_owned(),
            stage,
        };
        let mut secrets = secrets_at(0);
        let store = |secrets: &AwsSecrets<At>, stage, value: Option<&str>| {
            let secret = value.and_then(Secret::new);
            let place = version(stage);
            secrets
                .cache_of(&place)
                .insert_entry(place, secret, secrets.system.now());
        };
        let is_known = |secrets: &AwsSecrets<At>, stage| {
            let place = version(stage);
            matches!(
                secrets.cache_of(&place).get(&place, secrets.system.now()),
                CacheLookup::Hit(_)
            )
        };
        store(&secrets, CURRENT, Some("old"));
        secrets.system = At(60);
        store(&secrets, PREVIOUS, None);
        let SecretLocation::Managed { arn, .. } = version(CURRENT) else {
            unreachable!()
        };
        secrets.forget_previous_of_expired(&arn);
        assert!(is_known(&secrets, PREVIOUS), "the current one is still known");
        secrets.system = At(600);
        assert!(!is_known(&secrets, CURRENT) && is_known(&secrets, PREVIOUS));
        secrets.forget_previous_of_expired(&arn);
        assert!(!is_known(&secrets, PREVIOUS), "both are read again");
    }
}
