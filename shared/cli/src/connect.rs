//! `recado connect`: sets an instance's webhook at its provider, and checks that webhooks would arrive.

use crate::command_environment::CommandEnvironment;
use crate::consent::Consent;
use crate::credential;
use crate::installation::InstallationArguments;
use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_http_client::url_origin;
use recado_machine::secret_variable::read_secret_variable;
use recado_onboarding::{ConnectOptions, ConnectParameters, InstanceWebhook, OnboardingTarget};
use serde_json::json;

/// Sets an instance's webhook at its provider, and checks that the provider's webhooks would be accepted.
#[derive(Debug, Args)]
pub struct ConnectArguments {
    /// The instance's id.
    instance: String,
    #[command(flatten)]
    there: InstallationArguments,
    /// The URL at which the provider reaches the installation, if not the one that the installation names
    /// (`RECADO_PUBLIC_URL`).
    #[arg(long)]
    public_url: Option<String>,
    /// The provider's key or token, if not the one that the instance names.
    #[arg(long, env = "RECADO_PROVIDER_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Evolution: webhooks include files (base64). Bodies grow by a third of each file.
    #[arg(long)]
    base64: bool,
    /// Evolution from 2.3 on: webhooks carry a signed token instead of the secret itself.
    #[arg(long)]
    jwt: bool,
    /// Evolution: webhooks tell when the contact types, so that a reply waits (`--typing=false`: no longer). Without this
    /// option, the setting stays as it is.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    typing: Option<bool>,
    /// Evolution: webhooks tell what other programs send through the instance, so that it counts as a person's answer
    /// (`--other-senders=false`: no longer). Without this option, the setting stays as it is.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    other_senders: Option<bool>,
    /// Only checks the webhook's settings, and changes nothing.
    #[arg(long)]
    check: bool,
    /// Sets the webhook also if its URL cannot be checked from this machine, as behind some routers.
    #[arg(long)]
    force: bool,
    /// Sends keys to hosts that the installation names, without asking.
    #[arg(long, short)]
    yes: bool,
    /// Prints the result as JSON: the steps that were taken, and the error if it failed.
    #[arg(long)]
    json: bool,
}

/// The warning about webhooks that include files. The first limit is AWS's, for the event of a function.
const BASE64_NOTE: &str = "Note: with --base64, files above about 4.3 MB do not arrive: a webhook holds 6 MB at most, on \
    AWS always, on one machine by RECADO_WEBHOOK_MAX_BYTES. Evolution repeats a larger one for some minutes, then its \
    message is lost.";

/// Connects one instance.
pub(crate) async fn run_connect(command: ConnectArguments, environment: &CommandEnvironment) -> Result<()> {
    let there = command.there.build_client(environment)?;
    let configured = there.get_configuration().await?;
    let instance = configured.find_instance(&command.instance)?;
    let told = there.fetch_webhook_secrets(&[instance]).await?;
    let mut webhook = told
        .into_iter()
        .next()
        .context("the installation does not say where its webhooks go")?;
    if let Some(public) = command.public_url.as_ref().filter(|_| !webhook.url.is_empty()) {
        webhook.url = replace_base_url(&webhook.url, public)?;
    }
    note_plain_http(instance, &webhook);
    if command.base64 {
        eprintln!("{BASE64_NOTE}");
    }
    let subject = OnboardingTarget {
        http: &there.http,
        config: &environment.providers,
        instance,
        lookup_secret: read_secret_variable,
        now: Timestamp::now,
    };
    let consent = Consent::new(command.yes);
    check_may_be_shown(&command, environment, instance, &webhook.url, &consent)?;
    let key = credential::find_credential(instance, command.key.as_deref(), &environment.providers, &consent);
    let key = key.map_err(|error| format!("{error:#}"));
    let connecting = ConnectParameters {
        webhook: &webhook,
        key: key.as_ref().map_err(String::as_str),
        options: ConnectOptions {
            check: command.check,
            base64: command.base64,
            token: command.jwt,
            force: command.force,
            typing: command.typing,
            other_senders: command.other_senders,
        },
    };
    let mut steps = Vec::new();
    let connected = recado_onboarding::connect_instance(&subject, &connecting, &mut steps).await;
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    if command.json {
        let error = connected.as_ref().err().map(ToString::to_string);
        let result =
            json!({"instance": instance.id, "connected": error.is_none(), "steps": steps, "error": error});
        println!("{result:#}");
    } else {
        for step in steps {
            println!("{}: {step}", instance.id);
        }
    }
    Ok(connected?)
}

/// Prints a note if the webhook's URL is not https.
fn note_plain_http(instance: &Instance, webhook: &InstanceWebhook) {
    if webhook.url.is_empty() || webhook.url.starts_with("https://") {
        return;
    }
    let url = webhook.url_without_secret();
    let provider = instance.provider;
    if recado_onboarding::may_post_plain_http(provider) {
        eprintln!("Note: {url} is not https: fine for a provider on this machine or network only.");
    } else {
        eprintln!("Note: {url} is not https, and {provider} posts to https only.");
    }
}

/// Succeeds if the setting that connecting shows to the webhook's URL may be sent there: the host was named on this
/// machine, or a person agrees.
fn check_may_be_shown(
    command: &ConnectArguments,
    environment: &CommandEnvironment,
    instance: &Instance,
    webhook: &str,
    consent: &Consent,
) -> Result<()> {
    let shown = recado_onboarding::setting_shown_to_webhook(instance.provider);
    let Some(setting) = shown.filter(|setting| read_secret_variable(setting).is_some()) else {
        return Ok(());
    };
    let installation = command.there.resolve_url(environment)?;
    let named_here = [
        Some(installation.as_str()),
        command.public_url.as_deref(),
        environment.public_url.as_deref(),
    ];
    let host = url_origin(webhook).context("the webhook's URL is not an HTTP URL")?;
    let mut known = named_here.into_iter().flatten().filter_map(url_origin);
    if known.any(|known| known == host) {
        return Ok(());
    }
    consent.confirm_sending(setting, &host)
}

/// Returns the URL with the same path at another base.
fn replace_base_url(url: &str, public: &str) -> Result<String> {
    let path = url
        .splitn(4, '/')
        .nth(3)
        .context("the webhook's URL has no path")?;
    if !public.starts_with("http://") && !public.starts_with("https://") {
        bail!("--public-url must begin with http:// or https://");
    }
    Ok(format!("{}/{path}", public.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_webhook_moves_to_another_base_with_its_path() {
        let url = "http://127.0.0.1:8080/webhooks/evolution/k/x";
        assert_eq!(
            replace_base_url(url, "https://recado.example/").unwrap(),
            "https://recado.example/webhooks/evolution/k/x"
        );
        assert!(replace_base_url(url, "recado.example").is_err());
    }
}
