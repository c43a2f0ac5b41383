//! A provider's webhook as a whole: which paths it has, what proves a request, what the request brings, and how the
//! provider is told where to post. No I/O: whoever serves HTTP finds the [`Route`], reads the body, fetches the
//! [`WebhookKeys`] that [`keys_of`] names and hands all of it to [`Route::receive`].
//!
//! Each provider's part is its `webhook` room: a `Door`.

mod keys;
mod path;
mod setup;
#[cfg(test)]
mod tests;

pub use keys::{KeyNeeds, NamedKey, WebhookKeys};
pub use setup::WebhookSetup;

pub(crate) use path::encoded;
pub(crate) use setup::{HIDDEN, secret_of};

use crate::ParseError;
use crate::catalogue::Module;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use reqwest::header::HeaderMap;
use std::fmt;
use std::time::Duration;

/// What a provider has for its webhooks.
pub(crate) trait Door: Sync {
    /// Whose it is.
    fn provider(&self) -> Provider;

    /// The paths under which everything of it lies, the usual one first; empty if it posts nothing.
    fn paths(&self) -> &'static [&'static str];

    /// The methods of the path with these segments after one of [`paths`](Door::paths); empty if there is no such route.
    fn methods(&self, rest: &[String]) -> &'static [Method];

    /// What proves its webhooks.
    fn keys(&self) -> KeyNeeds;

    /// How long it waits for an answer, if less than most do; a webhook that is not taken by then is refused, so that it
    /// learns that it must repeat it.
    fn patience(&self) -> Option<Duration> {
        None
    }

    /// Proves a request of one of its routes and reads it.
    fn receive(&self, request: &Request<'_>, keys: &WebhookKeys, now: Timestamp) -> Result<Taken, Refusal>;

    /// How it is to be set up for an instance that is reached under `base`, which has no slash at its end.
    fn setting_up(
        &self,
        instance: &Instance,
        keys: &WebhookKeys,
        base: &str,
        with_secret: bool,
    ) -> WebhookSetup;
}

/// A method that webhooks come with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A handshake: no body.
    Get,
    /// Events.
    Post,
}

/// A request for a provider's webhook. Nothing of it is to be trusted.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The segments after the provider's path, percent-decoded.
    pub(crate) rest: &'a [String],
    /// How it came.
    pub(crate) method: Method,
    /// What it shows and brings.
    pub(crate) brings: Brings<'a>,
}

/// What a request brings besides its method and path. Nothing of it is to be trusted.
#[derive(Clone, Copy)]
pub struct Brings<'a> {
    /// What stands after the `?`, as it came.
    pub query: Option<&'a str>,
    /// The headers.
    pub headers: &'a HeaderMap,
    /// The bytes as they came.
    pub body: &'a [u8],
}

impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({:?}, ***)", self.method)
    }
}

impl fmt::Debug for Brings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Brings({} bytes, ***)", self.body.len())
    }
}

impl<'a> Request<'a> {
    /// A header, if it is there and is text.
    pub(crate) fn header(&self, name: &str) -> Option<&'a str> {
        self.brings.headers.get(name)?.to_str().ok()
    }
}

/// What an authentic request brought.
#[derive(Debug, Clone)]
pub enum Taken {
    /// What its body holds, in order: to be recorded before it is acknowledged.
    Items(Vec<WebhookItem>),
    /// A handshake: the text to answer, as plain text and with nothing around it.
    Answer(String),
}

/// Why a request was not taken. No text repeats anything of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No provider has this path: 404.
    #[error("there is no such provider")]
    NoRoute,
    /// The path has other methods, which these are: 405.
    #[error("this route does not have that method")]
    Method(&'static [Method]),
    /// The body is no JSON, or none of this provider's: 400.
    #[error("the body is not JSON, or not a webhook of this provider")]
    NotEnvelope,
    /// Wrong in another way, which is told to the caller: 400.
    #[error("{0}")]
    BadRequest(&'static str),
    /// What would prove it is not configured: 503. What is missing is for the log, not for the caller.
    #[error("{0} is not configured")]
    NotSetUp(&'static str),
    /// The proof is missing or wrong: 401. What was refused, for the log.
    #[error("{0}")]
    Unproven(&'static str),
}

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Self {
        match error {
            ParseError::TooManyValues => Self::BadRequest("the body holds too many values"),
            ParseError::NotJson | ParseError::NotEnvelope { .. } => Self::NotEnvelope,
        }
    }
}

/// A provider's route that a request came by.
#[derive(Clone)]
pub struct Route {
    door: &'static dyn Door,
    method: Method,
    rest: Vec<String>,
}

impl fmt::Debug for Route {
    /// A path can hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Route({}, {:?}, ***)", self.provider(), self.method)
    }
}

impl Route {
    /// The route of `path` (raw, without its query) for `method`; `None` stands for one that no webhook comes with.
    pub fn find(method: Option<Method>, path: &str) -> Result<Self, Refusal> {
        let (door, rest) = door_at(path).ok_or(Refusal::NoRoute)?;
        let rest = path::segments(rest)?;
        let methods = door.methods(&rest);
        if methods.is_empty() {
            return Err(Refusal::NoRoute);
        }
        let method = method.filter(|method| methods.contains(method));
        let method = method.ok_or(Refusal::Method(methods))?;
        Ok(Self { door, method, rest })
    }

    /// Whose route it is.
    pub fn provider(&self) -> Provider {
        self.door.provider()
    }

    /// How long an answer may take, if that is limited.
    pub fn patience(&self) -> Option<Duration> {
        self.door.patience()
    }

    /// How the request came.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Proves a request with the keys of this route's [provider](Route::provider) and reads it. `now` is the time of what
    /// carries none.
    pub fn receive(&self, brings: Brings<'_>, keys: &WebhookKeys, now: Timestamp) -> Result<Taken, Refusal> {
        let request = Request {
            rest: &self.rest,
            method: self.method,
            brings,
        };
        self.door.receive(&request, keys, now)
    }
}

/// The paths under which every provider's webhooks lie.
pub fn paths() -> impl Iterator<Item = &'static str> {
    doors().flat_map(|door| door.paths().iter().copied())
}

/// Whose webhook a path is for, whether or not it is one of its routes.
pub fn provider_of(path: &str) -> Option<Provider> {
    door_at(path).map(|(door, _)| door.provider())
}

/// What proves the webhooks of `provider`.
pub fn keys_of(provider: Provider) -> KeyNeeds {
    door_of(provider).map_or(KeyNeeds::NOTHING, Door::keys)
}

/// Every secret that proves webhooks of any provider, by the name of its setting.
pub fn named_keys() -> impl Iterator<Item = &'static NamedKey> {
    doors().flat_map(|door| door.keys().named)
}

/// How its provider is to be set up for `instance`, with the `keys` of that provider. `base`: where providers reach this
/// installation, without a slash at its end. Without `with_secret` no secret is told, nor stands in the URL.
pub fn setting_up(instance: &Instance, keys: &WebhookKeys, base: &str, with_secret: bool) -> WebhookSetup {
    match door_of(instance.provider) {
        Some(door) => door.setting_up(instance, keys, base, with_secret),
        None => WebhookSetup::NOTHING,
    }
}

fn door_of(provider: Provider) -> Option<&'static dyn Door> {
    Module::of(provider).map(Module::door)
}

fn doors() -> impl Iterator<Item = &'static dyn Door> {
    Module::ALL.into_iter().map(Module::door)
}

/// The door that a path leads to, and the rest of the path.
fn door_at(path: &str) -> Option<(&'static dyn Door, &str)> {
    doors().find_map(|door| {
        let mut rests = door.paths().iter().filter_map(|prefix| path.strip_prefix(prefix));
        let rest = rests.find(|rest| rest.is_empty() || rest.starts_with('/'));
        rest.map(|rest| (door, rest))
    })
}
