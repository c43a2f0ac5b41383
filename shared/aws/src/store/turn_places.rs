//! The places of tenants' turns: one item of each tenant that limits how many run at once.

use super::DynamoStore;
use super::expression::Expression;
use super::item;
use super::keys::TableKey;
use recado_domain::ids::TenantId;
use recado_domain::turn_places::TurnPlaces;
use recado_ports::ports::{PortResult, System, TurnPlaceRecords, WriteOutcome};

impl<A: System> TurnPlaceRecords for DynamoStore<A> {
    async fn find_turn_places(&self, tenant: &TenantId) -> PortResult<Option<TurnPlaces>> {
        const WHAT: &str = "reading the places of turns";
        let found = self
            .table
            .get_record(WHAT, TableKey::for_turn_places(tenant))
            .await?;
        found.map(|item| item::decode_record(WHAT, &item)).transpose()
    }

    async fn save_turn_places(&self, tenant: &TenantId, places: &TurnPlaces) -> PortResult<WriteOutcome> {
        const WHAT: &str = "writing the places of turns";
        let item = TableKey::for_turn_places(tenant).into_item(item::encode_record(WHAT, places)?);
        let before = Expression::follows_revision("rev", places.rev);
        let put = self.table.put_record(WHAT, item, Some(before)).await?;
        Ok(if put.is_ok() {
            WriteOutcome::Written
        } else {
            WriteOutcome::Conflict
        })
    }
}
