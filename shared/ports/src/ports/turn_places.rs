use super::{PortResult, WriteOutcome};
use recado_domain::ids::TenantId;
use recado_domain::turn_places::TurnPlaces;
use std::future::Future;

/// A store of the places of tenants' turns, one record of each tenant that limits how many run at once.
pub trait TurnPlaceRecords: Send + Sync {
    /// Returns the newest places of a tenant's turns. `None`: none was ever written, or the tenant was removed since.
    fn find_turn_places(
        &self,
        tenant: &TenantId,
    ) -> impl Future<Output = PortResult<Option<TurnPlaces>>> + Send;

    /// Writes the places of a tenant's turns if the stored ones are those that were read: of one revision less, or none for
    /// the first.
    fn save_turn_places(
        &self,
        tenant: &TenantId,
        places: &TurnPlaces,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;
}
