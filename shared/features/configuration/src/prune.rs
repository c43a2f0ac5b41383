//! Removes what a document does not name, with the knowledge of agents: finds out which instances have a history, and which still owe replies.

use crate::endpoint_records::{follow_endpoint_changes, forget_left_endpoints};
use crate::{ApplyOptions, ConfigurationChange, ConfigurationChangeKind, ConfigureError};
use recado_domain::access::Caller;
use recado_domain::config::{Agent, ConfigDocument, ConfigRemoval, EntryRef, Instance, PrunePlan};
use recado_domain::ids::InstanceId;
use recado_domain::webhook_endpoint::EndpointState;
use recado_knowledge::knowledge_reading::remove_agent_knowledge;
use recado_pipeline::Deps;
use recado_pipeline::steps::owed_replies::count_owed;
use recado_ports::ports::{ConversationFilter, PageRequest, PortResult};
use recado_ports::records::configuration::{put_configuration, remove_configuration};
use recado_ports::records::dead_letters::{DeadLetterFilter, list_dead_letters};
use std::collections::{BTreeMap, BTreeSet};

/// Number of conversations that are counted at most.
const CONVERSATIONS_MAX: usize = 200;

/// The effect of a removal, and its changes.
#[derive(Default)]
pub(super) struct PlannedRemoval {
    /// Entries to remove and instances to disable.
    pub(super) plan: PrunePlan,
    /// The same as changes, instances first.
    pub(super) changes: Vec<ConfigurationChange>,
}

impl PlannedRemoval {
    /// Returns `known` without what is removed, and with what is disabled.
    pub(super) fn apply_to(&self, known: &ConfigDocument) -> ConfigDocument {
        let disabled = ConfigDocument {
            instances: self.plan.disable.clone(),
            ..ConfigDocument::default()
        };
        known.with_changes(&disabled).without(&self.plan.remove)
    }

    /// Takes the tenants out: a caller of one tenant does not remove that tenant.
    pub(super) fn keep_tenants(&mut self) {
        self.plan.remove.keep_tenants();
        self.changes.retain(|change| change.kind != "tenant");
    }
}

/// Writes a change and a removal. Instances are removed first, since a new one may take the name of a removed one at its
/// provider; agents and tenants last, since changed instances may refer to them until then.
pub(super) async fn write_changes(
    deps: &Deps,
    caller: &Caller,
    (known, states): (&ConfigDocument, &[EndpointState]),
    mut change: ConfigDocument,
    plan: PrunePlan,
) -> PortResult<()> {
    let store = deps.store();
    let names = plan.remove.list_entry_names().into_iter();
    let (instances, others): (Vec<EntryRef>, Vec<EntryRef>) =
        names.partition(|name| matches!(name, EntryRef::Instance(_)));
    let instances: ConfigRemoval = instances.into_iter().collect();
    let others: ConfigRemoval = others.into_iter().collect();
    change.instances.extend(plan.disable);
    if !instances.is_empty() {
        remove_configuration(store, &instances).await?;
    }
    forget_left_endpoints(deps, states, known).await?;
    put_configuration(store, &change).await?;
    follow_endpoint_changes(deps, states, known, &change).await?;
    if !others.is_empty() {
        let removed = others.list_agents();
        let removed = |agent: &&Agent| removed.contains(&&agent.id);
        let agents: Vec<&Agent> = known.agents.iter().filter(removed).collect();
        for agent in &agents {
            remove_agent_knowledge(deps, caller, &agent.tenant, &agent.id).await?;
        }
        remove_configuration(store, &others).await?;
        // A document may have been added until then.
        for agent in agents {
            remove_agent_knowledge(deps, caller, &agent.tenant, &agent.id).await?;
        }
    }
    Ok(())
}

/// Plans the removal of what `wanted` does not name from `known`, to which it is applied as well. Without
/// [`ApplyOptions::prune`], nothing is removed. Fails if one of the instances owes a reply, unless `force`.
pub(super) async fn plan_removal(
    deps: &Deps,
    known: &ConfigDocument,
    wanted: &ConfigDocument,
    options: ApplyOptions,
) -> Result<PlannedRemoval, ConfigureError> {
    if !options.prune {
        return Ok(PlannedRemoval::default());
    }
    let document = &known.with_changes(wanted);
    let unnamed: Vec<&Instance> = document
        .unnamed_instances(wanted)
        .filter(|instance| !instance.disabled)
        .collect();
    if !options.force && !unnamed.is_empty() {
        let owed = count_owed(deps, document).await?;
        let owed: Vec<(InstanceId, usize)> = unnamed
            .iter()
            .filter_map(|instance| Some((instance.id.clone(), *owed.get(&instance.id)?)))
            .collect();
        if !owed.is_empty() {
            return Err(ConfigureError::StillOwes(owed));
        }
    }
    let mut counted: BTreeMap<InstanceId, usize> = BTreeMap::new();
    let mut with_history = BTreeSet::new();
    for instance in document.unnamed_instances(wanted) {
        let conversations = count_conversations(deps, &instance.id).await?;
        if conversations > 0 || has_dead_letters(deps, instance).await? {
            with_history.insert(instance.id.clone());
        }
        counted.insert(instance.id.clone(), conversations);
    }
    let plan = document.plan_prune(wanted, &with_history);
    let changes = list_removals(&plan, &counted);
    Ok(PlannedRemoval { plan, changes })
}

fn list_removals(plan: &PrunePlan, counted: &BTreeMap<InstanceId, usize>) -> Vec<ConfigurationChange> {
    let disabled = plan
        .disable
        .iter()
        .map(|instance| EntryRef::Instance(instance.id.clone()));
    let disabled = disabled.map(|name| (name, ConfigurationChangeKind::Disabled));
    let removed = plan.remove.list_entry_names().into_iter();
    let removed = removed.map(|name| (name, ConfigurationChangeKind::Removed));
    let change = |(name, what): (EntryRef, ConfigurationChangeKind)| ConfigurationChange {
        kind: name.kind_word(),
        id: name.id_text().to_owned(),
        what,
        fields: Vec::new(),
        conversations: match &name {
            EntryRef::Instance(id) => counted.get(id).copied(),
            _ => None,
        },
    };
    disabled.chain(removed).map(change).collect()
}

async fn count_conversations(deps: &Deps, id: &InstanceId) -> PortResult<usize> {
    let filter = ConversationFilter {
        instance: Some(id.clone()),
        ..ConversationFilter::default()
    };
    let page = PageRequest::first(CONVERSATIONS_MAX);
    let found = deps.store().search_conversations(&filter, &page).await?;
    Ok(found.items.len())
}

pub(super) async fn has_dead_letters(deps: &Deps, instance: &Instance) -> PortResult<bool> {
    let filter = DeadLetterFilter {
        tenant: Some(instance.tenant.clone()),
        instance: Some(instance.id.clone()),
        ..DeadLetterFilter::default()
    };
    let page = PageRequest::first(1);
    let found = list_dead_letters(deps.store(), &filter, &page).await?;
    Ok(!found.items.is_empty())
}
