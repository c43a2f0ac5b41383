//! The names by which a check finds the entries that it needs, among any number of others.

use super::credential::uppercase_tenant;
use super::{Agent, Calendar, ConfigDocument, ConfigRemoval, DestinationChannel, Instance, Tenant};
use crate::ids::{AgentId, CalendarId, ExternalId, InstanceId, TenantId, ToolId};
use crate::provider::Provider;
use crate::tools::Tool;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// A tenant, a calendar, a tool, an agent or an instance.
pub trait ConfigEntry: Serialize + DeserializeOwned + Clone + PartialEq + Send + Sync {
    /// The kind, as people and the audit read it.
    const KIND: &'static str;

    /// Returns the entry's id.
    fn entry_id(&self) -> &str;

    /// Returns the tenant that the entry belongs to; a tenant belongs to itself.
    fn owner(&self) -> &TenantId;

    /// Returns the entries of this kind in a document.
    fn list_of(document: &ConfigDocument) -> &[Self];

    /// Makes a document of this entry alone.
    fn into_document(self) -> ConfigDocument;

    /// Makes the names of the entry with this id. `None` if the text is no id of the kind.
    fn name_entry(id: &str) -> Option<ConfigNames>;
}

/// Implements [`ConfigEntry`]: the type, the type of its id, its kind, its field in documents and names, and its owner.
macro_rules! config_entry {
    ($entry:ident, $id:ident, $kind:literal, $entries:ident, $owner:ident) => {
        impl ConfigEntry for $entry {
            const KIND: &'static str = $kind;

            fn entry_id(&self) -> &str {
                self.id.as_str()
            }

            fn owner(&self) -> &TenantId {
                &self.$owner
            }

            fn list_of(document: &ConfigDocument) -> &[Self] {
                &document.$entries
            }

            fn into_document(self) -> ConfigDocument {
                ConfigDocument {
                    $entries: vec![self],
                    ..ConfigDocument::default()
                }
            }

            fn name_entry(id: &str) -> Option<ConfigNames> {
                Some(ConfigNames {
                    $entries: BTreeSet::from([$id::parse(id).ok()?]),
                    ..ConfigNames::default()
                })
            }
        }
    };
}

config_entry!(Tenant, TenantId, "tenant", tenants, id);
config_entry!(Calendar, CalendarId, "calendar", calendars, tenant);
config_entry!(Tool, ToolId, "tool", tools, tenant);
config_entry!(Agent, AgentId, "agent", agents, tenant);
config_entry!(Instance, InstanceId, "instance", instances, tenant);

/// Names of configuration entries. What is not configured has no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigNames {
    /// Ids of tenants.
    pub tenants: BTreeSet<TenantId>,
    /// Ids of calendars.
    pub calendars: BTreeSet<CalendarId>,
    /// Ids of tools.
    pub tools: BTreeSet<ToolId>,
    /// Ids of agents.
    pub agents: BTreeSet<AgentId>,
    /// Ids of instances.
    pub instances: BTreeSet<InstanceId>,
    /// Names of instances at their providers.
    pub externals: BTreeSet<(Provider, ExternalId)>,
    /// The parts of variables' names that stand for tenants ([`TenantId::variable_part`]). Each names all tenants with it.
    pub variable_parts: BTreeSet<String>,
    /// `true` if the alerts are meant, too.
    pub alerts: bool,
    /// `true` if the prices are meant, too.
    pub prices: bool,
}

impl ConfigNames {
    /// Returns `true` if these names mean nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Makes the ids of the entries that a change and a removal write.
    pub fn of_written(change: &ConfigDocument, removal: &ConfigRemoval) -> Self {
        let changed_tenants = change.tenants.iter().map(|tenant| &tenant.id);
        let changed_calendars = change.calendars.iter().map(|calendar| &calendar.id);
        let changed_tools = change.tools.iter().map(|tool| &tool.id);
        let changed_agents = change.agents.iter().map(|agent| &agent.id);
        let changed_instances = change.instances.iter().map(|instance| &instance.id);
        Self {
            tenants: changed_tenants.chain(&removal.tenants).cloned().collect(),
            calendars: changed_calendars.chain(&removal.calendars).cloned().collect(),
            tools: changed_tools.chain(&removal.tools).cloned().collect(),
            agents: changed_agents.chain(&removal.agents).cloned().collect(),
            instances: changed_instances.chain(&removal.instances).cloned().collect(),
            ..Self::default()
        }
    }

    /// Adds the names of all entries that `change` names or refers to.
    pub fn add_change(&mut self, change: &ConfigDocument) {
        self.tenants.extend(change.list_owners());
        let calendars = change.calendars.iter();
        self.calendars
            .extend(calendars.map(|calendar| calendar.id.clone()));
        for tool in &change.tools {
            self.tools.insert(tool.id.clone());
            self.calendars.extend(tool.calendar.clone());
        }
        for agent in &change.agents {
            self.agents.insert(agent.id.clone());
            self.tools.extend(agent.tools.iter().cloned());
        }
        for instance in &change.instances {
            self.instances.insert(instance.id.clone());
            self.agents.insert(instance.agent.clone());
            let external = instance.resolve_external_id();
            self.externals
                .extend(external.map(|external| (instance.provider, external)));
        }
        self.add_destinations(change);
    }

    /// Adds the names of what the destinations of the document's alerts refer to.
    pub fn add_destinations(&mut self, document: &ConfigDocument) {
        let alerts = document.alerts.iter();
        for destination in alerts.flat_map(|alerts| &alerts.destinations) {
            self.tenants.extend(destination.tenant.clone());
            if let Some(DestinationChannel::WhatsApp(whatsapp)) = destination.channel() {
                self.instances.insert(whatsapp.instance.clone());
            }
        }
    }
}

impl TenantId {
    /// Returns the tenant's part of the names of its variables: the id in capitals, with `_` for every character that is
    /// not a letter or digit. Several ids may have the same.
    pub fn variable_part(&self) -> String {
        uppercase_tenant(self)
    }
}

impl ConfigDocument {
    /// Returns the tenants to which the document's entries belong.
    pub fn list_owners(&self) -> BTreeSet<TenantId> {
        let tenants = self.tenants.iter().map(ConfigEntry::owner);
        let calendars = self.calendars.iter().map(ConfigEntry::owner);
        let tools = self.tools.iter().map(ConfigEntry::owner);
        let agents = self.agents.iter().map(ConfigEntry::owner);
        let instances = self.instances.iter().map(ConfigEntry::owner);
        tenants
            .chain(calendars)
            .chain(tools)
            .chain(agents)
            .chain(instances)
            .cloned()
            .collect()
    }

    /// Returns the tenant with its calendars, tools, agents and instances. Alerts and prices are left out: they are the installation's.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> ConfigDocument {
        fn own<T: ConfigEntry>(entries: &[T], tenant: &TenantId) -> Vec<T> {
            entries
                .iter()
                .filter(|entry| entry.owner() == tenant)
                .cloned()
                .collect()
        }
        ConfigDocument {
            tenants: own(&self.tenants, tenant),
            calendars: own(&self.calendars, tenant),
            tools: own(&self.tools, tenant),
            agents: own(&self.agents, tenant),
            instances: own(&self.instances, tenant),
            alerts: None,
            ..ConfigDocument::default()
        }
    }

    /// Returns `true` if this document and `other` say the same about each entry that `names` names by its id: the entry is
    /// in neither of them, or equal in both.
    pub fn agrees_about(&self, other: &ConfigDocument, names: &ConfigNames) -> bool {
        agree(
            &self.tenants,
            &other.tenants,
            names.tenants.iter().map(TenantId::as_str),
        ) && agree(
            &self.calendars,
            &other.calendars,
            names.calendars.iter().map(CalendarId::as_str),
        ) && agree(&self.tools, &other.tools, names.tools.iter().map(ToolId::as_str))
            && agree(
                &self.agents,
                &other.agents,
                names.agents.iter().map(AgentId::as_str),
            )
            && agree(
                &self.instances,
                &other.instances,
                names.instances.iter().map(InstanceId::as_str),
            )
    }
}

fn agree<'a, T: ConfigEntry>(one: &[T], other: &[T], mut ids: impl Iterator<Item = &'a str>) -> bool {
    fn by_id<T: ConfigEntry>(entries: &[T]) -> BTreeMap<&str, &T> {
        entries.iter().map(|entry| (entry.entry_id(), entry)).collect()
    }
    let (one, other) = (by_id(one), by_id(other));
    ids.all(|id| one.get(id) == other.get(id))
}
