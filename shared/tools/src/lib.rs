//! The tools of agents behind [`recado_ports::ports::Tools`].
//!
//! A tool is a request over HTTP, a server of the Model Context Protocol (`mcp`) or a calendar (`calendars`). A URL was written by a
//! tenant. So it is judged before every request, its name leads to public hosts alone unless a setting allows others, and no
//! redirect is followed. The credential goes into one header and nowhere
//! else: what a tool repeats of it is taken out of its answer.

use acting::ActingTool;
use async_trait::async_trait;
use recado_domain::config::CredentialRef;
use recado_domain::effects::EffectId;
use recado_domain::secret::Secret;
use recado_domain::tools::{HttpMethod, HttpTool, HttpToolRequest, Tool};
use recado_http_client::{
    FetchError, GuardedClients, HostReach, RequestFailure, UrlRefusal, read_body_within,
};
use recado_ports::ports::{EffectTool, Secrets, ToolFailure, ToolLimits, Tools};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

mod acting;
mod argument_checks;
mod calendars;
#[cfg_attr(not(feature = "mcp"), path = "mcp_left_out.rs")]
mod mcp;

pub use calendars::AgentTools;

#[cfg(test)]
mod acting_tests;
#[cfg(test)]
mod tests;

/// Largest answer of a tool, in bytes.
const ANSWER_MAX: u64 = 1024 * 1024;

/// Shortest text of a secret that is taken out of an answer. A shorter one would stand in any text.
const SECRET_MIN: usize = 4;

/// A client of tools that are requests over HTTP.
#[derive(Debug, Clone)]
pub struct HttpTools<S> {
    clients: GuardedClients,
    secrets: S,
}

impl<S: Secrets> HttpTools<S> {
    /// Creates a client that asks `secrets` for credentials at every call.
    pub fn new(clients: GuardedClients, secrets: S) -> Self {
        Self { clients, secrets }
    }

    /// Resolves the credential of a tool. `None`: the tool has none.
    async fn resolve_credential(&self, named: Option<&CredentialRef>) -> Result<Option<Secret>, ToolFailure> {
        let Some(reference) = named else { return Ok(None) };
        match self.secrets.resolve_secret(reference).await {
            Ok(Some(secret)) => Ok(Some(secret)),
            Ok(None) => Err(ToolFailure::Credentials),
            Err(_) => Err(ToolFailure::Failed("its credential could not be read".to_owned())),
        }
    }

    /// Has the credential read again by the next call, since it was refused.
    async fn forget_credential(&self, http: &HttpTool) {
        if let Some(reference) = &http.credential {
            self.secrets.forget_secret(reference).await;
        }
    }

    /// Makes the request of a call, with its credential. That of an effect carries its id.
    fn prepare_request(
        &self,
        http: &HttpTool,
        asked: HttpToolRequest,
        secret: Option<&Secret>,
        (limits, effect): (ToolLimits, Option<&EffectId>),
    ) -> Result<RequestBuilder, ToolFailure> {
        let failed = |why: &str| ToolFailure::Failed(why.to_owned());
        let reach = HostReach::for_encrypted(&asked.url, limits.private_hosts)
            .ok_or_else(|| failed("its address is not https"))?;
        let client = self.clients.client_for(reach);
        let client = client.map_err(|error| failed(&error.to_string()))?;
        let request = client.build_request(to_method(asked.method), &asked.url);
        let mut request = request
            .map_err(|refusal: UrlRefusal| failed(&refusal.to_string()))?
            .timeout(limits.within);
        for (name, value) in &http.headers {
            request = request.header(name, value);
        }
        if let Some(effect) = effect {
            request = request.header(http.effect_header(), effect.as_str());
        }
        if let Some(secret) = secret {
            let name =
                HeaderName::try_from(&http.credential_header).map_err(|_| failed("its header is wrong"))?;
            let value = format!("{}{}", http.credential_prefix, secret.expose_secret());
            let mut value = HeaderValue::try_from(value).map_err(|_| ToolFailure::Credentials)?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        if let Some(body) = asked.body {
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_string());
        }
        Ok(request)
    }
}

#[async_trait]
impl<S: Secrets> Tools for HttpTools<S> {
    async fn call_tool(
        &self,
        tool: &Tool,
        arguments: &Value,
        limits: ToolLimits,
    ) -> Result<String, ToolFailure> {
        let Some(http) = &tool.http else {
            return Err(ToolFailure::Failed(
                "it has no kind that is known here".to_owned(),
            ));
        };
        let asked = http.build_request(arguments);
        let asked = asked.map_err(|error| ToolFailure::BadArguments(error.to_string()))?;
        let secret = self.resolve_credential(http.credential.as_ref()).await?;
        let request = self.prepare_request(http, asked, secret.as_ref(), (limits, None))?;
        let answer = exchange(request).await;
        if answer == Err(ToolFailure::Credentials) {
            self.forget_credential(http).await;
        }
        let selected = http.select_answer(&hide_secret(&answer?, secret.as_ref()));
        // Once more: JSON may have written it in another way.
        Ok(hide_secret(&selected, secret.as_ref()))
    }

    fn open_effect_tool<'a>(
        &'a self,
        tool: &'a Tool,
        private_hosts: bool,
    ) -> Option<Box<dyn EffectTool + 'a>> {
        let opened = ActingTool::open_acting_tool(self, tool, private_hosts)?;
        Some(Box::new(opened))
    }
}

/// Sends a request and reads the body of its answer.
async fn exchange(request: RequestBuilder) -> Result<String, ToolFailure> {
    let answer = request
        .send()
        .await
        .map_err(|error| to_failure(&FetchError::NoAnswer(RequestFailure::from_error(&error))))?;
    let status = answer.status();
    if matches!(status.as_u16(), 401 | 403) {
        return Err(ToolFailure::Credentials);
    }
    if !status.is_success() {
        return Err(to_failure(&FetchError::Status(status.as_u16())));
    }
    let bytes = read_body_within(answer, ANSWER_MAX).await;
    let bytes = bytes.map_err(|error| to_failure(&error))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn to_failure(error: &FetchError) -> ToolFailure {
    match error {
        FetchError::NoAnswer(RequestFailure::TimedOut) => ToolFailure::TimedOut,
        other => ToolFailure::Failed(other.to_string()),
    }
}

fn to_method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

/// Takes a secret out of a text.
fn hide_secret(text: &str, secret: Option<&Secret>) -> String {
    let shown = secret.map(Secret::expose_secret).unwrap_or_default();
    if shown.len() < SECRET_MIN {
        return text.to_owned();
    }
    text.replace(shown, "[secret]")
}
