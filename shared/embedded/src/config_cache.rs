//! The configurations of instances that were read, until the configuration changes.
//!
//! Every webhook and every step of a message asks for the configuration of its instance, and it hardly ever changes. One process
//! works on a data folder, so each change is known here: after it is committed, everything is forgotten.

use crate::threads::lock_unpoisoned;
use recado_domain::config::InstanceConfig;
use recado_ports::ports::InstanceName;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The number of instances that are kept at most.
const KEPT_MAX: usize = 4_096;

#[derive(Debug, Default)]
struct KeptConfigs {
    /// Number of changes of the configuration.
    changes: u64,
    configs: HashMap<InstanceName, Arc<InstanceConfig>>,
}

/// The configurations that are kept. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigCache(Arc<Mutex<KeptConfigs>>);

impl ConfigCache {
    /// Returns the configuration of an instance. The error, if it is not kept, is the number of changes so far.
    pub(crate) fn find_kept_config(&self, name: &InstanceName) -> Result<Arc<InstanceConfig>, u64> {
        let kept = lock_unpoisoned(&self.0);
        kept.configs.get(name).map(Arc::clone).ok_or(kept.changes)
    }

    /// Keeps a configuration that was read after `changes` changes, unless there was another change meanwhile.
    pub(crate) fn keep_read_config(&self, changes: u64, name: InstanceName, config: Arc<InstanceConfig>) {
        let mut kept = lock_unpoisoned(&self.0);
        if kept.changes != changes {
            return;
        }
        if kept.configs.len() >= KEPT_MAX {
            kept.configs.clear();
        }
        kept.configs.insert(name, config);
    }

    /// Returns what a change of the configuration must hold until it is committed.
    pub(crate) fn begin_config_change(&self) -> ConfigChange {
        ConfigChange(self.clone())
    }
}

/// A change of the configuration. Dropped, it forgets all configurations that were read before.
#[derive(Debug)]
pub(crate) struct ConfigChange(ConfigCache);

impl Drop for ConfigChange {
    fn drop(&mut self) {
        let mut kept = lock_unpoisoned(&self.0.0);
        kept.changes += 1;
        kept.configs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_testkit::builders::Fixture;

    #[test]
    fn a_change_forgets_what_was_kept_and_what_was_read_before_it() {
        let (cache, config) = (ConfigCache::default(), Arc::new(Fixture::new().bound));
        let name = InstanceName::Id(config.instance.id.clone());
        assert_eq!(cache.find_kept_config(&name), Err(0));
        cache.keep_read_config(0, name.clone(), Arc::clone(&config));
        assert_eq!(cache.find_kept_config(&name), Ok(Arc::clone(&config)));
        let change = cache.begin_config_change();
        assert_eq!(
            cache.find_kept_config(&name),
            Ok(Arc::clone(&config)),
            "it is not committed yet"
        );
        drop(change);
        assert_eq!(cache.find_kept_config(&name), Err(1));
        cache.keep_read_config(0, name.clone(), Arc::clone(&config));
        assert_eq!(
            cache.find_kept_config(&name),
            Err(1),
            "it was read before the change"
        );
        cache.keep_read_config(1, name.clone(), Arc::clone(&config));
        assert_eq!(cache.find_kept_config(&name), Ok(config));
    }
}
