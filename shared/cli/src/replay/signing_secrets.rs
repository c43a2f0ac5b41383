//! Collects the secrets that sign replayed webhooks. Recordings hold no proofs, so new ones are made.

use crate::installation::InstallationClient;
use anyhow::Result;
use recado_domain::config::{CredentialRef, Instance};
use recado_machine::record::RecordedWebhook;
use recado_machine::secret_variable::read_secret_variable;
use recado_onboarding::{WebhookCredentials, uses_instance_secret};

/// Collects the secrets that sign `lines`. The installation is asked for its instances' secrets only if one of them is
/// needed; all other secrets come from the environment.
pub(super) async fn collect_signing_secrets(
    there: &InstallationClient,
    lines: &[RecordedWebhook],
    instead: Option<&str>,
) -> Result<WebhookCredentials> {
    let mut proofs = WebhookCredentials::new(read_secret_variable);
    if lines.iter().any(|line| !uses_instance_secret(line.provider))
        && let Ok(configured) = there.get_configuration().await
    {
        add_app_secrets(&mut proofs, &configured.document.instances);
    }
    if !lines.iter().any(|line| uses_instance_secret(line.provider)) {
        return Ok(proofs);
    }
    let configured = there.get_configuration().await?;
    if let Some(name) = instead {
        proofs.readdress_to(configured.find_instance(name)?);
    }
    let all = configured.document.instances.iter();
    let instances: Vec<&Instance> = all
        .filter(|instance| uses_instance_secret(instance.provider))
        .collect();
    there.add_webhook_secrets(&instances, &mut proofs).await?;
    Ok(proofs)
}

/// Adds the secrets of the instances' own apps that this machine has. Only a secret that the instance may name is read.
fn add_app_secrets(proofs: &mut WebhookCredentials, instances: &[Instance]) {
    for instance in instances {
        let own = instance.app_secret.as_ref();
        let own = own.filter(|reference| reference.names_app_secret_of(&instance.tenant));
        if let Some(CredentialRef::Env(name)) = own
            && let Some(secret) = read_secret_variable(name)
        {
            proofs.add_instance_secret(instance, secret);
        }
    }
}
