use super::published_events::{insert_published_events, select_message_owner};
use super::usage::add_usage_to_sum;
use crate::db_error::DbResult;
use crate::sql_records::{decode_json, encode_json, query_first_row, run_sql_statement};
use jiff::Timestamp;
use recado_domain::delivery::{AwaitedAcknowledgement, Delivery, DeliveryKey, StatusUpdate};
use recado_domain::ids::MessageId;
use recado_domain::moving::MovedDelivery;
use recado_domain::published_event::derive_delivery_events;
use recado_domain::usage::UsageSum;
use recado_ports::ports::{DeliveryChange, DeliveryLink};
use rusqlite::{Connection, Row, params};

/// The body of a delivery whose message was erased.
pub(super) const ERASED_DELIVERY: &str = "erased";

/// The record of a delivery, found under its own key or under one that leads to it.
struct FoundDelivery {
    /// The key of the record.
    key: DeliveryKey,
    /// Time at which it expires, in milliseconds.
    expires: i64,
    /// The record; `None` if its message was erased.
    record: Option<Delivery>,
}

fn select_row(db: &Connection, key: &DeliveryKey, now: Timestamp) -> DbResult<Option<FoundDelivery>> {
    let sql = "SELECT body, expires FROM deliveries WHERE key = ?1 AND expires > ?2";
    let values = params![key.as_str(), now.as_millisecond()];
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get(1)?));
    let Some((body, expires)) = query_first_row(db, sql, values, read)? else {
        return Ok(None);
    };
    let is_kept = body != ERASED_DELIVERY;
    let record = is_kept.then(|| decode_json(&body)).transpose()?;
    Ok(Some(FoundDelivery {
        key: key.clone(),
        expires,
        record,
    }))
}

/// Returns the record that a key names, unless it has expired. A key that leads to a record which is no longer there names an
/// empty one.
fn find_record(db: &Connection, key: &DeliveryKey, now: Timestamp) -> DbResult<Option<FoundDelivery>> {
    let Some(found) = select_row(db, key, now)? else {
        return Ok(None);
    };
    let Some(target) = found.record.as_ref().and_then(|record| record.same_as.as_ref()) else {
        return Ok(Some(found));
    };
    Ok(Some(select_row(db, target, now)?.unwrap_or_else(|| {
        FoundDelivery {
            key: target.clone(),
            expires: found.expires,
            record: Some(Delivery::default()),
        }
    })))
}

/// Returns what is known of a delivery, unless it has expired.
pub(super) fn select_delivery_or_erased(
    db: &Connection,
    key: &DeliveryKey,
    now: Timestamp,
) -> DbResult<Option<Delivery>> {
    let found = find_record(db, key, now)?;
    let found = found.map(|found| found.record.unwrap_or_else(Delivery::of_erased_message));
    Ok(found.filter(|record| *record != Delivery::default()))
}

/// Returns what is known of a delivery, unless it has expired or was erased.
pub(super) fn select_delivery(
    db: &Connection,
    key: &DeliveryKey,
    now: Timestamp,
) -> DbResult<Option<Delivery>> {
    let found = select_delivery_or_erased(db, key, now)?;
    Ok(found.filter(|record| !record.erased))
}

fn upsert_row(
    db: &Connection,
    key: &DeliveryKey,
    expires: i64,
    body: &str,
    awaited: Option<&AwaitedAcknowledgement>,
) -> DbResult<()> {
    let sql = "INSERT INTO deliveries (key, expires, body, ack_owner, ack_since, ack_due)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)
        ON CONFLICT (key) DO UPDATE SET expires = excluded.expires, body = excluded.body,
            ack_owner = excluded.ack_owner,
            ack_since = excluded.ack_since, ack_due = excluded.ack_due";
    let values = params![
        key.as_str(),
        expires,
        body,
        awaited.map(|awaited| format!("{}/{}", awaited.tenant, awaited.instance)),
        awaited.map(|awaited| awaited.accepted_at.as_millisecond()),
        awaited.map(|awaited| awaited.due.as_millisecond()),
    ];
    run_sql_statement(db, sql, values)
}

fn upsert_delivery(
    db: &Connection,
    key: &DeliveryKey,
    delivery: &Delivery,
    expires: i64,
    link: Option<&DeliveryLink>,
) -> DbResult<()> {
    // A status is the acknowledgement.
    let awaited = link.and_then(|link| link.acknowledgement.as_ref());
    let awaited = awaited.filter(|_| delivery.status.is_none());
    upsert_row(db, key, expires, &encode_json(delivery)?, awaited)
}

/// Writes the delivery of another store in place of the one under its key.
pub(super) fn upsert_moved_delivery(db: &Connection, moved: &MovedDelivery) -> DbResult<()> {
    let body = match &moved.record {
        Some(delivery) => encode_json(delivery)?,
        None => ERASED_DELIVERY.to_owned(),
    };
    let expires = moved.expires.as_millisecond();
    upsert_row(db, &moved.key, expires, &body, moved.awaited.as_ref())
}

/// Publishes what the new record of a delivery tells. Nothing is told before it is known whose message it is.
fn publish_delivery(db: &Connection, old: Option<&Delivery>, new: &Delivery, now: Timestamp) -> DbResult<()> {
    let Some(message) = new.message.as_ref().filter(|_| new.status.is_some()) else {
        return Ok(());
    };
    let Some(owner) = select_message_owner(db, message)? else {
        return Ok(());
    };
    insert_published_events(db, &derive_delivery_events(old, new, &owner, now))
}

pub(super) fn apply_status(
    db: &Connection,
    update: &StatusUpdate,
    expires: Timestamp,
    now: Timestamp,
    charge: Option<&UsageSum>,
) -> DbResult<()> {
    let found = find_record(db, &update.key, now)?;
    let (key, expires, known) = match found {
        None => (update.key.clone(), expires.as_millisecond(), None),
        Some(FoundDelivery { record: None, .. }) => return Ok(()),
        Some(FoundDelivery { key, expires, record }) => (key, expires, record),
    };
    let mut delivery = known.clone().unwrap_or_default();
    if !delivery.apply_update(update) {
        return Ok(());
    }
    if let Some(charge) = charge.filter(|_| !delivery.charged) {
        delivery.charged = true;
        add_usage_to_sum(db, charge)?;
    }
    publish_delivery(db, known.as_ref(), &delivery, now)?;
    upsert_delivery(db, &key, &delivery, expires, None)
}

pub(super) fn change_delivery(db: &Connection, key: &DeliveryKey, change: DeliveryChange) -> DbResult<()> {
    match change {
        DeliveryChange::StopAwaiting => {
            let sql =
                "UPDATE deliveries SET ack_owner = NULL, ack_since = NULL, ack_due = NULL WHERE key = ?1";
            run_sql_statement(db, sql, [key.as_str()])
        }
        DeliveryChange::Erase { expires } => {
            let sql = "INSERT OR REPLACE INTO deliveries (key, expires, body) VALUES (?1, ?2, ?3)";
            let values = params![key.as_str(), expires.as_millisecond(), ERASED_DELIVERY];
            run_sql_statement(db, sql, values)
        }
    }
}

/// Links a delivery to its message. A status that came first is kept, also under the key of the provider's id, which leads to
/// the record from then on.
pub(super) fn link_message(
    db: &Connection,
    link: &DeliveryLink,
    message: &MessageId,
    now: Timestamp,
) -> DbResult<()> {
    let expires = link.expires.as_millisecond();
    let known = select_delivery(db, &link.key, now)?.unwrap_or_default();
    let mut delivery = Delivery {
        message: Some(message.clone()),
        provider_message_id: link
            .provider_message_id
            .clone()
            .or_else(|| known.provider_message_id.clone()),
        ..known.clone()
    };
    if let Some(provider_key) = &link.provider_key {
        let told = select_row(db, provider_key, now)?.and_then(|found| found.record);
        if let Some(told) = told.filter(|told| told.same_as.is_none()) {
            delivery.merge_record(&told);
        }
        let leading = Delivery::leading_to(&link.key);
        upsert_delivery(db, provider_key, &leading, expires, None)?;
    }
    publish_delivery(db, Some(&known), &delivery, now)?;
    upsert_delivery(db, &link.key, &delivery, expires, Some(link))
}
