use super::table::select_item;
use crate::Embedded;
use crate::db_error::DbResult;
use jiff::Timestamp;
use recado_domain::config::{Instance, InstanceConfig};
use recado_ports::ports::{InstanceName, PortResult};
use recado_ports::records::configuration::join_instance_config;
use recado_ports::table::Record;
use recado_ports::unreadable_record::keep_readable;
use rusqlite::Connection;
use std::sync::Arc;

/// Returns the entry of an instance; `None` also if it cannot be read.
pub(crate) fn select_instance(db: &Connection, name: &InstanceName) -> DbResult<Option<Instance>> {
    // An entry does not expire, so any time will do.
    let found = select_item(db, &name.build_key(), Timestamp::UNIX_EPOCH)?;
    Ok(found.and_then(|item| keep_readable(Instance::from_body(&item.body))))
}

impl Embedded {
    /// Returns the configuration of an instance, which may be one that is kept in memory.
    pub(super) async fn read_kept_config(
        &self,
        name: InstanceName,
    ) -> PortResult<Option<Arc<InstanceConfig>>> {
        let cache = &self.inner.configs;
        let changes = match cache.find_kept_config(&name) {
            Ok(config) => return Ok(Some(config)),
            Err(changes) => changes,
        };
        let found = join_instance_config(self, &name).await?.map(Arc::new);
        if let Some(config) = &found {
            cache.keep_read_config(changes, name, Arc::clone(config));
        }
        Ok(found)
    }
}
