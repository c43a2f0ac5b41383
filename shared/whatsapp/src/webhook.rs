//! The webhooks of all providers: their paths, their proofs, their content, and how to set them up at the provider. No
//! I/O: an HTTP server finds the [`WebhookRoute`], reads the body, fetches the [`WebhookKeys`] that [`required_keys`]
//! names and passes all of it to [`WebhookRoute::authenticate_and_parse`].
//!
//! The code for each provider is in its `webhook` module, as a `WebhookHandler`.

mod keys;
mod path;
mod setup;
#[cfg(test)]
mod tests;

pub use keys::{NamedKey, RequiredKeys, WebhookKeys};
pub use setup::WebhookSetup;

pub(crate) use path::percent_encode;
pub(crate) use setup::{HIDDEN_SECRET, current_webhook_secret};

use crate::registry::webhook_handler;
use crate::wire::json::WebhookParseError;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use reqwest::header::HeaderMap;
use std::fmt;
use std::time::Duration;

/// A provider's implementation of its webhooks.
pub(crate) trait WebhookHandler: Sync {
    /// Returns the provider's name.
    fn provider(&self) -> Provider;

    /// Returns the path prefixes of all its routes, the usual one first; empty if the provider posts nothing.
    fn path_prefixes(&self) -> &'static [&'static str];

    /// Returns the methods of a path; empty if there is no such route. `rest` holds the segments after one of the
    /// [`path_prefixes`](WebhookHandler::path_prefixes).
    fn allowed_methods(&self, rest: &[String]) -> &'static [WebhookMethod];

    /// Returns the keys that prove its webhooks.
    fn required_keys(&self) -> RequiredKeys;

    /// Returns the provider's time limit for an answer, if it is shorter than most providers'. A webhook that is not
    /// stored by then is refused, so that the provider repeats it.
    fn response_timeout(&self) -> Option<Duration> {
        None
    }

    /// Checks that a request is authentic, then reads it.
    fn authenticate_and_parse(
        &self,
        request: &WebhookRequest<'_>,
        keys: &WebhookKeys,
        now: Timestamp,
    ) -> Result<AcceptedWebhook, WebhookRefusal>;

    /// Describes the webhook setup of an instance. `base` is the installation's public URL, without a slash at its end.
    fn describe_webhook_setup(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        with_secret: bool,
    ) -> WebhookSetup;
}

/// An HTTP method that webhooks use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookMethod {
    /// Handshake, without a body.
    Get,
    /// Delivery of events.
    Post,
}

/// A request to a provider's webhook. No part of it is trusted.
#[derive(Clone, Copy)]
pub(crate) struct WebhookRequest<'a> {
    /// Path segments after the provider's prefix, percent-decoded.
    pub(crate) path_segments: &'a [String],
    /// HTTP method of the request.
    pub(crate) method: WebhookMethod,
    /// Query, headers and body of the request.
    pub(crate) parts: RequestParts<'a>,
}

/// The query, headers and body of a request. No part of them is trusted.
#[derive(Clone, Copy)]
pub struct RequestParts<'a> {
    /// Raw text after the `?` in the URL.
    pub query: Option<&'a str>,
    /// Headers of the request.
    pub headers: &'a HeaderMap,
    /// Body as the received bytes.
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
    /// Returns a header; `None` if it is missing or not text.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.parts.headers.get(name)?.to_str().ok()
    }
}

/// The content of an authentic request.
#[derive(Debug, Clone)]
pub enum AcceptedWebhook {
    /// Items of the body, in order. They must be stored before the webhook is acknowledged.
    Items(Vec<WebhookItem>),
    /// Text to answer a handshake with, as plain text and without any addition.
    HandshakeAnswer(String),
}

/// The reason why a request was refused. No text repeats anything of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookRefusal {
    /// No provider has this path: 404.
    #[error("there is no such provider")]
    NoRoute,
    /// The path exists only for these other methods: 405.
    #[error("this route does not have that method")]
    MethodNotAllowed(&'static [WebhookMethod]),
    /// The body is not JSON, or not of this provider's form: 400.
    #[error("the body is not JSON, or not a webhook of this provider")]
    NotEnvelope,
    /// The request is wrong in another way, which the caller is told: 400.
    #[error("{0}")]
    BadRequest(&'static str),
    /// The key for the proof is not configured: 503. The text names the missing key for the log, not for the caller.
    #[error("{0} is not configured")]
    NotConfigured(&'static str),
    /// The proof is missing or wrong: 401. The text is for the log.
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

/// The route of a request to a provider's webhook.
#[derive(Clone)]
pub struct WebhookRoute {
    handler: &'static dyn WebhookHandler,
    method: WebhookMethod,
    path_segments: Vec<String>,
}

impl fmt::Debug for WebhookRoute {
    /// Omits the path, which can contain a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Route({}, {:?}, ***)", self.provider(), self.method)
    }
}

impl WebhookRoute {
    /// Finds the route of `path` (raw, without its query) for `method`; `None` stands for a method that no webhook uses.
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

    /// Returns the provider of the route.
    pub fn provider(&self) -> Provider {
        self.handler.provider()
    }

    /// Returns the provider's time limit for an answer, if it has one.
    pub fn response_timeout(&self) -> Option<Duration> {
        self.handler.response_timeout()
    }

    /// Returns the HTTP method of the request.
    pub fn method(&self) -> WebhookMethod {
        self.method
    }

    /// Checks that a request is authentic, with the keys of this route's provider, and reads it. `now` is the time of
    /// events and statuses without a time.
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

/// Lists the path prefixes of all providers' webhooks.
pub fn all_path_prefixes() -> impl Iterator<Item = &'static str> {
    all_handlers().flat_map(|door| door.path_prefixes().iter().copied())
}

/// Returns the provider that a path belongs to, even if the path is not one of its routes.
pub fn provider_for_path(path: &str) -> Option<Provider> {
    handler_for_path(path).map(|(door, _)| door.provider())
}

/// Returns the keys that prove the webhooks of `provider`.
pub fn required_keys(provider: Provider) -> RequiredKeys {
    webhook_handler(provider).map_or(RequiredKeys::NOTHING, WebhookHandler::required_keys)
}

/// Lists the named secrets that prove webhooks, of all providers.
pub fn list_named_keys() -> impl Iterator<Item = &'static NamedKey> {
    all_handlers().flat_map(|door| door.required_keys().named)
}

/// Describes the webhook setup of `instance` at its provider, with the `keys` of that provider. `base` is the URL under
/// which providers reach this installation, without a slash at its end. Without `with_secret` the result contains no
/// secret, not even in the URL.
pub fn describe_webhook_setup(
    instance: &Instance,
    keys: &WebhookKeys,
    base: &str,
    with_secret: bool,
) -> WebhookSetup {
    match webhook_handler(instance.provider) {
        Some(door) => door.describe_webhook_setup(instance, keys, base, with_secret),
        None => WebhookSetup::NOTHING,
    }
}

fn all_handlers() -> impl Iterator<Item = &'static dyn WebhookHandler> {
    Provider::ALL.into_iter().filter_map(webhook_handler)
}

/// Finds the handler of a path, and returns it with the rest of the path.
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
