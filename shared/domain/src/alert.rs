//! Alerts: conditions that a person should know of. Each is told once when it begins, and once when it is over.
//!
//! A [`Finding`] is a condition that holds now. [`decide_alerts`] compares the findings with the live alerts and returns
//! the alerts that change. Alerts that must hold for a time before they are told are remembered as watched.

mod notification;
mod rules;

pub use notification::{
    ATTEMPTS_MAX, DestinationId, Notification, NotificationId, NotificationState, RunbookHint, retry_delay,
};
pub use rules::{
    AlertWatch, BacklogSample, BacklogStatus, FailingEndpoint, InstallationStatus, InstanceLoad,
    InstanceStatus, IntakeStatus, MissingSecret, PersonWait, TenantBudgetStatus, UnacknowledgedStatus,
    find_conditions,
};

use crate::ids::{ConversationId, InstanceId, TenantId, hash_parts};
use crate::millis::{self, add_duration};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use strum::{IntoStaticStr, VariantArray};

/// Time for which an alert that is over is kept: 90 days.
pub const ALERT_RETENTION: SignedDuration = SignedDuration::from_hours(90 * 24);

/// The condition that an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AlertKind {
    /// Recado was not running, or its minutely pass did not run.
    NoHeartbeat,
    /// The disk of the data folder is almost full.
    FullDisk,
    /// Too many messages wait.
    QueueDepth,
    /// Messages wait, and too few of them are processed.
    SlowProcessing,
    /// There are too many dead letters.
    DeadLetters,
    /// An instance is not connected.
    Disconnected,
    /// The key of an instance or of its model is missing or was refused. Or a secret that another entry names is not there.
    MissingKey,
    /// An instance says that it is connected, and nothing comes in.
    SilentInstance,
    /// A customer waits for a person.
    CustomerWaits,
    /// The agent left a conversation to a person, and nobody has taken it.
    PersonNeeded,
    /// WhatsApp did not acknowledge messages that the provider accepted.
    NotAcknowledged,
    /// WhatsApp judges a number as less than good, or lowered its messaging limit.
    NumberQuality,
    /// A tenant's budget of the month is nearly or wholly used up.
    Budget,
    /// The model gives no replies: contacts get the error message.
    ModelFails,
    /// Webhook endpoints of a tenant fail, or were switched off since they failed for days.
    WebhookFails,
}

impl AlertKind {
    /// All kinds, those of the whole installation first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the word for the kind in records, in the configuration and in the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the kind's page of `docs/runbooks`, without its ending.
    pub fn runbook(self) -> &'static str {
        match self {
            Self::NoHeartbeat => "no-heartbeat",
            Self::FullDisk => "full-disk",
            Self::QueueDepth => "waiting",
            Self::SlowProcessing => "slow-processing",
            Self::DeadLetters => "dead-letters",
            Self::Disconnected => "disconnected-instance",
            Self::MissingKey => "needs-credentials",
            Self::SilentInstance => "silent-instance",
            Self::CustomerWaits => "customer-waits",
            Self::PersonNeeded => "person-needed",
            Self::NotAcknowledged => "not-acknowledged",
            Self::NumberQuality => "number-quality",
            Self::Budget => "budget",
            Self::ModelFails => "model-fails",
            Self::WebhookFails => "webhook-fails",
        }
    }
}

/// The urgency of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum AlertSeverity {
    /// A person should look within the hour.
    Warning,
    /// A person should act now.
    Critical,
}

impl AlertSeverity {
    /// Returns the word for the severity in records and the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The part of the installation that an alert is about. All fields are `None` for the whole installation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertSubject {
    /// The tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<TenantId>,
    /// The instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
}

/// The state of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AlertState {
    /// The condition holds, but not long enough yet. Nobody is told.
    Watched,
    /// The condition holds, and it is told.
    Firing,
    /// The condition is over, and that is told.
    Ended,
    /// The condition was over before it was told. The record is removed.
    Forgotten,
}

/// An alert's record: one occurrence of a condition, from its beginning to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Id of this occurrence: the same at its beginning and at its end.
    pub id: String,
    /// The condition.
    pub kind: AlertKind,
    /// The urgency.
    pub severity: AlertSeverity,
    /// The part of the installation that the alert is about.
    #[serde(default)]
    pub subject: AlertSubject,
    /// Short text for people. No personal data.
    pub summary: String,
    /// Time since which the condition holds.
    #[serde(with = "millis")]
    pub since: Timestamp,
    /// Time at which the alert was told. `None`: the condition does not hold long enough yet.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub fired_at: Option<Timestamp>,
    /// Time at which the condition was found to be over.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

impl Alert {
    /// Returns the alert's state.
    pub fn state(&self) -> AlertState {
        match (self.fired_at, self.ended_at) {
            (None, None) => AlertState::Watched,
            (Some(_), None) => AlertState::Firing,
            (Some(_), Some(_)) => AlertState::Ended,
            (None, Some(_)) => AlertState::Forgotten,
        }
    }

    /// Returns the text that names the condition of the alert: there is one live alert of each.
    pub fn condition_key(&self) -> String {
        condition_key(self.severity, self.kind, &self.subject)
    }

    /// Returns the time at which the record of an ended alert expires; `None` while the alert is live.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.ended_at.map(|at| add_duration(at, ALERT_RETENTION))
    }

    fn begin_watch(finding: &Finding, since: Timestamp) -> Self {
        let key = condition_key(finding.severity, finding.kind, &finding.subject);
        let id = hash_parts(&[&key, &since.as_millisecond().to_string()], 16);
        Self {
            id,
            kind: finding.kind,
            severity: finding.severity,
            subject: finding.subject.clone(),
            summary: finding.summary.clone(),
            since,
            fired_at: None,
            ended_at: None,
        }
    }

    /// Makes an alert that tells nothing but that alerts arrive.
    pub fn for_test(now: Timestamp) -> Self {
        let finding = Finding {
            kind: AlertKind::NoHeartbeat,
            severity: AlertSeverity::Critical,
            subject: AlertSubject::default(),
            summary: "This is a test: nothing is wrong.".to_owned(),
            since: None,
            hold: SignedDuration::ZERO,
        };
        Self {
            fired_at: Some(now),
            ..Self::begin_watch(&finding, now)
        }
    }
}

fn condition_key(severity: AlertSeverity, kind: AlertKind, subject: &AlertSubject) -> String {
    let instance = subject.instance.as_ref().map(ToString::to_string);
    // A condition of a tenant as a whole is another one for each tenant.
    let of_tenant = || subject.tenant.as_ref().map(|tenant| format!("@{tenant}"));
    let instance = instance.or_else(of_tenant).unwrap_or_default();
    let conversation = subject.conversation.as_ref().map(ToString::to_string);
    let conversation = conversation.unwrap_or_default();
    let (kind, severity) = (kind.as_str(), severity.as_str());
    format!("{kind}#{severity}#{instance}#{conversation}")
}

/// A condition that holds now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The condition.
    pub kind: AlertKind,
    /// The urgency.
    pub severity: AlertSeverity,
    /// The part of the installation that the condition is about.
    pub subject: AlertSubject,
    /// Short text for people. No personal data.
    pub summary: String,
    /// Time since which the condition is known to hold; `None`: since now.
    pub since: Option<Timestamp>,
    /// Time for which the condition must hold before it is told.
    pub hold: SignedDuration,
}

/// The result of one check: the conditions that hold, and the kinds whose conditions were looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Conditions that hold now.
    pub found: Vec<Finding>,
    /// Kinds whose condition of the whole installation was looked at. A live alert of another kind is left as it is.
    pub looked_at: BTreeSet<AlertKind>,
    /// Kinds of which every condition of an instance or a conversation was looked at.
    pub looked_at_parts: BTreeSet<AlertKind>,
    /// Tenants whose budgets this check left out. Live alerts of these budgets are left as they are.
    pub budgets_left_out: BTreeSet<TenantId>,
}

impl Findings {
    /// Returns `true` if the condition of `alert` was looked at.
    fn covers_alert(&self, alert: &Alert) -> bool {
        let tenant = alert.subject.tenant.as_ref();
        if alert.kind == AlertKind::Budget && tenant.is_some_and(|one| self.budgets_left_out.contains(one)) {
            return false;
        }
        let kinds = match alert.subject.instance {
            Some(_) => &self.looked_at_parts,
            None => &self.looked_at,
        };
        kinds.contains(&alert.kind)
    }
}

/// Returns the live alerts that change, and those that begin, each as it is to be stored. The most urgent come first.
pub fn decide_alerts(live: &[Alert], findings: &Findings, now: Timestamp) -> Vec<Alert> {
    let known: BTreeMap<String, &Alert> = live.iter().map(|alert| (alert.condition_key(), alert)).collect();
    let mut changed = Vec::new();
    let mut holding = BTreeSet::new();
    for finding in &findings.found {
        let key = condition_key(finding.severity, finding.kind, &finding.subject);
        let before = known.get(&key).copied();
        if holding.insert(key) {
            changed.extend(update_alert(before, finding, now));
        }
    }
    let is_over = |alert: &&Alert| findings.covers_alert(alert) && !holding.contains(&alert.condition_key());
    changed.extend(live.iter().filter(is_over).map(|alert| Alert {
        ended_at: Some(now),
        ..alert.clone()
    }));
    changed.sort_by_key(|alert| (alert.kind, std::cmp::Reverse(alert.severity)));
    changed
}

/// Returns the alert of a condition that holds, if its record changes.
fn update_alert(before: Option<&Alert>, finding: &Finding, now: Timestamp) -> Option<Alert> {
    let mut alert = match before {
        Some(alert) if alert.fired_at.is_some() => return None,
        Some(alert) => alert.clone(),
        None => Alert::begin_watch(finding, finding.since.unwrap_or(now).min(now)),
    };
    let is_due = add_duration(alert.since, finding.hold) <= now;
    if before.is_some() && !is_due {
        return None;
    }
    if is_due {
        alert.fired_at = Some(now);
        alert.summary.clone_from(&finding.summary);
    }
    Some(alert)
}

#[cfg(test)]
mod tests;
