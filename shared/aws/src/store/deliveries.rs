use super::DynamoStore;
use super::expression::{Expression, UpdateChange};
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::waiting::WAIT_TENANT;
use super::keys::{self, TableKey};
use super::table::ConditionFailed;
use super::transaction::TransactionAction;
use super::usage::add_charge_to_sum;
use aws_sdk_dynamodb::types::AttributeValue;
use jiff::Timestamp;
use recado_domain::delivery::{Delivery, DeliveryKey, DeliveryStatus, StatusUpdate};
use recado_domain::usage::UsageSum;
use recado_ports::ports::{PortResult, System};
use std::collections::HashMap;

const ALL_STATUSES: [DeliveryStatus; 5] = [
    DeliveryStatus::Sent,
    DeliveryStatus::Delivered,
    DeliveryStatus::Read,
    DeliveryStatus::Played,
    DeliveryStatus::Failed,
];

/// Returns the attribute that holds the time of a status. It is a field of `DeliveryTimes`.
fn time_attribute(status: DeliveryStatus) -> &'static str {
    match status {
        DeliveryStatus::Sent => "at_sent",
        DeliveryStatus::Delivered => "at_delivered",
        DeliveryStatus::Read => "at_read",
        DeliveryStatus::Played => "at_played",
        DeliveryStatus::Failed => "at_failed",
    }
}

/// The attributes that hold a status's details: the fields of `StatusDetail`.
const DETAILS: [&str; 3] = ["pricing", "conversation", "errors"];

/// The attribute of a delivery that has a status: the shard of the index `open` under which nobody looks for it.
pub(super) const ACKNOWLEDGED: &str = "acknowledged";

/// The attributes by which the index `open` finds a delivery that is not acknowledged.
const AWAITED: [&str; 5] = ["open_shard", "open_due", "since", WAIT_TENANT, "instance"];

/// The attribute of a delivery whose message was erased.
pub(super) const ERASED: &str = "erased";

/// The attribute of a delivery whose charge is part of the sums of use.
pub(super) const CHARGED: &str = "charged";

/// The attribute of a record that only leads to another one: the key of that. It is a field of `Delivery`.
const SAME_AS: &str = "same_as";

/// Returns the key to which a record leads; `None` if it holds what is known itself.
fn leading_key(what: &'static str, item: &Item) -> PortResult<Option<DeliveryKey>> {
    if !item.contains_key(SAME_AS) {
        return Ok(None);
    }
    Ok(item::decode_record::<Delivery>(what, item)?.same_as)
}

/// Encodes the details of a status as attributes.
fn detail_attributes(what: &'static str, update: &StatusUpdate) -> PortResult<Item> {
    match &update.detail {
        Some(detail) => item::encode_record(what, detail),
        None => Ok(Item::new()),
    }
}

/// Returns whether a delivery with this status is published: that it was sent is told by the message.
pub(super) fn is_past_sent(status: DeliveryStatus) -> bool {
    status != DeliveryStatus::Sent
}

/// Returns the changes that a status makes. Details that the status does not name keep the values of earlier statuses.
fn status_change(what: &'static str, update: &StatusUpdate) -> PortResult<UpdateChange> {
    let time = time_attribute(update.status);
    let at = number_attribute(update.at.as_millisecond());
    let mut change = UpdateChange::default().set_value(time, at);
    let acknowledged = keys::waiting::acknowledged_shard(&TableKey::for_delivery(&update.key));
    change = change
        .set_value(ACKNOWLEDGED, text_attribute(acknowledged))
        .remove_attributes(&AWAITED);
    if is_past_sent(update.status) {
        change = change.set_value(item::PAST_SENT, AttributeValue::Bool(true));
    }
    if let Some(id) = &update.provider_message_id {
        change = change.set_value("provider_message_id", text_attribute(id));
    }
    let mut told = detail_attributes(what, update)?;
    for name in DETAILS {
        if let Some(value) = told.remove(name) {
            change = change.set_value(name, value);
        }
    }
    Ok(change)
}

/// Returns the changes of a status to a present or new record, and the condition that it is news.
fn news_change(
    what: &'static str,
    update: &StatusUpdate,
    expires: Timestamp,
    now: Timestamp,
) -> PortResult<(UpdateChange, Expression)> {
    let time = time_attribute(update.status);
    // Each status has its own time, and the best status is computed when the record is read. So a late status needs
    // no second request, and none is lost.
    let than = if update.status.keeps_latest_time() {
        "<"
    } else {
        ">"
    };
    let news = format!(
        "(attribute_not_exists(#ttl) OR #ttl >= :now) AND attribute_not_exists(#{ERASED})
            AND attribute_not_exists(#{SAME_AS}) AND (attribute_not_exists(#{time}) OR #{time} {than} :{time})"
    );
    let news = Expression::new(news).with_number(":now", now.as_second());
    let change = status_change(what, update)?
        .set_to_term("ttl", "if_not_exists(#ttl, :expires)")
        .with_value(":expires", number_attribute(expires.as_second()));
    Ok((change, news))
}

/// Returns the changes that a status makes to a record that has expired: all older values are removed, and `others`.
fn restart_change(
    what: &'static str,
    update: &StatusUpdate,
    expires: Timestamp,
    others: &[&'static str],
) -> PortResult<UpdateChange> {
    let told = detail_attributes(what, update)?;
    let times = ALL_STATUSES
        .map(time_attribute)
        .into_iter()
        .filter(|time| *time != time_attribute(update.status));
    let details = DETAILS.into_iter().filter(|name| !told.contains_key(*name));
    let mark = (!is_past_sent(update.status)).then_some(item::PAST_SENT);
    let older: Vec<&str> = times
        .chain(details)
        .chain(mark)
        .chain([ERASED, SAME_AS, "trace", "trace_of"])
        .chain(others.iter().copied())
        .collect();
    Ok(status_change(what, update)?
        .set_value("ttl", number_attribute(expires.as_second()))
        .remove_attributes(&older))
}

/// Returns the condition that a record has no statuses, or those of `early` alone. `:now` is the present time.
pub(super) fn early_condition(early: Option<&Delivery>) -> Expression {
    let absent = format!("attribute_not_exists(#{ACKNOWLEDGED}) OR #ttl < :now");
    let Some(early) = early else {
        return Expression::new(absent);
    };
    let reached = early.times.reached_statuses();
    let same = ALL_STATUSES.map(|status| {
        let time = time_attribute(status);
        if reached.iter().any(|(told, _)| *told == status) {
            format!("#{time} = :{time}")
        } else {
            format!("attribute_not_exists(#{time})")
        }
    });
    let condition = Expression::new(format!("{absent} OR ({})", same.join(" AND ")));
    reached.into_iter().fold(condition, |condition, (status, at)| {
        condition.with_number(&format!(":{}", time_attribute(status)), at.as_millisecond())
    })
}

/// Decodes the record of a delivery. Its status is computed from the stored times.
pub(super) fn parse_delivery(what: &'static str, item: &Item) -> PortResult<Delivery> {
    let mut delivery: Delivery = item::decode_record(what, item)?;
    delivery.erased = item.contains_key(ERASED);
    delivery.recompute_status();
    Ok(delivery)
}

impl<A: System> DynamoStore<A> {
    /// Reads the item under a key, unless it has expired.
    async fn get_settled_item(&self, what: &'static str, key: &DeliveryKey) -> PortResult<Option<Item>> {
        let keys = vec![TableKey::for_delivery(key)];
        let found = self.table.get_settled_records(what, keys).await?;
        let found = found.into_iter().next().flatten();
        Ok(found.and_then(|item| item::unexpired(item, self.table.system.now())))
    }

    /// Reads the items under many keys, without those that have expired.
    async fn get_unexpired_items(&self, what: &'static str, keys: Vec<TableKey>) -> PortResult<Vec<Item>> {
        let now = self.table.system.now();
        let found = self.table.get_records(what, keys, false).await?.into_iter();
        Ok(found.filter_map(|item| item::unexpired(item, now)).collect())
    }

    /// Stores a status under the key that it names. Returns the key to which the record leads if it holds no statuses itself:
    /// then nothing was stored.
    async fn try_to_record_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
    ) -> PortResult<Option<DeliveryKey>> {
        const WHAT: &str = "recording a delivery status";
        let (key, now) = (TableKey::for_delivery(&update.key), self.table.system.now());
        let (change, news) = news_change(WHAT, update, expires, now)?;
        let sent = self.table.update_record(WHAT, key.clone(), &change, Some(news));
        let Err(ConditionFailed(Some(found))) = sent.await? else {
            return Ok(None);
        };
        if let Some(found) = item::unexpired(found, now) {
            // Without another key, the status was recorded before, or its message was erased.
            return leading_key(WHAT, &found);
        }
        let change = restart_change(WHAT, update, expires, &[CHARGED])?;
        let over = Expression::new("#ttl < :now").with_number(":now", now.as_second());
        let _begun = self.table.update_record(WHAT, key, &change, Some(over)).await?;
        Ok(None)
    }

    /// Does the same with a status that tells of a charge.
    async fn try_to_record_charge(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: &UsageSum,
    ) -> PortResult<Option<DeliveryKey>> {
        const WHAT: &str = "recording a charged delivery status";
        let (key, now) = (TableKey::for_delivery(&update.key), self.table.system.now());
        let make_actions = |written: UpdateChange, condition: Expression| {
            let written = written.set_value(CHARGED, AttributeValue::Bool(true));
            vec![
                TransactionAction::Update(key.clone(), written, Some(condition)),
                add_charge_to_sum(charge, &update.key),
            ]
        };
        let (newer, news) = news_change(WHAT, update, expires, now)?;
        let uncharged = Expression::new(format!("attribute_not_exists(#{CHARGED})"));
        let first = make_actions(newer, news.and_condition(uncharged));
        let Err(failed) = self.table.run_transaction(WHAT, first).await? else {
            return Ok(None);
        };
        let found = failed.for_action(0).and_then(|failed| failed.0.clone());
        let is_present = |item: &Item| item::unexpired(item.clone(), now).is_some();
        if found.as_ref().is_none_or(is_present) {
            // An earlier status added the charge, this one is no news, or the record leads to another.
            return self.try_to_record_status(update, expires).await;
        }
        let restarted = restart_change(WHAT, update, expires, &[])?;
        let over = Expression::new("#ttl < :now").with_number(":now", now.as_second());
        let _begun = self
            .table
            .run_transaction(WHAT, make_actions(restarted, over))
            .await?;
        Ok(None)
    }

    /// Moves early statuses to the record under `key`. They came under the key of the provider's id before it was known whose they are.
    /// `told`: the record that was found under the provider's. A repeat does no harm.
    pub(super) async fn move_early_statuses(
        &self,
        key: &DeliveryKey,
        told: &Delivery,
        expires: Timestamp,
    ) -> PortResult<()> {
        for (status, at) in told.times.reached_statuses() {
            let update = StatusUpdate {
                key: key.clone(),
                status,
                at,
                provider_message_id: told.provider_message_id.clone(),
                detail: Some(Box::new(told.detail.clone())),
            };
            Box::pin(self.record_told_status(&update, expires, None)).await?;
        }
        Ok(())
    }

    /// Stores a status and its charge, if it tells of one, under the key that it names, as [`Self::try_to_record_status`] does.
    async fn try_to_record(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: Option<&UsageSum>,
    ) -> PortResult<Option<DeliveryKey>> {
        match charge {
            None => self.try_to_record_status(update, expires).await,
            Some(charge) => self.try_to_record_charge(update, expires, charge).await,
        }
    }

    /// Stores the time of a status, and adds its charge to the sum of it, if it tells of one.
    pub(super) async fn record_told_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: Option<&UsageSum>,
    ) -> PortResult<()> {
        let Some(key) = self.try_to_record(update, expires, charge).await? else {
            return Ok(());
        };
        let update = StatusUpdate {
            key,
            ..update.clone()
        };
        self.try_to_record(&update, expires, charge).await.map(drop)
    }

    /// Ends the wait for the acknowledgement of a delivery.
    pub(super) async fn end_wait(&self, key: &DeliveryKey) -> PortResult<()> {
        const WHAT: &str = "ending a wait for an acknowledgement";
        let change = UpdateChange::default().remove_attributes(&AWAITED);
        let waits = Expression::new("attribute_exists(#open_shard)");
        let key = TableKey::for_delivery(key);
        let stopped = self.table.update_record(WHAT, key, &change, Some(waits));
        // A status ended the wait before.
        let _stopped = stopped.await?;
        Ok(())
    }

    /// Notes in place of a delivery that it was erased.
    pub(super) async fn erase_delivery(&self, key: &DeliveryKey, expires: Timestamp) -> PortResult<()> {
        let item = Item::from([
            (ERASED.to_owned(), AttributeValue::Bool(true)),
            ("ttl".to_owned(), number_attribute(expires.as_second())),
        ]);
        let item = TableKey::for_delivery(key).into_item(item);
        self.table.put_always("erasing a delivery", item).await
    }

    /// Returns a delivery that no running transaction holds; `None` if it does not exist or is expired. A caller that found an attempt's
    /// note gone must find the link that the same transaction wrote.
    pub(super) async fn read_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        const WHAT: &str = "reading a delivery";
        let Some(named) = self.get_settled_item(WHAT, key).await? else {
            return Ok(None);
        };
        let found = match leading_key(WHAT, &named)? {
            Some(key) => self.get_settled_item(WHAT, &key).await?,
            None => Some(named),
        };
        found.map(|item| parse_delivery(WHAT, &item)).transpose()
    }

    /// Returns many deliveries, in the order of `keys`.
    pub(super) async fn read_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        const WHAT: &str = "reading deliveries";
        let named: Vec<TableKey> = keys.iter().map(TableKey::for_delivery).collect();
        let named = self.get_unexpired_items(WHAT, named).await?;
        let mut targets: HashMap<String, DeliveryKey> = HashMap::new();
        for item in &named {
            if let (Some(pk), Some(target)) = (item::get_string(item, "pk"), leading_key(WHAT, item)?) {
                targets.insert(pk.to_owned(), target);
            }
        }
        let led = if targets.is_empty() {
            Vec::new()
        } else {
            let targets = targets.values().map(TableKey::for_delivery).collect();
            self.get_unexpired_items(WHAT, targets).await?
        };
        let by_pk: HashMap<&str, &Item> = named
            .iter()
            .chain(&led)
            .filter(|item| !item.contains_key(ERASED))
            .filter_map(|item| Some((item::get_string(item, "pk")?, item)))
            .collect();
        let one = |key: &DeliveryKey| {
            let pk = TableKey::for_delivery(key).pk;
            let pk = targets
                .get(&pk)
                .map_or(pk, |target| TableKey::for_delivery(target).pk);
            let found = by_pk.get(pk.as_str());
            found.map(|item| parse_delivery(WHAT, item)).transpose()
        };
        keys.iter().map(one).collect()
    }
}
