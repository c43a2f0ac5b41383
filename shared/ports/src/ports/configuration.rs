use super::PortResult;
use crate::records::configuration::InstanceName;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::provider::Provider;
use std::future::Future;
use std::sync::Arc;

/// The configurations of instances, which a store keeps in memory: every webhook and every step of a message asks for one. The answer may be
/// as old as [`crate::settings::Settings::config_ttl`], but not older than what the same store wrote.
pub trait ConfigurationStore: Send + Sync {
    /// Returns the instance with its tenant, its agent and the functions that the agent may call. `None`: no such instance is configured.
    fn read_instance_config(
        &self,
        name: InstanceName,
    ) -> impl Future<Output = PortResult<Option<Arc<InstanceConfig>>>> + Send;

    /// Returns the instance that `provider` calls `external`, as [`Self::read_instance_config`] does.
    fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> impl Future<Output = PortResult<Option<Arc<InstanceConfig>>>> + Send {
        self.read_instance_config(InstanceName::External(provider, external.clone()))
    }

    /// Returns the instance with the id `id`, as [`Self::read_instance_config`] does.
    fn instance_config(
        &self,
        id: &InstanceId,
    ) -> impl Future<Output = PortResult<Option<Arc<InstanceConfig>>>> + Send {
        self.read_instance_config(InstanceName::Id(id.clone()))
    }
}
