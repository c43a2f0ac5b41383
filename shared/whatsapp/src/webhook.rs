//! A provider's webhook as a whole: which paths it has, what proves a request, what the request brings, and how the
//! provider is told where to post. No I/O: whoever serves HTTP finds the [`WebhookRoute`], reads the body, fetches the
//! [`WebhookKeys`] that [`required_keys`] names and hands all of it to [`WebhookRoute::authenticate_and_parse`].
//!
//! Each provider's part is its `webhook` room: a `WebhookHandler`.

mod keys;
mod path;
mod setup;
#[cfg(test)]
mod tests;

pub use keys::{NamedKey, RequiredKeys, WebhookKeys};
pub use setup::WebhookSetup;

pub(crate) use path::percent_encode;
pub(crate) use setup::{HIDDEN_SECRET, current_webhook_secret};

use crate::WebhookParseError;
use crate::registry::ProviderModule;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use reqwest::header::HeaderMap;
use std::fmt;
use std::time::Duration;

/// What a provider has for its webhooks.
pub(crate) trait WebhookHandler: Sync {
    /// Whose it is.
    fn provider(&self) -> Provider;

    /// The paths under which everything of it lies, the usual one first; empty if it posts nothing.
    fn path_prefixes(&self) -> &'static [&'static str];

    /// The methods of the path with these segments after one of [`paths`](WebhookHandler::path_prefixes); empty if there is no such route.
    fn allowed_methods(&self, rest: &[String]) -> &'static [WebhookMethod];

    /// What proves its webhooks.
    fn required_keys(&self) -> RequiredKeys;

    /// How long it waits for an answer, if less than most do; a webhook that is not taken by then is refused, so that it
    /// learns that it must repeat it.
    fn response_timeout(&self) -> Option<Duration> {
        None
    }

    /// Proves a request of one of its routes and reads it.
    fn authenticate_and_parse(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<AcceptedWebhook, WebhookRefusal>;

    /// How it is to be set up for an instance that is reached under `base`, which has no slash at its end.
    fn describe_webhook_setup(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        with_secret: bool,
    ) -> WebhookSetup;
}

/// A method that webhooks come with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookMethod {
    /// A handshake: no body.
    Get,
    /// Events.
    Post,
}

/// A request for a provider's webhook. Nothing of it is to be trusted.
#[derive(Clone, Copy)]
pub(crate) struct WebhookRequest<'a> {
    /// The segments after the provider's path, percent-decoded.
    pub(crate) path_segments: &'a [String],
    /// How it came.
    pub(crate) method: WebhookMethod,
    /// What it shows and brings.
    pub(crate) parts: RequestParts<'a>,
}

/// What a request brings besides its method and path. Nothing of it is to be trusted.
#[derive(Clone, Copy)]
pub struct RequestParts<'a> {
    /// What stands after the `?`, as it came.
    pub query: Option<&'a str>,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The bytes as they came.
    pub body: &'a [u8],
}

impl fmt::Debug for WebhookRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:?}, ***)", self.method)
    }
}

impl fmt::Debug for RequestParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Brings({} bytes, ***)", self.body.len())
    }
}

impl<'a> WebhookRequest<'a> {
    /// A header, if it is there and is text.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.parts.headers.get(name)?.to_str().ok()
    }
}

/// What an authentic request brought.
#[derive(Debug, Clone)]
pub enum AcceptedWebhook {
    /// What its body holds, in order: to be recorded before it is acknowledged.
    Items(Vec<WebhookItem>),
    /// A handshake: the text to answer, as plain text and with nothing around it.
    HandshakeAnswer(String),
}

/// Why a request was not taken. No text repeats anything of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookRefusal {
    /// No provider has this path: 404.
    #[error("there is no such provider")]
    NoRoute,
    /// The path has other methods, which these are: 405.
    #[error("this route does not have that method")]
    MethodNotAllowed(&'static [WebhookMethod]),
    /// The body is no JSON, or none of this provider's: 400.
    #[error("the body is not JSON, or not a webhook of this provider")]
    NotEnvelope,
    /// Wrong in another way, which is told to the caller: 400.
    #[error("{0}")]
    BadRequest(&'static str),
    /// What would prove it is not configured: 503. What is missing is for the log, not for the caller.
    #[error("{0} is not configured")]
    NotConfigured(&'static str),
    /// The proof is missing or wrong: 401. What was refused, for the log.
    #[error("{0}")]
    Unauthorized(&'static str),
}

impl From<WebhookParseError> for WebhookRefusal {
    fn from(error: WebhookParseError) -> Self {
        match error {
            WebhookParseError::TooManyValues => Self::BadRequest("the body holds too many values"),
            WebhookParseError::NotJson | WebhookParseError::NotEnvelope { .. } => Self::NotEnvelope,
        }
    }
}

/// A provider's route that a request came by.
#[derive(Clone)]
pub struct WebhookRoute {
    handler: &'static dyn WebhookHandler,
    method: WebhookMethod,
    path_segments: Vec<String>,
}

impl fmt::Debug for WebhookRoute {
    /// A path can hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Route({}, {:?}, ***)", self.provider(), self.method)
    }
}

impl WebhookRoute {
    /// The route of `path` (raw, without its query) for `method`; `None` stands for one that no webhook comes with.
    pub fn for_path(method: Option<WebhookMethod>, path: &str) -> Result<Self, WebhookRefusal> {
        let (door, rest) = handler_for_path(path).ok_or(WebhookRefusal::NoRoute)?;
        let rest = path::split_segments(rest)?;
        let methods = door.allowed_methods(&rest);
        if methods.is_empty() {
            return Err(WebhookRefusal::NoRoute);
        }
        let method = method.filter(|method| methods.contains(method));
        let method = method.ok_or(WebhookRefusal::MethodNotAllowed(methods))?;
        Ok(Self {
            handler: door,
            method,
            path_segments: rest,
        })
    }

    /// Whose route it is.
    pub fn provider(&self) -> Provider {
        self.handler.provider()
    }

    /// How long an answer may take, if that is limited.
    pub fn response_timeout(&self) -> Option<Duration> {
        self.handler.response_timeout()
    }

    /// How the request came.
    pub fn method(&self) -> WebhookMethod {
        self.method
    }

    /// Proves a request with the keys of this route's provider and reads it. `now` is the time of what
    /// carries none.
    pub fn authenticate_and_parse(
        &self,
        brings: RequestParts<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<AcceptedWebhook, WebhookRefusal> {
        let request = WebhookRequest {
            path_segments: &self.path_segments,
            method: self.method,
            parts: brings,
        };
        self.handler.authenticate_and_parse(&request, keys, now)
    }
}

/// The paths under which every provider's webhooks lie.
pub fn all_path_prefixes() -> impl Iterator<Item = &'static str> {
    all_handlers().flat_map(|door| door.path_prefixes().iter().copied())
}

/// Whose webhook a path is for, whether or not it is one of its routes.
pub fn provider_for_path(path: &str) -> Option<Provider> {
    handler_for_path(path).map(|(door, _)| door.provider())
}

/// What proves the webhooks of `provider`.
pub fn required_keys(provider: Provider) -> RequiredKeys {
    handler_for_provider(provider).map_or(RequiredKeys::NOTHING, WebhookHandler::required_keys)
}

/// Every secret that proves webhooks of any provider, by the name of its setting.
pub fn list_named_keys() -> impl Iterator<Item = &'static NamedKey> {
    all_handlers().flat_map(|door| door.required_keys().named)
}

/// How its provider is to be set up for `instance`, with the `keys` of that provider. `base`: where providers reach this
/// installation, without a slash at its end. Without `with_secret` no secret is told, nor stands in the URL.
pub fn describe_webhook_setup(
    instance: &Instance,
    keys: &WebhookKeys,
    base: &str,
    with_secret: bool,
) -> WebhookSetup {
    match handler_for_provider(instance.provider) {
        Some(door) => door.describe_webhook_setup(instance, keys, base, with_secret),
        None => WebhookSetup::NOTHING,
    }
}

fn handler_for_provider(provider: Provider) -> Option<&'static dyn WebhookHandler> {
    ProviderModule::from_provider(provider).map(ProviderModule::webhook_handler)
}

fn all_handlers() -> impl Iterator<Item = &'static dyn WebhookHandler> {
    ProviderModule::ALL
        .into_iter()
        .map(ProviderModule::webhook_handler)
}

/// The door that a path leads to, and the rest of the path.
fn handler_for_path(path: &str) -> Option<(&'static dyn WebhookHandler, &str)> {
    all_handlers().find_map(|door| {
        let mut rests = door
            .path_prefixes()
            .iter()
            .filter_map(|prefix| path.strip_prefix(prefix));
        let rest = rests.find(|rest| rest.is_empty() || rest.starts_with('/'));
        rest.map(|rest| (door, rest))
    })
}
