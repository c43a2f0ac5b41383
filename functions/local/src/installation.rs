//! A running installation, here or on AWS, as the command line reaches it.

use crate::environment::Environment;
use crate::keyring;
use anyhow::{Context, Result, bail};
use clap::Args;
use recado_domain::config::{Document, Instance};
use recado_domain::ids::ExternalId;
use recado_domain::place::{Place, WebUrl};
use recado_domain::secret::Secret;
use recado_whatsapp::setting_up::Webhook;
use reqwest::{Client, Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// How long one request may take: as long as a function of the API.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Which installation.
#[derive(Debug, Clone, Args)]
pub(crate) struct Where {
    /// Where the installation is.
    #[arg(long, env = "RECADO_URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) url: String,
    /// The operators' token; on the machine that serves, the one kept in the data folder.
    #[arg(long, env = "RECADO_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

impl Where {
    /// The token that was given, else the one that this machine keeps.
    pub(crate) fn token(&self, environment: &Environment) -> Result<Secret> {
        token(self.token.as_deref(), environment)
    }

    /// The installation.
    pub(crate) fn reach(&self, environment: &Environment) -> Result<Installation> {
        warn_of_plain(&self.url);
        Ok(Installation {
            http: recado_ai::http_client()?,
            url: self.url.trim_end_matches('/').to_owned(),
            token: self.token(environment)?,
        })
    }
}

/// Says so where the operators' token would travel readably.
pub(crate) fn warn_of_plain(url: &str) {
    if travels_readably(url) {
        eprintln!("Note: {url} is not https: whoever is on the way there can read the operators' token.");
    }
}

/// Whether what is sent to `url` leaves this machine unencrypted.
pub(crate) fn travels_readably(url: &str) -> bool {
    WebUrl::read(url).is_some_and(|url| !url.https && url.place != Place::Loopback)
}

/// The token that was given, else the one that this machine keeps.
pub(crate) fn token(given: Option<&str>, environment: &Environment) -> Result<Secret> {
    given
        .and_then(Secret::new)
        .or_else(|| keyring::kept_token(&environment.data))
        .context("no operators' token: set RECADO_TOKEN or give --token")
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Installation {
    pub(crate) http: Client,
    pub(crate) url: String,
    token: Secret,
}

/// What is configured there.
#[derive(Debug, Deserialize)]
pub(crate) struct Configured {
    pub(crate) document: Document,
    pub(crate) instances: Vec<Webhook>,
}

impl Installation {
    /// Asks; what is no success is an error with the problem's detail.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value> {
        let (status, body) = self.say(method, path, body).await?;
        if !status.is_success() {
            let detail = body.get("detail").and_then(Value::as_str).unwrap_or("-");
            bail!("{status}: {detail}");
        }
        Ok(body)
    }

    /// Asks; any answer is good.
    pub(crate) async fn say(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value)> {
        let request = self
            .http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(self.token.expose())
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

    /// Everything that is configured, without secrets.
    pub(crate) async fn configured(&self) -> Result<Configured> {
        let answer = self.ask(Method::GET, "/v1/config", None).await?;
        serde_json::from_value(answer).context("the installation speaks of its configuration in another way")
    }

    /// How the provider is to be set up for these instances, with their secrets: they are told to who applies, so they
    /// are applied as they are, which changes nothing.
    pub(crate) async fn webhooks(&self, instances: &[&Instance]) -> Result<Vec<Webhook>> {
        #[derive(Deserialize)]
        struct Applied {
            instances: Vec<Webhook>,
        }
        let body = json!({ "instances": instances });
        let answer = self.ask(Method::PUT, "/v1/config", Some(&body)).await?;
        let applied: Applied =
            serde_json::from_value(answer).context("the installation answers in another way")?;
        Ok(applied.instances)
    }
}

impl Configured {
    /// An instance by its id, or by the provider's name for it.
    pub(crate) fn instance(&self, name: &str) -> Result<&Instance> {
        let external = |instance: &&Instance| {
            let external = instance.external();
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

    /// How the provider is to be set up for an instance, without its secret.
    pub(crate) fn webhook(&self, instance: &Instance) -> Option<&Webhook> {
        self.instances
            .iter()
            .find(|webhook| webhook.id == instance.id.as_str())
    }
}
