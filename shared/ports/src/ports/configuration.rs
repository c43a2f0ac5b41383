use super::{Page, PageRequest, PortResult, WriteOutcome};
use recado_domain::config::{
    Agent, Calendar, ConfigDocument, ConfigNames, ConfigRemoval, Instance, InstanceConfig, Tenant,
};
use recado_domain::ids::{ExternalId, InstanceId, TenantId};
use recado_domain::provider::Provider;
use recado_domain::tools::Tool;
use std::future::Future;
use std::sync::Arc;

/// A store of the configuration: tenants, calendars, tools, agents and instances.
pub trait ConfigurationStore: Send + Sync {
    /// Returns the configuration of `tenant` with its calendars, tools, agents and instances, or the whole configuration (`None`).
    fn read_configuration(
        &self,
        tenant: Option<&TenantId>,
    ) -> impl Future<Output = PortResult<ConfigDocument>> + Send;

    /// Returns the entries that `names` names, each once. They are read by their keys, whatever the number of others.
    fn read_named(&self, names: &ConfigNames) -> impl Future<Output = PortResult<ConfigDocument>> + Send;

    /// Returns a page of all tenants, sorted by their ids.
    fn list_tenants(&self, page: &PageRequest) -> impl Future<Output = PortResult<Page<Tenant>>> + Send;

    /// Returns a page of the calendars of `tenant`, or of all calendars (`None`), sorted by their ids.
    fn list_calendars(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Calendar>>> + Send;

    /// Returns a page of the tools of `tenant`, or of all tools (`None`), sorted by their ids.
    fn list_tools(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Tool>>> + Send;

    /// Returns a page of the agents of `tenant`, or of all agents (`None`), sorted by their ids.
    fn list_agents(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Agent>>> + Send;

    /// Returns a page of the instances of `tenant`, or of all instances (`None`), sorted by their ids.
    fn list_instances(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Instance>>> + Send;

    /// Writes and removes a few entries (at most 15) in one transaction. If one of them is no longer stored as `known` has
    /// it, nothing is written. The caller has validated the change.
    fn replace_configuration(
        &self,
        change: &ConfigDocument,
        removal: &ConfigRemoval,
        known: &ConfigDocument,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Creates or replaces the tenants, calendars, tools, agents and instances in `change`, and leaves all others unchanged. One change
    /// may exchange the external ids of two instances. The caller has validated `change`.
    fn apply_configuration(&self, change: &ConfigDocument) -> impl Future<Output = PortResult<()>> + Send;

    /// Removes the tenants, calendars, tools, agents and instances that `removal` names, and leaves all others unchanged. What is not
    /// configured counts as removed. The caller has made sure that nothing refers to them any more.
    fn remove_configuration(&self, removal: &ConfigRemoval) -> impl Future<Output = PortResult<()>> + Send;

    /// Returns the instance that `provider` calls `external`, with its tenant, its agent and the agent's tools. The answer may be as old as
    /// [`crate::settings::Settings::config_ttl`]. `None`: no such instance is configured.
    fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> impl Future<Output = PortResult<Option<Arc<InstanceConfig>>>> + Send;

    /// Returns the instance with the id `id`, with its tenant, its agent and the agent's tools. `None`: it is not configured.
    /// The answer may be as old as that of [`Self::find_instance_config`].
    fn instance_config(
        &self,
        id: &InstanceId,
    ) -> impl Future<Output = PortResult<Option<Arc<InstanceConfig>>>> + Send;
}
