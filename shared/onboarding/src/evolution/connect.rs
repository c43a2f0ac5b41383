//! Connects an instance: tests the webhook's URL with a ping event, sets the webhook through Evolution's API, and reads it
//! back. If that fails, the setting from before is put back.

use super::admin_client::{ConfiguredWebhook, DesiredWebhook, EvolutionAdminClient, WebhookAuthMethod};
use super::events::choose_extra_events;
use crate::admin_request::AdminRequestError;
use crate::connect::{
    ConnectError, ConnectParameters, ConnectStep, OwnWebhook, decide_on_url, report_restored,
};
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
    let at = EvolutionAdminClient::require_for_target(subject, key, instance.as_ref())?;
    let asked_for = choose_extra_events(connecting.options, None, &webhook.url);
    let wanted = DesiredWebhook {
        url: &webhook.url,
        secret,
        auth_method: match (at.version, connecting.options.token) {
            (1, _) => WebhookAuthMethod::Url,
            (_, true) => WebhookAuthMethod::Token,
            (_, false) => WebhookAuthMethod::Header,
        },
        base64: connecting.options.base64,
        extra_events: &asked_for,
    };
    let own = build_ping_webhook(connecting, &wanted, at.instance);
    if connecting.options.check {
        steps.push(read_back_webhook(&at, &wanted).await?);
        check_url(subject, &own).await?;
        steps.push(ConnectStep::CredentialsAccepted);
        return Ok(());
    }
    let checked = check_url(subject, &own).await;
    steps.push(decide_on_url(PROVIDER, checked, connecting.options.force)?);
    let before = at.find_webhook().await.map_err(unsaid())?;
    let known = before
        .as_ref()
        .map(|before| (before.url.as_str(), &before.events[..]));
    let extra_events = choose_extra_events(connecting.options, known, &webhook.url);
    let wanted = DesiredWebhook {
        extra_events: &extra_events,
        ..wanted
    };
    let refused = format!(
        "Evolution did not take the webhook of {}",
        subject.instance_name()
    );
    at.set_webhook(&wanted)
        .await
        .map_err(ConnectError::from_provider_error(refused))?;
    steps.push(ConnectStep::WebhookSet { provider: PROVIDER });
    steps.push(confirm_or_restore(&at, &wanted, before.as_ref()).await?);
    Ok(())
}

/// Reads the webhook back that was set. If it is not as wanted, the setting from `before` is put back.
async fn confirm_or_restore(
    at: &EvolutionAdminClient<'_>,
    wanted: &DesiredWebhook<'_>,
    before: Option<&ConfiguredWebhook>,
) -> Result<ConnectStep, ConnectError> {
    match read_back_webhook(at, wanted).await {
        Ok(step) => Ok(step),
        Err(why) => {
            let restored = at.restore_webhook(before).await;
            Err(report_restored(PROVIDER, why, restored))
        }
    }
}

const PROVIDER: &str = "Evolution";

fn unsaid() -> impl FnOnce(AdminRequestError) -> ConnectError {
    ConnectError::from_provider_error("Evolution did not say how the webhook is set")
}

async fn read_back_webhook(
    at: &EvolutionAdminClient<'_>,
    wanted: &DesiredWebhook<'_>,
) -> Result<ConnectStep, ConnectError> {
    let found = at.find_webhook().await.map_err(unsaid())?;
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

/// Builds a `recado.ping` event, which Recado ignores, as Evolution would post it.
fn build_ping_webhook<'a>(
    connecting: &ConnectParameters<'a>,
    wanted: &DesiredWebhook<'a>,
    instance: &ExternalId,
) -> OwnWebhook<'a> {
    OwnWebhook {
        webhook: connecting.webhook,
        header: match wanted.auth_method {
            WebhookAuthMethod::Url => None,
            WebhookAuthMethod::Header | WebhookAuthMethod::Token => Some(("apikey", wanted.secret)),
        },
        body: json!({"event": "recado.ping", "instance": instance, "data": {}}),
        timeout: TIMEOUT,
    }
}

/// Checks that this installation answers at the webhook's URL.
async fn check_url(subject: &OnboardingTarget<'_>, own: &OwnWebhook<'_>) -> Result<(), ConnectError> {
    if own.prove_url(subject.http).await?["ignored"] == 1 {
        Ok(())
    } else {
        Err(ConnectError::NotRecado)
    }
}
