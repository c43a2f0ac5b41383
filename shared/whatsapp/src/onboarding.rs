//! Setting an instance up at its provider, looking it over, and playing the provider's part: what the command line does,
//! and no function of Recado. It prints nothing: what is to be told comes back as data.
//!
//! Each provider does this in its own folder (`connect`, `examine`, `prove`, `example`); which of them it is, is decided
//! here.

mod check_result;
mod connect_parameters;
mod connect_step;
mod credentials;
mod destination;
mod instance_webhook;
mod sample_message;
mod setup_state;

pub use check_result::{CheckResult, Severity};
pub use connect_parameters::{ConnectError, ConnectOptions, ConnectParameters};
pub use connect_step::ConnectStep;
pub use credentials::{AuthenticateError, AuthenticatedWebhook, WebhookCredentials};
pub use destination::{KeyDestination, check_key_destination, setting_shown_to_webhook, url_origin};
pub use instance_webhook::InstanceWebhook;
pub use sample_message::SampleMessage;
pub use setup_state::{check_rate_limit, setup_state};

pub(crate) use check_result::check_clock;
pub(crate) use connect_parameters::post_own_webhook;
pub(crate) use setup_state::{HandshakeProblem, SetupRequirements};

use crate::config::ProviderConfig;
use crate::registry::ProviderModule;
use crate::webhook::required_keys;
use crate::{aws_social, dialog360, evolution, meta};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use reqwest::Client;
use serde_json::Value;

/// What is said of a provider that there is no more.
const NO_PROVIDER: &str = "there is no such provider";

/// An instance, and what is at hand to ask its provider.
#[derive(Debug, Clone, Copy)]
pub struct OnboardingTarget<'a> {
    /// A client that follows no redirects: they would carry the key along.
    pub http: &'a Client,
    /// Where the providers are.
    pub config: &'a ProviderConfig,
    /// The instance.
    pub instance: &'a Instance,
    /// Looks up a secret of this machine by its setting's name.
    pub lookup_secret: fn(&str) -> Option<Secret>,
    /// This machine's clock.
    pub now: fn() -> Timestamp,
}

impl OnboardingTarget<'_> {
    /// The instance's id, for people.
    pub(crate) fn instance_name(&self) -> &str {
        self.instance.id.as_str()
    }
}

/// Tells the provider where the instance's webhooks go, and checks that they would be taken. What was done is added to
/// `steps`, also when it ends in an error.
pub async fn connect_instance(
    subject: &OnboardingTarget<'_>,
    connecting: &ConnectParameters<'_>,
    steps: &mut Vec<ConnectStep>,
) -> Result<(), ConnectError> {
    match ProviderModule::from_provider(subject.instance.provider) {
        Some(ProviderModule::Evolution) => evolution::connect_webhook(subject, connecting, steps).await,
        Some(ProviderModule::Meta) => meta::connect_instance(subject, connecting, steps).await,
        Some(ProviderModule::Dialog360) => dialog360::connect_instance(subject, connecting, steps).await,
        Some(ProviderModule::AwsSocial) => Err(ConnectError::NoWebhook(aws_social::NO_WEBHOOK_TO_SET)),
        None => Err(ConnectError::NoWebhook(NO_PROVIDER)),
    }
}

/// Asks the provider how the instance is, with its key. `webhook` is what the installation says of it, if it does.
pub async fn check_setup(
    subject: &OnboardingTarget<'_>,
    webhook: Option<&InstanceWebhook>,
    key: &Secret,
) -> Vec<CheckResult> {
    match ProviderModule::from_provider(subject.instance.provider) {
        Some(ProviderModule::Evolution) => evolution::check_setup(subject, webhook, key).await,
        Some(ProviderModule::Meta) => meta::check_setup(subject, key).await,
        Some(ProviderModule::Dialog360) => dialog360::check_setup(subject, webhook, key).await,
        // AWS is asked with AWS's own tools.
        Some(ProviderModule::AwsSocial) | None => Vec::new(),
    }
}

/// What a provider demands of an installation; `None` where its events come by a queue.
pub(crate) fn setup_requirements(provider: Provider) -> Option<SetupRequirements> {
    match ProviderModule::from_provider(provider) {
        Some(ProviderModule::Evolution) => Some(evolution::SETUP_REQUIREMENTS),
        Some(ProviderModule::Meta) => Some(meta::REQUIREMENTS),
        Some(ProviderModule::Dialog360) => Some(dialog360::REQUIREMENTS),
        Some(ProviderModule::AwsSocial) | None => None,
    }
}

/// Whether a provider's webhooks are proven with a secret of their instance, which the installation has to tell.
pub fn uses_instance_secret(provider: Provider) -> bool {
    required_keys(provider).masters
}

/// Makes the request that a provider would post `body` by: the opposite of verifying it.
pub fn authenticate(
    provider: Provider,
    body: Value,
    proofs: &WebhookCredentials,
) -> Result<AuthenticatedWebhook, AuthenticateError> {
    match ProviderModule::from_provider(provider) {
        Some(ProviderModule::Evolution) => evolution::authenticate(body, proofs),
        Some(ProviderModule::Meta) => meta::sign_webhook(&body, proofs),
        Some(ProviderModule::Dialog360) => dialog360::sign_webhook(&body, proofs),
        Some(ProviderModule::AwsSocial) => {
            Err(AuthenticateError::NotPosted(aws_social::NO_WEBHOOK_TO_REPLAY))
        }
        None => Err(AuthenticateError::NotPosted(NO_PROVIDER)),
    }
}

/// Whose webhook a body looks like. Bodies of Meta's shape are taken for Meta's own: nothing in them tells through whom
/// they came.
pub fn recognize_provider(body: &Value) -> Option<Provider> {
    if meta::is_meta_body(body) {
        Some(crate::meta::NAME)
    } else if evolution::is_evolution_body(body) {
        Some(crate::evolution::NAME)
    } else {
        None
    }
}

/// A webhook in which a contact writes a text to `instance`; `None` where a provider's webhooks can be proven with
/// nothing that an installation makes for itself.
pub fn example_webhook(instance: &Instance, sample: &SampleMessage<'_>) -> Option<Value> {
    match ProviderModule::from_provider(instance.provider) {
        Some(ProviderModule::Evolution) => evolution::example_webhook(instance, sample),
        Some(ProviderModule::Meta | ProviderModule::Dialog360 | ProviderModule::AwsSocial) | None => None,
    }
}

/// The same between the single quotes of a shell, which puts another id and its own time in whenever it is run.
pub fn example_webhook_in_shell(instance: &Instance, sample: &SampleMessage<'_>) -> Option<String> {
    match ProviderModule::from_provider(instance.provider) {
        Some(ProviderModule::Evolution) => evolution::example_webhook_in_shell(instance, sample),
        Some(ProviderModule::Meta | ProviderModule::Dialog360 | ProviderModule::AwsSocial) | None => None,
    }
}

#[cfg(test)]
mod tests;
