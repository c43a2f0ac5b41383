//! The parts that all questions about a changed document share.

use super::{ConfigurationChange, ConfigurationChangeKind};
use recado_domain::config::{ConfigDocument, Instance, InstanceConfig};
use recado_ports::Deps;
use recado_ports::time_limit::run_within;
use std::time::Duration;

/// Number of providers, and of models, that are asked side by side.
pub(super) const ASKED_AT_ONCE: usize = 16;

/// Maximum time for a provider to answer.
const PROVIDER_TIMEOUT: Duration = Duration::from_secs(10);

/// The fields of an instance that decide where and with which key its provider is reached.
pub(super) const REACHING_FIELDS: [&str; 6] = [
    "provider",
    "external_id",
    "base_url",
    "credential",
    "api_version",
    "disabled",
];

/// Returns `true` if the entry is new, or one of these fields changed.
pub(super) fn is_changed(changes: &[ConfigurationChange], kind: &str, id: &str, fields: &[&str]) -> bool {
    let change = changes
        .iter()
        .find(|change| change.kind == kind && change.id == id);
    change.is_some_and(|change| {
        change.what == ConfigurationChangeKind::Created
            || change.fields.iter().any(|field| fields.contains(&field.as_str()))
    })
}

/// Returns the instance with its tenant and agent, as the document has them.
pub(super) fn bind_instance(document: &ConfigDocument, instance: &Instance) -> Option<InstanceConfig> {
    let agent = document.agents.iter().find(|one| one.id == instance.agent)?;
    Some(InstanceConfig {
        instance: instance.clone(),
        tenant: document
            .tenants
            .iter()
            .find(|one| one.id == instance.tenant)?
            .clone(),
        tools: Vec::new(),
        agent: agent.clone(),
        knowledge: None,
    })
}

/// Waits for a provider's answer; `None` if it takes too long.
pub(super) async fn await_provider<T>(deps: &Deps, question: impl Future<Output = T>) -> Option<T> {
    run_within(deps.system(), PROVIDER_TIMEOUT, question).await
}
