use super::published_events::insert_published_events;
use crate::Embedded;
use crate::db_error::DbError;
use crate::sql_records::{
    NewestFirstQuery, encode_json, execute_sql, follows_stored, query_all, query_readable, to_sql_integer,
    to_sql_limit,
};
use jiff::Timestamp;
use recado_domain::alert::{Alert, AlertState, AlertWatch, Notification, NotificationState};
use recado_domain::config::AlertConfig;
use recado_domain::ids::TenantId;
use recado_domain::published_event::derive_alert_events;
use recado_ports::ports::{Alerts, Page, PageRequest, PortResult, WriteOutcome};
use rusqlite::{Connection, OptionalExtension, params};
use serde::de::DeserializeOwned;

/// The name of the configuration of alerts in the table `installation`.
pub(super) const ALERT_CONFIG: &str = "alerts";

/// The name of the record that one look for alerts leaves for the next.
pub(super) const ALERT_WATCH: &str = "alert-watch";

/// Writes a value of the installation.
pub(super) fn write_installation_value(
    connection: &Connection,
    name: &str,
    value: &str,
) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO installation (name, value) VALUES (?1, ?2)";
    execute_sql(connection, sql, params![name, value]).map(drop)
}

/// Reads a value of the installation; `None` also if it cannot be read, so that it can be written anew.
pub(super) fn select_installation_value<T: DeserializeOwned>(
    connection: &Connection,
    name: &str,
) -> Result<Option<T>, DbError> {
    query_readable(
        connection,
        "SELECT value FROM installation WHERE name = ?1",
        [name],
    )
}

/// Returns the configuration of alerts; `None` if none was applied.
pub(super) fn select_alert_config(connection: &Connection) -> Result<Option<AlertConfig>, DbError> {
    select_installation_value(connection, ALERT_CONFIG)
}

/// Returns the column of a record's tenant: empty for the whole installation.
fn tenant_column(tenant: Option<&TenantId>) -> &str {
    tenant.map_or("", TenantId::as_str)
}

/// Returns whether the live alert of the same condition has the revision before.
fn follows_live(connection: &Connection, alert: &Alert) -> Result<bool, DbError> {
    let sql = "SELECT rev FROM live_alerts WHERE condition = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let stored: Option<i64> = statement
        .query_row([alert.condition_key()], |row| row.get(0))
        .optional()?;
    Ok(follows_stored(stored, alert.rev))
}

pub(super) fn write_alert(connection: &Connection, alert: &Alert, now: Timestamp) -> Result<(), DbError> {
    let (condition, body) = (alert.condition_key(), encode_json(alert)?);
    let stored = "SELECT body FROM live_alerts WHERE condition = ?1";
    let stored: Option<Alert> = query_readable(connection, stored, [&condition])?;
    let events = derive_alert_events(stored.map(|stored| stored.state()), alert, now);
    insert_published_events(connection, &events)?;
    let tenant = tenant_column(alert.subject.tenant.as_ref());
    if matches!(alert.state(), AlertState::Watched | AlertState::Firing) {
        let sql = "INSERT OR REPLACE INTO live_alerts (condition, tenant, rev, body) VALUES (?1, ?2, ?3, ?4)";
        let rev = to_sql_integer(alert.rev);
        execute_sql(connection, sql, params![condition, tenant, rev, body])?;
        return Ok(());
    }
    execute_sql(
        connection,
        "DELETE FROM live_alerts WHERE condition = ?1",
        [condition],
    )?;
    if let (AlertState::Ended, Some(ended), Some(expires)) =
        (alert.state(), alert.ended_at, alert.expires_at())
    {
        let sql =
            "INSERT OR REPLACE INTO ended_alerts (id, tenant, at, expires, body) VALUES (?1, ?2, ?3, ?4, ?5)";
        let (at, expires) = (ended.as_millisecond(), expires.as_millisecond());
        execute_sql(connection, sql, params![alert.id, tenant, at, expires, body])?;
    }
    Ok(())
}

pub(crate) fn write_notification(
    connection: &Connection,
    notification: &Notification,
) -> Result<(), DbError> {
    let sql = "INSERT OR REPLACE INTO notifications (id, tenant, state, rev, due, expires, body)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let tenant = tenant_column(notification.tenant.as_ref());
    let (state, rev) = (notification.state.as_str(), to_sql_integer(notification.rev));
    let expires = notification.expires_at().map(Timestamp::as_millisecond);
    let body = encode_json(notification)?;
    let due = notification.pending_due_at().map(Timestamp::as_millisecond);
    let values = params![notification.id, tenant, state, rev, due, expires, body];
    execute_sql(connection, sql, values).map(drop)
}

fn write_changes(
    connection: &Connection,
    alerts: &[Alert],
    notifications: &[Notification],
    now: Timestamp,
) -> Result<WriteOutcome, DbError> {
    for alert in alerts {
        if !follows_live(connection, alert)? {
            return Ok(WriteOutcome::Conflict);
        }
    }
    for alert in alerts {
        write_alert(connection, alert, now)?;
    }
    for notification in notifications {
        write_notification(connection, notification)?;
    }
    Ok(WriteOutcome::Written)
}

fn replace_notification(
    connection: &Connection,
    notification: &Notification,
) -> Result<WriteOutcome, DbError> {
    let sql = "SELECT rev FROM notifications WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let stored: Option<i64> = statement
        .query_row([&notification.id], |row| row.get(0))
        .optional()?;
    if stored.is_none_or(|rev| rev + 1 != to_sql_integer(notification.rev)) {
        return Ok(WriteOutcome::Conflict);
    }
    write_notification(connection, notification)?;
    Ok(WriteOutcome::Written)
}

impl Alerts for Embedded {
    async fn read_alert_config(&self) -> PortResult<AlertConfig> {
        let found = self.run_read("alert_config", select_alert_config).await?;
        Ok(found.unwrap_or_default())
    }

    async fn read_alert_watch(&self) -> PortResult<AlertWatch> {
        let work = |c: &Connection| select_installation_value(c, ALERT_WATCH);
        Ok(self.run_read("alert_watch", work).await?.unwrap_or_default())
    }

    async fn save_alert_watch(&self, watch: &AlertWatch) -> PortResult<()> {
        let watch = *watch;
        self.run_write("save_alert_watch", move |c| {
            write_installation_value(c, ALERT_WATCH, &encode_json(&watch)?)
        })
        .await
    }

    async fn list_live_alerts(&self, tenant: Option<&TenantId>, limit: usize) -> PortResult<Vec<Alert>> {
        let tenant = tenant.map(|tenant| tenant.as_str().to_owned());
        let sql = "SELECT body FROM live_alerts WHERE ?1 IS NULL OR tenant = ?1 ORDER BY tenant, condition LIMIT ?2";
        self.run_read("live_alerts", move |c| {
            query_all(c, sql, params![tenant, to_sql_limit(limit)])
        })
        .await
    }

    async fn list_ended_alerts(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> PortResult<Page<Alert>> {
        let (tenant, page) = (tenant.cloned(), page.clone());
        let now = self.current_time();
        self.run_read("ended_alerts", move |c| {
            NewestFirstQuery::for_table("ended_alerts", "at", &page)?
                .where_equal("tenant", tenant.as_ref().map(TenantId::as_str))
                .where_after("expires", now)
                .fetch_page(c)
        })
        .await
    }

    async fn commit_alerts(
        &self,
        alerts: &[Alert],
        notifications: &[Notification],
    ) -> PortResult<WriteOutcome> {
        let (alerts, notifications) = (alerts.to_vec(), notifications.to_vec());
        let now = self.current_time();
        self.run_write("commit_alerts", move |c| {
            write_changes(c, &alerts, &notifications, now)
        })
        .await
    }

    async fn list_due_notifications(&self, now: Timestamp, limit: usize) -> PortResult<Vec<Notification>> {
        let sql = "SELECT body FROM notifications WHERE due <= ?1 ORDER BY due LIMIT ?2";
        self.run_read("due_notifications", move |c| {
            query_all(c, sql, params![now.as_millisecond(), to_sql_limit(limit)])
        })
        .await
    }

    async fn list_notifications(
        &self,
        tenant: Option<&TenantId>,
        state: NotificationState,
        limit: usize,
    ) -> PortResult<Vec<Notification>> {
        let tenant = tenant.map(|tenant| tenant.as_str().to_owned());
        let now = self.current_time().as_millisecond();
        let sql = "SELECT body FROM notifications WHERE state = ?1 AND (?2 IS NULL OR tenant = ?2)
            AND (expires IS NULL OR expires > ?4) ORDER BY tenant, id LIMIT ?3";
        self.run_read("notifications", move |c| {
            query_all(c, sql, params![state.as_str(), tenant, to_sql_limit(limit), now])
        })
        .await
    }

    async fn save_notification(&self, notification: &Notification) -> PortResult<WriteOutcome> {
        let notification = notification.clone();
        self.run_write("save_notification", move |c| {
            replace_notification(c, &notification)
        })
        .await
    }

    async fn remove_notification(&self, notification: &Notification) -> PortResult<bool> {
        let (id, rev) = (notification.id.clone(), to_sql_integer(notification.rev));
        let sql = "DELETE FROM notifications WHERE id = ?1 AND rev = ?2";
        self.run_write("remove_notification", move |c| {
            Ok(execute_sql(c, sql, params![id, rev])? > 0)
        })
        .await
    }
}
