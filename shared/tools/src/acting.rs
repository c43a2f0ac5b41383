//! The tools that act, behind [`EffectTool`]: one variant for each kind.

use crate::{ANSWER_MAX, HttpTools, hide_secret};
use async_trait::async_trait;
use recado_domain::effects::{EffectAction, EffectEntry, Journal};
use recado_domain::secret::Secret;
use recado_domain::tools::{HttpAsk, HttpMethod, HttpTool, HttpToolRequest, Tool};
use recado_http_client::{RequestFailure, read_body_within};
use recado_ports::ports::{
    AskAnswer, CallAnswer, EffectTool, FenceAnswer, Secrets, SettlingAbility, ToolFailure, ToolLimits,
};
use reqwest::{RequestBuilder, StatusCode};
use serde_json::Value;

/// A tool that acts, of any kind.
#[derive(Debug)]
pub(crate) enum ActingTool<'a, S> {
    /// A request over HTTP.
    Http(HttpEffects<'a, S>),
}

impl<'a, S: Secrets> ActingTool<'a, S> {
    /// Opens a tool. `None`: it reads, or has no kind that acts.
    pub(crate) fn open_acting_tool(
        tools: &'a HttpTools<S>,
        tool: &'a Tool,
        private_hosts: bool,
    ) -> Option<Self> {
        let http = tool.http.as_ref().filter(|_| tool.acts())?;
        Some(Self::Http(HttpEffects {
            tools,
            http,
            private_hosts,
        }))
    }
}

#[async_trait]
impl<S: Secrets> EffectTool for ActingTool<'_, S> {
    fn settling_ability(&self) -> SettlingAbility {
        match self {
            Self::Http(http) => http.settling_ability(),
        }
    }

    async fn plan_effect(&self, arguments: &Value, journal: &Journal) -> Result<EffectAction, ToolFailure> {
        match self {
            Self::Http(http) => http.plan_effect(arguments, journal).await,
        }
    }

    async fn call_effect(&self, entry: &EffectEntry) -> CallAnswer {
        match self {
            Self::Http(http) => http.call_effect(entry).await,
        }
    }

    async fn ask_for_effect(&self, entry: &EffectEntry) -> AskAnswer {
        match self {
            Self::Http(http) => http.ask_for_effect(entry).await,
        }
    }

    async fn put_event_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        match self {
            Self::Http(http) => http.put_event_fence(entry).await,
        }
    }

    async fn remove_fence(&self, entry: &EffectEntry) -> FenceAnswer {
        match self {
            Self::Http(http) => http.remove_fence(entry).await,
        }
    }
}

/// A tool that acts by a request over HTTP, which carries the effect's id in a header.
#[derive(Debug)]
pub(crate) struct HttpEffects<'a, S> {
    tools: &'a HttpTools<S>,
    http: &'a HttpTool,
    private_hosts: bool,
}

/// The answer to a request.
struct HttpAnswer {
    status: StatusCode,
    /// The body; `None` if it could not be read.
    text: Option<String>,
}

/// The reasons why a request has no answer.
enum SendFailure {
    /// There was no connection, so that nothing left.
    NothingLeft(RequestFailure),
    /// Nobody knows what became of it.
    Unclear,
}

impl<S: Secrets> HttpEffects<'_, S> {
    fn build_limits(&self, entry: &EffectEntry) -> ToolLimits {
        ToolLimits {
            within: entry.limit.unsigned_abs(),
            private_hosts: self.private_hosts,
        }
    }

    /// Prepares the one request of an effect. A failure means that nothing left.
    async fn prepare_call(
        &self,
        entry: &EffectEntry,
    ) -> Result<(RequestBuilder, Option<Secret>), ToolFailure> {
        let asked = self.http.build_request(&entry.arguments);
        let asked = asked.map_err(|error| ToolFailure::BadArguments(error.to_string()))?;
        let secret = self
            .tools
            .resolve_credential(self.http.credential.as_ref())
            .await?;
        let with = (self.build_limits(entry), Some(&entry.id));
        let request = self
            .tools
            .prepare_request(self.http, asked, secret.as_ref(), with)?;
        Ok((request, secret))
    }

    /// Asks for the effect at the URL that the configuration names.
    async fn ask_about_effect(&self, ask: &HttpAsk, entry: &EffectEntry) -> Result<AskAnswer, ToolFailure> {
        let url = ask.build_url(entry.id.as_str());
        let asked = HttpToolRequest {
            method: HttpMethod::Get,
            url: url.map_err(|error| ToolFailure::BadArguments(error.to_string()))?,
            body: None,
        };
        let secret = self
            .tools
            .resolve_credential(self.http.credential.as_ref())
            .await?;
        let with = (self.build_limits(entry), None);
        let request = self
            .tools
            .prepare_request(self.http, asked, secret.as_ref(), with)?;
        let Ok(answer) = send_tool_request(request).await else {
            return Ok(AskAnswer::Unanswered);
        };
        Ok(match answer.status.as_u16() {
            200..=299 => {
                let text = answer.text.map(|text| hide_secret(&text, secret.as_ref()));
                let text = text.map(|text| hide_secret(&ask.select_answer(&text), secret.as_ref()));
                AskAnswer::Happened(text)
            }
            404 => AskAnswer::NotYet,
            401 | 403 => {
                self.tools.forget_credential(self.http).await;
                AskAnswer::Unanswered
            }
            _ => AskAnswer::Unanswered,
        })
    }

    /// Decides what an answer to the one request means. A redirect, a server's error and a request that the server gave up say
    /// nothing; a conflict says nothing where somebody can be asked.
    fn judge_answer(&self, status: StatusCode, text: Option<String>) -> CallAnswer {
        match status.as_u16() {
            200..=299 => CallAnswer::Done(text),
            408 | 499 => CallAnswer::Unclear,
            409 | 412 | 425 if self.http.ask.is_some() => CallAnswer::Unclear,
            code @ 400..=499 => {
                let told = text.filter(|text| !text.is_empty()).unwrap_or_default();
                CallAnswer::Refused(Some(format!("status {code} {told}").trim().to_owned()))
            }
            _ => CallAnswer::Unclear,
        }
    }
}

#[async_trait]
impl<S: Secrets> EffectTool for HttpEffects<'_, S> {
    fn settling_ability(&self) -> SettlingAbility {
        match self.http.ask {
            Some(_) => SettlingAbility::Asked,
            None => SettlingAbility::Blind,
        }
    }

    async fn call_effect(&self, entry: &EffectEntry) -> CallAnswer {
        let (request, secret) = match self.prepare_call(entry).await {
            Ok(prepared) => prepared,
            Err(failure) => return CallAnswer::Refused(Some(failure.to_string())),
        };
        let answer = match send_tool_request(request).await {
            Ok(answer) => answer,
            Err(SendFailure::NothingLeft(why)) => return CallAnswer::Refused(Some(why.to_string())),
            Err(SendFailure::Unclear) => return CallAnswer::Unclear,
        };
        if matches!(answer.status.as_u16(), 401 | 403) {
            self.tools.forget_credential(self.http).await;
        }
        let text = answer.text.map(|text| {
            let selected = self.http.select_answer(&hide_secret(&text, secret.as_ref()));
            hide_secret(&selected, secret.as_ref())
        });
        self.judge_answer(answer.status, text)
    }

    async fn ask_for_effect(&self, entry: &EffectEntry) -> AskAnswer {
        let Some(ask) = &self.http.ask else {
            return AskAnswer::Unanswered;
        };
        let asked = self.ask_about_effect(ask, entry).await;
        asked.unwrap_or(AskAnswer::Unanswered)
    }

    async fn put_event_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Unanswered
    }

    async fn remove_fence(&self, _: &EffectEntry) -> FenceAnswer {
        FenceAnswer::Done
    }
}

/// Sends a request, once. A body that cannot be read leaves the status known.
async fn send_tool_request(request: RequestBuilder) -> Result<HttpAnswer, SendFailure> {
    let sent = request.send().await;
    let answer = sent.map_err(|error| {
        if error.is_connect() {
            SendFailure::NothingLeft(RequestFailure::from_error(&error))
        } else {
            SendFailure::Unclear
        }
    })?;
    let status = answer.status();
    let body = read_body_within(answer, ANSWER_MAX).await.ok();
    let text = body.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(HttpAnswer { status, text })
}
