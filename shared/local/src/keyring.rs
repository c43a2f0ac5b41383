//! The secrets of one machine: from the environment, or generated at the first start.

use crate::environment::LocalEnvironment;
use anyhow::{Context, Result, anyhow, bail};
use async_trait::async_trait;
use recado_domain::access::{TOKEN_LENGTH_MIN, is_strong_token};
use recado_domain::config::CredentialRef;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_embedded::{FolderPrivacy, restrict_to_owner};
use recado_http::Keys;
use recado_machine::secret_variable::read_secret_variable;
use recado_notify::EndpointPoster;
use recado_pipeline::ports::{PortError, PortResult, Secrets};
use recado_whatsapp::webhook::WebhookKeys;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// The credentials of providers and models, read from environment variables.
#[derive(Debug, Clone, Copy)]
pub struct EnvironmentSecrets;

impl EnvironmentSecrets {
    /// Returns `true` if the credential is in this environment.
    pub fn has_credential(reference: &CredentialRef) -> bool {
        matches!(reference, CredentialRef::Env(name) if read_secret_variable(name).is_some())
    }
}

impl Secrets for EnvironmentSecrets {
    async fn resolve_secret(&self, reference: &CredentialRef) -> PortResult<Option<Secret>> {
        match reference {
            CredentialRef::Env(name) => Ok(read_secret_variable(name)),
            CredentialRef::Ssm(name) => {
                tracing::warn!(
                    parameter = name,
                    "a parameter of AWS is not there on one machine: use env:NAME"
                );
                Ok(None)
            }
        }
    }

    async fn forget_secret(&self, _: &CredentialRef) {}
}

/// The secrets with which this installation checks requests.
#[derive(Debug, Clone)]
pub struct Keyring {
    /// The operators' token.
    pub token: Secret,
    /// The token that opens the metrics.
    metrics_token: Option<Secret>,
    /// The secrets that prove webhooks.
    webhook: Arc<WebhookKeys>,
}

impl Keyring {
    /// Takes the secrets from the environment. Missing ones are generated and stored in the data folder, so that the
    /// installation is never open because a secret is missing.
    pub fn load_or_generate(environment: &LocalEnvironment) -> Result<Self> {
        let kept = |given: &Option<Secret>, file: &str| match given {
            Some(secret) => Ok(secret.clone()),
            None => load_or_generate_secret(&environment.data.join(file)),
        };
        let master = kept(&environment.master, "webhook-secret")?;
        let masters = [Some(master), environment.master_old.clone()]
            .into_iter()
            .flatten()
            .collect();
        let webhook = environment.webhook.clone().with_masters(masters);
        let token = kept(&environment.token, "operator-token")?;
        if !is_strong_token(token.expose_secret()) {
            bail!(
                "the operators' token (RECADO_TOKEN, or the file operator-token of the data folder) has less than \
                 {TOKEN_LENGTH_MIN} characters, or repeats a few of them, so it could be guessed"
            );
        }
        let metrics = environment.metrics_token.as_ref();
        if metrics.is_some_and(|token| token.expose_secret().len() < TOKEN_LENGTH_MIN) {
            bail!("RECADO_METRICS_TOKEN has less than {TOKEN_LENGTH_MIN} characters, so it could be guessed");
        }
        Ok(Self {
            token,
            metrics_token: environment.metrics_token.clone(),
            webhook: Arc::new(webhook),
        })
    }
}

impl Keyring {
    /// Creates the way to the endpoints of tenants, whose posts are signed with secrets made of the master secrets.
    pub fn create_poster(&self) -> EndpointPoster {
        EndpointPoster::new(self.webhook.masters.clone())
    }
}

#[async_trait]
impl Keys for Keyring {
    async fn webhook_keys(&self, _: Provider) -> Result<Arc<WebhookKeys>, PortError> {
        Ok(Arc::clone(&self.webhook))
    }

    async fn app_secret(&self, reference: &CredentialRef) -> Result<Option<Secret>, PortError> {
        EnvironmentSecrets.resolve_secret(reference).await
    }

    async fn metrics_token(&self) -> Result<Option<Secret>, PortError> {
        Ok(self.metrics_token.clone())
    }

    async fn operator_token(&self) -> Result<Option<Secret>, PortError> {
        Ok(Some(self.token.clone()))
    }
}

/// Reads the secret in `file`. At the first start it is generated; only its owner can read the file.
fn load_or_generate_secret(file: &Path) -> Result<Secret> {
    if file.exists() {
        let private = restrict_to_owner(file);
        let private = private.with_context(|| format!("{} cannot be used", file.display()))?;
        if private == FolderPrivacy::MadePrivate {
            let path = file.display();
            tracing::warn!(%path, "other users could read or change this secret: remove the file, and the next start makes another");
        }
    }
    if let Ok(text) = fs::read_to_string(file)
        && let Some(secret) = Secret::new(&text)
    {
        return Ok(secret);
    }
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("the system gave no random bytes: {error}"))?;
    let text = hex::encode(bytes);
    let mut handle = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(file)
        .with_context(|| format!("cannot write {}", file.display()))?;
    handle
        .write_all(text.as_bytes())
        .and_then(|()| handle.sync_all())
        .context("cannot keep a secret")?;
    Secret::new(&text).context("a secret of 64 digits")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_made_once_and_only_its_owner_can_read_it() {
        let folder = std::env::temp_dir().join(format!("recado-keyring-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("secret");
        let first = load_or_generate_secret(&file).unwrap();
        assert!(
            load_or_generate_secret(&file)
                .unwrap()
                .matches(first.expose_secret())
        );
        let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(
            load_or_generate_secret(&file)
                .unwrap()
                .matches(first.expose_secret())
        );
        assert_eq!(mode(), 0o600, "what others could read is closed to them");
        fs::remove_dir_all(&folder).unwrap();
    }
}
