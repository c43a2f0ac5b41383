//! The keys of the configuration. Each entry is stored under its id and once more under its tenant, so that a tenant is
//! read by one query; a tenant also under its part of variables' names, and an instance under the provider's name for it.

use super::TableKey;
use recado_domain::config::{Agent, Calendar, Instance, Tenant};
use recado_domain::ids::{ExternalId, TenantId};
use recado_domain::provider::Provider;
use recado_domain::tools::Tool;

/// The kinds of records that a configuration consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigurationKind {
    /// Tenants.
    Tenant,
    /// Calendars.
    Calendar,
    /// Tools.
    Tool,
    /// Agents.
    Agent,
    /// Instances.
    Instance,
}

impl ConfigurationKind {
    /// Returns the partition key of the records of this kind.
    pub(crate) fn partition_key(self) -> &'static str {
        match self {
            Self::Tenant => "G#T",
            Self::Calendar => "G#D",
            Self::Tool => "G#F",
            Self::Agent => "G#A",
            Self::Instance => "G#I",
        }
    }

    /// Returns the prefix of the `sk` of this kind among the records of a tenant.
    pub(crate) fn sort_prefix(self) -> &'static str {
        match self {
            Self::Tenant => "T#",
            Self::Calendar => "L#",
            Self::Tool => "F#",
            Self::Agent => "A#",
            Self::Instance => "I#",
        }
    }
}

/// The `pk` of the tenants by their parts of variables' names.
pub(crate) const VARIABLES: &str = "G#V";

/// Returns the prefix of the `sk` of the tenants with this part of variables' names. No part contains a `#`.
pub(crate) fn variable_sk_prefix(part: &str) -> String {
    format!("{part}#")
}

/// Returns the `pk` of a tenant with its calendars, tools, agents and instances.
pub(crate) fn tenant_entries_pk(tenant: &TenantId) -> String {
    format!("G#C#{tenant}")
}

impl TableKey {
    /// Returns the key of a tenant, a calendar, a tool, an agent or an instance.
    pub(crate) fn for_configured(kind: ConfigurationKind, id: &str) -> Self {
        Self::new(kind.partition_key().to_owned(), id)
    }

    fn for_owned(tenant: &TenantId, kind: ConfigurationKind, id: &str) -> Self {
        Self::new(tenant_entries_pk(tenant), format!("{}{id}", kind.sort_prefix()))
    }

    /// Returns the key of the configuration of alerts.
    pub(crate) fn for_alert_config() -> Self {
        Self::new("G#L".to_owned(), "alerts")
    }

    /// Returns the key of the prices of models.
    pub(crate) fn for_prices() -> Self {
        Self::new("G#P".to_owned(), "prices")
    }

    /// Returns the key of an instance's lookup record, under the provider's name for the instance.
    pub(crate) fn for_external_id(provider: Provider, external: &ExternalId) -> Self {
        Self::new(format!("G#X#{provider}"), external.as_str())
    }

    /// Returns the keys of a tenant's records. The first is that under its id.
    pub(crate) fn for_tenant_records(tenant: &Tenant) -> Vec<Self> {
        let prefix = variable_sk_prefix(&tenant.id.variable_part());
        vec![
            Self::for_configured(ConfigurationKind::Tenant, tenant.id.as_str()),
            Self::for_owned(&tenant.id, ConfigurationKind::Tenant, tenant.id.as_str()),
            Self::new(VARIABLES.to_owned(), format!("{prefix}{}", tenant.id)),
        ]
    }

    /// Returns the keys of a calendar's records. The first is that under its id.
    pub(crate) fn for_calendar_records(calendar: &Calendar) -> Vec<Self> {
        vec![
            Self::for_configured(ConfigurationKind::Calendar, calendar.id.as_str()),
            Self::for_owned(
                &calendar.tenant,
                ConfigurationKind::Calendar,
                calendar.id.as_str(),
            ),
        ]
    }

    /// Returns the keys of a tool's records. The first is that under its id.
    pub(crate) fn for_tool_records(tool: &Tool) -> Vec<Self> {
        vec![
            Self::for_configured(ConfigurationKind::Tool, tool.id.as_str()),
            Self::for_owned(&tool.tenant, ConfigurationKind::Tool, tool.id.as_str()),
        ]
    }

    /// Returns the keys of an agent's records. The first is that under its id.
    pub(crate) fn for_agent_records(agent: &Agent) -> Vec<Self> {
        vec![
            Self::for_configured(ConfigurationKind::Agent, agent.id.as_str()),
            Self::for_owned(&agent.tenant, ConfigurationKind::Agent, agent.id.as_str()),
        ]
    }

    /// Returns the keys of an instance's records. The first is that under its id.
    pub(crate) fn for_instance_records(instance: &Instance) -> Vec<Self> {
        let lookup = instance
            .resolve_external_id()
            .map(|external| Self::for_external_id(instance.provider, &external));
        let own = [
            Self::for_configured(ConfigurationKind::Instance, instance.id.as_str()),
            Self::for_owned(
                &instance.tenant,
                ConfigurationKind::Instance,
                instance.id.as_str(),
            ),
        ];
        own.into_iter().chain(lookup).collect()
    }
}
