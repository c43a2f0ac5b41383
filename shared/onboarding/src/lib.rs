//! Connects an instance to its provider, checks its setup, and builds webhooks as the provider would. The command line
//! uses this, and the API by a [`SetupService`]. Nothing is printed here: all results are returned as data.
//!
//! The code for each provider is in its own folder (`admin_client`, `connect`, `check_setup`, `sign`); this module calls
//! the right one.

mod admin_request;
mod check_result;
mod connect;
mod destination;
mod dialog360;
mod evolution;
mod instance_webhook;
mod meta;
mod number_question;
mod setup_service;
mod setup_state;
mod sign;
mod target;

#[cfg(test)]
use recado_testkit::servers::scripted as stand_in;

pub use admin_request::AdminRequestError;
pub use check_result::{CheckResult, Severity};
pub use connect::{ConnectError, ConnectOptions, ConnectParameters, ConnectStep};
pub use destination::{KeyDestination, check_key_destination};
pub use evolution::PairingAnswer;
pub use instance_webhook::InstanceWebhook;
pub use number_question::NumberQuestion;
pub use setup_service::SetupService;
pub use sign::{AuthenticateError, AuthenticatedWebhook, WebhookCredentials};
pub use target::OnboardingTarget;

use recado_domain::config::Instance;
use recado_domain::provider::Provider;
use recado_domain::secret::Secret;
use recado_whatsapp::{SimulatedInbound, required_keys};
use serde_json::Value;
use setup_state::SetupRequirements;

/// Message that tells the operator what to set up instead of a webhook of AWS.
const NO_WEBHOOK_TO_SET: &str = "AWS End User Messaging Social has no webhook: its events come by a topic and a \
    queue, which the stack's parameter SocialTopicArn sets up (docs/providers/aws-social.md)";

/// The question about a number at AWS.
const AWS_NUMBER_QUESTION: NumberQuestion = NumberQuestion {
    provider: "AWS End User Messaging Social",
    called: "the phone_number_id of the number",
    example: "100000000000001",
    settings: &[],
};

/// Message that tells why events of AWS cannot be replayed.
const NO_WEBHOOK_TO_REPLAY: &str = "events of AWS come by a queue and cannot be posted";

/// Sets the instance's webhook at the provider and checks that Recado accepts a webhook. Each finished step is added to
/// `steps`, also if a later one fails.
pub async fn connect_instance(
    subject: &OnboardingTarget<'_>,
    connecting: &ConnectParameters<'_>,
    steps: &mut Vec<ConnectStep>,
) -> Result<(), ConnectError> {
    match subject.instance.provider {
        Provider::Evolution => evolution::connect_webhook(subject, connecting, steps).await,
        Provider::Meta => meta::connect_instance(subject, connecting, steps).await,
        Provider::Dialog360 => dialog360::connect_instance(subject, connecting, steps).await,
        Provider::AwsSocial => Err(ConnectError::NoWebhook(NO_WEBHOOK_TO_SET)),
    }
}

/// Checks the instance's state with the provider, using its key. `webhook` is the installation's description of the
/// instance, if the installation has it.
pub async fn check_setup(
    subject: &OnboardingTarget<'_>,
    webhook: Option<&InstanceWebhook>,
    key: &Secret,
) -> Vec<CheckResult> {
    match subject.instance.provider {
        Provider::Evolution => evolution::check_setup(subject, webhook, key).await,
        Provider::Meta => meta::check_setup(subject, key).await,
        Provider::Dialog360 => dialog360::check_setup(subject, webhook, key).await,
        // AWS's state is checked with AWS's own tools.
        Provider::AwsSocial => Vec::new(),
    }
}

/// Starts the pairing of a phone, unless one is connected.
pub async fn pair_phone(subject: &OnboardingTarget<'_>, key: &Secret) -> Result<PairingAnswer, ConnectError> {
    match subject.instance.provider {
        Provider::Evolution => evolution::pair_phone(subject, key).await,
        Provider::Meta | Provider::Dialog360 | Provider::AwsSocial => Err(ConnectError::NoWebhook(
            "no phone is paired with a number of this provider",
        )),
    }
}

/// Checks that the instance's webhooks can be proven and that their URL is acceptable.
pub fn setup_state(instance: &Instance, webhook: Option<&InstanceWebhook>) -> Vec<CheckResult> {
    setup_state::check_webhook_setup(instance, webhook, setup_requirements(instance.provider))
}

/// Returns a note if the instance may send faster than is safe for its number.
pub fn check_rate_limit(instance: &Instance) -> Option<CheckResult> {
    setup_state::check_rate_limit(instance, setup_requirements(instance.provider)?)
}

/// Returns a provider's requirements on an installation; `None` if its events come through a queue.
fn setup_requirements(provider: Provider) -> Option<SetupRequirements> {
    match provider {
        Provider::Evolution => Some(evolution::SETUP_REQUIREMENTS),
        Provider::Meta => Some(meta::REQUIREMENTS),
        Provider::Dialog360 => Some(dialog360::REQUIREMENTS),
        Provider::AwsSocial => None,
    }
}

/// Returns `true` if a provider may run on the same machine or network, where webhooks over plain HTTP are acceptable.
pub fn may_post_plain_http(provider: Provider) -> bool {
    setup_requirements(provider).is_none_or(|demands| demands.allows_http)
}

/// Returns the setting whose secret the connect command sends to the installation's webhook URL; `None` if it sends
/// none.
pub fn setting_shown_to_webhook(provider: Provider) -> Option<&'static str> {
    match provider {
        Provider::Meta => Some(meta::VERIFY_TOKEN),
        Provider::Evolution | Provider::Dialog360 | Provider::AwsSocial => None,
    }
}

/// Returns `true` if a provider's webhooks are proven with a secret of their instance. Only the installation can derive
/// this secret.
pub fn uses_instance_secret(provider: Provider) -> bool {
    required_keys(provider).masters
}

/// Returns what to ask about a number at a provider.
pub fn describe_number(provider: Provider) -> NumberQuestion {
    match provider {
        Provider::Evolution => evolution::NUMBER_QUESTION,
        Provider::Meta => meta::NUMBER_QUESTION,
        Provider::Dialog360 => dialog360::NUMBER_QUESTION,
        Provider::AwsSocial => AWS_NUMBER_QUESTION,
    }
}

/// Builds the request with which a provider would post `body`: the reverse of verifying it.
pub fn authenticate(
    provider: Provider,
    body: Value,
    proofs: &WebhookCredentials,
) -> Result<AuthenticatedWebhook, AuthenticateError> {
    match provider {
        Provider::Evolution => evolution::authenticate(body, proofs),
        Provider::Meta => meta::sign_webhook(&body, proofs),
        Provider::Dialog360 => dialog360::sign_webhook(&body, proofs),
        Provider::AwsSocial => Err(AuthenticateError::NotPosted(NO_WEBHOOK_TO_REPLAY)),
    }
}

/// Returns the provider whose webhook a body looks like. A body of Meta's form counts as Meta's own, because its content
/// does not show which provider passed it on.
pub fn recognize_provider(body: &Value) -> Option<Provider> {
    if meta::is_meta_body(body) {
        Some(Provider::Meta)
    } else if evolution::is_evolution_body(body) {
        Some(Provider::Evolution)
    } else {
        None
    }
}

/// Builds a webhook with a text from a contact to `instance`. `None` if the provider's webhooks can only be proven with
/// a key of the provider's.
pub fn example_webhook(instance: &Instance, sample: &SimulatedInbound<'_>) -> Option<Value> {
    match instance.provider {
        Provider::Evolution => evolution::example_webhook(instance, sample),
        Provider::Meta | Provider::Dialog360 | Provider::AwsSocial => None,
    }
}

/// Builds the same webhook for use between a shell's single quotes. The shell fills in a new id and the current time on
/// each run.
pub fn example_webhook_in_shell(instance: &Instance, sample: &SimulatedInbound<'_>) -> Option<String> {
    match instance.provider {
        Provider::Evolution => evolution::example_webhook_in_shell(instance, sample),
        Provider::Meta | Provider::Dialog360 | Provider::AwsSocial => None,
    }
}

#[cfg(test)]
mod tests;
