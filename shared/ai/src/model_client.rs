//! The client of language models: Claude over Anthropic's Messages API, and models of other providers.
//!
//! The wire format is implemented by the crate `genai`, which requires two precautions. The `Display` of its errors
//! contains the response's body, so errors are converted to [`failure::ModelFailure`] at once and never printed. And
//! `genai` logs bodies at level TRACE, so a log filter must not let `genai` through at that level.
//!
//! Tested against a stand-in server (see the tests) and correct in version 0.7.2: the headers of a refusal
//! (`retry-after`, `request-id`), the tokens read from and written to the prompt cache, another base URL, Recado's own
//! HTTP client, a system prompt marked for the cache. Two properties to know: `input_tokens` of its usage includes the
//! tokens of the cache (subtracted here), and a model name that ends in an effort (`-low`, `-high`) is read as that
//! effort.

mod failure;
mod message;
mod refused_files;

#[cfg(test)]
pub(crate) mod tests;

use crate::model_provider::{ANTHROPIC, ModelProvider};
use async_trait::async_trait;
use failure::{FailureCause, ModelFailure, Retryability};
use futures::future::{Either, select};
use genai::chat::{ChatOptions, ChatResponse, StopReason, ToolCall, ToolChoice};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use message::to_chat_request;
use recado_domain::backoff::Backoff;
use recado_domain::config::{CredentialRef, split_model_name};
use recado_domain::decision::{AgentDecision, DecisionReading};
use recado_domain::ids::Ordinal;
use recado_domain::message::TokenUsage;
use recado_domain::millis::add_millis;
use recado_domain::model_files::FileOmission;
use recado_domain::secret::Secret;
use recado_http_client::url_origin;
use recado_ports::ports::{
    Llm, LlmError, LlmReply, LlmRequest, ModelCall, PortResult, RefusedFiles, Secrets, System,
};
use refused_files::list_unopened_files;
use std::pin::pin;
use std::time::Duration;

/// Name of the environment variable that holds the key, unless [`ModelClientSettings::key`] names another place.
pub const ANTHROPIC_API_KEY: &str = "ANTHROPIC_API_KEY";

/// Shortest useful time for an attempt. With less time left, no further attempt is made, because no answer comes that
/// fast.
const ATTEMPT_MIN: Duration = Duration::from_millis(500);

/// Maximum time for the list of models.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// The settings for requests to a provider's models.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelClientSettings {
    /// The provider of the models.
    pub provider: &'static ModelProvider,
    /// Address of the API, with or without its version (`ANTHROPIC_BASE_URL`).
    pub base_url: String,
    /// Reference to the installation's key. `None`: the provider asks for none.
    pub key: Option<CredentialRef>,
    /// Longest duration of one attempt; [`LlmRequest::within`] limits all attempts together.
    pub attempt_timeout: Duration,
    /// Largest number of attempts.
    pub attempts_max: u32,
    /// Waits between attempts, where the answer does not ask for a longer one.
    pub backoff: Backoff,
}

impl Default for ModelClientSettings {
    fn default() -> Self {
        Self::of_provider(&ANTHROPIC)
    }
}

impl ModelClientSettings {
    /// Returns the usual settings for a provider.
    pub fn of_provider(provider: &'static ModelProvider) -> Self {
        let key = provider.key_variable;
        Self {
            provider,
            base_url: provider.base_url.to_owned(),
            key: key.map(|name| CredentialRef::Env(name.to_owned())),
            attempt_timeout: Duration::from_secs(45),
            attempts_max: 6,
            backoff: Backoff::Exponential {
                base: 0.5,
                cap: 8.0,
                jitter: 0.5,
            },
        }
    }
}

/// A client of one provider's models. It asks `S` for the key at every call (`S` keeps keys for some minutes), so a new key needs no
/// restart.
#[derive(Debug, Clone)]
pub struct ModelClient<S, A> {
    client: genai::Client,
    endpoint: Endpoint,
    settings: ModelClientSettings,
    secrets: S,
    system: A,
}

/// The reason why no client can be made with these settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelClientError {
    /// The base URL is not an http(s) URL.
    #[error("the base URL of the model must be an http or https URL")]
    BaseUrl,
    /// The client library refused its settings.
    #[error("the model's client could not be built")]
    Client,
}

impl<S: Secrets, A: System> ModelClient<S, A> {
    /// Creates a client that sends through `http`, which should follow no redirects (as `recado_http_client` makes it).
    pub fn new(
        http: reqwest::Client,
        settings: ModelClientSettings,
        secrets: S,
        system: A,
    ) -> Result<Self, ModelClientError> {
        let endpoint =
            Endpoint::from_owned(versioned_base_url(&settings.base_url, settings.provider.version)?);
        let client = genai::Client::builder()
            .with_reqwest(http)
            .build()
            .map_err(|_| ModelClientError::Client)?;
        Ok(Self {
            client,
            endpoint,
            settings,
            secrets,
            system,
        })
    }

    /// Returns `true` if there is a key now. A provider that asks for none is not counted: its server may not be there.
    pub async fn has_key(&self) -> PortResult<bool> {
        match &self.settings.key {
            Some(key) => Ok(self.secrets.resolve_secret(key).await?.is_some()),
            None => Ok(false),
        }
    }

    /// Lists the names of the models that the key opens. Empty if the API does not list them within some seconds.
    pub async fn list_models(&self) -> Vec<String> {
        let Some(reference) = &self.settings.key else {
            return Vec::new();
        };
        let Ok(key) = self.resolve_key(Some(reference)).await else {
            return Vec::new();
        };
        let target = (self.endpoint.clone(), to_auth_data(key.as_ref()));
        let call = pin!(
            self.client
                .all_model_names(self.settings.provider.adapter, target)
        );
        let alarm = pin!(self.system.sleep(LIST_TIMEOUT));
        match select(call, alarm).await {
            Either::Left((Ok(names), _)) => names,
            _ => Vec::new(),
        }
    }

    async fn resolve_key(&self, reference: Option<&CredentialRef>) -> Result<Option<Secret>, LlmError> {
        let Some(reference) = reference else {
            return Ok(None);
        };
        match self.secrets.resolve_secret(reference).await {
            Ok(Some(key)) => Ok(Some(key)),
            Ok(None) => Err(LlmError::Credentials(format!(
                "there is no key under {}",
                String::from(reference.clone())
            ))),
            Err(error) => Err(LlmError::Unavailable(format!(
                "the key could not be read: {error}"
            ))),
        }
    }

    /// Makes one request and gives up after `at_most`.
    async fn attempt_request(
        &self,
        request: &LlmRequest,
        key: Option<&Secret>,
        at_most: Duration,
    ) -> Result<LlmReply, ModelFailure> {
        let target = ServiceTarget {
            endpoint: self.endpoint.clone(),
            auth: to_auth_data(key),
            model: ModelIden::new(self.settings.provider.adapter, split_model_name(&request.model).1),
        };
        let mut options = ChatOptions::default().with_max_tokens(request.max_tokens);
        if request.must_reply {
            options = options.with_tool_choice(ToolChoice::None);
        }
        let call = pin!(
            self.client
                .exec_chat(target, to_chat_request(request), Some(&options))
        );
        let alarm = pin!(self.system.sleep(at_most));
        match select(call, alarm).await {
            Either::Left((Ok(response), _)) => parse_reply(&response, request),
            Either::Left((Err(error), _)) => Err(ModelFailure::from_genai_error(&error)),
            Either::Right(_) => Err(ModelFailure::from_timeout(at_most)),
        }
    }

    /// Describes a failure. If no answer came, the server is named: its URL may be wrong.
    fn name_server(&self, failure: &ModelFailure) -> String {
        match (&failure.why, url_origin(&self.settings.base_url)) {
            (FailureCause::Connection(_) | FailureCause::TimedOut(_), Some(server)) => {
                format!("{server}: {failure}")
            }
            _ => failure.to_string(),
        }
    }
}

#[async_trait]
impl<S: Secrets, A: System> Llm for ModelClient<S, A> {
    async fn list_models(&self) -> Vec<String> {
        Self::list_models(self).await
    }

    fn find_unopened_files(&self, request: &LlmRequest) -> Vec<(Ordinal, FileOmission)> {
        list_unopened_files(&self.settings.provider.file_limits, request)
    }

    async fn find_refused_files(&self, request: &LlmRequest) -> Option<RefusedFiles> {
        self.search_refused_files(request).await
    }

    async fn generate_reply(&self, request: &LlmRequest) -> Result<LlmReply, LlmError> {
        let reference = request.key.clone().or_else(|| self.settings.key.clone());
        let key = self.resolve_key(reference.as_ref()).await?;
        let within = i64::try_from(request.within.as_millis()).unwrap_or(i64::MAX);
        let deadline = add_millis(self.system.now(), within);
        let mut attempt = 1;
        loop {
            let left = time_left(self.system.now(), deadline);
            let failure = match self
                .attempt_request(request, key.as_ref(), left.min(self.settings.attempt_timeout))
                .await
            {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            match failure.retryability() {
                Retryability::Credentials => {
                    if let Some(reference) = &reference {
                        self.secrets.forget_secret(reference).await;
                    }
                    return Err(LlmError::Credentials(failure.to_string()));
                }
                Retryability::Refused
                    if failure.may_be_for_files() && request.list_shown_files().next().is_some() =>
                {
                    return Err(LlmError::FilesRefused(failure.to_string()));
                }
                Retryability::Refused => return Err(LlmError::Refused(failure.to_string())),
                Retryability::MayPass => {}
            }
            let usual = self
                .settings
                .backoff
                .delay_for_attempt(attempt, self.system.random_u64())
                .unsigned_abs();
            let wait = failure.retry_after.unwrap_or_default().max(usual);
            let in_time = wait.saturating_add(ATTEMPT_MIN) < self::time_left(self.system.now(), deadline);
            tracing::warn!(attempt, failure = %failure, retried = in_time, "the model did not answer");
            if !in_time || attempt >= self.settings.attempts_max {
                return Err(LlmError::Unavailable(self.name_server(&failure)));
            }
            self.system.sleep(wait).await;
            attempt += 1;
        }
    }
}

fn time_left(now: recado_domain::Timestamp, deadline: recado_domain::Timestamp) -> Duration {
    Duration::try_from(deadline.duration_since(now)).unwrap_or_default()
}

fn to_auth_data(key: Option<&Secret>) -> AuthData {
    key.map_or(AuthData::None, |key| AuthData::from_single(key.expose_secret()))
}

/// Returns `base` with its version and `/` at its end, as `genai` expects it.
fn versioned_base_url(base: &str, version: &str) -> Result<String, ModelClientError> {
    let base = base.trim().trim_end_matches('/');
    let url = reqwest::Url::parse(base).map_err(|_| ModelClientError::BaseUrl)?;
    if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || url.fragment().is_some() {
        return Err(ModelClientError::BaseUrl);
    }
    if version.is_empty() {
        return Ok(format!("{base}/"));
    }
    let end = format!("/{version}");
    Ok(format!("{}{end}/", base.strip_suffix(&end).unwrap_or(base)))
}

/// The words of an answer for the contact.
struct Spoken {
    text: String,
    /// `false` if the answer says and decides nothing.
    speaks: bool,
}

/// Returns the words that the contact gets: those in the call that decided, else those beside the calls, else those in a
/// call that was ignored. A hand-over needs no words.
fn choose_words(beside: String, reading: &DecisionReading) -> Spoken {
    let beside = Some(beside).filter(|text| !text.is_empty());
    let words = reading
        .message
        .clone()
        .or(beside)
        .or(reading.ignored_message.clone());
    let hands_over = matches!(reading.decision, Some(AgentDecision::HandOver { .. }));
    Spoken {
        speaks: words.is_some() || hands_over,
        text: words.unwrap_or_default(),
    }
}

fn parse_reply(response: &ChatResponse, request: &LlmRequest) -> Result<LlmReply, ModelFailure> {
    let text = response
        .content
        .joined_texts()
        .unwrap_or_default()
        .trim()
        .to_owned();
    let usage = parse_usage(&response.usage);
    let model = response.provider_model_iden.model_name.to_string();
    let calls = response.tool_calls();
    let is_tool = |call: &&ToolCall| request.tools.iter().any(|tool| tool.name == call.fn_name);
    if calls.iter().any(is_tool) {
        return Ok(LlmReply {
            calls: calls.into_iter().map(to_model_call).collect(),
            text,
            decision: None,
            ignored_calls: 0,
            usage,
            model,
        });
    }
    let calls = calls
        .iter()
        .map(|call| (call.fn_name.as_str(), &call.fn_arguments));
    let reading = request.decisions.read_calls(calls);
    let Spoken { text, speaks } = choose_words(text, &reading);
    if !speaks {
        return Err(match &response.stop_reason {
            Some(StopReason::ContentFilter(_)) => ModelFailure::declined_answer(),
            _ => ModelFailure::empty_answer(),
        });
    }
    Ok(LlmReply {
        calls: Vec::new(),
        text,
        decision: reading.decision,
        ignored_calls: reading.ignored,
        usage,
        model,
    })
}

fn to_model_call(call: &ToolCall) -> ModelCall {
    ModelCall {
        id: call.call_id.clone(),
        name: call.fn_name.clone(),
        arguments: call.fn_arguments.clone(),
        marks: call.thought_signatures.clone().unwrap_or_default(),
    }
}

fn parse_usage(usage: &genai::chat::Usage) -> TokenUsage {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0);
    let details = usage.prompt_tokens_details.as_ref();
    let cache_read_tokens = count(details.and_then(|details| details.cached_tokens));
    let cache_write_tokens = count(details.and_then(|details| details.cache_creation_tokens));
    TokenUsage {
        input_tokens: count(usage.prompt_tokens).saturating_sub(cache_read_tokens + cache_write_tokens),
        output_tokens: count(usage.completion_tokens),
        cache_read_tokens,
        cache_write_tokens,
    }
}
