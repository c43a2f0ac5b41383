use crate::Embedded;
use crate::fault::Fault;
use crate::record::{encode, execute, later, one};
use jiff::Timestamp;
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::ids::MessageId;
use recado_pipeline::Settings;
use recado_pipeline::ports::{Deliveries, DeliveryLink, PortResult};
use rusqlite::{Connection, OptionalExtension, params};

/// The delivery's record, unless it expired.
fn delivery(connection: &Connection, key: &DeliveryKey, now: Timestamp) -> Result<Option<Delivery>, Fault> {
    let sql = "SELECT body FROM deliveries WHERE key = ?1 AND expires > ?2";
    one(connection, sql, params![key.as_str(), now.as_millisecond()])
}

fn put(connection: &Connection, key: &DeliveryKey, delivery: &Delivery, expires: i64) -> Result<(), Fault> {
    let sql = "INSERT OR REPLACE INTO deliveries (key, expires, body) VALUES (?1, ?2, ?3)";
    execute(connection, sql, params![key.as_str(), expires, encode(delivery)?])?;
    Ok(())
}

fn record(
    connection: &Connection,
    update: &StatusUpdate,
    expires: Timestamp,
    now: Timestamp,
) -> Result<(), Fault> {
    let mut delivery = delivery(connection, &update.key, now)?.unwrap_or_default();
    if !delivery.update(update) {
        return Ok(());
    }
    put(connection, &update.key, &delivery, expires.as_millisecond())
}

/// Notes whose message it is. A status that came first is kept, and when it expires; a record made by this lives as long
/// as records of deliveries do by default, until a status says otherwise.
pub(super) fn link(
    connection: &Connection,
    link: &DeliveryLink,
    message: &MessageId,
    now: Timestamp,
) -> Result<(), Fault> {
    let known = delivery(connection, &link.key, now)?.unwrap_or_default();
    let sql = "SELECT expires FROM deliveries WHERE key = ?1 AND expires > ?2";
    let expires: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![link.key.as_str(), now.as_millisecond()], |row| row.get(0))
        .optional()?;
    let delivery = Delivery {
        message: Some(message.clone()),
        provider_message_id: link.provider_message_id.clone().or(known.provider_message_id),
        ..known
    };
    let expires = expires.unwrap_or_else(|| later(now, Settings::default().delivery_ttl));
    put(connection, &link.key, &delivery, expires)
}

impl Deliveries for Embedded {
    async fn record_status(&self, update: &StatusUpdate, expires: Timestamp) -> PortResult<()> {
        let (update, now) = (update.clone(), self.now());
        self.write("record_status", move |c| record(c, &update, expires, now))
            .await
    }

    async fn delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        let (key, now) = (key.clone(), self.now());
        self.read("delivery", move |c| delivery(c, &key, now)).await
    }

    async fn deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        let (keys, now) = (keys.to_vec(), self.now());
        self.read("deliveries", move |c| {
            keys.iter().map(|key| delivery(c, key, now)).collect()
        })
        .await
    }
}
