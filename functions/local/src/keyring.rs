//! The secrets of one machine: from the environment, or generated at the first start.

use crate::credential::read_secret_variable;
use crate::environment::LocalEnvironment;
use anyhow::{Context, Result, anyhow, bail};
use recado_domain::access::TOKEN_LENGTH_MIN;
use recado_domain::config::CredentialRef;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_embedded::{FolderPrivacy, restrict_to_owner};
use recado_http::Keys;
use recado_notify::EndpointPoster;
use recado_pipeline::ports::{PortError, PortResult, Secrets};
use recado_whatsapp::webhook::WebhookKeys;
use rustix::process::getuid;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// The credentials of providers and models, read from environment variables.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EnvironmentSecrets;

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
pub(crate) struct Keyring {
    /// The operators' token.
    pub(crate) token: Secret,
    /// The token that opens the metrics.
    metrics_token: Option<Secret>,
    /// The secrets that prove webhooks.
    webhook: Arc<WebhookKeys>,
}

impl Keyring {
    /// Takes the secrets from the environment. Missing ones are generated and stored in the data folder, so that the
    /// installation is never open because a secret is missing.
    pub(crate) fn load_or_generate(environment: &LocalEnvironment) -> Result<Self> {
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
        if token.expose_secret().len() < TOKEN_LENGTH_MIN {
            bail!(
                "the operators' token (RECADO_TOKEN, or the file operator-token of the data folder) has less than \
                 {TOKEN_LENGTH_MIN} characters, so it could be guessed"
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
    pub(crate) fn create_poster(&self) -> EndpointPoster {
        EndpointPoster::new(self.webhook.masters.clone())
    }
}

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

/// Reads the operators' token that `recado serve` generated in `data`, for the command line on the same machine.
pub(crate) fn read_kept_token(data: &Path) -> Result<Secret> {
    let file = data.join("operator-token");
    let shown = file.display();
    match fs::read_to_string(&file) {
        Ok(text) => {
            Secret::new(&text).with_context(|| format!("{shown} is empty: give RECADO_TOKEN or --token"))
        }
        Err(error) => bail!(describe_token_error(&error, &file, data)),
    }
}

/// Tells why the token's file cannot be read, and what to do.
fn describe_token_error(error: &io::Error, file: &Path, data: &Path) -> String {
    let shown = file.display();
    match error.kind() {
        ErrorKind::PermissionDenied => {
            let (owner, me) = (describe_owner(file, data), user_name(getuid().as_raw()));
            format!(
                "{shown} belongs to {owner} and cannot be read by {me}: run this as {owner} (sudo -u {owner} recado …), or \
                 give RECADO_TOKEN or --token"
            )
        }
        ErrorKind::NotFound => format!(
            "no operators' token: {shown} does not exist. Run this in the folder where Recado runs (or set RECADO_DATA), \
             or give RECADO_TOKEN or --token"
        ),
        _ => format!("{shown} cannot be read: {error}"),
    }
}

/// Returns the name of the owner of `file`, or of the folder around it if only that can be seen.
fn describe_owner(file: &Path, folder: &Path) -> String {
    let seen = fs::metadata(file).or_else(|_| fs::metadata(folder));
    seen.map_or_else(|_| "another user".to_owned(), |seen| user_name(seen.uid()))
}

/// Returns the name of a user of this machine, else the number.
fn user_name(uid: u32) -> String {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let fields = |line: &str| {
        let mut fields = line.split(':');
        (fields.next().map(str::to_owned), fields.nth(1).map(str::to_owned))
    };
    users
        .lines()
        .map(fields)
        .find_map(|(name, id)| name.filter(|_| id.as_deref() == Some(uid.to_string().as_str())))
        .unwrap_or_else(|| format!("#{uid}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_token_of_another_user_is_told_with_its_owner() {
        let file = Path::new("/etc/hostname");
        let told = describe_token_error(&ErrorKind::PermissionDenied.into(), file, Path::new("/etc"));
        assert!(
            told.contains("belongs to root") && told.contains("sudo -u root recado"),
            "{told}"
        );
        let told = describe_token_error(&ErrorKind::NotFound.into(), file, Path::new("/etc"));
        assert!(
            told.contains("does not exist") && told.contains("RECADO_DATA"),
            "{told}"
        );
        assert_eq!(user_name(4_000_000_001), "#4000000001");
    }

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
