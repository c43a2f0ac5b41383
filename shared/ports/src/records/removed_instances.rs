//! The notes that instances were removed, so that what still comes for them is known. A note is a hash, since it outlives the instance.

use crate::ports::PortResult;
use crate::table::{Key, Record, Table, put_record};
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::{ExternalId, TenantId, hash_parts};
use recado_domain::moving::RemovedInstance;
use recado_domain::provider::Provider;

impl Record for RemovedInstance {
    const KIND: &'static str = "removed-instances";

    fn owner(&self) -> Option<&TenantId> {
        None
    }

    fn build_sort_key(&self) -> String {
        self.hash.clone()
    }

    fn compute_expiry(&self) -> Option<Timestamp> {
        Some(self.expires)
    }
}

fn hash_instance_name(provider: Provider, external: &ExternalId) -> String {
    hash_parts(&["removed", provider.as_str(), external.as_str()], 16)
}

/// Notes until `expires` that the instances were removed.
pub async fn note_removed_instances(
    table: &dyn Table,
    instances: &[Instance],
    expires: Timestamp,
) -> PortResult<()> {
    for instance in instances {
        if let Some(external) = instance.resolve_external_id() {
            let hash = hash_instance_name(instance.provider, &external);
            put_record(table, &RemovedInstance::new(hash, expires)).await?;
        }
    }
    Ok(())
}

/// Returns `true` if the instance that `provider` calls `external` was noted as removed, and the note is not expired.
pub async fn was_instance_removed(
    table: &dyn Table,
    provider: Provider,
    external: &ExternalId,
) -> PortResult<bool> {
    let key = Key::new(
        RemovedInstance::KIND,
        None,
        hash_instance_name(provider, external),
    );
    Ok(table.get(&key).await?.is_some())
}
