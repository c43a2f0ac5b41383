use super::PortResult;
use recado_domain::config::{ConfigDocument, InstanceConfig};
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::provider::Provider;
use std::future::Future;

/// What is configured.
pub trait ConfigurationStore: Send + Sync {
    /// All of it.
    fn read_configuration(&self) -> impl Future<Output = PortResult<ConfigDocument>> + Send;

    /// Creates and replaces what `change` names (two instances may swap their provider's names). The caller has checked it.
    fn apply_configuration(&self, change: &ConfigDocument) -> impl Future<Output = PortResult<()>> + Send;

    /// The instance that `provider` calls `external`, with its tenant and agent. May be as old as
    /// [`crate::settings::Settings::config_ttl`].
    fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> impl Future<Output = PortResult<Option<InstanceConfig>>> + Send;

    /// The instance of this id, with its tenant and agent; as old as [`Self::find_instance_config`] may be.
    fn instance_config(
        &self,
        id: &InstanceId,
    ) -> impl Future<Output = PortResult<Option<InstanceConfig>>> + Send;
}
