//! The keys of alerts and notifications.

use super::TableKey;
use recado_domain::Timestamp;
use recado_domain::alert::{Alert, Notification, NotificationState};
use recado_domain::ids::TenantId;

/// The `list_key` of ended alerts.
pub(crate) const ALERTS_LIST_KEY: &str = "ALERTS";

/// The `pk` of live alerts.
pub(crate) const LIVE_ALERTS_PK: &str = "T#A";

/// The kind of pending notifications, as [`TableKey::open_shard_key`] makes it of their keys.
pub(crate) const NOTIFICATION: char = 'T';

impl TableKey {
    /// Returns the key of the configuration of alerts.
    pub(crate) fn for_alert_config() -> Self {
        Self::new("G#L".to_owned(), "alerts")
    }

    /// Returns the key of the record that one look for alerts leaves for the next.
    pub(crate) fn for_alert_watch() -> Self {
        Self::new("T#W".to_owned(), "alerts")
    }

    /// Returns the key of a live alert.
    pub(crate) fn for_live_alert(alert: &Alert) -> Self {
        let prefix = tenant_sk_prefix(alert.subject.tenant.as_ref());
        Self::new(
            LIVE_ALERTS_PK.to_owned(),
            format!("{prefix}{}", alert.condition_key()),
        )
    }

    /// Returns the key of an alert that ended at `ended`.
    pub(crate) fn for_ended_alert(alert: &Alert, ended: Timestamp) -> Self {
        Self::new(
            ended_alerts_pk(alert.subject.tenant.as_ref()),
            ended_alert_sk(ended.as_millisecond(), &alert.id),
        )
    }

    /// Returns the key that a notification has in `state`.
    pub(crate) fn for_notification(notification: &Notification, state: NotificationState) -> Self {
        let prefix = tenant_sk_prefix(notification.tenant.as_ref());
        Self::new(notifications_pk(state), format!("{prefix}{}", notification.id))
    }
}

/// Returns the prefix of the `sk` of a tenant's alerts and notifications. The whole installation's begin with `#`.
pub(crate) fn tenant_sk_prefix(tenant: Option<&TenantId>) -> String {
    format!("{}#", tenant.map_or("", TenantId::as_str))
}

/// Returns the `pk` of the ended alerts of a tenant, or of the installation.
pub(crate) fn ended_alerts_pk(tenant: Option<&TenantId>) -> String {
    format!("T#E#{}", tenant.map_or("", TenantId::as_str))
}

/// Returns the `sk` of an alert that ended at `ended`, in milliseconds.
pub(crate) fn ended_alert_sk(ended: i64, id: &str) -> String {
    format!("{:020}#{id}", ended.max(0))
}

/// Returns the `pk` of the notifications in `state`.
pub(crate) fn notifications_pk(state: NotificationState) -> String {
    format!("T#N#{}", state.as_str())
}
