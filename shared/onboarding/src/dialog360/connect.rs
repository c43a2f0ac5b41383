//! Connects a number: tests Recado's own endpoint, sets the webhook through 360dialog's API, and reads it back. If that
//! fails, the setting from before is put back.

use super::admin_client::Dialog360AdminClient;
use crate::admin_request::AdminRequestError;
use crate::connect::{
    ConnectError, ConnectParameters, ConnectStep, OwnWebhook, decide_on_url, report_restored,
};
use crate::target::OnboardingTarget;
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Longest time for Recado's own webhook to answer; 360dialog waits for 5 seconds.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn connect_instance(
    subject: &OnboardingTarget<'_>,
    connecting: &ConnectParameters<'_>,
    steps: &mut Vec<ConnectStep>,
) -> Result<(), ConnectError> {
    let (key, webhook) = (connecting.require_key()?, connecting.webhook);
    let secret = webhook.secret.as_ref().ok_or(ConnectError::Missing(
        "the installation has no master secret: no webhook of 360dialog can be proven there",
    ))?;
    let header = webhook.secret_header.as_deref().ok_or(ConnectError::Missing(
        "the installation does not say which header carries the secret",
    ))?;
    let at = Dialog360AdminClient::for_target(subject, key);
    // An empty event, which has no effect.
    let own = OwnWebhook {
        webhook,
        header: Some((header, secret)),
        body: json!({ "object": "whatsapp_business_account", "entry": [] }),
        timeout: TIMEOUT,
    };
    if connecting.options.check {
        steps.push(read_back_webhook(&at, &webhook.url).await?);
        own.prove_url(subject.http).await?;
        steps.push(ConnectStep::CredentialsAccepted);
        return Ok(());
    }
    let checked = own.prove_url(subject.http).await.map(drop);
    steps.push(decide_on_url(PROVIDER, checked, connecting.options.force)?);
    let before = match at.get_webhook().await {
        Err(AdminRequestError::NotFound { .. }) => Value::Null,
        said => said.map_err(unsaid())?.body,
    };
    let headers = Map::from_iter([(header.to_owned(), json!(secret.expose_secret()))]);
    let refused = format!(
        "360dialog did not take the webhook of {}",
        subject.instance_name()
    );
    let set = at.set_webhook(&webhook.url, &headers).await;
    set.map_err(ConnectError::from_provider_error(refused))?;
    steps.push(ConnectStep::WebhookSet { provider: PROVIDER });
    match read_back_webhook(&at, &webhook.url).await {
        Ok(step) => steps.push(step),
        Err(why) => {
            let headers = before["headers"].as_object().cloned().unwrap_or_default();
            let restored = at
                .set_webhook(before["url"].as_str().unwrap_or_default(), &headers)
                .await;
            return Err(report_restored(PROVIDER, why, restored));
        }
    }
    Ok(())
}

const PROVIDER: &str = "360dialog";

fn unsaid() -> impl FnOnce(AdminRequestError) -> ConnectError {
    ConnectError::from_provider_error("360dialog did not say how the webhook is set")
}

async fn read_back_webhook(at: &Dialog360AdminClient<'_>, url: &str) -> Result<ConnectStep, ConnectError> {
    let said = at.get_webhook().await.map_err(unsaid())?;
    if said.body["url"] != url {
        return Err(ConnectError::Differs(vec!["it goes elsewhere".to_owned()]));
    }
    Ok(ConnectStep::WebhookConfirmed { events: Vec::new() })
}
