use super::DynamoStore;
use crate::cache::CacheLookup;
use recado_domain::config::InstanceConfig;
use recado_ports::ports::{InstanceName, PortResult, System};
use recado_ports::records::configuration::join_instance_config;
use std::sync::Arc;

impl<A: System> DynamoStore<A> {
    /// Returns the configuration of an instance, which may be one that is kept in memory.
    pub(super) async fn read_kept_config(
        &self,
        name: InstanceName,
    ) -> PortResult<Option<Arc<InstanceConfig>>> {
        if let CacheLookup::Hit(known) = self.configs.get(&name, self.table.system.now()) {
            return Ok(known);
        }
        let found = join_instance_config(self, &name).await?.map(Arc::new);
        self.configs
            .insert_entry(name, found.clone(), self.table.system.now());
        Ok(found)
    }

    /// Forgets what is kept in memory of the configuration.
    pub(super) fn forget_configuration(&self) {
        self.configs.clear();
    }
}
