//! Alerts and notifications. Live alerts are one partition, notifications one for each state, sorted by tenant: there
//! are few of both.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey, alerts as alert_keys};
use super::lists::{self, ListPosition};
use super::table::RecordQuery;
use super::transaction::TransactionAction;
use jiff::Timestamp;
use recado_domain::alert::{Alert, AlertState, AlertWatch, Notification, NotificationState};
use recado_domain::config::AlertConfig;
use recado_domain::ids::TenantId;
use recado_ports::ports::{Alerts, Page, PageRequest, PortError, PortResult, System, WriteOutcome};
use serde::de::DeserializeOwned;

/// Returns the condition that the stored record has the revision `rev`.
fn has_revision(rev: u64) -> Expression {
    Expression::new("#rev = :seen").with_number(":seen", rev)
}

/// Builds the item of an alert that ended. The index `lists` sorts it by the time of its end.
fn ended_alert_item(what: &'static str, alert: &Alert) -> PortResult<Option<Item>> {
    let (Some(ended), Some(expires)) = (alert.ended_at, alert.expires_at()) else {
        return Ok(None);
    };
    let mut item = item::encode_record(what, alert)?;
    item.insert("list_key".to_owned(), text_attribute(alert_keys::ALERTS_LIST_KEY));
    item.insert("list_at".to_owned(), number_attribute(ended.as_millisecond()));
    item.insert("ttl".to_owned(), number_attribute(expires.as_second()));
    Ok(Some(TableKey::for_ended_alert(alert, ended).into_item(item)))
}

/// Returns the writes that store a changed alert.
pub(super) fn alert_actions(what: &'static str, alert: &Alert) -> PortResult<Vec<TransactionAction>> {
    let key = TableKey::for_live_alert(alert);
    let seen = Expression::follows_revision("rev", alert.rev);
    if matches!(alert.state(), AlertState::Watched | AlertState::Firing) {
        let item = key.into_item(item::encode_record(what, alert)?);
        return Ok(vec![TransactionAction::Put(item, Some(seen))]);
    }
    let mut actions = vec![TransactionAction::Delete(key, Some(seen))];
    if alert.state() == AlertState::Ended {
        let ended = ended_alert_item(what, alert)?;
        actions.extend(ended.map(|item| TransactionAction::Put(item, None)));
    }
    Ok(actions)
}

pub(super) fn notification_item(what: &'static str, notification: &Notification) -> PortResult<Item> {
    let mut item = item::encode_record(what, notification)?;
    if let Some(expires) = notification.expires_at() {
        item.insert("ttl".to_owned(), number_attribute(expires.as_second()));
    }
    let key = TableKey::for_notification(notification, notification.state);
    keys::index_open(&mut item, &key, notification.pending_due_at());
    Ok(key.into_item(item))
}

fn other_state(state: NotificationState) -> NotificationState {
    match state {
        NotificationState::Pending => NotificationState::Dead,
        NotificationState::Dead => NotificationState::Pending,
    }
}

impl<A: System> DynamoStore<A> {
    /// Returns the configuration of alerts; `None` if none was applied.
    pub(super) async fn find_alert_config(&self) -> PortResult<Option<AlertConfig>> {
        self.find_readable(
            "reading the configuration of alerts",
            TableKey::for_alert_config(),
        )
        .await
    }

    /// Reads a record by its key; `None` also if it cannot be read, so that it can be written anew.
    pub(super) async fn find_readable<T: DeserializeOwned>(
        &self,
        what: &'static str,
        key: TableKey,
    ) -> PortResult<Option<T>> {
        let found = self.table.get_record(what, key).await?;
        Ok(found.and_then(|item| item::keep_readable(item::decode_record(what, &item))))
    }

    /// Reads a record by its key.
    pub(super) async fn find_decoded<T: DeserializeOwned>(
        &self,
        what: &'static str,
        key: TableKey,
    ) -> PortResult<Option<T>> {
        let found = self.table.get_record(what, key).await?;
        found.map(|item| item::decode_record(what, &item)).transpose()
    }

    /// Reads at most `limit` records under `pk`, of one tenant or of all.
    async fn list_by_tenant<T: DeserializeOwned>(
        &self,
        what: &'static str,
        pk: String,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<Vec<T>> {
        let prefix = tenant.map(|_| alert_keys::tenant_sk_prefix(tenant));
        let query = RecordQuery::for_partition(pk, prefix.as_deref(), Some(limit));
        let now = self.table.system.now();
        let found = self.table.query_records(what, &query).await?;
        let kept = found.into_iter().filter_map(|item| item::unexpired(item, now));
        Ok(item::decode_readable(what, kept))
    }

    /// Reads one tenant's ended alerts, one more than the page holds if there are so many.
    async fn read_ended_of_tenant(
        &self,
        what: &'static str,
        tenant: &TenantId,
        page: &PageRequest,
    ) -> PortResult<Vec<Item>> {
        let keys = match &page.cursor {
            None => Expression::new("#pk = :pk"),
            Some(cursor) => {
                let after = ListPosition::parse_cursor(what, cursor)?;
                let sk = alert_keys::ended_alert_sk(after.time(), after.id());
                Expression::new("#pk = :pk AND #sk < :after").with_text(":after", sk)
            }
        };
        let query = RecordQuery {
            index: None,
            keys: keys.with_text(":pk", alert_keys::ended_alerts_pk(Some(tenant))),
            filter: None,
            reverse: true,
            limit: Some(page.limit.max(1).saturating_add(1)),
        };
        self.table.query_records(what, &query).await
    }
}

/// Decodes an ended alert, with its position in the list.
fn parse_ended(what: &'static str, item: &Item) -> PortResult<Option<(ListPosition, Alert)>> {
    let alert: Alert = item::decode_record(what, item)?;
    let ended = alert.ended_at;
    Ok(ended.map(|ended| (ListPosition::new(ended.as_millisecond(), alert.id.clone()), alert)))
}

impl<A: System> Alerts for DynamoStore<A> {
    async fn read_alert_config(&self) -> PortResult<AlertConfig> {
        Ok(self.find_alert_config().await?.unwrap_or_default())
    }

    async fn read_alert_watch(&self) -> PortResult<AlertWatch> {
        let found = self
            .find_readable("reading the last look for alerts", TableKey::for_alert_watch())
            .await?;
        Ok(found.unwrap_or_default())
    }

    async fn save_alert_watch(&self, watch: &AlertWatch) -> PortResult<()> {
        const WHAT: &str = "keeping a look for alerts";
        let item = TableKey::for_alert_watch().into_item(item::encode_record(WHAT, watch)?);
        self.table.put_record(WHAT, item, None).await.map(drop)
    }

    async fn list_live_alerts(&self, tenant: Option<&TenantId>, limit: usize) -> PortResult<Vec<Alert>> {
        self.list_by_tenant(
            "reading live alerts",
            alert_keys::LIVE_ALERTS_PK.to_owned(),
            tenant,
            limit,
        )
        .await
    }

    async fn list_ended_alerts(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> PortResult<Page<Alert>> {
        const WHAT: &str = "listing ended alerts";
        let now = self.table.system.now();
        let wanted = |item: &Item| match item::unexpired(item.clone(), now) {
            Some(item) => parse_ended(WHAT, &item),
            None => Ok(None),
        };
        let found = match tenant {
            None => {
                self.read_list(WHAT, alert_keys::ALERTS_LIST_KEY.to_owned(), page, wanted)
                    .await?
            }
            Some(tenant) => {
                let items = self.read_ended_of_tenant(WHAT, tenant, page).await?;
                let found = items
                    .iter()
                    .filter_map(|found| item::keep_readable(wanted(found)));
                found.flatten().collect()
            }
        };
        Ok(lists::build_page(found, page.limit.max(1)))
    }

    async fn commit_alerts(
        &self,
        alerts: &[Alert],
        notifications: &[Notification],
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "storing alerts";
        let mut actions = Vec::new();
        for alert in alerts {
            actions.extend(alert_actions(WHAT, alert)?);
        }
        for notification in notifications {
            actions.push(TransactionAction::Put(
                notification_item(WHAT, notification)?,
                None,
            ));
        }
        if actions.is_empty() {
            return Ok(WriteOutcome::Written);
        }
        Ok(match self.table.run_transaction(WHAT, actions).await? {
            Ok(()) => WriteOutcome::Written,
            Err(_refused) => WriteOutcome::Conflict,
        })
    }

    async fn list_due_notifications(&self, now: Timestamp, limit: usize) -> PortResult<Vec<Notification>> {
        const WHAT: &str = "reading due notifications";
        let keys = |shard| {
            Expression::new("#open_shard = :shard AND #open_due <= :now")
                .with_text(":shard", shard)
                .with_number(":now", now.as_millisecond())
        };
        let (indexed, _) = self
            .query_open_shards(alert_keys::NOTIFICATION, keys, None, false, limit)
            .await?;
        let items = self.get_indexed_records(indexed).await?;
        let mut found: Vec<Notification> = item::decode_readable(WHAT, &items);
        found.sort_by_key(|notification| notification.due_at);
        Ok(found)
    }

    async fn list_notifications(
        &self,
        tenant: Option<&TenantId>,
        state: NotificationState,
        limit: usize,
    ) -> PortResult<Vec<Notification>> {
        let pk = alert_keys::notifications_pk(state);
        self.list_by_tenant("reading notifications", pk, tenant, limit)
            .await
    }

    /// Saves the notification. If its state changed, it is moved from the other state's partition.
    async fn save_notification(&self, notification: &Notification) -> PortResult<WriteOutcome> {
        const WHAT: &str = "saving a notification";
        let before = notification
            .rev
            .checked_sub(1)
            .ok_or_else(|| PortError::invalid(WHAT, "it has no revision"))?;
        let item = notification_item(WHAT, notification)?;
        let same = self
            .table
            .put_record(WHAT, item.clone(), Some(has_revision(before)));
        if same.await?.is_ok() {
            return Ok(WriteOutcome::Written);
        }
        let from = TableKey::for_notification(notification, other_state(notification.state));
        let actions = vec![
            TransactionAction::Delete(from, Some(has_revision(before))),
            TransactionAction::Put(item, Some(Expression::record_absent())),
        ];
        Ok(match self.table.run_transaction(WHAT, actions).await? {
            Ok(()) => WriteOutcome::Written,
            Err(_refused) => WriteOutcome::Conflict,
        })
    }

    async fn remove_notification(&self, notification: &Notification) -> PortResult<bool> {
        let key = TableKey::for_notification(notification, notification.state);
        let removed =
            self.table
                .delete_record("removing a notification", key, has_revision(notification.rev));
        Ok(removed.await?.is_ok())
    }
}
