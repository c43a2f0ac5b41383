//! Delivers notifications, and makes those that a person asks for.

use crate::alert_config::read_alert_config;
use futures::stream::{self, StreamExt};
use recado_domain::access::Caller;
use recado_domain::alert::{Alert, Notification, NotificationState};
use recado_domain::audit::AuditAction;
use recado_domain::config::{AlertConfig, AlertDestination};
use recado_pipeline::Deps;
use recado_pipeline::steps::audit::{audit_action, audit_actions};
use recado_ports::ports::{NotificationChannels, PortError, PortResult, System, WriteOutcome};
use recado_ports::records::alerts::commit_alerts;
use recado_ports::records::notifications::{list_due_notifications, list_notifications};
use recado_ports::table::{SaveOutcome, Table, Versioned, remove_record, save_record};

/// Greatest number of notifications that one pass delivers, and number of those that are delivered at the same time. A
/// destination that does not answer must not delay the others.
const DUE_MAX: usize = 100;
const SIDE_BY_SIDE: usize = 16;

/// Greatest number of pending notifications among which one is looked for that comes before another.
const PENDING_MAX: usize = 1_000;

/// Greatest number of dead notifications that are looked through for a redrive.
const DEAD_MAX: usize = 1_000;

/// The result of one pass, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeliveryReport {
    /// Notifications that their destinations took.
    pub delivered: usize,
    /// Attempts that failed.
    pub failed: usize,
    /// Notifications that were given up.
    pub given_up: usize,
}

/// The reason why a notification was not requeued or made.
#[derive(Debug, thiserror::Error)]
pub enum NotificationError {
    /// There is no dead notification with this id.
    #[error("there is no such dead notification")]
    NotFound,
    /// No destination is configured.
    #[error("no destination of alerts is configured")]
    NoDestination,
    /// Others changed the notification. The client may try again.
    #[error("the notification is being changed by others, try again")]
    Busy,
    /// A store failed.
    #[error(transparent)]
    Port(#[from] PortError),
}

enum AttemptResult {
    Delivered,
    Failed,
    GivenUp,
    Nothing,
}

/// Runs one pass: delivers the notifications that are due. The caller limits its time.
pub async fn deliver_notifications(
    store: &dyn Table,
    system: &dyn System,
    channels: &dyn NotificationChannels,
) -> PortResult<DeliveryReport> {
    let due = list_due_notifications(store, system.now(), DUE_MAX).await?;
    if due.is_empty() {
        return Ok(DeliveryReport::default());
    }
    let config = read_alert_config(store).await?;
    let attempts = hold_later_notifications(store, due)
        .await?
        .into_iter()
        .map(|notification| attempt_delivery(store, system, channels, &config, notification));
    let results: Vec<PortResult<AttemptResult>> = stream::iter(attempts)
        .buffer_unordered(SIDE_BY_SIDE)
        .collect()
        .await;
    let mut report = DeliveryReport::default();
    for result in results {
        match result? {
            AttemptResult::Delivered => report.delivered += 1,
            AttemptResult::Failed => report.failed += 1,
            AttemptResult::GivenUp => report.given_up += 1,
            AttemptResult::Nothing => {}
        }
    }
    Ok(report)
}

/// Returns the notifications of `due` that no pending one precedes. The others wait for it.
async fn hold_later_notifications(
    table: &dyn Table,
    due: Vec<Versioned<Notification>>,
) -> PortResult<Vec<Versioned<Notification>>> {
    let is_end = |alert: &Alert| alert.ended_at.is_some();
    let tells_end = |told: &Versioned<Notification>| told.record.alerts.iter().any(is_end);
    if !due.iter().any(tells_end) {
        return Ok(due);
    }
    let pending = list_notifications(table, None, NotificationState::Pending, PENDING_MAX).await?;
    let pending: Vec<Notification> = pending.into_iter().map(|found| found.record).collect();
    let mut ready = Vec::new();
    for mut notification in due {
        let later = &notification.record;
        let Some(earlier) = pending.iter().find(|pending| pending.precedes(later)) else {
            ready.push(notification);
            continue;
        };
        notification.record.wait_for(earlier);
        // A conflict: another pass saw to it.
        let _ = save_record(table, &mut notification).await?;
    }
    Ok(ready)
}

/// Tries to deliver one notification. The attempt is counted before it is made, so a crash meanwhile only delays the
/// next one.
async fn attempt_delivery(
    table: &dyn Table,
    system: &dyn System,
    channels: &dyn NotificationChannels,
    config: &AlertConfig,
    mut stored: Versioned<Notification>,
) -> PortResult<AttemptResult> {
    let Some(destination) = config.find_destination(&stored.record.destination) else {
        tracing::warn!(
            destination = stored.record.destination,
            "a notification's destination was removed"
        );
        remove_record(table, &stored).await?;
        return Ok(AttemptResult::Nothing);
    };
    stored.record.begin_attempt(system.now());
    if save_record(table, &mut stored).await? != SaveOutcome::Saved {
        // Another pass attempts it.
        return Ok(AttemptResult::Nothing);
    }
    let Err(error) = channels.deliver_notification(destination, &stored.record).await else {
        remove_record(table, &stored).await?;
        return Ok(AttemptResult::Delivered);
    };
    stored.record.record_failure(&error.to_string());
    let notification = &stored.record;
    let (id, attempts) = (&notification.id, notification.attempts);
    let result = if notification.state == NotificationState::Dead {
        tracing::error!(notification = %id, destination = destination.id, attempts, %error, "a notification was given up");
        AttemptResult::GivenUp
    } else {
        tracing::warn!(notification = %id, destination = destination.id, attempts, %error, "a notification was not delivered");
        AttemptResult::Failed
    };
    if save_record(table, &mut stored).await? != SaveOutcome::Saved {
        tracing::warn!(notification = %stored.record.id, "a notification was changed during its attempt");
    }
    Ok(result)
}

/// Makes a test notification for each destination within the scope, or for the one named `only`. The next pass delivers
/// them.
pub async fn add_test_notifications(
    deps: &Deps,
    caller: &Caller,
    only: Option<&str>,
) -> Result<Vec<Notification>, NotificationError> {
    let (store, system, scope) = (deps.store(), deps.system(), &caller.scope);
    let config = read_alert_config(store).await?;
    let wanted = |destination: &&AlertDestination| {
        only.is_none_or(|id| destination.id == id) && scope.covers_owner(destination.tenant.as_ref())
    };
    let now = system.now();
    let tests = config.destinations.iter().filter(wanted);
    let tests = tests.map(|destination| {
        Notification::for_test(
            &destination.id,
            destination.tenant.clone(),
            system.random_u64(),
            now,
        )
    });
    let tests: Vec<Notification> = tests.collect();
    if tests.is_empty() {
        return Err(NotificationError::NoDestination);
    }
    let audited = |test: &Notification| {
        let tenant = test.tenant.as_ref();
        AuditAction::AlertsTested.on_object(tenant, "destination", &test.destination)
    };
    audit_actions(deps, caller, tests.iter().map(audited)).await?;
    match commit_alerts(store, &[], &[], &tests).await? {
        WriteOutcome::Written => Ok(tests),
        WriteOutcome::Conflict => Err(NotificationError::Busy),
    }
}

/// Makes a dead notification pending again. The next pass delivers it.
pub async fn redrive_notification(
    deps: &Deps,
    caller: &Caller,
    id: &str,
) -> Result<Notification, NotificationError> {
    let (store, system, scope) = (deps.store(), deps.system(), &caller.scope);
    let dead = list_notifications(store, scope.tenant(), NotificationState::Dead, DEAD_MAX).await?;
    let found = dead.into_iter().find(|found| found.record.id == id);
    let mut notification = found.ok_or(NotificationError::NotFound)?;
    let tenant = notification.record.tenant.as_ref();
    let audited = AuditAction::NotificationRedriven.on_object(tenant, "notification", id);
    audit_action(deps, caller, audited).await?;
    notification.record.redrive(system.now());
    if save_record(store, &mut notification).await? != SaveOutcome::Saved {
        return Err(NotificationError::Busy);
    }
    Ok(notification.record)
}
