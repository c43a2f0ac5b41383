//! Looks after the installation: alerts and their notifications, health, samples and trends, checks of connections.
//!
//! The alerts are made once a minute, after `reconcile`. An alert and the notifications that tell it are stored in one transaction, so a crash loses neither and tells nothing
//! twice. A notification is delivered afterwards, at least once, always under the same id.
//!
//! Its types and rules are in [`recado_domain::alert`] and [`recado_domain::sample`].

pub mod alert_config;
pub mod alert_routes;
pub mod connection_checks;
mod delivery;
pub mod health;
pub mod health_routes;
pub mod inactivity;
mod installation_status;
pub mod notification_problems;
pub mod sampling;
pub mod standings;
mod trend;
pub mod trend_routes;
pub mod trends;
pub mod whatsapp_health;

pub use crate::delivery::{
    DeliveryReport, NotificationError, add_test_notifications, deliver_notifications, redrive_notification,
};

pub use crate::installation_status::KnownState;

use crate::alert_config::read_alert_config;
use crate::installation_status::read_installation_status;
use jiff::Timestamp;
use recado_domain::alert::{Alert, AlertSeverity, AlertState, Notification, decide_alerts, find_conditions};
use recado_domain::config::{AlertConfig, AlertDestination};
use recado_domain::ids::InstanceId;
use recado_ports::ports::{InstallationStore, PortResult, QueueDepths, System, WriteOutcome};
use recado_ports::records::alerts::{ALERTS_PER_COMMIT, commit_alerts, list_live_alerts, read_alert_watch};
use recado_ports::table::put_record;

/// Greatest number of live alerts that are read.
const LIVE_MAX: usize = 10_000;

/// Greatest number of commits in one pass. What is left changes in the next pass.
const COMMITS_MAX: usize = 25;

/// The result of one pass, in numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlertReport {
    /// Alerts that began to be told.
    pub fired: usize,
    /// Alerts that are over.
    pub ended: usize,
    /// Notifications that were made.
    pub notifications: usize,
}

/// Runs one pass: compares what holds now with the live alerts, and stores what changed with its notifications.
pub async fn evaluate_alerts(
    store: &dyn InstallationStore,
    depths: &dyn QueueDepths,
    system: &dyn System,
    known_state: KnownState<'_>,
) -> PortResult<AlertReport> {
    let now = system.now();
    let config = read_alert_config(store).await?;
    let watch = read_alert_watch(store).await?;
    let live = list_live_alerts(store, None, LIVE_MAX).await?;
    let known: Vec<Alert> = live.iter().map(|alert| alert.record.clone()).collect();
    let (status, watch) = read_installation_status(store, depths, &config, &watch, known_state, now).await;
    let changed = decide_alerts(&known, &find_conditions(&config, &status, now), now);
    let mut report = AlertReport::default();
    for alerts in changed.chunks(ALERTS_PER_COMMIT).take(COMMITS_MAX) {
        let notifications = make_notifications(&config, alerts, now);
        if commit_alerts(store, &live, alerts, &notifications).await? == WriteOutcome::Conflict {
            // Another pass runs at the same time, and tells it.
            tracing::warn!("another pass changed the alerts meanwhile");
            break;
        }
        report.notifications += notifications.len();
        for alert in alerts {
            log_change(alert);
            report.fired += usize::from(alert.state() == AlertState::Firing);
            report.ended += usize::from(alert.state() == AlertState::Ended);
        }
    }
    // Stored last: if the pass fails before, the next one finds the same gap.
    put_record(store, &watch).await?;
    Ok(report)
}

/// Makes a notification of `alerts` for each destination that is told of one of them.
fn make_notifications(config: &AlertConfig, alerts: &[Alert], now: Timestamp) -> Vec<Notification> {
    let told = |alert: &&Alert| matches!(alert.state(), AlertState::Firing | AlertState::Ended);
    let for_destination = |destination: &AlertDestination| {
        let accepted = alerts.iter().filter(told);
        let accepted = accepted.filter(|alert| destination.accepts_alert(alert)).cloned();
        let accepted: Vec<Alert> = accepted.collect();
        let notification =
            || Notification::new(&destination.id, destination.tenant.clone(), accepted.clone(), now);
        (!accepted.is_empty()).then(notification)
    };
    config.destinations.iter().filter_map(for_destination).collect()
}

fn log_change(alert: &Alert) {
    let instance_id = alert.subject.instance.as_ref().map(InstanceId::as_str);
    let (kind, summary) = (alert.kind.as_str(), alert.summary.as_str());
    match (alert.state(), alert.severity) {
        (AlertState::Firing, AlertSeverity::Critical) => {
            tracing::error!(
                event = "alert",
                kind,
                instance_id,
                summary,
                "a critical alert begins"
            );
        }
        (AlertState::Firing, AlertSeverity::Warning) => {
            tracing::warn!(event = "alert", kind, instance_id, summary, "an alert begins");
        }
        (AlertState::Ended, _) => {
            tracing::info!(
                event = "alert_over",
                kind,
                instance_id,
                summary,
                "an alert is over"
            );
        }
        (AlertState::Watched | AlertState::Forgotten, _) => {}
    }
}
