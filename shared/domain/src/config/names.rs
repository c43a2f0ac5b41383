//! The graph of the configuration: its entries, their names, and which others each of them refers to.

use super::credential::uppercase_tenant;
use super::{Agent, Calendar, ConfigDocument, ConfigRemoval, DestinationChannel, Instance, Tenant};
use crate::ids::{AgentId, CalendarId, ExternalId, InstanceId, TenantId, ToolId};
use crate::provider::Provider;
use crate::tools::Tool;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

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

    /// Makes the name of the entry with this id. `None` if the text is no id of the kind.
    fn parse_name(id: &str) -> Option<EntryRef>;

    /// Takes the entry out of a node of the graph. `None` if that is of another kind.
    fn from_entry(entry: Entry) -> Option<Self>;
}

/// Declares the kinds of entries, what is referred to before what refers to it: the type, the type of its id, its kind, its field in
/// documents and names, and its owner.
macro_rules! config_entries {
    ($($entry:ident($id:ident) = $kind:literal in $entries:ident of $owner:ident,)*) => {
        /// An entry of any kind: a node of the graph.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Entry {
            $(#[doc = concat!("An entry of the kind `", $kind, "`.")] $entry(Box<$entry>),)*
        }

        /// The name of an entry. What is referred to is less than what refers to it.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum EntryRef {
            $(#[doc = concat!("The name of an entry of the kind `", $kind, "`.")] $entry($id),)*
        }

        impl Entry {
            /// Returns the name.
            pub fn entry_name(&self) -> EntryRef {
                match self {
                    $(Self::$entry(entry) => EntryRef::$entry(entry.id.clone()),)*
                }
            }

            /// Returns the tenant that the entry belongs to; a tenant belongs to itself.
            pub fn entry_owner(&self) -> &TenantId {
                match self {
                    $(Self::$entry(entry) => &entry.$owner,)*
                }
            }

            /// Returns the entry as JSON, as documents have it.
            pub fn to_json(&self) -> Value {
                let written = match self {
                    $(Self::$entry(entry) => serde_json::to_value(entry),)*
                };
                written.unwrap_or_default()
            }
        }

        impl EntryRef {
            /// Returns the kind, as people and the audit read it.
            pub fn kind_word(&self) -> &'static str {
                match self {
                    $(Self::$entry(_) => $kind,)*
                }
            }

            /// Returns the id.
            pub fn id_text(&self) -> &str {
                match self {
                    $(Self::$entry(id) => id.as_str(),)*
                }
            }
        }

        impl ConfigDocument {
            /// Lists the entries, what is referred to before what refers to it.
            pub fn list_entries(&self) -> Vec<Entry> {
                let mut all = Vec::new();
                $(all.extend(self.$entries.iter().map(|entry| Entry::$entry(Box::new(entry.clone()))));)*
                all
            }

            /// Lists the names of the entries.
            pub fn list_entry_names(&self) -> Vec<EntryRef> {
                let mut all = Vec::new();
                $(all.extend(self.$entries.iter().map(|entry| EntryRef::$entry(entry.id.clone())));)*
                all
            }

            /// Lists the names of the entries, each with the tenant that the entry belongs to.
            pub fn list_entry_owners(&self) -> Vec<(EntryRef, &TenantId)> {
                let mut all = Vec::new();
                $(all.extend(
                    self.$entries
                        .iter()
                        .map(|entry| (EntryRef::$entry(entry.id.clone()), &entry.$owner)),
                );)*
                all
            }

            /// Leaves out the entries that `keep` does not accept.
            pub fn retain_entries(&mut self, keep: impl Fn(&EntryRef) -> bool) {
                $(self.$entries.retain(|entry| keep(&EntryRef::$entry(entry.id.clone())));)*
            }
        }

        impl FromIterator<Entry> for ConfigDocument {
            fn from_iter<I: IntoIterator<Item = Entry>>(entries: I) -> Self {
                let mut document = Self::default();
                for entry in entries {
                    match entry {
                        $(Entry::$entry(entry) => document.$entries.push(*entry),)*
                    }
                }
                document
            }
        }

        $(impl ConfigEntry for $entry {
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

            fn parse_name(id: &str) -> Option<EntryRef> {
                $id::parse(id).ok().map(EntryRef::$entry)
            }

            fn from_entry(entry: Entry) -> Option<Self> {
                match entry {
                    Entry::$entry(entry) => Some(*entry),
                    _ => None,
                }
            }
        })*
    };
}

config_entries! {
    Tenant(TenantId) = "tenant" in tenants of id,
    Calendar(CalendarId) = "calendar" in calendars of tenant,
    Tool(ToolId) = "tool" in tools of tenant,
    Agent(AgentId) = "agent" in agents of tenant,
    Instance(InstanceId) = "instance" in instances of tenant,
}

impl Entry {
    /// Lists the names of the entries to which this one refers. They belong to its tenant.
    pub fn refers_to(&self) -> Vec<EntryRef> {
        let tenant = std::iter::once(EntryRef::Tenant(self.entry_owner().clone()));
        match self {
            Self::Tenant(_) => Vec::new(),
            Self::Calendar(_) => tenant.collect(),
            Self::Tool(tool) => tenant
                .chain(tool.calendar.clone().map(EntryRef::Calendar))
                .collect(),
            Self::Agent(agent) => tenant
                .chain(agent.tools.iter().cloned().map(EntryRef::Tool))
                .collect(),
            Self::Instance(instance) => tenant.chain([EntryRef::Agent(instance.agent.clone())]).collect(),
        }
    }
}

/// Names of configuration entries. What is not configured has no effect.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigNames {
    /// Names of entries by their ids.
    pub entries: BTreeSet<EntryRef>,
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
    /// Makes the names of these entries.
    pub fn of(entries: impl IntoIterator<Item = EntryRef>) -> Self {
        Self {
            entries: entries.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns `true` if these names mean nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Makes the ids of the entries that a change and a removal write.
    pub fn of_written(change: &ConfigDocument, removal: &ConfigRemoval) -> Self {
        let changed = change.list_entry_names().into_iter();
        Self::of(changed.chain(removal.list_entry_names()))
    }

    /// Adds the names of all entries that `change` names or refers to.
    pub fn add_change(&mut self, change: &ConfigDocument) {
        let referred = change.list_entries();
        self.entries.extend(change.list_entry_names());
        self.entries.extend(referred.iter().flat_map(Entry::refers_to));
        for instance in &change.instances {
            let external = instance.resolve_external_id();
            self.externals
                .extend(external.map(|external| (instance.provider, external)));
        }
        self.add_destinations(change);
    }

    /// Returns the ids of the tenants among the entries.
    pub fn list_tenants(&self) -> BTreeSet<TenantId> {
        self.entries
            .iter()
            .filter_map(EntryRef::as_tenant)
            .cloned()
            .collect()
    }

    /// Adds the names of what the destinations of the document's alerts refer to.
    pub fn add_destinations(&mut self, document: &ConfigDocument) {
        let alerts = document.alerts.iter();
        for destination in alerts.flat_map(|alerts| &alerts.destinations) {
            let tenant = destination.tenant.clone();
            self.entries.extend(tenant.map(EntryRef::Tenant));
            if let Some(DestinationChannel::WhatsApp(whatsapp)) = destination.channel() {
                self.entries.insert(EntryRef::Instance(whatsapp.instance.clone()));
            }
        }
    }
}

impl EntryRef {
    /// Returns the id, if it is that of a tenant.
    pub fn as_tenant(&self) -> Option<&TenantId> {
        match self {
            Self::Tenant(id) => Some(id),
            _ => None,
        }
    }
}

/// Writes the kind, and the id between backticks.
impl fmt::Display for EntryRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind_word(), self.id_text())
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
        let owners = self.list_entry_owners().into_iter();
        owners.map(|(_, owner)| owner.clone()).collect()
    }

    /// Returns the tenant with its calendars, tools, agents and instances. Alerts and prices are left out: they are the installation's.
    #[must_use]
    pub fn of_tenant(&self, tenant: &TenantId) -> ConfigDocument {
        let entries = self.list_entries().into_iter();
        entries.filter(|entry| entry.entry_owner() == tenant).collect()
    }

    /// Returns `true` if this document and `other` say the same about each entry that `names` names by its id: the entry is
    /// in neither of them, or equal in both.
    pub fn agrees_about(&self, other: &ConfigDocument, names: &ConfigNames) -> bool {
        let by_name = |document: &ConfigDocument| -> BTreeMap<EntryRef, Entry> {
            let entries = document.list_entries().into_iter();
            entries.map(|entry| (entry.entry_name(), entry)).collect()
        };
        let (one, other) = (by_name(self), by_name(other));
        let mut names = names.entries.iter();
        names.all(|name| one.get(name) == other.get(name))
    }
}
