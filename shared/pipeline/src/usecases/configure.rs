//! The use case of `recado apply`: checks a document against the stored configuration and reports the changes.

use crate::Deps;
use crate::ports::{ConfigurationStore, PortError, PortResult, Providers};
use recado_domain::config::{ConfigDocument, ConfigError};
use serde::Serialize;
use serde_json::Value;

/// The result of applying a document.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedDocument {
    /// Changes of tenants, then agents, then instances, in the document's order.
    pub changes: Vec<ConfigurationChange>,
    /// Whole configuration after the change.
    pub document: ConfigDocument,
}

/// The result for one tenant, agent or instance of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfigurationChange {
    /// Kind of the entry: `tenant`, `agent` or `instance`.
    pub kind: &'static str,
    /// Id of the tenant, agent or instance.
    pub id: String,
    /// Kind of the change.
    pub what: ConfigurationChangeKind,
    /// Names of the fields that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// The kind of a [`ConfigurationChange`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigurationChangeKind {
    /// The entry is new.
    Created,
    /// At least one field changed.
    Changed,
    /// The stored entry was equal already.
    Unchanged,
}

/// The reason why applying a document failed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// The document is not valid; nothing of it was applied.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// The store failed. The document may or may not have been applied.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Returns the whole configuration.
pub async fn read_configuration(deps: &impl Deps) -> PortResult<ConfigDocument> {
    deps.store().read_configuration().await
}

/// Applies `change`: creates and replaces the entries in it, and leaves all others unchanged.
pub async fn apply_configuration(
    deps: &impl Deps,
    mut change: ConfigDocument,
) -> Result<AppliedDocument, ConfigureError> {
    let adopt = |instance| deps.providers().normalize(instance);
    change.instances = change
        .instances
        .into_iter()
        .map(adopt)
        .collect::<Result<_, _>>()?;
    let known = deps.store().read_configuration().await?;
    change.validate_against(&known)?;
    let mut changes = Vec::new();
    collect_changes(
        "tenant",
        &known.tenants,
        &change.tenants,
        |t| t.id.as_str(),
        &mut changes,
    );
    collect_changes(
        "agent",
        &known.agents,
        &change.agents,
        |a| a.id.as_str(),
        &mut changes,
    );
    collect_changes(
        "instance",
        &known.instances,
        &change.instances,
        |i| i.id.as_str(),
        &mut changes,
    );
    if changes
        .iter()
        .any(|change| change.what != ConfigurationChangeKind::Unchanged)
    {
        deps.store().apply_configuration(&change).await?;
    }
    let document = known.with_changes(&change);
    Ok(AppliedDocument { changes, document })
}

fn collect_changes<T: Serialize>(
    kind: &'static str,
    known: &[T],
    change: &[T],
    id: impl Fn(&T) -> &str,
    into: &mut Vec<ConfigurationChange>,
) {
    for item in change {
        let before = known.iter().find(|known| id(known) == id(item));
        let fields = before
            .map(|before| differing_fields(before, item))
            .unwrap_or_default();
        let what = match before {
            None => ConfigurationChangeKind::Created,
            Some(_) if fields.is_empty() => ConfigurationChangeKind::Unchanged,
            Some(_) => ConfigurationChangeKind::Changed,
        };
        into.push(ConfigurationChange {
            kind,
            id: id(item).to_owned(),
            what,
            fields,
        });
    }
}

/// Returns the names of the fields in which two records differ.
fn differing_fields<T: Serialize>(before: &T, after: &T) -> Vec<String> {
    let object = |item: &T| match serde_json::to_value(item) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (before, after) = (object(before), object(after));
    let changed = |name: &&String| before.get(*name) != after.get(*name);
    after.keys().filter(changed).cloned().collect()
}
