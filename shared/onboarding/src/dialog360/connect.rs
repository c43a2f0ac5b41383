//! Connects a number: sets its webhook through 360dialog's API, reads it back, and tests Recado's own endpoint.

use super::admin_client::Dialog360AdminClient;
use crate::connect::{ConnectError, ConnectParameters, ConnectStep, post_own_webhook};
use crate::target::OnboardingTarget;
use serde_json::{Map, json};
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
    if !connecting.options.check {
        let headers = Map::from_iter([(header.to_owned(), json!(secret.expose_secret()))]);
        let refused = format!(
            "360dialog did not take the webhook of {}",
            subject.instance_name()
        );
        let set = at.set_webhook(&webhook.url, &headers).await;
        set.map_err(ConnectError::from_provider_error(refused))?;
        steps.push(ConnectStep::WebhookSet {
            provider: "360dialog",
        });
    }
    let unsaid = ConnectError::from_provider_error("360dialog did not say how the webhook is set");
    let said = at.get_webhook().await.map_err(unsaid)?;
    if said.body["url"] != webhook.url.as_str() {
        return Err(ConnectError::Differs(vec!["it goes elsewhere".to_owned()]));
    }
    steps.push(ConnectStep::WebhookConfirmed { events: Vec::new() });
    // Posts an empty event with the secret to the URL that 360dialog was given.
    let nothing = json!({ "object": "whatsapp_business_account", "entry": [] });
    let request = subject
        .http
        .post(&webhook.url)
        .header(header, secret.expose_secret());
    post_own_webhook(request.json(&nothing), TIMEOUT).await?;
    steps.push(ConnectStep::CredentialsAccepted);
    Ok(())
}
