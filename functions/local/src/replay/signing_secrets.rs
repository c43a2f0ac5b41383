//! Collects the secrets that sign replayed webhooks. Recordings hold no proofs, so new ones are made.

use crate::credential;
use crate::installation::InstallationClient;
use crate::record::RecordedWebhook;
use anyhow::Result;
use recado_domain::config::Instance;
use recado_onboarding::{WebhookCredentials, uses_instance_secret};

/// Collects the secrets that sign `lines`. The installation is asked for its instances' secrets only if one of them is
/// needed; all other secrets come from the environment.
pub(super) async fn collect_signing_secrets(
    there: &InstallationClient,
    lines: &[RecordedWebhook],
    instead: Option<&str>,
) -> Result<WebhookCredentials> {
    let mut proofs = WebhookCredentials::new(credential::read_secret_variable);
    if !lines.iter().any(|line| uses_instance_secret(line.provider)) {
        return Ok(proofs);
    }
    let configured = there.get_configuration().await?;
    if let Some(name) = instead {
        proofs.readdress_to(configured.find_instance(name)?);
    }
    let instances: Vec<&Instance> = configured
        .document
        .instances
        .iter()
        .filter(|instance| uses_instance_secret(instance.provider))
        .collect();
    let told = there.fetch_webhook_secrets(&instances).await?;
    for (instance, webhook) in instances.iter().zip(told) {
        if let Some(secret) = webhook.secret {
            proofs.add_instance_secret(instance, secret);
        }
    }
    Ok(proofs)
}
