//! Connects an instance: sets its webhook through Evolution's API, reads it back, and tests it with a ping event.

use super::admin_client::{DesiredWebhook, EvolutionAdminClient, WebhookAuthMethod};
use crate::connect::{ConnectError, ConnectParameters, ConnectStep, post_own_webhook};
use crate::target::OnboardingTarget;
use recado_domain::ids::ExternalId;
use serde_json::json;
use std::time::Duration;

/// Longest time for Recado's own webhook to answer.
const TIMEOUT: Duration = Duration::from_secs(15);

pub(crate) async fn connect_webhook(
    subject: &OnboardingTarget<'_>,
    connecting: &ConnectParameters<'_>,
    steps: &mut Vec<ConnectStep>,
) -> Result<(), ConnectError> {
    let (key, webhook) = (connecting.require_key()?, connecting.webhook);
    let secret = webhook.secret.as_ref().ok_or(ConnectError::Missing(
        "the installation has no webhook secret: set RECADO_WEBHOOK_SECRET there",
    ))?;
    let instance = subject.instance.resolve_external_id();
    let instance = instance.ok_or(ConnectError::Missing("the instance has no name"))?;
    let at = EvolutionAdminClient::for_target(subject, key, &instance).ok_or(ConnectError::Missing(
        "no base URL: set EVOLUTION_API_URL here, or base_url of the instance",
    ))?;
    let wanted = DesiredWebhook {
        url: &webhook.url,
        secret,
        auth_method: match (at.version, connecting.options.token) {
            (1, _) => WebhookAuthMethod::Url,
            (_, true) => WebhookAuthMethod::Token,
            (_, false) => WebhookAuthMethod::Header,
        },
        base64: connecting.options.base64,
    };
    if !connecting.options.check {
        let refused = format!(
            "Evolution did not take the webhook of {}",
            subject.instance_name()
        );
        at.set_webhook(&wanted)
            .await
            .map_err(ConnectError::from_provider_error(refused))?;
        steps.push(ConnectStep::WebhookSet {
            provider: "Evolution",
        });
    }
    steps.push(read_back_webhook(&at, &wanted).await?);
    post_ping_webhook(subject, &wanted, &instance).await?;
    steps.push(ConnectStep::CredentialsAccepted);
    Ok(())
}

async fn read_back_webhook(
    at: &EvolutionAdminClient<'_>,
    wanted: &DesiredWebhook<'_>,
) -> Result<ConnectStep, ConnectError> {
    let unsaid = ConnectError::from_provider_error("Evolution did not say how the webhook is set");
    let found = at.find_webhook().await.map_err(unsaid)?;
    let found = found.ok_or(ConnectError::Missing(
        "Evolution knows no webhook of this instance",
    ))?;
    let wrong = found.list_differences(wanted);
    if wrong.is_empty() {
        Ok(ConnectStep::WebhookConfirmed { events: found.events })
    } else {
        Err(ConnectError::Differs(wrong))
    }
}

/// Posts a `recado.ping` event, which Recado ignores, to the webhook URL as Evolution would.
async fn post_ping_webhook(
    subject: &OnboardingTarget<'_>,
    wanted: &DesiredWebhook<'_>,
    instance: &ExternalId,
) -> Result<(), ConnectError> {
    let body = json!({"event": "recado.ping", "instance": instance, "data": {}});
    let request = subject.http.post(wanted.url).json(&body);
    let request = match wanted.auth_method {
        WebhookAuthMethod::Url => request,
        WebhookAuthMethod::Header | WebhookAuthMethod::Token => {
            request.header("apikey", wanted.secret.expose_secret())
        }
    };
    if post_own_webhook(request, TIMEOUT).await?["ignored"] == 1 {
        Ok(())
    } else {
        Err(ConnectError::NotRecado)
    }
}
