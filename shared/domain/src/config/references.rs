//! The entries to which others refer: an instance refers to its agent and its tenant, an agent to its tenant and its tools,
//! a tool to its tenant and its calendar, a calendar to its tenant.

use super::{ConfigDocument, ConfigNames, ConfigRemoval};
use std::collections::BTreeSet;

impl ConfigNames {
    /// Makes the names of the tenants, calendars, tools and agents to which `change` refers without containing them.
    pub fn of_referred(change: &ConfigDocument) -> Self {
        let mut names = Self {
            tenants: change.list_owners(),
            calendars: change
                .tools
                .iter()
                .filter_map(|tool| tool.calendar.clone())
                .collect(),
            tools: change
                .agents
                .iter()
                .flat_map(|agent| agent.tools.iter().cloned())
                .collect(),
            agents: change
                .instances
                .iter()
                .map(|instance| instance.agent.clone())
                .collect(),
            ..Self::default()
        };
        for tenant in &change.tenants {
            names.tenants.remove(&tenant.id);
        }
        for calendar in &change.calendars {
            names.calendars.remove(&calendar.id);
        }
        for tool in &change.tools {
            names.tools.remove(&tool.id);
        }
        for agent in &change.agents {
            names.agents.remove(&agent.id);
        }
        names
    }
}

impl ConfigDocument {
    /// Returns `true` if this document or `change` holds each entry to which `change` refers. Each agent must belong to the
    /// tenant of its instances, each tool to that of its agents, and each calendar to that of its tools.
    pub fn holds_references_of(&self, change: &ConfigDocument) -> bool {
        let tenants: BTreeSet<_> = [&self.tenants, &change.tenants]
            .into_iter()
            .flatten()
            .map(|tenant| &tenant.id)
            .collect();
        let changed: BTreeSet<_> = change.agents.iter().map(|agent| &agent.id).collect();
        let kept = self.agents.iter().filter(|agent| !changed.contains(&agent.id));
        let agents: BTreeSet<_> = kept
            .chain(&change.agents)
            .map(|agent| (&agent.id, &agent.tenant))
            .collect();
        let rewritten: BTreeSet<_> = change.tools.iter().map(|tool| &tool.id).collect();
        let kept = self.tools.iter().filter(|tool| !rewritten.contains(&tool.id));
        let tools: BTreeSet<_> = kept
            .chain(&change.tools)
            .map(|tool| (&tool.id, &tool.tenant))
            .collect();
        let rewritten: BTreeSet<_> = change.calendars.iter().map(|calendar| &calendar.id).collect();
        let kept = self
            .calendars
            .iter()
            .filter(|calendar| !rewritten.contains(&calendar.id));
        let calendars: BTreeSet<_> = kept
            .chain(&change.calendars)
            .map(|calendar| (&calendar.id, &calendar.tenant))
            .collect();
        let mut booked = change
            .tools
            .iter()
            .filter_map(|tool| Some((tool.calendar.as_ref()?, &tool.tenant)));
        let mut named = change
            .agents
            .iter()
            .flat_map(|agent| agent.tools.iter().map(move |tool| (tool, &agent.tenant)));
        let mut instances = change.instances.iter();
        change.list_owners().iter().all(|owner| tenants.contains(owner))
            && booked.all(|calendar| calendars.contains(&calendar))
            && named.all(|tool| tools.contains(&tool))
            && instances.all(|instance| agents.contains(&(&instance.agent, &instance.tenant)))
    }

    /// Returns `true` if an entry that stays refers to what `removal` takes away. An entry that goes with it, or that `change`
    /// replaces, does not stay.
    pub fn refers_to_removed(&self, removal: &ConfigRemoval, change: &ConfigDocument) -> bool {
        let (tenants, agents): (BTreeSet<_>, BTreeSet<_>) =
            (removal.tenants.iter().collect(), removal.agents.iter().collect());
        let tools: BTreeSet<_> = removal.tools.iter().collect();
        let instances: BTreeSet<_> = removal.instances.iter().collect();
        let replaced: BTreeSet<_> = change.instances.iter().map(|instance| &instance.id).collect();
        let moved: BTreeSet<_> = change.agents.iter().map(|agent| &agent.id).collect();
        let left = |instance: &&super::Instance| {
            !instances.contains(&instance.id) && !replaced.contains(&instance.id)
        };
        let mut staying = self.instances.iter().filter(left).chain(&change.instances);
        let left = |agent: &&super::Agent| !agents.contains(&agent.id) && !moved.contains(&agent.id);
        let mut answering = self.agents.iter().filter(left).chain(&change.agents);
        let left = |calendar: &&super::Calendar| {
            !removal.calendars.contains(&calendar.id)
                && !change.calendars.iter().any(|changed| changed.id == calendar.id)
        };
        let mut booked = self.calendars.iter().filter(left).chain(&change.calendars);
        let left = |tool: &&crate::tools::Tool| {
            !tools.contains(&tool.id) && !change.tools.iter().any(|changed| changed.id == tool.id)
        };
        let mut offered = self.tools.iter().filter(left).chain(&change.tools);
        staying.any(|instance| agents.contains(&instance.agent) || tenants.contains(&instance.tenant))
            || answering.any(|agent| {
                tenants.contains(&agent.tenant) || agent.tools.iter().any(|tool| tools.contains(tool))
            })
            || booked.any(|calendar| tenants.contains(&calendar.tenant))
            || offered.any(|tool| {
                let calendar = tool.calendar.as_ref();
                tenants.contains(&tool.tenant)
                    || calendar.is_some_and(|calendar| removal.calendars.contains(calendar))
            })
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
        assert_eq!((names.tenants.len(), names.agents.len()), (1, 1));
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
        let ana = ConfigRemoval {
            agents: vec![AgentId::parse("ana").unwrap()],
            ..ConfigRemoval::default()
        };
        assert!(stored().refers_to_removed(&ana, &nothing));
        let mut both = ana.clone();
        both.instances.push(InstanceId::parse("desk").unwrap());
        assert!(!stored().refers_to_removed(&both, &nothing));
        let moved = document(&[], &[], &[instance("desk", "clinic", "eve")]);
        assert!(!stored().refers_to_removed(&ana, &moved));
        let tenant = ConfigRemoval {
            tenants: vec![TenantId::parse("shop").unwrap()],
            ..ConfigRemoval::default()
        };
        assert!(stored().refers_to_removed(&tenant, &nothing), "its agent stays");
    }
}
