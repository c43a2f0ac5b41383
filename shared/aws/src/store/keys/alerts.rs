//! The keys of alerts and notifications.

use super::super::item::{Item, get_string, number_attribute, text_attribute};
use super::{TableKey, hash_to_shard, index_tenant_list, open_shard};
use recado_domain::Timestamp;
use recado_domain::alert::{Alert, Notification, NotificationState};
use recado_domain::ids::TenantId;

/// The `list_key` of ended alerts.
pub(crate) const ALERTS_LIST_KEY: &str = "ALERTS";

/// The `pk` of live alerts.
pub(crate) const LIVE_ALERTS_PK: &str = "T#A";

/// The kind of pending notifications, as [`TableKey::open_shard_key`] makes it of their keys.
pub(crate) const NOTIFICATION: char = 'T';

/// The kind of conversations in which a person owes an answer. They are only looked at, so `reconcile` leaves them out.
pub(crate) const PERSON_OWED: char = 'W';

/// The kind of deliveries whose acknowledgement WhatsApp owes. They are only looked at, too.
pub(crate) const UNACKNOWLEDGED: char = 'U';

/// The attribute with the tenant of a conversation or delivery. The conversation is one in which a person owes an answer, the
/// delivery one that is not acknowledged. No other record has it, so the index `open` is not larger for them.
pub(crate) const WAIT_TENANT: &str = "wait_tenant";

impl TableKey {
    /// Returns the key of an item.
    pub(crate) fn from_item(item: &Item) -> Option<Self> {
        let text = |name| get_string(item, name).map(str::to_owned);
        Some(Self::new(text("pk")?, text("sk")?))
    }

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

/// Returns the `tenant_list` of a tenant's conversations in which a person owes an answer.
pub(crate) fn tenant_waiting(tenant: &TenantId) -> String {
    format!("{PERSON_OWED}#{tenant}")
}

/// Adds the time since which a person owes an answer to `item`. The index `open` finds it under [`PERSON_OWED`], with its
/// tenant, and the index `tenants` in the tenant's own list. The return of the agent may be due in such a conversation; the index holds its time.
pub(crate) fn index_person_owed(
    item: &mut Item,
    key: &TableKey,
    tenant: &TenantId,
    since: Option<Timestamp>,
) {
    if let Some(since) = since {
        item.insert(WAIT_TENANT.to_owned(), text_attribute(tenant.as_str()));
        let shard = open_shard(PERSON_OWED, hash_to_shard(&[&key.pk, &key.sk]));
        item.insert("open_shard".to_owned(), text_attribute(shard));
        item.insert("open_due".to_owned(), number_attribute(since.as_millisecond()));
        index_tenant_list(item, tenant_waiting(tenant), since);
    }
}

/// Returns the shard of the index `open` that has a tenant's deliveries while they are not acknowledged.
pub(crate) fn unacknowledged_shard(tenant: &TenantId) -> String {
    open_shard(UNACKNOWLEDGED, hash_to_shard(&[tenant.as_str()]))
}

/// Returns the shard of the index `open` under which nobody looks. A delivery gets it whose first status came before the
/// link to its message.
pub(crate) fn acknowledged_shard(key: &TableKey) -> String {
    let shard = open_shard(UNACKNOWLEDGED, hash_to_shard(&[&key.pk, &key.sk]));
    format!("-{shard}")
}
