//! Notifications: one message to one destination about some alerts, kept until it is delivered or given up.

use super::{ALERT_RETENTION, Alert, AlertState};
use crate::ids::{TenantId, hash_parts};
use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Name of a destination, as the configuration gives it.
pub type DestinationId = String;

/// Id of a notification. It stays the same at every attempt, so that a receiver recognizes a repeat.
pub type NotificationId = String;

/// Number of attempts after which a notification is given up. With the waits between them that takes about 10 hours.
pub const ATTEMPTS_MAX: u32 = 12;

/// Returns the wait after the attempt `attempts`: 1 minute, then twice as long each time, at most 2 hours.
pub fn retry_delay(attempts: u32) -> SignedDuration {
    let doubled = 1 << attempts.saturating_sub(1).min(7);
    SignedDuration::from_mins(doubled.min(120))
}

/// The state of a notification that is not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum NotificationState {
    /// The notification is delivered when it is due.
    Pending,
    /// The notification was given up: its dead letter waits for a person.
    Dead,
}

impl NotificationState {
    /// Returns the word for the state in records and the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A notification that is not delivered yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notification {
    /// Id of the notification.
    pub id: NotificationId,
    /// Destination to which the notification goes.
    pub destination: DestinationId,
    /// The destination's tenant; `None` for a destination of the whole installation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The alerts as they were when the notification was made.
    pub alerts: Vec<Alert>,
    /// `true` for a notification that only tests its destination.
    #[serde(default)]
    pub is_test: bool,
    /// Time at which the notification was made.
    #[serde(with = "millis")]
    pub created_at: Timestamp,
    /// State of the notification.
    pub state: NotificationState,
    /// Number of attempts that were begun.
    pub attempts: u32,
    /// Time of the next attempt.
    #[serde(with = "millis")]
    pub due_at: Timestamp,
    /// Description of the last failure. No secret and no personal data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// The way to a runbook, which each text of a notification names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunbookHint;

impl RunbookHint {
    /// Returns the command that prints the runbook of `alert`.
    pub fn command_for(alert: &Alert) -> String {
        format!("recado alerts runbook {}", alert.kind.as_str())
    }
}

impl Notification {
    /// Makes the notification of `alerts` to a destination. The same alerts in the same states have the same id.
    pub fn new(destination: &str, tenant: Option<TenantId>, alerts: Vec<Alert>, now: Timestamp) -> Self {
        let named = alerts
            .iter()
            .flat_map(|alert| [alert.id.as_str(), event_word(alert)]);
        let parts: Vec<&str> = std::iter::once(destination).chain(named).collect();
        Self {
            id: format!("alert_{}", hash_parts(&parts, 16)),
            destination: destination.to_owned(),
            tenant,
            alerts,
            is_test: false,
            created_at: now,
            state: NotificationState::Pending,
            attempts: 0,
            due_at: now,
            last_error: None,
        }
    }

    /// Makes a notification that only tests the destination. `nonce` makes its id unique.
    pub fn for_test(destination: &str, tenant: Option<TenantId>, nonce: u64, now: Timestamp) -> Self {
        let test = Alert::for_test(now);
        let mut notification = Self::new(destination, tenant, vec![test], now);
        notification.id = format!("test_{}", hash_parts(&[&notification.id, &nonce.to_string()], 16));
        notification.is_test = true;
        notification
    }

    /// Returns `true` if `later` tells more of an alert that this notification tells, to the same destination. It comes
    /// after this one, so that nobody is told that an alert is over before it is told that it began.
    pub fn precedes(&self, later: &Self) -> bool {
        let same_alert = |alert: &Alert| later.alerts.iter().any(|other| other.id == alert.id);
        self.destination == later.destination
            && self.created_at < later.created_at
            && self.alerts.iter().any(same_alert)
    }

    /// Lets the notification wait for one that precedes it, without an attempt.
    pub fn wait_for(&mut self, earlier: &Self) {
        self.due_at = self.due_at.max(earlier.due_at);
    }

    /// Counts an attempt that begins now. If nothing more is stored about it, the next one is due after its wait.
    pub fn begin_attempt(&mut self, now: Timestamp) {
        self.attempts = self.attempts.saturating_add(1);
        self.due_at = add_duration(now, retry_delay(self.attempts));
    }

    /// Records that the attempt failed. The last attempt makes the notification a dead letter.
    pub fn record_failure(&mut self, why: &str) {
        self.last_error = Some(why.chars().take(300).collect());
        if self.attempts >= ATTEMPTS_MAX {
            self.state = NotificationState::Dead;
        }
    }

    /// Makes a dead notification pending again, with all its attempts. Returns `false` if the notification is pending.
    pub fn redrive(&mut self, now: Timestamp) -> bool {
        if self.state == NotificationState::Pending {
            return false;
        }
        self.state = NotificationState::Pending;
        self.attempts = 0;
        self.due_at = now;
        true
    }

    /// Returns the time of the next attempt; `None` if the notification is dead.
    pub fn pending_due_at(&self) -> Option<Timestamp> {
        (self.state == NotificationState::Pending).then_some(self.due_at)
    }

    /// Returns the time at which a dead notification expires; `None` while it is pending.
    pub fn expires_at(&self) -> Option<Timestamp> {
        let is_dead = self.state == NotificationState::Dead;
        is_dead.then(|| add_duration(self.created_at, ALERT_RETENTION))
    }

    /// Returns one line that says what the notification is about.
    pub fn subject_line(&self) -> String {
        let [alert] = &*self.alerts else {
            let over = self.alerts.iter().filter(|alert| is_over(alert)).count();
            let began = self.alerts.len() - over;
            return format!("[Recado] {began} new alerts, {over} over");
        };
        let what = alert_heading(alert, self.is_test);
        format!("[Recado] {what}: {}", alert.summary)
    }

    /// Returns the text of the notification, a paragraph for each alert.
    pub fn body_text(&self) -> String {
        let mut text = String::new();
        for alert in &self.alerts {
            let what = alert_heading(alert, self.is_test);
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{what}: {}", alert.summary);
            let _ = match alert.ended_at {
                Some(ended) => writeln!(
                    text,
                    "From {} to {}.",
                    whole_seconds(alert.since),
                    whole_seconds(ended)
                ),
                None => writeln!(text, "Since {}.", whole_seconds(alert.since)),
            };
            if !is_over(alert) && !self.is_test {
                let _ = writeln!(text, "Runbook: {}", RunbookHint::command_for(alert));
            }
            text.push('\n');
        }
        text.truncate(text.trim_end().len());
        text
    }
}

fn is_over(alert: &Alert) -> bool {
    alert.state() == AlertState::Ended
}

/// Returns the word for what happened to an alert.
fn event_word(alert: &Alert) -> &'static str {
    if is_over(alert) { "ended" } else { "firing" }
}

fn whole_seconds(at: Timestamp) -> String {
    Timestamp::from_second(at.as_second()).unwrap_or(at).to_string()
}

/// Returns severity, kind and subject of an alert, for people.
fn alert_heading(alert: &Alert, is_test: bool) -> String {
    if is_test {
        return "TEST".to_owned();
    }
    let urgency = if is_over(alert) {
        "OVER".to_owned()
    } else {
        alert.severity.as_str().to_uppercase()
    };
    let of = alert.subject.instance.as_ref();
    let of = of.map(|instance| format!(" of {instance}")).unwrap_or_default();
    format!("{urgency} {}{of}", alert.kind.as_str())
}
