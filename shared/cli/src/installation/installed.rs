//! The configuration of an installation, as it answers it.

use anyhow::{Context, Result};
use recado_domain::config::{ConfigDocument, Instance};
use recado_domain::ids::ExternalId;
use recado_onboarding::InstanceWebhook;
use serde::Deserialize;

/// The configuration of the installation.
#[derive(Debug, Deserialize)]
pub struct InstalledConfiguration {
    pub document: ConfigDocument,
    pub(crate) instances: Vec<InstanceWebhook>,
}

impl InstalledConfiguration {
    /// Finds an instance by its id, or by the provider's name for it.
    pub(crate) fn find_instance(&self, name: &str) -> Result<&Instance> {
        let external = |instance: &&Instance| {
            let external = instance.resolve_external_id();
            external.as_ref().map(ExternalId::as_str) == Some(name)
        };
        let instances = &self.document.instances;
        instances
            .iter()
            .find(|instance| instance.id.as_str() == name)
            .or_else(|| instances.iter().find(external))
            .with_context(|| {
                let known: Vec<&str> = instances.iter().map(|instance| instance.id.as_str()).collect();
                format!("there is no instance {name}; there is {}", known.join(", "))
            })
    }

    /// Returns `true` if neither the instance nor its tenant is disabled.
    pub(crate) fn is_enabled(&self, instance: &Instance) -> bool {
        let mut enabled = self.document.enabled_instances();
        enabled.any(|enabled| enabled.id == instance.id)
    }

    /// Returns the webhook settings of an instance, without its secret.
    pub(crate) fn find_webhook(&self, instance: &Instance) -> Option<&InstanceWebhook> {
        self.instances
            .iter()
            .find(|webhook| webhook.id == instance.id.as_str())
    }
}
