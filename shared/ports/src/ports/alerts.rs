use super::{Page, PageRequest, PortResult, WriteOutcome};
use jiff::Timestamp;
use recado_domain::alert::{Alert, AlertWatch, Notification, NotificationState};
use recado_domain::config::AlertConfig;
use recado_domain::ids::TenantId;
use std::future::Future;

/// A store of alerts, and of the notifications that tell them.
///
/// A list with a tenant holds that tenant's records alone; without one it holds those of all tenants and of the
/// installation.
pub trait Alerts: Send + Sync {
    /// Returns the configuration of alerts; the default one if none was applied.
    fn read_alert_config(&self) -> impl Future<Output = PortResult<AlertConfig>> + Send;

    /// Returns the record that the last look left by a strong read; the default if there was none.
    fn read_alert_watch(&self) -> impl Future<Output = PortResult<AlertWatch>> + Send;

    /// Replaces the record that a look leaves for the next.
    fn save_alert_watch(&self, watch: &AlertWatch) -> impl Future<Output = PortResult<()>> + Send;

    /// Lists the live alerts, watched and firing, by a strong read, at most `limit`.
    fn list_live_alerts(
        &self,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Alert>>> + Send;

    /// Lists the alerts that ended and are not expired, the latest end first.
    fn list_ended_alerts(
        &self,
        tenant: Option<&TenantId>,
        page: &PageRequest,
    ) -> impl Future<Output = PortResult<Page<Alert>>> + Send;

    /// Stores changed alerts and the notifications that tell them in one transaction. The `rev` of each alert must be
    /// the stored one plus one, and 1 for an alert that is not live yet. An ended alert leaves the live ones for the
    /// ended ones; a forgotten alert is removed. [`WriteOutcome::Conflict`]: nothing was written. There are at most 40
    /// alerts and 10 notifications.
    fn commit_alerts(
        &self,
        alerts: &[Alert],
        notifications: &[Notification],
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Lists the pending notifications that are due at `now`, at most `limit`. Those that are due for the longest time come
    /// first. The list may be some seconds old.
    fn list_due_notifications(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Notification>>> + Send;

    /// Lists the notifications in `state` by a strong read, sorted by tenant and id, at most `limit`.
    fn list_notifications(
        &self,
        tenant: Option<&TenantId>,
        state: NotificationState,
        limit: usize,
    ) -> impl Future<Output = PortResult<Vec<Notification>>> + Send;

    /// Replaces the stored notification if its `rev` is the stored one plus one. Its state may change.
    fn save_notification(
        &self,
        notification: &Notification,
    ) -> impl Future<Output = PortResult<WriteOutcome>> + Send;

    /// Removes a notification that was delivered, if its `rev` is the stored one. `false`: it is another or gone.
    fn remove_notification(
        &self,
        notification: &Notification,
    ) -> impl Future<Output = PortResult<bool>> + Send;
}

/// The number of alerts that [`Alerts::commit_alerts`] takes at most.
pub const ALERTS_PER_COMMIT: usize = 40;
