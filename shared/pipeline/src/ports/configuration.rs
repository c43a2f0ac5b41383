use super::PortResult;
use recado_domain::config::{ConfigDocument, ConfigRemoval, InstanceConfig};
use recado_domain::ids::{ExternalId, InstanceId, TenantId};
use recado_domain::provider::Provider;
use std::future::Future;

/// A store of the configuration: tenants, agents and instances.
pub trait ConfigurationStore: Send + Sync {
    /// Returns the configuration of `tenant` with its agents and instances, or the whole configuration (`None`).
    fn read_configuration(
        &self,
        tenant: Option<&TenantId>,
    ) -> impl Future<Output = PortResult<ConfigDocument>> + Send;

    /// Creates or replaces the tenants, agents and instances in `change`, and leaves all others unchanged. One change
    /// may exchange the external ids of two instances. The caller has validated `change`.
    fn apply_configuration(&self, change: &ConfigDocument) -> impl Future<Output = PortResult<()>> + Send;

    /// Removes the tenants, agents and instances that `removal` names, and leaves all others unchanged. What is not
    /// configured counts as removed. The caller has made sure that nothing refers to them any more.
    fn remove_configuration(&self, removal: &ConfigRemoval) -> impl Future<Output = PortResult<()>> + Send;

    /// Returns the instance that `provider` calls `external`, with its tenant and agent. The answer may be as old as
    /// [`crate::settings::Settings::config_ttl`]. `None`: no such instance is configured.
    fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> impl Future<Output = PortResult<Option<InstanceConfig>>> + Send;

    /// Returns the instance with the id `id`, with its tenant and agent; `None` if it is not configured. The answer may
    /// be as old as that of [`Self::find_instance_config`].
    fn instance_config(
        &self,
        id: &InstanceId,
    ) -> impl Future<Output = PortResult<Option<InstanceConfig>>> + Send;
}
