//! The entries to which others refer: whether they are there, and whether they are still needed.

use super::{ConfigDocument, ConfigNames, ConfigRemoval, Entry, EntryRef};
use crate::ids::TenantId;
use std::collections::{BTreeMap, BTreeSet};

impl ConfigNames {
    /// Makes the names of the tenants, calendars, tools and agents to which `change` refers without containing them.
    pub fn of_referred(change: &ConfigDocument) -> Self {
        let own: BTreeSet<EntryRef> = change.list_entry_names().into_iter().collect();
        let entries = change.list_entries();
        let referred = entries.iter().flat_map(Entry::refers_to);
        Self::of(referred.filter(|name| !own.contains(name)))
    }
}

impl ConfigDocument {
    /// Returns `true` if this document or `change` holds each entry to which `change` refers. It must belong to the same tenant as the one
    /// that refers to it.
    pub fn holds_references_of(&self, change: &ConfigDocument) -> bool {
        let all = self.list_entry_owners().into_iter();
        let owners: BTreeMap<EntryRef, &TenantId> = all.chain(change.list_entry_owners()).collect();
        change.list_entries().iter().all(|entry| {
            let owner = entry.entry_owner();
            entry
                .refers_to()
                .iter()
                .all(|name| owners.get(name).is_some_and(|found| *found == owner))
        })
    }

    /// Returns `true` if an entry that stays refers to what `removal` takes away. An entry that goes with it, or that `change`
    /// replaces, does not stay.
    pub fn refers_to_removed(&self, removal: &ConfigRemoval, change: &ConfigDocument) -> bool {
        let removed: BTreeSet<EntryRef> = removal.list_entry_names().into_iter().collect();
        let written: BTreeSet<EntryRef> = change.list_entry_names().into_iter().collect();
        let is_left = |entry: &&Entry| {
            let name = entry.entry_name();
            !removed.contains(&name) && !written.contains(&name)
        };
        let (stored, change) = (self.list_entries(), change.list_entries());
        let mut staying = stored.iter().filter(is_left).chain(&change);
        staying.any(|entry| entry.refers_to().iter().any(|name| removed.contains(name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{AgentId, InstanceId, TenantId};
    use serde_json::json;

    fn agent(id: &str, tenant: &str) -> serde_json::Value {
        json!({"id": id, "tenant": tenant, "model": "m", "system_prompt": "p"})
    }

    fn instance(id: &str, tenant: &str, agent: &str) -> serde_json::Value {
        json!({"id": id, "tenant": tenant, "agent": agent, "provider": "evolution"})
    }

    fn document(
        tenants: &[&str],
        agents: &[serde_json::Value],
        instances: &[serde_json::Value],
    ) -> ConfigDocument {
        let tenants: Vec<_> = tenants.iter().map(|id| json!({"id": id})).collect();
        let all = json!({"tenants": tenants, "agents": agents, "instances": instances});
        serde_json::from_value(all).unwrap()
    }

    fn stored() -> ConfigDocument {
        document(
            &["clinic", "shop"],
            &[agent("ana", "clinic"), agent("bob", "shop")],
            &[instance("desk", "clinic", "ana")],
        )
    }

    #[test]
    fn what_a_change_holds_itself_is_no_reference() {
        let names = ConfigNames::of_referred(&stored());
        assert!(names.is_empty());
        let alone = document(&[], &[], &[instance("ward", "clinic", "ana")]);
        let names = ConfigNames::of_referred(&alone);
        let names: Vec<String> = names.entries.iter().map(EntryRef::to_string).collect();
        assert_eq!(names, ["tenant `clinic`", "agent `ana`"]);
    }

    #[test]
    fn an_instance_needs_its_tenant_and_an_agent_of_that_tenant() {
        let held = |change| stored().holds_references_of(&change);
        assert!(held(document(&[], &[], &[instance("ward", "clinic", "ana")])));
        assert!(!held(document(&[], &[], &[instance("ward", "clinic", "eve")])));
        assert!(!held(document(&[], &[], &[instance("ward", "clinic", "bob")])));
        assert!(!held(document(&[], &[agent("eve", "bakery")], &[])));
        let whole = document(
            &["bakery"],
            &[agent("eve", "bakery")],
            &[instance("oven", "bakery", "eve")],
        );
        assert!(held(whole));
        let moved = document(&[], &[agent("ana", "shop")], &[instance("ward", "clinic", "ana")]);
        assert!(!held(moved));
    }

    #[test]
    fn what_stays_may_not_refer_to_what_goes() {
        let nothing = ConfigDocument::default();
        let ana = EntryRef::Agent(AgentId::parse("ana").unwrap());
        let desk = EntryRef::Instance(InstanceId::parse("desk").unwrap());
        let both: ConfigRemoval = [ana.clone(), desk].into_iter().collect();
        let ana: ConfigRemoval = [ana].into_iter().collect();
        assert!(stored().refers_to_removed(&ana, &nothing));
        assert!(!stored().refers_to_removed(&both, &nothing));
        let moved = document(&[], &[], &[instance("desk", "clinic", "eve")]);
        assert!(!stored().refers_to_removed(&ana, &moved));
        let tenant = EntryRef::Tenant(TenantId::parse("shop").unwrap());
        let tenant: ConfigRemoval = [tenant].into_iter().collect();
        assert!(stored().refers_to_removed(&tenant, &nothing), "its agent stays");
    }
}
