//! The command line's client for a running installation, here or on AWS.

use crate::environment::LocalEnvironment;
use crate::keyring;
use anyhow::{Context, Result, bail};
use clap::Args;
use recado_domain::config::{ConfigDocument, Instance};
use recado_domain::ids::ExternalId;
use recado_domain::secret::Secret;
use recado_domain::web_url::{HostScope, WebUrl};
use recado_onboarding::InstanceWebhook;
use reqwest::{Client, Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The longest time of one request: longer than the function `api` may run (29 s).
const TIMEOUT: Duration = Duration::from_secs(60);

/// The installation that a command calls.
#[derive(Debug, Clone, Args)]
pub(crate) struct InstallationArguments {
    /// The URL of the installation.
    #[arg(long, env = "RECADO_URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) url: String,
    /// The operators' token. Default on the machine that serves: the one in the data folder.
    #[arg(long, env = "RECADO_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

impl InstallationArguments {
    /// Returns the token that was given, else the token in this machine's data folder.
    pub(crate) fn find_token(&self, environment: &LocalEnvironment) -> Result<Secret> {
        find_operator_token(self.token.as_deref(), environment)
    }

    /// Creates a client for the installation.
    pub(crate) fn build_client(&self, environment: &LocalEnvironment) -> Result<InstallationClient> {
        warn_if_unencrypted(&self.url);
        Ok(InstallationClient {
            http: recado_http_client::build_http_client()?,
            url: self.url.trim_end_matches('/').to_owned(),
            token: self.find_token(environment)?,
        })
    }
}

/// Prints a note if the operators' token would be sent unencrypted.
pub(crate) fn warn_if_unencrypted(url: &str) {
    if is_sent_unencrypted(url) {
        eprintln!("Note: {url} is not https: whoever is on the way there can read the operators' token.");
    }
}

/// Returns whether requests to `url` leave this machine unencrypted.
pub(crate) fn is_sent_unencrypted(url: &str) -> bool {
    WebUrl::parse(url).is_some_and(|url| !url.https && url.scope != HostScope::Loopback)
}

/// Returns the token that was given, else the token in this machine's data folder.
pub(crate) fn find_operator_token(given: Option<&str>, environment: &LocalEnvironment) -> Result<Secret> {
    given
        .and_then(Secret::new)
        .or_else(|| keyring::read_kept_token(&environment.data))
        .context("no operators' token: set RECADO_TOKEN or give --token")
}

/// A client for a running installation.
#[derive(Debug, Clone)]
pub(crate) struct InstallationClient {
    pub(crate) http: Client,
    pub(crate) url: String,
    token: Secret,
}

/// The configuration of the installation.
#[derive(Debug, Deserialize)]
pub(crate) struct InstalledConfiguration {
    pub(crate) document: ConfigDocument,
    pub(crate) instances: Vec<InstanceWebhook>,
}

impl InstallationClient {
    /// Sends a request. An answer other than a success is an error with the problem's `detail`.
    pub(crate) async fn request_json(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value> {
        let (status, body) = self.send_request(method, path, body).await?;
        if !status.is_success() {
            let detail = body.get("detail").and_then(Value::as_str).unwrap_or("-");
            bail!("{status}: {detail}");
        }
        Ok(body)
    }

    /// Sends a request and returns the status and the body of any answer.
    pub(crate) async fn send_request(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value)> {
        let request = self
            .http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(self.token.expose_secret())
            .timeout(TIMEOUT);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let answer = request
            .send()
            .await
            .with_context(|| format!("{} cannot be reached: is Recado running there?", self.url))?;
        let status = answer.status();
        Ok((status, answer.json().await.unwrap_or_default()))
    }

    /// Fetches the whole configuration, without secrets.
    pub(crate) async fn get_configuration(&self) -> Result<InstalledConfiguration> {
        let answer = self.request_json(Method::GET, "/v1/config", None).await?;
        serde_json::from_value(answer).context("the installation speaks of its configuration in another way")
    }

    /// Fetches the webhook URL and secret of each instance. The installation returns secrets only to requests that
    /// apply a configuration, so this applies the current configuration of the instances again, which changes nothing.
    pub(crate) async fn fetch_webhook_secrets(
        &self,
        instances: &[&Instance],
    ) -> Result<Vec<InstanceWebhook>> {
        #[derive(Deserialize)]
        struct AppliedWebhooks {
            instances: Vec<InstanceWebhook>,
        }
        let body = json!({ "instances": instances });
        let answer = self.request_json(Method::PUT, "/v1/config", Some(&body)).await?;
        let applied: AppliedWebhooks =
            serde_json::from_value(answer).context("the installation answers in another way")?;
        Ok(applied.instances)
    }
}

impl InstalledConfiguration {
    /// Finds an instance by its id, or by the provider's name for it.
    pub(crate) fn find_instance(&self, name: &str) -> Result<&Instance> {
        let external = |instance: &&Instance| {
            let external = instance.resolve_external_id();
            external.as_ref().map(ExternalId::as_str) == Some(name)
        };
        let instances = &self.document.instances;
        instances
            .iter()
            .find(|instance| instance.id.as_str() == name)
            .or_else(|| instances.iter().find(external))
            .with_context(|| {
                let known: Vec<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
                format!("there is no instance {name}; there is {}", known.join(", "))
            })
    }

    /// Returns the webhook settings of an instance, without its secret.
    pub(crate) fn find_webhook(&self, instance: &Instance) -> Option<&InstanceWebhook> {
        self.instances
            .iter()
            .find(|webhook| webhook.id == instance.id.as_str())
    }
}
