use super::DynamoStore;
use crate::cache::CacheLookup;
use async_trait::async_trait;
use recado_domain::config::InstanceConfig;
use recado_ports::ports::{ConfigurationStore, PortResult, System};
use recado_ports::records::configuration::{InstanceName, join_instance_config};
use std::sync::Arc;

#[async_trait]
impl<A: System> ConfigurationStore for DynamoStore<A> {
    async fn read_instance_config(&self, name: InstanceName) -> PortResult<Option<Arc<InstanceConfig>>> {
        if let CacheLookup::Hit(known) = self.configs.get(&name, self.table.system.now()) {
            return Ok(known);
        }
        let found = join_instance_config(self, &name).await?.map(Arc::new);
        self.configs
            .insert_entry(name, found.clone(), self.table.system.now());
        Ok(found)
    }
}

impl<A: System> DynamoStore<A> {
    /// Forgets what is kept in memory of the configuration.
    pub(super) fn forget_configuration(&self) {
        self.configs.clear();
    }
}
