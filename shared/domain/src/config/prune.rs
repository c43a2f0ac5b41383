//! The removal of configuration that a document does not name.

use super::{ConfigDocument, EntryRef, Instance};
use crate::ids::{AgentId, InstanceId, TenantId};
use std::collections::BTreeSet;

/// The names of the entries to remove from the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigRemoval(BTreeSet<EntryRef>);

/// The effect of removing what a document does not name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PrunePlan {
    /// Entries to remove.
    pub remove: ConfigRemoval,
    /// Instances to disable, as they will be stored: they have a history, which needs their configuration.
    pub disable: Vec<Instance>,
}

impl ConfigRemoval {
    /// Returns `true` if there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lists the names, what refers to others before these. Those of a kind are sorted by their ids.
    pub fn list_entry_names(&self) -> Vec<EntryRef> {
        let all: Vec<&EntryRef> = self.0.iter().collect();
        let kinds = all.chunk_by(|one, next| one.kind_word() == next.kind_word());
        kinds.rev().flatten().copied().cloned().collect()
    }

    /// Lists the tenants to remove.
    pub fn list_tenants(&self) -> Vec<&TenantId> {
        self.0.iter().filter_map(EntryRef::as_tenant).collect()
    }

    /// Lists the agents to remove.
    pub fn list_agents(&self) -> Vec<&AgentId> {
        let agents = self.0.iter().filter_map(|name| match name {
            EntryRef::Agent(id) => Some(id),
            _ => None,
        });
        agents.collect()
    }

    /// Leaves the tenants where they are.
    pub fn keep_tenants(&mut self) {
        self.0.retain(|name| name.as_tenant().is_none());
    }
}

impl FromIterator<EntryRef> for ConfigRemoval {
    fn from_iter<I: IntoIterator<Item = EntryRef>>(names: I) -> Self {
        Self(names.into_iter().collect())
    }
}

impl ConfigDocument {
    /// Returns the instances that work: neither they nor their tenants are disabled.
    pub fn enabled_instances(&self) -> impl Iterator<Item = &Instance> {
        let disabled: BTreeSet<&TenantId> = self
            .tenants
            .iter()
            .filter(|tenant| tenant.disabled)
            .map(|tenant| &tenant.id)
            .collect();
        self.instances
            .iter()
            .filter(move |instance| !instance.disabled && !disabled.contains(&instance.tenant))
    }

    /// Returns the instances of this configuration that `wanted` does not name.
    pub fn unnamed_instances<'a>(&'a self, wanted: &ConfigDocument) -> impl Iterator<Item = &'a Instance> {
        let named: BTreeSet<InstanceId> = wanted.instances.iter().map(|named| named.id.clone()).collect();
        self.instances
            .iter()
            .filter(move |instance| !named.contains(&instance.id))
    }

    /// Plans the removal of all that `wanted` does not name from this configuration, which holds `wanted` already. An
    /// instance in `with_history` is disabled instead, and its agent and tenant stay.
    pub fn plan_prune(&self, wanted: &ConfigDocument, with_history: &BTreeSet<InstanceId>) -> PrunePlan {
        let named: BTreeSet<EntryRef> = wanted.list_entry_names().into_iter().collect();
        let has_history =
            |name: &EntryRef| matches!(name, EntryRef::Instance(id) if with_history.contains(id));
        let (mut needed, mut removed) = (BTreeSet::new(), BTreeSet::new());
        // What refers to others is looked at before these.
        for entry in self.list_entries().iter().rev() {
            let name = entry.entry_name();
            if named.contains(&name) || needed.contains(&name) || has_history(&name) {
                needed.extend(entry.refers_to());
            } else {
                removed.insert(name);
            }
        }
        let kept = self.unnamed_instances(wanted);
        let kept = kept.filter(|instance| with_history.contains(&instance.id) && !instance.disabled);
        PrunePlan {
            remove: ConfigRemoval(removed),
            disable: kept
                .map(|instance| Instance {
                    disabled: true,
                    ..instance.clone()
                })
                .collect(),
        }
    }

    /// Returns this document without what `removal` names.
    #[must_use]
    pub fn without(&self, removal: &ConfigRemoval) -> ConfigDocument {
        let mut left = self.clone();
        left.retain_entries(|name| !removal.0.contains(name));
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(instances: &[(&str, &str)]) -> ConfigDocument {
        let instance = |(id, agent): &(&str, &str)| {
            let tenant = if *agent == "bob" { "shop" } else { "clinic" };
            json!({"id": id, "tenant": tenant, "agent": agent, "provider": "evolution"})
        };
        serde_json::from_value(json!({
            "tenants": [{"id": "clinic"}, {"id": "shop"}],
            "agents": [
                {"id": "ana", "tenant": "clinic", "model": "m", "system_prompt": "p"},
                {"id": "bob", "tenant": "shop", "model": "m", "system_prompt": "p"},
            ],
            "instances": instances.iter().map(instance).collect::<Vec<_>>(),
        }))
        .unwrap()
    }

    fn wanted() -> ConfigDocument {
        let mut wanted = document(&[("a", "ana")]);
        wanted.agents.retain(|agent| agent.id.as_str() == "ana");
        wanted.tenants.retain(|tenant| tenant.id.as_str() == "clinic");
        wanted
    }

    #[test]
    fn what_is_not_named_and_not_needed_is_removed() {
        let known = document(&[("a", "ana"), ("b", "bob")]);
        let plan = known.plan_prune(&wanted(), &BTreeSet::new());
        assert_eq!(plan.disable, []);
        let removed = plan.remove.list_entry_names();
        let removed: Vec<String> = removed.iter().map(EntryRef::to_string).collect();
        assert_eq!(removed, ["instance `b`", "agent `bob`", "tenant `shop`"]);
        let left = known.without(&plan.remove);
        assert_eq!(left, wanted());
        assert_eq!(left.plan_prune(&wanted(), &BTreeSet::new()), PrunePlan::default());
    }

    #[test]
    fn an_instance_with_a_history_is_disabled_and_keeps_its_agent_and_tenant() {
        let known = document(&[("a", "ana"), ("b", "bob")]);
        let history = BTreeSet::from([InstanceId::parse("b").unwrap()]);
        let plan = known.plan_prune(&wanted(), &history);
        assert!(plan.remove.is_empty(), "{plan:?}");
        assert_eq!(plan.disable.len(), 1);
        assert!(plan.disable[0].disabled && plan.disable[0].id.as_str() == "b");
        let mut done = known.clone();
        done.instances[1].disabled = true;
        assert_eq!(done.plan_prune(&wanted(), &history), PrunePlan::default());
    }

    #[test]
    fn the_instances_of_a_disabled_tenant_do_not_work() {
        let mut known = document(&[("a", "ana"), ("b", "bob"), ("c", "ana")]);
        known.tenants[1].disabled = true;
        known.instances[2].disabled = true;
        let ids: Vec<&str> = known
            .enabled_instances()
            .map(|instance| instance.id.as_str())
            .collect();
        assert_eq!(ids, ["a"]);
    }
}
