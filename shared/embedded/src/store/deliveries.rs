use super::published_events::{insert_published_events, select_message_owner};
use super::usage::add_usage_to_sum;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{encode_json, execute_sql, query_one, row_exists};
use jiff::Timestamp;
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate};
use recado_domain::ids::MessageId;
use recado_domain::moving::MovedDelivery;
use recado_domain::published_event::derive_delivery_events;
use recado_domain::usage::UsageSum;
use recado_ports::ports::{Deliveries, DeliveryLink, PortResult};
use rusqlite::{Connection, OptionalExtension, params};

/// The body of a delivery whose message was erased.
pub(super) const ERASED_DELIVERY: &str = "erased";

/// Returns the record of a delivery, unless it has expired or was erased.
fn select_delivery(
    connection: &Connection,
    key: &DeliveryKey,
    now: Timestamp,
) -> Result<Option<Delivery>, DbError> {
    let sql = "SELECT body FROM deliveries WHERE key = ?1 AND expires > ?2 AND body <> ?3";
    query_one(
        connection,
        sql,
        params![key.as_str(), now.as_millisecond(), ERASED_DELIVERY],
    )
}

fn is_erased(connection: &Connection, key: &DeliveryKey, now: Timestamp) -> Result<bool, DbError> {
    let sql = "SELECT 1 FROM deliveries WHERE key = ?1 AND expires > ?2 AND body = ?3";
    row_exists(
        connection,
        sql,
        params![key.as_str(), now.as_millisecond(), ERASED_DELIVERY],
    )
}

fn upsert_delivery(
    connection: &Connection,
    key: &DeliveryKey,
    delivery: &Delivery,
    expires: i64,
    link: Option<&DeliveryLink>,
) -> Result<(), DbError> {
    // A status leaves the provider's key, and is the acknowledgement.
    let sql = "INSERT INTO deliveries (key, expires, body, provider_key, ack_owner, ack_since, ack_due)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
        ON CONFLICT (key) DO UPDATE SET expires = excluded.expires, body = excluded.body,
            provider_key = coalesce(excluded.provider_key, provider_key), ack_owner = excluded.ack_owner,
            ack_since = excluded.ack_since, ack_due = excluded.ack_due";
    let provider_key = link.and_then(|link| link.provider_key.as_ref());
    let awaited = link.and_then(|link| link.acknowledgement.as_ref());
    let awaited = awaited.filter(|_| delivery.status.is_none());
    let values = params![
        key.as_str(),
        expires,
        encode_json(delivery)?,
        provider_key.map(DeliveryKey::as_str),
        awaited.map(|awaited| format!("{}/{}", awaited.tenant, awaited.instance)),
        awaited.map(|awaited| awaited.accepted_at.as_millisecond()),
        awaited.map(|awaited| awaited.due.as_millisecond()),
    ];
    execute_sql(connection, sql, values)?;
    Ok(())
}

/// Writes the delivery of another store in place of the one under its key.
pub(super) fn upsert_moved_delivery(connection: &Connection, moved: &MovedDelivery) -> Result<(), DbError> {
    let sql =
        "INSERT OR REPLACE INTO deliveries (key, expires, body, provider_key, ack_owner, ack_since, ack_due)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let body = match &moved.record {
        Some(delivery) => encode_json(delivery)?,
        None => ERASED_DELIVERY.to_owned(),
    };
    let awaited = moved.awaited.as_ref();
    let values = params![
        moved.key.as_str(),
        moved.expires.as_millisecond(),
        body,
        moved.provider_key.as_ref().map(DeliveryKey::as_str),
        awaited.map(|awaited| format!("{}/{}", awaited.tenant, awaited.instance)),
        awaited.map(|awaited| awaited.accepted_at.as_millisecond()),
        awaited.map(|awaited| awaited.due.as_millisecond()),
    ];
    execute_sql(connection, sql, values).map(drop)
}

/// Publishes what the new record of a delivery tells. Nothing is told before it is known whose message it is.
fn publish_delivery(
    connection: &Connection,
    old: Option<&Delivery>,
    new: &Delivery,
    now: Timestamp,
) -> Result<(), DbError> {
    let Some(message) = new.message.as_ref().filter(|_| new.status.is_some()) else {
        return Ok(());
    };
    let Some(owner) = select_message_owner(connection, message)? else {
        return Ok(());
    };
    insert_published_events(connection, &derive_delivery_events(old, new, &owner, now))
}

fn apply_status(
    connection: &Connection,
    update: &StatusUpdate,
    expires: Timestamp,
    now: Timestamp,
    charge: Option<&UsageSum>,
) -> Result<(), DbError> {
    let known = select_delivery(connection, &update.key, now)?;
    if known.is_none() && is_erased(connection, &update.key, now)? {
        return Ok(());
    }
    let mut delivery = known.clone().unwrap_or_default();
    if !delivery.apply_update(update) {
        return Ok(());
    }
    if let Some(charge) = charge.filter(|_| !delivery.charged) {
        delivery.charged = true;
        add_usage_to_sum(connection, charge)?;
    }
    publish_delivery(connection, known.as_ref(), &delivery, now)?;
    let sql = "SELECT expires FROM deliveries WHERE key = ?1 AND expires > ?2";
    let known: Option<i64> = connection
        .prepare_cached(sql)?
        .query_row(params![update.key.as_str(), now.as_millisecond()], |row| {
            row.get(0)
        })
        .optional()?;
    let expires = known.unwrap_or(expires.as_millisecond());
    upsert_delivery(connection, &update.key, &delivery, expires, None)
}

/// Links a delivery to its message. A status that came first is kept.
pub(super) fn link_message(
    connection: &Connection,
    link: &DeliveryLink,
    message: &MessageId,
    now: Timestamp,
) -> Result<(), DbError> {
    let known = select_delivery(connection, &link.key, now)?.unwrap_or_default();
    let delivery = Delivery {
        message: Some(message.clone()),
        provider_message_id: link
            .provider_message_id
            .clone()
            .or_else(|| known.provider_message_id.clone()),
        ..known.clone()
    };
    publish_delivery(connection, Some(&known), &delivery, now)?;
    let expires = link.expires.as_millisecond();
    upsert_delivery(connection, &link.key, &delivery, expires, Some(link))
}

impl Deliveries for Embedded {
    async fn record_status(&self, update: &StatusUpdate, expires: Timestamp) -> PortResult<()> {
        let (update, now) = (update.clone(), self.current_time());
        self.run_acknowledged_write(None, "record_status", move |c| {
            apply_status(c, &update, expires, now, None)
        })
        .await
    }

    async fn record_charged_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: &UsageSum,
    ) -> PortResult<()> {
        let (update, charge, now) = (update.clone(), charge.clone(), self.current_time());
        self.run_acknowledged_write(None, "record_charged_status", move |c| {
            apply_status(c, &update, expires, now, Some(&charge))
        })
        .await
    }

    async fn find_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        let (key, now) = (key.clone(), self.current_time());
        self.run_lookup("delivery", move |c| select_delivery(c, &key, now))
            .await
    }

    async fn is_sent_message(&self, key: &DeliveryKey) -> PortResult<bool> {
        let (key, now) = (key.clone(), self.current_time());
        self.run_lookup("sent_message", move |c| {
            let known = select_delivery(c, &key, now)?;
            Ok(known.is_some_and(|delivery| delivery.message.is_some()) || is_erased(c, &key, now)?)
        })
        .await
    }

    async fn find_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        let (keys, now) = (keys.to_vec(), self.current_time());
        self.run_lookup("deliveries", move |c| {
            keys.iter().map(|key| select_delivery(c, key, now)).collect()
        })
        .await
    }

    async fn find_linked_message(&self, provider_key: &DeliveryKey) -> PortResult<Option<MessageId>> {
        let (key, now) = (provider_key.clone(), self.current_time());
        let sql = "SELECT body FROM deliveries WHERE provider_key = ?1 AND expires > ?2 AND body <> ?3";
        let found: Option<Delivery> = self
            .run_lookup("linked_message", move |c| {
                query_one(
                    c,
                    sql,
                    params![key.as_str(), now.as_millisecond(), ERASED_DELIVERY],
                )
            })
            .await?;
        Ok(found.and_then(|delivery| delivery.message))
    }
}
