use super::DynamoStore;
use super::expression::{Change, Expression};
use super::item::{self, Item, number, text};
use super::keys::Key;
use super::table::Refused;
use aws_sdk_dynamodb::types::ReturnValue;
use jiff::Timestamp;
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_pipeline::ports::{Ambient, Deliveries, PortResult};
use std::collections::HashMap;

const ALL: [DeliveryStatus; 5] = [
    DeliveryStatus::Sent,
    DeliveryStatus::Delivered,
    DeliveryStatus::Read,
    DeliveryStatus::Played,
    DeliveryStatus::Failed,
];

/// The attribute that holds when a status was reached: a field of `DeliveryTimes`.
fn attribute(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Sent => "at_sent",
        DeliveryStatus::Delivered => "at_delivered",
        DeliveryStatus::Read => "at_read",
        DeliveryStatus::Played => "at_played",
        DeliveryStatus::Failed => "at_failed",
    }
}

/// The attributes that hold what a status says besides: the fields of `StatusDetail`.
const DETAILS: [&str; 3] = ["pricing", "conversation", "errors"];

/// What a status says besides, as attributes.
fn told(what: &'static str, update: &StatusUpdate) -> PortResult<Item> {
    match &update.detail {
        Some(detail) => item::write(what, detail),
        None => Ok(Item::new()),
    }
}

/// What a status changes. Of what it says besides, only what it does say: the rest stays as an earlier one said.
fn reached(what: &'static str, update: &StatusUpdate, expires: Timestamp) -> PortResult<Change> {
    let mut change = Change::default()
        .set(attribute(update.status), number(update.at.as_millisecond()))
        .set("ttl", number(expires.as_second()));
    if let Some(id) = &update.provider_message_id {
        change = change.set("provider_message_id", text(id));
    }
    let mut told = told(what, update)?;
    for name in DETAILS {
        if let Some(value) = told.remove(name) {
            change = change.set(name, value);
        }
    }
    Ok(change)
}

/// What a status makes of a record that has expired: nothing of before stays.
fn begun_anew(what: &'static str, update: &StatusUpdate, expires: Timestamp) -> PortResult<Change> {
    let told = told(what, update)?;
    let times = ALL
        .map(attribute)
        .into_iter()
        .filter(|time| *time != attribute(update.status));
    let details = DETAILS.into_iter().filter(|name| !told.contains_key(*name));
    let others: Vec<&str> = times.chain(details).collect();
    Ok(reached(what, update, expires)?.remove(&others))
}

/// The record that an item holds, its best status told from the times.
fn read(what: &'static str, item: &Item) -> PortResult<Delivery> {
    let mut delivery: Delivery = item::read(what, item)?;
    delivery.judge();
    Ok(delivery)
}

impl<A: Ambient> Deliveries for DynamoStore<A> {
    async fn record_status(&self, update: &StatusUpdate, expires: Timestamp) -> PortResult<()> {
        const WHAT: &str = "recording a delivery status";
        let (key, now) = (Key::delivery(&update.key), self.table.ambient.now());
        let time = attribute(update.status);
        // One time for each status, and the best is told from them when they are read: so no status that comes late needs
        // another request, and none is lost.
        let than = if update.status.keeps_latest() { "<" } else { ">" };
        let news = format!(
            "(attribute_not_exists(#ttl) OR #ttl >= :now) AND (attribute_not_exists(#{time}) OR #{time} {than} :{time})"
        );
        let news = Expression::new(news).number(":now", now.as_second());
        let change = reached(WHAT, update, expires)?;
        let sent = self
            .table
            .update(WHAT, key.clone(), &change, Some(news), ReturnValue::None);
        let Err(Refused(Some(found))) = sent.await? else {
            return Ok(());
        };
        if item::unexpired(found, now).is_some() {
            // It was reached before.
            return Ok(());
        }
        let change = begun_anew(WHAT, update, expires)?;
        let over = Expression::new("#ttl < :now").number(":now", now.as_second());
        let _begun = self
            .table
            .update(WHAT, key, &change, Some(over), ReturnValue::None)
            .await?;
        Ok(())
    }

    /// Who found an attempt's note gone must find its link here, so no transaction may be in the middle of it.
    async fn delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        const WHAT: &str = "reading a delivery";
        let found = self.table.get_settled(WHAT, vec![Key::delivery(key)]).await?;
        let found = found.into_iter().next().flatten();
        let found = found.and_then(|item| item::unexpired(item, self.table.ambient.now()));
        found.map(|item| read(WHAT, &item)).transpose()
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
                .map(|item| read(WHAT, item))
                .transpose()
        };
        keys.iter().map(one).collect()
    }
}
