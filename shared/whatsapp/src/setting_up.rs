//! Setting an instance up at its provider, looking it over, and playing the provider's part: what the command line does,
//! and no function of Recado. It prints nothing: what is to be told comes back as data.
//!
//! Each provider does this in its own folder (`connect`, `examine`, `prove`, `example`); which of them it is, is decided
//! here.

mod connecting;
mod destination;
mod finding;
mod proofs;
mod sample;
mod standing;
mod step;
mod webhook;

pub use connecting::{ConnectError, Connecting, Options};
pub use destination::{Destination, destination, host, shown_to_webhook};
pub use finding::{Finding, Grade};
pub use proofs::{Proofs, ProveError, Signed};
pub use sample::Sample;
pub use standing::{limits, standing};
pub use step::Step;
pub use webhook::Webhook;

pub(crate) use connecting::posted;
pub(crate) use finding::clock;
pub(crate) use standing::{Demands, Handshake};

use crate::catalogue::Module;
use crate::config::ProviderConfig;
use crate::webhook::keys_of;
use crate::{aws_social, dialog360, evolution, meta};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use reqwest::Client;
use serde_json::Value;

/// What is said of a provider that there is no more.
const NOBODY: &str = "there is no such provider";

/// An instance, and what is at hand to ask its provider.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// A client that follows no redirects: they would carry the key along.
    pub http: &'a Client,
    /// Where the providers are.
    pub config: &'a ProviderConfig,
    /// The instance.
    pub instance: &'a Instance,
    /// Looks up a secret of this machine by its setting's name.
    pub named: fn(&str) -> Option<Secret>,
    /// This machine's clock.
    pub now: fn() -> Timestamp,
}

impl Subject<'_> {
    /// The instance's id, for people.
    pub(crate) fn name(&self) -> &str {
        self.instance.id.as_str()
    }
}

/// Tells the provider where the instance's webhooks go, and checks that they would be taken. What was done is added to
/// `steps`, also when it ends in an error.
pub async fn connect(
    subject: &Subject<'_>,
    connecting: &Connecting<'_>,
    steps: &mut Vec<Step>,
) -> Result<(), ConnectError> {
    match Module::of(subject.instance.provider) {
        Some(Module::Evolution) => evolution::connect(subject, connecting, steps).await,
        Some(Module::Meta) => meta::connect(subject, connecting, steps).await,
        Some(Module::Dialog360) => dialog360::connect(subject, connecting, steps).await,
        Some(Module::AwsSocial) => Err(ConnectError::NoWebhook(aws_social::BY_QUEUE)),
        None => Err(ConnectError::NoWebhook(NOBODY)),
    }
}

/// Asks the provider how the instance is, with its key. `webhook` is what the installation says of it, if it does.
pub async fn examine(subject: &Subject<'_>, webhook: Option<&Webhook>, key: &Secret) -> Vec<Finding> {
    match Module::of(subject.instance.provider) {
        Some(Module::Evolution) => evolution::examine(subject, webhook, key).await,
        Some(Module::Meta) => meta::examine(subject, key).await,
        Some(Module::Dialog360) => dialog360::examine(subject, webhook, key).await,
        // AWS is asked with AWS's own tools.
        Some(Module::AwsSocial) | None => Vec::new(),
    }
}

/// What a provider demands of an installation; `None` where its events come by a queue.
pub(crate) fn demands(provider: Provider) -> Option<Demands> {
    match Module::of(provider) {
        Some(Module::Evolution) => Some(evolution::DEMANDS),
        Some(Module::Meta) => Some(meta::DEMANDS),
        Some(Module::Dialog360) => Some(dialog360::DEMANDS),
        Some(Module::AwsSocial) | None => None,
    }
}

/// Whether a provider's webhooks are proven with a secret of their instance, which the installation has to tell.
pub fn by_instance(provider: Provider) -> bool {
    keys_of(provider).masters
}

/// Makes the request that a provider would post `body` by: the opposite of verifying it.
pub fn prove(provider: Provider, body: Value, proofs: &Proofs) -> Result<Signed, ProveError> {
    match Module::of(provider) {
        Some(Module::Evolution) => evolution::prove(body, proofs),
        Some(Module::Meta) => meta::prove(&body, proofs),
        Some(Module::Dialog360) => dialog360::prove(&body, proofs),
        Some(Module::AwsSocial) => Err(ProveError::NotPosted(aws_social::NOT_POSTED)),
        None => Err(ProveError::NotPosted(NOBODY)),
    }
}

/// Whose webhook a body looks like. Bodies of Meta's shape are taken for Meta's own: nothing in them tells through whom
/// they came.
pub fn recognised(body: &Value) -> Option<Provider> {
    if meta::recognises(body) {
        Some(crate::meta::NAME)
    } else if evolution::recognises(body) {
        Some(crate::evolution::NAME)
    } else {
        None
    }
}

/// A webhook in which a contact writes a text to `instance`; `None` where a provider's webhooks can be proven with
/// nothing that an installation makes for itself.
pub fn example(instance: &Instance, sample: &Sample<'_>) -> Option<Value> {
    match Module::of(instance.provider) {
        Some(Module::Evolution) => evolution::example(instance, sample),
        Some(Module::Meta | Module::Dialog360 | Module::AwsSocial) | None => None,
    }
}

/// The same between the single quotes of a shell, which puts another id and its own time in whenever it is run.
pub fn example_in_shell(instance: &Instance, sample: &Sample<'_>) -> Option<String> {
    match Module::of(instance.provider) {
        Some(Module::Evolution) => evolution::example_in_shell(instance, sample),
        Some(Module::Meta | Module::Dialog360 | Module::AwsSocial) | None => None,
    }
}

#[cfg(test)]
mod tests;
