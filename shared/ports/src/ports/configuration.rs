use super::PortResult;
use crate::records::configuration::InstanceName;
use async_trait::async_trait;
use recado_domain::config::InstanceConfig;
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::provider::Provider;
use std::sync::Arc;

/// The configurations of instances, which a store keeps in memory: every webhook and every step of a message asks for one. The answer may be
/// as old as [`crate::settings::Settings::config_ttl`], but not older than what the same store wrote.
#[async_trait]
pub trait ConfigurationStore: Send + Sync {
    /// Returns the instance with its tenant, its agent and the functions that the agent may call. `None`: no such instance is configured.
    async fn read_instance_config(&self, name: InstanceName) -> PortResult<Option<Arc<InstanceConfig>>>;

    /// Returns the instance that `provider` calls `external`, as [`Self::read_instance_config`] does.
    async fn find_instance_config(
        &self,
        provider: Provider,
        external: &ExternalId,
    ) -> PortResult<Option<Arc<InstanceConfig>>> {
        self.read_instance_config(InstanceName::External(provider, external.clone()))
            .await
    }

    /// Returns the instance with the id `id`, as [`Self::read_instance_config`] does.
    async fn instance_config(&self, id: &InstanceId) -> PortResult<Option<Arc<InstanceConfig>>> {
        self.read_instance_config(InstanceName::Id(id.clone())).await
    }
}
