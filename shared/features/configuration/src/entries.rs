//! Lists, creates, changes and removes single tenants, calendars, tools, agents and instances. Their checks are those of a document.

use crate::audited_changes::list_audited_changes;
use crate::endpoint_records::{follow_endpoint_changes, forget_left_endpoints, list_states_before};
use crate::prune::plan_removal;
use crate::surroundings::read_surroundings;
use crate::tenant_check::check_tenant_changes;
use crate::{
    ApplyOptions, AskedParties, ConfigurationChange, ConfigurationChangeKind, ConfigureError, change_check,
    check_document, list_changes,
};
use jiff::{SignedDuration, Timestamp};
use recado_domain::access::Caller;
use recado_domain::audit::AuditAction;
use recado_domain::config::{ConfigDocument, ConfigEntry, ConfigNames, ConfigRemoval, Instance, PrunePlan};
use recado_domain::ids::{InstanceId, TenantId, hash_parts};
use recado_knowledge::knowledge_reading::remove_agent_knowledge;
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::{audit_action, audit_actions};
use recado_ports::ports::{Page, PageRequest, PortResult, WriteOutcome};
use recado_ports::random_id::generate_nonce;
use recado_ports::records::configuration::{find_named_entries, list_entries, replace_configuration};

/// The form that an entry must have for a request to change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryMatch {
    /// Any form.
    Any,
    /// The form with one of these versions.
    Versions(Vec<String>),
}

impl EntryMatch {
    fn check_entry<T: ConfigEntry>(&self, entry: &T) -> Result<(), ConfigureError> {
        match self {
            Self::Versions(versions) if !versions.contains(&compute_version(entry)) => {
                Err(ConfigureError::Changed(T::KIND))
            }
            _ => Ok(()),
        }
    }
}

/// An entry that was created or changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedEntry<T> {
    /// The entry as it is stored now.
    pub entry: T,
    /// Problems that are no reason to refuse it, such as a provider that does not answer.
    pub warnings: Vec<String>,
}

/// Computes the version of an entry: equal entries have the same.
pub fn compute_version<T: ConfigEntry>(entry: &T) -> String {
    let text = serde_json::to_string(entry).unwrap_or_default();
    hash_parts(&[T::KIND, &text], 16)
}

/// Lists the entries of a kind within the caller's scope, or those of `tenant`.
pub async fn list_visible_entries<T: ConfigEntry + recado_ports::table::Record>(
    deps: &Deps,
    caller: &Caller,
    tenant: Option<&TenantId>,
    page: &PageRequest,
) -> PortResult<Page<T>> {
    let own = match tenant {
        Some(wanted) if !caller.scope.covers(wanted) => {
            return Ok(Page::empty());
        }
        wanted => caller.scope.tenant().or(wanted),
    };
    list_entries(deps.store(), own, page).await
}

/// Returns an entry by its id. An entry outside the caller's scope counts as unknown.
pub async fn find_entry<T: ConfigEntry>(deps: &Deps, caller: &Caller, id: &str) -> Result<T, ConfigureError> {
    let missing = ConfigureError::NotFound(T::KIND);
    let Some(name) = T::parse_name(id) else {
        return Err(missing);
    };
    let found = find_named_entries(deps.store(), &ConfigNames::of([name])).await?;
    let within = |entry: &&T| entry.entry_id() == id && caller.scope.covers(entry.owner());
    T::list_of(&found).iter().find(within).cloned().ok_or(missing)
}

/// Creates an entry, with the checks of a document that holds it alone. An entry that exists is left as it is.
pub async fn create_entry<T: ConfigEntry>(
    deps: &Deps,
    caller: &Caller,
    entry: T,
    asks: AskedParties,
) -> Result<ChangedEntry<T>, ConfigureError> {
    write_entry(deps, caller, entry, None, asks).await
}

/// Replaces an entry, with the checks of a document that holds it alone.
pub async fn change_entry<T: ConfigEntry>(
    deps: &Deps,
    caller: &Caller,
    entry: T,
    expected: &EntryMatch,
    asks: AskedParties,
) -> Result<ChangedEntry<T>, ConfigureError> {
    let before: T = find_entry(deps, caller, entry.entry_id()).await?;
    expected.check_entry(&before)?;
    write_entry(deps, caller, entry, Some(expected), asks).await
}

/// Writes an entry that is new (without `expected`) or replaces the one before.
async fn write_entry<T: ConfigEntry>(
    deps: &Deps,
    caller: &Caller,
    entry: T,
    expected: Option<&EntryMatch>,
    asks: AskedParties,
) -> Result<ChangedEntry<T>, ConfigureError> {
    let id = entry.entry_id().to_owned();
    let mut change = entry.into_document();
    let options = ApplyOptions {
        asks,
        ..ApplyOptions::default()
    };
    let states = list_states_before(deps, &change).await?;
    let (known, _) = check_document(deps, caller, &mut change, options).await?;
    let before = T::list_of(&known).iter().find(|known| known.entry_id() == id);
    match (before, expected) {
        (Some(_), None) => return Err(ConfigureError::Exists(T::KIND)),
        (None, Some(_)) => return Err(ConfigureError::NotFound(T::KIND)),
        (Some(before), Some(expected)) => expected.check_entry(before)?,
        (None, None) => {}
    }
    check_tenant_changes(deps, &change, &known).await?;
    let changes = list_changes(&known, &change);
    let document = known.with_changes(&change);
    let warnings = change_check::check_changes(deps, &changes, &document, options.asks).await?;
    let unchanged = |change: &ConfigurationChange| change.what == ConfigurationChangeKind::Unchanged;
    if changes.iter().all(unchanged) {
        follow_endpoint_changes(deps, &states, &known, &change).await?;
    } else {
        audit_actions(deps, caller, list_audited_changes(&known, &document)).await?;
        forget_left_endpoints(deps, &states, &known).await?;
        let nothing = ConfigRemoval::default();
        let written = replace_configuration(deps.store(), &change, &nothing, &known);
        if written.await? == WriteOutcome::Conflict {
            // What it refers to may be gone: then the same check says so.
            check_document(deps, caller, &mut change, options).await?;
            return Err(match expected {
                None => ConfigureError::Exists(T::KIND),
                Some(_) => ConfigureError::Changed(T::KIND),
            });
        }
        follow_endpoint_changes(deps, &states, &known, &change).await?;
        tracing::info!(by = %caller.name, kind = T::KIND, id, "an entry of the configuration was written");
    }
    let stored = T::list_of(&change).first().cloned();
    Ok(ChangedEntry {
        entry: stored.ok_or(ConfigureError::NotFound(T::KIND))?,
        warnings,
    })
}

/// Removes a calendar, a tool, an agent or an instance, by the rules of `prune`: an instance with a history is disabled instead, one that
/// owes something stays unless `force`, and an agent, a tool or a calendar that is needed stays.
pub async fn remove_entry<T: ConfigEntry>(
    deps: &Deps,
    caller: &Caller,
    id: &str,
    expected: &EntryMatch,
    force: bool,
) -> Result<ConfigurationChange, ConfigureError> {
    let entry: T = find_entry(deps, caller, id).await?;
    expected.check_entry(&entry)?;
    let removed: ConfigRemoval = T::parse_name(id).into_iter().collect();
    let names = ConfigNames {
        alerts: true,
        ..ConfigNames::of(removed.list_entry_names())
    };
    let known = read_surroundings(deps, &names, Some(entry.owner())).await?;
    let current = T::list_of(&known).iter().find(|known| known.entry_id() == id);
    expected.check_entry(current.ok_or(ConfigureError::NotFound(T::KIND))?)?;
    let own = known.of_tenant(entry.owner());
    // What is being removed as a whole is left to that removal.
    entry.clone().into_document().check_removals(&own)?;
    check_needed(&own, &removed)?;
    let options = ApplyOptions {
        prune: true,
        force,
        ..ApplyOptions::default()
    };
    let mut removal = plan_removal(deps, &own, &own.without(&removed), options).await?;
    let after = removal.apply_to(&known);
    ConfigDocument::default().validate_against(&after)?;
    // Without a planned change, the instance is disabled already and has a history.
    let Some(told) = removal.changes.pop() else {
        return Ok(ConfigurationChange {
            kind: T::KIND,
            id: id.to_owned(),
            what: ConfigurationChangeKind::Unchanged,
            fields: Vec::new(),
            conversations: None,
        });
    };
    audit_actions(deps, caller, list_audited_changes(&known, &after)).await?;
    if write_removal(deps, caller, entry.owner(), removal.plan, &known).await? == WriteOutcome::Conflict {
        return Err(ConfigureError::Changed(T::KIND));
    }
    tracing::info!(by = %caller.name, kind = T::KIND, id, "an entry of the configuration was removed or disabled");
    Ok(told)
}

/// Disables and removes what `plan` names, unless the configuration is no longer as `known`. The agents' knowledge goes first,
/// and once more afterwards, since a document may have been added until then.
async fn write_removal(
    deps: &Deps,
    caller: &Caller,
    owner: &TenantId,
    plan: PrunePlan,
    known: &ConfigDocument,
) -> Result<WriteOutcome, ConfigureError> {
    let disabled = ConfigDocument {
        instances: plan.disable,
        ..ConfigDocument::default()
    };
    let agents = plan.remove.list_agents();
    for agent in &agents {
        remove_agent_knowledge(deps, caller, owner, agent).await?;
    }
    let store = deps.store();
    let written = replace_configuration(store, &disabled, &plan.remove, known).await?;
    if written != WriteOutcome::Conflict {
        for agent in &agents {
            remove_agent_knowledge(deps, caller, owner, agent).await?;
        }
    }
    Ok(written)
}

/// Refuses to remove an entry to which another one refers.
fn check_needed(own: &ConfigDocument, removed: &ConfigRemoval) -> Result<(), ConfigureError> {
    let removed = removed.list_entry_names();
    for entry in own.list_entries() {
        if let Some(needed) = entry.refers_to().into_iter().find(|name| removed.contains(name)) {
            return Err(ConfigureError::InUse {
                needed,
                by: entry.entry_name(),
            });
        }
    }
    Ok(())
}

/// Gives the instance the next version of its webhook secret, and returns the instance as it is now. The secret before
/// is accepted for `overlap` more.
pub async fn rotate_secret(
    deps: &Deps,
    caller: &Caller,
    id: &InstanceId,
    overlap: SignedDuration,
) -> Result<Instance, ConfigureError> {
    let mut instance: Instance = find_entry(deps, caller, id.as_str()).await?;
    let (tenant, before) = (instance.tenant.clone(), instance.secret_version);
    let known = instance.clone().into_document();
    instance
        .rotate_secret(generate_nonce(deps.system()), overlap, deps.system().now())
        .map_err(|_| ConfigureError::LastSecretVersion)?;
    let rotated = AuditAction::SecretRotated.on_object(Some(&tenant), "instance", id.as_str());
    let after = describe_version(&instance);
    audit_action(
        deps,
        caller,
        rotated.with_change(format!("version {}", u8::from(before)), after),
    )
    .await?;
    let change = instance.clone().into_document();
    let nothing = ConfigRemoval::default();
    let written = replace_configuration(deps.store(), &change, &nothing, &known);
    if written.await? == WriteOutcome::Conflict {
        return Err(ConfigureError::Changed(Instance::KIND));
    }
    tracing::info!(by = %caller.name, instance_id = %id, "a webhook secret was rotated");
    Ok(instance)
}

fn describe_version(instance: &Instance) -> String {
    let version = u8::from(instance.secret_version);
    let until = instance.previous_secret_until;
    until.map_or_else(
        || format!("version {version}"),
        |until: Timestamp| format!("version {version}; the one before until {until}"),
    )
}

/// Keeps with each instance what no document says: its webhook secrets, the time of its tenant, and who named its base URL.
pub(super) fn keep_instance_records(
    deps: &Deps,
    caller: &Caller,
    change: &mut ConfigDocument,
    known: &ConfigDocument,
) {
    for instance in &mut change.instances {
        let stored = known.instances.iter().find(|known| known.id == instance.id);
        instance.keep_secret(stored, generate_nonce(deps.system()));
        instance.keep_tenant_since(stored, deps.system().now());
        instance.keep_namer(stored, caller.scope.tenant().is_some());
    }
}
