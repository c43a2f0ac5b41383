//! `recado apply`: checks a document against what is configured, and shows what it changes.

use crate::World;
use crate::ports::{Directory, Instances, PortError, PortResult, Providers};
use recado_domain::config::{ConfigError, Document, Instance};
use serde::Serialize;
use serde_json::Value;

/// What applying a document did.
#[derive(Debug, Clone, PartialEq)]
pub struct Applied {
    /// By tenant, agent and instance, in the document's order.
    pub changes: Vec<Change>,
    /// Everything that is configured now.
    pub document: Document,
}

/// What applying did to one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// `tenant`, `agent` or `instance`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// What happened.
    pub what: ChangeKind,
    /// Which fields changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// See [`Change`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Something of it is another.
    Changed,
    /// It was so already.
    Unchanged,
}

/// Why a document was not applied. Nothing of it was then.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// It is not valid.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
    /// The store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

/// Everything that is configured.
pub async fn show<W: World>(world: &W) -> PortResult<Document> {
    world.store().configuration().await
}

/// Applies `change`: creates and replaces what it names, leaves the rest alone.
pub async fn apply<W: World>(world: &W, mut change: Document) -> Result<Applied, ConfigureError> {
    let adopt = |instance| world.providers().adopt(instance);
    change.instances = change
        .instances
        .into_iter()
        .map(adopt)
        .collect::<Result<_, _>>()?;
    let known = world.store().configuration().await?;
    change.check(&known)?;
    let mut changes = Vec::new();
    compare(
        "tenant",
        &known.tenants,
        &change.tenants,
        |t| t.id.as_str(),
        &mut changes,
    );
    compare(
        "agent",
        &known.agents,
        &change.agents,
        |a| a.id.as_str(),
        &mut changes,
    );
    compare(
        "instance",
        &known.instances,
        &change.instances,
        |i| i.id.as_str(),
        &mut changes,
    );
    if changes.iter().any(|change| change.what != ChangeKind::Unchanged) {
        world.store().apply(&change).await?;
    }
    let document = known.merged(&change);
    forget_missing_keys(world, &change, &document).await?;
    Ok(Applied { changes, document })
}

/// Whoever applies a configuration may have mended the model's key: the next turn finds out.
async fn forget_missing_keys<W: World>(world: &W, change: &Document, all: &Document) -> PortResult<()> {
    let touched = |instance: &&Instance| {
        change.instances.iter().any(|named| named.id == instance.id)
            || change.agents.iter().any(|agent| agent.id == instance.agent)
    };
    for instance in all.instances.iter().filter(touched) {
        world
            .store()
            .set_llm_needs_credentials(&instance.id, false)
            .await?;
    }
    Ok(())
}

fn compare<T: Serialize>(
    kind: &'static str,
    known: &[T],
    change: &[T],
    id: impl Fn(&T) -> &str,
    into: &mut Vec<Change>,
) {
    for item in change {
        let before = known.iter().find(|known| id(known) == id(item));
        let fields = before.map(|before| differing(before, item)).unwrap_or_default();
        let what = match before {
            None => ChangeKind::Created,
            Some(_) if fields.is_empty() => ChangeKind::Unchanged,
            Some(_) => ChangeKind::Changed,
        };
        into.push(Change {
            kind,
            id: id(item).to_owned(),
            what,
            fields,
        });
    }
}

/// The names of the fields in which two records differ.
fn differing<T: Serialize>(before: &T, after: &T) -> Vec<String> {
    let object = |item: &T| match serde_json::to_value(item) {
        Ok(Value::Object(fields)) => fields,
        _ => serde_json::Map::new(),
    };
    let (before, after) = (object(before), object(after));
    let changed = |name: &&String| before.get(*name) != after.get(*name);
    after.keys().filter(changed).cloned().collect()
}
