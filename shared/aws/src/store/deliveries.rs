use super::DynamoStore;
use super::expression::{Change, Expression};
use super::item::{self, Item, number, text};
use super::keys::Key;
use aws_sdk_dynamodb::types::ReturnValue;
use jiff::Timestamp;
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_pipeline::ports::{Ambient, Deliveries, PortResult};
use std::collections::HashMap;

impl<A: Ambient> Deliveries for DynamoStore<A> {
    async fn record_status(&self, update: &StatusUpdate, expires: Timestamp) -> PortResult<()> {
        const WHAT: &str = "recording a delivery status";
        let mut change = Change::default()
            .set("status", item::part(WHAT, &update.status)?)
            .set("at", number(update.at.as_millisecond()))
            .set("rank", number(update.status.rank()))
            .set("ttl", number(expires.as_second()));
        if let Some(id) = &update.provider_message_id {
            change = change.set("provider_message_id", text(id));
        }
        // One that has expired begins anew.
        let more = Expression::new("attribute_not_exists(#rank) OR #rank < :rank OR #ttl < :now")
            .number(":now", self.table.ambient.now().as_second());
        // Refused: more is known already.
        let _known = self
            .table
            .update(
                WHAT,
                Key::delivery(&update.key),
                &change,
                Some(more),
                ReturnValue::None,
            )
            .await?;
        Ok(())
    }

    async fn delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        const WHAT: &str = "reading a delivery";
        let found = self.table.get(WHAT, Key::delivery(key)).await?;
        let found = found.and_then(|item| item::unexpired(item, self.table.ambient.now()));
        found.map(|item| item::read(WHAT, &item)).transpose()
    }

    async fn deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        const WHAT: &str = "reading deliveries";
        let found = self
            .table
            .get_many(WHAT, keys.iter().map(Key::delivery).collect(), false)
            .await?;
        let now = self.table.ambient.now();
        let found: Vec<Item> = found
            .into_iter()
            .filter_map(|item| item::unexpired(item, now))
            .collect();
        let by_pk: HashMap<&str, &Item> = found
            .iter()
            .filter_map(|item| Some((item::string(item, "pk")?, item)))
            .collect();
        let one = |key: &DeliveryKey| {
            by_pk
                .get(Key::delivery(key).pk.as_str())
                .map(|item| item::read(WHAT, item))
                .transpose()
        };
        keys.iter().map(one).collect()
    }
}
