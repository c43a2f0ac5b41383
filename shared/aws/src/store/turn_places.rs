//! The places of tenants' turns: one item of each tenant that limits how many run at once.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::TableKey;
use super::table::ConditionFailed;
use recado_domain::ids::TenantId;
use recado_domain::revision::is_first_write;
use recado_domain::turn_places::TurnPlaces;
use recado_ports::ports::{PortResult, System, TurnPlaceRecords, WriteOutcome};

/// Returns the places in an item. A record that cannot be read counts as one of which no place is taken: the next turn writes it anew.
fn parse_places(what: &'static str, item: &Item) -> TurnPlaces {
    item::keep_readable(item::decode_record(what, item)).unwrap_or_else(|| {
        let mut places = TurnPlaces::default();
        places.rev = item::stored_revision(item);
        places
    })
}

impl<A: System> TurnPlaceRecords for DynamoStore<A> {
    async fn find_turn_places(&self, tenant: &TenantId) -> PortResult<Option<TurnPlaces>> {
        const WHAT: &str = "reading the places of turns";
        let found = self
            .table
            .get_record(WHAT, TableKey::for_turn_places(tenant))
            .await?;
        Ok(found.map(|item| parse_places(WHAT, &item)))
    }

    async fn save_turn_places(&self, tenant: &TenantId, places: &TurnPlaces) -> PortResult<WriteOutcome> {
        const WHAT: &str = "writing the places of turns";
        let item = TableKey::for_turn_places(tenant).into_item(item::encode_record(WHAT, places)?);
        let before = Expression::follows_revision("rev", places.rev);
        let mut put = self.table.put_record(WHAT, item.clone(), Some(before)).await?;
        if let Err(ConditionFailed(Some(found))) = &put
            && is_first_write(places.rev)
            && item::stored_revision(found) == 0
        {
            // No revision follows one that cannot be read: the first takes its place.
            let as_found = Expression::attribute_as_found("rev", found);
            put = self.table.put_record(WHAT, item, Some(as_found)).await?;
        }
        Ok(if put.is_ok() {
            WriteOutcome::Written
        } else {
            WriteOutcome::Conflict
        })
    }
}
