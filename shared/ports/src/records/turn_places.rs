//! The places of tenants' turns: one record of each tenant that limits how many run at once.

use crate::ports::PortResult;
use crate::table::{Record, Table, Versioned, find_or_new};
use jiff::Timestamp;
use recado_domain::clock_rollback::ClockRollback;
use recado_domain::ids::TenantId;
use recado_domain::turn_places::TurnPlaces;

impl Record for TurnPlaces {
    const KIND: &'static str = "turn-places";
    // Where records move to, and after a backup, no turn runs.
    const IS_MOVED: bool = false;
    const HAS_TIMES: bool = true;

    fn owner(&self) -> Option<&TenantId> {
        Some(&self.tenant)
    }

    fn build_sort_key(&self) -> String {
        "places".to_owned()
    }

    fn set_times_back(&mut self, back: ClockRollback) -> bool {
        back.correct_places(self)
    }

    fn free_held(&mut self, _now: Timestamp) -> bool {
        self.free_places()
    }
}

/// Returns the newest places of a tenant's turns. None is taken if none was ever written, the tenant was removed since, or the record
/// cannot be read.
pub async fn find_turn_places(table: &dyn Table, tenant: &TenantId) -> PortResult<Versioned<TurnPlaces>> {
    find_or_new(table, TurnPlaces::new(tenant.clone())).await
}
