//! The command line's client for a running installation, here or on AWS.

mod installed;

use crate::command_environment::CommandEnvironment;
use crate::json_fields;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
pub use installed::InstalledConfiguration;
use recado_domain::config::Instance;
use recado_domain::secret::Secret;
use recado_domain::web_url::{HostScope, WebUrl, is_sent_unencrypted};
use recado_http_client::RequestFailure;
use recado_machine::address_file;
use recado_machine::kept_token::read_kept_token;
use recado_machine::output;
use recado_onboarding::{InstanceWebhook, WebhookCredentials};
use reqwest::header::LOCATION;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest time of one request: longer than the function `api` may run (29 s).
const TIMEOUT: Duration = Duration::from_secs(60);

/// The header that every answer of a Recado carries.
const RECADO_HEADER: &str = "x-correlation-id";

/// The largest page that a list request may ask for.
const PAGE: usize = 200;

/// The longest time for the file of a message, to its last byte.
const MEDIA_TIMEOUT: Duration = Duration::from_secs(600);

/// The installation that a command calls.
#[derive(Debug, Clone, Args)]
pub struct InstallationArguments {
    /// The URL of the installation. Default: the address at which Recado listens on this machine.
    #[arg(long, global = true, env = "RECADO_URL")]
    url: Option<String>,
    /// The operators' token. Default on the machine that serves: the one in the data folder.
    #[arg(long, global = true, env = "RECADO_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

impl InstallationArguments {
    /// Creates a client for the installation. Its token is the one that was given, else the one in this machine's data
    /// folder. Prints a note if the token would be sent unencrypted.
    pub fn build_client(&self, environment: &CommandEnvironment) -> Result<InstallationClient> {
        let url = self.resolve_url(environment)?;
        if is_sent_unencrypted(&url) {
            eprintln!("Note: {url} is not https: whoever is on the way there can read the operators' token.");
        }
        let token = match self.token.as_deref().and_then(Secret::new) {
            Some(given) => given,
            None => read_kept_token(&environment.data)?,
        };
        InstallationClient::connect_to(&url, token)
    }

    /// Returns the URL of the installation. If none was given, it is the one at which Recado listens or last listened
    /// with this data folder, else the address of the settings.
    pub(crate) fn resolve_url(&self, environment: &CommandEnvironment) -> Result<String> {
        match &self.url {
            Some(given) => complete_url(given),
            None => Ok(address_file::read_address(&environment.data)
                .unwrap_or_else(|| address_file::local_url(environment.address))),
        }
    }
}

/// Returns the URL that was given, with `http://` before an address of this machine that has no scheme.
fn complete_url(given: &str) -> Result<String> {
    if given.contains(['?', '#']) {
        bail!("--url {given} has a query or a fragment: leave out what begins with ? or #");
    }
    if WebUrl::parse(given).is_some() {
        return Ok(given.to_owned());
    }
    let completed = format!("http://{given}");
    match WebUrl::parse(&completed) {
        Some(url) if url.scope == HostScope::Loopback && !given.contains("://") => Ok(completed),
        _ => bail!("--url {given} is no URL of a server: begin it with https://, or http://"),
    }
}

/// A client for a running installation.
#[derive(Debug, Clone)]
pub struct InstallationClient {
    pub(crate) http: Client,
    pub(crate) url: String,
    token: Secret,
}

/// A page of a text.
#[derive(Debug)]
pub(crate) struct TextPage {
    pub(crate) text: String,
    pub(crate) next_cursor: Option<String>,
}

impl InstallationClient {
    /// Creates a client for the installation at `url` with this token.
    pub(crate) fn connect_to(url: &str, token: Secret) -> Result<Self> {
        Ok(Self {
            http: recado_http_client::build_http_client()?,
            url: url.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// Builds a request to the path with these segments.
    pub(crate) fn build_request(&self, method: Method, path: &[&str]) -> Result<RequestBuilder> {
        let mut url = Url::parse(&self.url).with_context(|| format!("{} is no URL", self.url))?;
        url.path_segments_mut()
            .map_err(|()| anyhow!("{} is no URL of a server", self.url))?
            .pop_if_empty()
            .extend(path);
        let request = self.http.request(method, url);
        Ok(request.bearer_auth(self.token.expose_secret()).timeout(TIMEOUT))
    }

    /// Requests a path with a query, and returns its JSON.
    pub(crate) async fn get_json(&self, path: &[&str], query: &[(&str, String)]) -> Result<Value> {
        let request = self.build_request(Method::GET, path)?;
        self.request_json(request.query(query)).await
    }

    /// Requests a path with a query, and returns the status and the JSON of any answer.
    pub(crate) async fn get_answer(
        &self,
        path: &[&str],
        query: &[(&str, String)],
    ) -> Result<(StatusCode, Value)> {
        let request = self.build_request(Method::GET, path)?;
        self.send_request(request.query(query)).await
    }

    /// Posts a body to a path, and returns the JSON of the answer.
    pub(crate) async fn post_json(&self, path: &[&str], body: &Value) -> Result<Value> {
        let request = self.build_request(Method::POST, path)?;
        self.request_json(request.json(body)).await
    }

    /// Requests a list page by page, and returns all its items as one page.
    pub(crate) async fn list_all_items(&self, path: &[&str], query: &[(&str, String)]) -> Result<Value> {
        let (items, _) = self.list_first_items(path, query, usize::MAX).await?;
        Ok(json!({ "items": items }))
    }

    /// Requests a list page by page. Returns at most so many items, and the cursor of those behind them.
    pub(crate) async fn list_first_items(
        &self,
        path: &[&str],
        query: &[(&str, String)],
        most: usize,
    ) -> Result<(Vec<Value>, Option<String>)> {
        let (mut items, mut cursor) = (Vec::new(), None::<String>);
        while items.len() < most {
            let mut query = query.to_vec();
            query.push(("limit", (most - items.len()).min(PAGE).to_string()));
            query.extend(cursor.take().map(|cursor| ("cursor", cursor)));
            let mut page = self.get_json(path, &query).await?;
            let found = page.get_mut("items").and_then(Value::as_array_mut);
            items.append(found.context("the installation's answer is no list")?);
            cursor = json_fields::find_text(&page, "next_cursor").map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        Ok((items, cursor))
    }

    /// Requests a path with a query, and returns its JSON. `None`: nothing of that name is there (404).
    pub(crate) async fn find_json(&self, path: &[&str], query: &[(&str, String)]) -> Result<Option<Value>> {
        let request = self.build_request(Method::GET, path)?.query(query);
        self.request_unless(request, &[StatusCode::NOT_FOUND]).await
    }

    /// Sends a request, and returns its JSON. `None`: the answer has one of the statuses of `absent`.
    pub(crate) async fn request_unless(
        &self,
        request: RequestBuilder,
        absent: &[StatusCode],
    ) -> Result<Option<Value>> {
        match self.send_request(request).await? {
            (status, _) if absent.contains(&status) => Ok(None),
            (status, body) => require_success(status, body).map(Some),
        }
    }

    /// Sends a request. An answer other than a success is an error with the problem's `detail`.
    pub(crate) async fn request_json(&self, request: RequestBuilder) -> Result<Value> {
        let (status, body) = self.send_request(request).await?;
        require_success(status, body)
    }

    /// Builds a request to a path with its query, as it is written after the URL of the installation.
    pub(crate) fn build_written_request(&self, method: Method, path: &str) -> Result<RequestBuilder> {
        // The token must not go to another server than this one, whatever the path says.
        let url = format!("{}/{}", self.url, path.trim_start_matches('/'));
        let url = Url::parse(&url).with_context(|| format!("{path} is no path"))?;
        let request = self.http.request(method, url);
        Ok(request.bearer_auth(self.token.expose_secret()).timeout(TIMEOUT))
    }

    /// Sends a request whose answer is a page of text. An answer other than a success is an error with the problem's `detail`.
    pub(crate) async fn request_text(&self, request: RequestBuilder) -> Result<TextPage> {
        let answer = self.exchange_request(request).await?;
        let status = answer.status();
        if !status.is_success() {
            return Err(describe_refusal(status, &answer.json().await.unwrap_or_default()));
        }
        let next = answer.headers().get("x-next-cursor");
        let next_cursor = next.and_then(|next| next.to_str().ok()).map(str::to_owned);
        Ok(TextPage {
            text: answer.text().await?,
            next_cursor,
        })
    }

    /// Sends a request and returns the status and the body of any answer.
    pub(crate) async fn send_request(&self, request: RequestBuilder) -> Result<(StatusCode, Value)> {
        let answer = self.exchange_request(request).await?;
        let status = answer.status();
        Ok((status, answer.json().await.unwrap_or_default()))
    }

    /// Opens the stored file of a message. `None`: it has none any more. On AWS the file is read at another place, which
    /// gets no token.
    pub(crate) async fn open_media(&self, message: &str) -> Result<Option<Response>> {
        let request = self.build_request(Method::GET, &["v1", "messages", message, "media"])?;
        let mut answer = self.exchange_request(request.timeout(MEDIA_TIMEOUT)).await?;
        if answer.status().is_redirection() {
            let place = answer.headers().get(LOCATION);
            let place = place.and_then(|place| place.to_str().ok());
            let place = place.context("the installation does not say where the file is")?;
            let request = self.http.get(place).timeout(MEDIA_TIMEOUT);
            answer = self.send_anywhere(request).await?;
        }
        match answer.status() {
            status if status.is_success() => Ok(Some(answer)),
            StatusCode::NOT_FOUND => Ok(None),
            status => bail!("the file of the message {message} cannot be read: {status}"),
        }
    }

    /// Sends a request to the installation, and returns any answer of a Recado as it is. A success or a 404 of another program is an
    /// error. Other refusals may come from what stands before a Recado.
    pub(crate) async fn exchange_request(&self, request: RequestBuilder) -> Result<Response> {
        let answer = self.send_anywhere(request).await?;
        let status = answer.status();
        let is_answered = status.is_success() || status == StatusCode::NOT_FOUND;
        if is_answered && !answer.headers().contains_key(RECADO_HEADER) {
            let url = &self.url;
            bail!("{url} answers, but not as a Recado does ({status}): is --url right?");
        }
        Ok(answer)
    }

    async fn send_anywhere(&self, request: RequestBuilder) -> Result<Response> {
        request.send().await.map_err(|error| {
            let failure = RequestFailure::from_error(&error);
            anyhow!(describe_unreachable(&self.url, failure))
        })
    }

    /// Applies a configuration with options of the API, and returns what that changed.
    pub async fn apply_with_options(
        &self,
        document: &impl Serialize,
        options: &[(&str, String)],
    ) -> Result<Value> {
        let request = self.build_request(Method::PUT, &["v1", "config"])?.query(options);
        self.request_json(request.json(document)).await
    }

    /// Fetches the whole configuration, without secrets.
    pub async fn get_configuration(&self) -> Result<InstalledConfiguration> {
        let answer = self.get_json(&["v1", "config"], &[]).await?;
        serde_json::from_value(answer)
            .context("the installation's configuration cannot be read: is it another version?")
    }

    /// Fails if an answer is empty because a filter names nothing that is known: `filters` are the entries that were named, each with
    /// its list of the API, such as `instances`. A token that may not read an entry is believed.
    pub(crate) async fn check_filters(&self, answer: &Value, filters: &[(&str, Option<&str>)]) -> Result<()> {
        if !json_fields::list_items(answer, "items").is_empty() {
            return Ok(());
        }
        for &(list, id) in filters {
            let Some(id) = id else { continue };
            let (status, _) = self.get_answer(&["v1", list, id], &[]).await?;
            if status == StatusCode::NOT_FOUND {
                bail!("there is no {} {id}", list.trim_end_matches('s'));
            }
        }
        Ok(())
    }

    /// Returns the id of the tenant that a command is about: the one that was `given`, else the only one that there is.
    pub(crate) async fn resolve_tenant(&self, given: Option<&str>) -> Result<String> {
        if let Some(given) = given {
            return Ok(given.to_owned());
        }
        let query = [("limit", "2".to_owned())];
        let page = self.get_json(&["v1", "tenants"], &query).await?;
        match json_fields::list_items(&page, "items") {
            [only] => Ok(json_fields::text_or_dash(only, "id").to_owned()),
            [] => bail!("there is no tenant"),
            _ => bail!("there are several tenants: name one with --tenant"),
        }
    }

    /// Adds the webhook secrets of these instances to what proves webhooks.
    pub(crate) async fn add_webhook_secrets(
        &self,
        instances: &[&Instance],
        proofs: &mut WebhookCredentials,
    ) -> Result<()> {
        let known = self.fetch_webhook_secrets(instances).await?;
        for (instance, webhook) in instances.iter().zip(known) {
            if let Some(secret) = webhook.secret {
                proofs.add_instance_secret(instance, secret);
            }
        }
        Ok(())
    }

    /// Fetches the webhook URL and secret of each of these instances, in their order.
    pub(crate) async fn fetch_webhook_secrets(
        &self,
        instances: &[&Instance],
    ) -> Result<Vec<InstanceWebhook>> {
        #[derive(Deserialize)]
        struct KnownWebhooks {
            instances: Vec<InstanceWebhook>,
        }
        let known = self.get_json(&["v1", "config", "webhooks"], &[]).await?;
        let known: KnownWebhooks = serde_json::from_value(known)
            .context("the installation's answer cannot be read: is it another version?")?;
        let known = known.instances.into_iter();
        let known: BTreeMap<String, InstanceWebhook> =
            known.map(|webhook| (webhook.id.clone(), webhook)).collect();
        let find = |instance: &&Instance| {
            let found = known.get(instance.id.as_str()).cloned();
            found.with_context(|| format!("the installation does not know {} any more", instance.id))
        };
        instances.iter().map(find).collect()
    }
}

/// Returns the body of a success. Any other answer is an error.
fn require_success(status: StatusCode, body: Value) -> Result<Value> {
    if status.is_success() {
        return Ok(body);
    }
    Err(describe_refusal(status, &body))
}

/// Makes an error of an answer other than a success, with the problem's `detail`.
fn describe_refusal(status: StatusCode, body: &Value) -> anyhow::Error {
    match json_fields::find_text(body, "detail") {
        Some(detail) => anyhow!("{status}: {detail}"),
        None => anyhow!("{status}, without a reason: is --url right, and does a Recado run there?"),
    }
}

/// Tells why the installation cannot be reached, and what to do.
fn describe_unreachable(url: &str, failure: RequestFailure) -> String {
    if failure == RequestFailure::Refused {
        return format!("No Recado at {url}. Start it (recado serve), or say where it is: --url.");
    }
    let failure = output::end_sentence(&failure.to_string());
    format!("{url} cannot be reached: {failure} Is --url right, and Recado running there?")
}

/// Adds the numbers in a part of an answer to those of `total`, and copies the part's other fields. Returns whether
/// there is more.
pub(crate) fn add_part(total: &mut Map<String, Value>, part: &Value) -> bool {
    for (name, value) in part.as_object().into_iter().flatten() {
        let known = total.get(name).and_then(Value::as_u64).unwrap_or(0);
        let sum = value
            .as_u64()
            .map_or_else(|| value.clone(), |value| json!(known + value));
        total.insert(name.clone(), sum);
    }
    part.get("more").and_then(Value::as_bool).unwrap_or(false)
}

#[cfg(test)]
mod tests;
