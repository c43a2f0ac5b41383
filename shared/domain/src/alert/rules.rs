//! The rules of alerts: which conditions hold, by the numbers of one check and the thresholds of the configuration.

mod acknowledgement;
mod budget;
mod intake;
mod load;
mod model;
mod number_quality;
mod secrets;
mod webhooks;

pub use acknowledgement::UnacknowledgedStatus;
pub use budget::TenantBudgetStatus;
pub use intake::IntakeStatus;
pub use load::InstanceLoad;
pub use secrets::MissingSecret;
pub use webhooks::FailingEndpoint;

use super::{AlertKind, AlertSeverity, AlertSubject, Finding, Findings};
use crate::config::AlertConfig;
use crate::counting::count_things;
use crate::ids::{ConversationId, InstanceId, TenantId};
use crate::instance::{ConnectionStatus, InstanceState};
use crate::millis::{self, add_duration};
use crate::reason::Reason;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Longest time between two checks of which a rate of processing is computed.
const RATE_WINDOW_MAX: SignedDuration = SignedDuration::from_mins(10);

/// The record that one check leaves for the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertWatch {
    /// Time of the last check; `None` before the first. Its age shows for how long nothing was running.
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub looked_at: Option<Timestamp>,
    /// Messages that waited then; `None` if they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<BacklogSample>,
}

/// The number of messages that waited at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BacklogSample {
    /// Time of the count.
    #[serde(with = "millis")]
    pub at: Timestamp,
    /// Number of messages.
    pub waiting: u64,
}

/// The progress of messages that waited at the check before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BacklogStatus {
    /// The count of the check before.
    pub before: BacklogSample,
    /// Number of those messages that still wait.
    pub rest: u64,
}

/// The state of an instance that does not work as it should.
#[derive(Debug, Clone, PartialEq)]
pub struct InstanceStatus {
    /// The instance's tenant.
    pub tenant: TenantId,
    /// The instance.
    pub instance: InstanceId,
    /// Run-time state of the instance.
    pub state: InstanceState,
}

/// A conversation in which a person owes an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonWait {
    /// The conversation's tenant.
    pub tenant: TenantId,
    /// The conversation's instance.
    pub instance: InstanceId,
    /// The conversation.
    pub conversation: ConversationId,
    /// Time since which the customer waits.
    pub since: Timestamp,
    /// The reason why the agent left the conversation to a person; `None` if people had it already.
    pub needed: Option<Reason>,
}

/// The numbers of one check of the installation. `None`: the number is not known this time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InstallationStatus {
    /// Number of waiting messages.
    pub depth: Option<u64>,
    /// Progress of the messages that waited at the check before.
    pub backlog: Option<BacklogStatus>,
    /// The log of new events.
    pub intake: Option<IntakeStatus>,
    /// Number of dead letters, at least.
    pub dead_letters: Option<u64>,
    /// Time of the check before.
    pub last_check: Option<Timestamp>,
    /// Free space on the disk of the data folder, in bytes.
    pub disk_free: Option<u64>,
    /// Load of each instance.
    pub loads: Option<Vec<InstanceLoad>>,
    /// `true` if the depths in `loads` are lower bounds.
    pub more_open: bool,
    /// Instances that do not work as they should, or some of them.
    pub instances: Option<Vec<InstanceStatus>>,
    /// `true` if `instances` lacks some.
    pub more_instances: bool,
    /// Conversations in which a person owes an answer, or some of them.
    pub person_waits: Option<Vec<PersonWait>>,
    /// `true` if `person_waits` lacks some.
    pub more_person_waits: bool,
    /// Instances with messages that WhatsApp did not acknowledge, or some of them.
    pub unacknowledged: Option<Vec<UnacknowledgedStatus>>,
    /// `true` if `unacknowledged` lacks some.
    pub more_unacknowledged: bool,
    /// Used parts of the budgets of tenants, or of some of them.
    pub budgets: Option<Vec<TenantBudgetStatus>>,
    /// Tenants whose budgets another check measures.
    pub budgets_left_out: Vec<TenantId>,
    /// Webhook endpoints that fail for some time or were switched off.
    pub failing_endpoints: Option<Vec<FailingEndpoint>>,
    /// Secrets that entries name and that are not there.
    pub missing_secrets: Option<Vec<MissingSecret>>,
}

/// Returns the conditions that hold at `now`. Kinds that the configuration switches off are never found.
pub fn find_conditions(config: &AlertConfig, status: &InstallationStatus, now: Timestamp) -> Findings {
    let mut findings = Findings::default();
    find_heartbeat(config, status, now, &mut findings);
    load::find_loads(config, status, &mut findings);
    find_slow_processing(config, status, now, &mut findings);
    load::find_full_disk(config, status, &mut findings);
    find_instance_troubles(config, status, now, &mut findings);
    find_person_waits(config, status, now, &mut findings);
    acknowledgement::find_unacknowledged(status, &mut findings);
    budget::find_used_budgets(status, &mut findings);
    webhooks::find_failing_endpoints(status, &mut findings);
    secrets::find_missing_secrets(status, &mut findings);
    findings
        .found
        .retain(|finding| !config.off.contains(&finding.kind));
    findings.looked_at.extend(&config.off);
    findings.looked_at_parts.extend(&config.off);
    findings
}

fn installation_finding(kind: AlertKind, severity: AlertSeverity, summary: String) -> Finding {
    Finding {
        kind,
        severity,
        subject: AlertSubject::default(),
        summary,
        since: None,
        hold: SignedDuration::ZERO,
    }
}

fn from_minutes(minutes: u32) -> SignedDuration {
    SignedDuration::from_mins(i64::from(minutes))
}

/// Returns a number of minutes in words.
fn count_minutes(minutes: u32) -> String {
    count_things(minutes.into(), "minute")
}

fn find_heartbeat(config: &AlertConfig, status: &InstallationStatus, now: Timestamp, into: &mut Findings) {
    into.looked_at.insert(AlertKind::NoHeartbeat);
    let Some(last) = status.last_check else { return };
    if add_duration(last, from_minutes(config.heartbeat_minutes)) < now {
        let summary = format!(
            "Recado was not running from {} to {}",
            in_seconds(last),
            in_seconds(now)
        );
        into.found.push(Finding {
            since: Some(last),
            ..installation_finding(AlertKind::NoHeartbeat, AlertSeverity::Critical, summary)
        });
    }
}

fn in_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

fn find_slow_processing(
    config: &AlertConfig,
    status: &InstallationStatus,
    now: Timestamp,
    into: &mut Findings,
) {
    if let Some(held) = intake::find_held_intake(status, now) {
        into.looked_at.insert(AlertKind::SlowProcessing);
        into.found.push(held);
        return;
    }
    let Some(BacklogStatus { before, rest }) = status.backlog else {
        return;
    };
    let window = now.duration_since(before.at);
    if !window.is_positive() || window > RATE_WINDOW_MAX {
        return;
    }
    into.looked_at.insert(AlertKind::SlowProcessing);
    let done = before.waiting.saturating_sub(rest);
    let rate = count_to_f64(done) / window.as_secs_f64();
    if rest > 0 && rate < config.rate_per_second {
        let (least, minutes) = (config.rate_per_second, config.rate_minutes);
        let summary = format!(
            "{rate:.2} messages a second are processed, less than {least}, for {}, and {rest} wait",
            count_minutes(minutes)
        );
        into.found.push(Finding {
            hold: from_minutes(minutes),
            ..installation_finding(AlertKind::SlowProcessing, AlertSeverity::Warning, summary)
        });
    }
}

/// Converts a count. A count that is too large for exact arithmetic is far above every threshold.
fn count_to_f64(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

fn find_instance_troubles(
    config: &AlertConfig,
    status: &InstallationStatus,
    now: Timestamp,
    into: &mut Findings,
) {
    let Some(instances) = &status.instances else {
        return;
    };
    if !status.more_instances {
        into.looked_at_parts.extend([
            AlertKind::Disconnected,
            AlertKind::MissingKey,
            AlertKind::SilentInstance,
            AlertKind::NumberQuality,
            AlertKind::ModelFails,
        ]);
    }
    for one in instances {
        into.found.extend(disconnected_findings(config, one, now));
        into.found.extend(missing_key_finding(one));
        into.found.extend(model::failing_model_finding(one));
        into.found.extend(silent_finding(one));
        into.found.extend(number_quality::quality_finding(one, now));
    }
}

fn instance_finding(
    one: &InstanceStatus,
    kind: AlertKind,
    severity: AlertSeverity,
    summary: String,
) -> Finding {
    Finding {
        subject: AlertSubject {
            tenant: Some(one.tenant.clone()),
            instance: Some(one.instance.clone()),
            conversation: None,
        },
        ..installation_finding(kind, severity, summary)
    }
}

fn disconnected_findings(config: &AlertConfig, one: &InstanceStatus, now: Timestamp) -> Vec<Finding> {
    if let Some(run) = one.state.refusal() {
        let summary = format!(
            "instance {}: its provider refuses every message ({}): they wait",
            one.instance, run.why
        );
        return vec![Finding {
            since: one.state.since,
            ..instance_finding(one, AlertKind::Disconnected, AlertSeverity::Critical, summary)
        }];
    }
    let connection = one.state.connection;
    if !matches!(
        connection,
        ConnectionStatus::Closed | ConnectionStatus::Unreachable
    ) {
        return Vec::new();
    }
    let Some(since) = one.state.disconnected_since() else {
        return Vec::new();
    };
    let levels = [
        (AlertSeverity::Critical, config.disconnected_critical_minutes),
        (AlertSeverity::Warning, config.disconnected_warning_minutes),
    ];
    let holds = |(_, minutes): &(AlertSeverity, u32)| add_duration(since, from_minutes(*minutes)) < now;
    let finding = |(severity, minutes): (AlertSeverity, u32)| {
        let summary = format!(
            "instance {} is {} for more than {}: its messages wait",
            one.instance,
            connection.as_str(),
            count_minutes(minutes)
        );
        Finding {
            since: Some(since),
            ..instance_finding(one, AlertKind::Disconnected, severity, summary)
        }
    };
    levels.into_iter().filter(holds).map(finding).collect()
}

fn missing_key_finding(one: &InstanceStatus) -> Option<Finding> {
    let of_provider = one.state.connection == ConnectionStatus::NeedsCredentials;
    let whose = match (of_provider, one.state.llm_needs_credentials) {
        (true, _) => "the provider's key",
        (false, true) => "the model's key",
        (false, false) => return None,
    };
    let summary = format!("instance {}: {whose} is missing or was refused", one.instance);
    Some(instance_finding(
        one,
        AlertKind::MissingKey,
        AlertSeverity::Critical,
        summary,
    ))
}

fn silent_finding(one: &InstanceStatus) -> Option<Finding> {
    let since = one.state.inactive_since()?;
    if one.state.connection != ConnectionStatus::Open {
        return None;
    }
    let summary = format!(
        "instance {} says it is connected, and nothing came in since {}",
        one.instance,
        in_seconds(since)
    );
    Some(Finding {
        since: Some(since),
        ..instance_finding(one, AlertKind::SilentInstance, AlertSeverity::Warning, summary)
    })
}

fn find_person_waits(config: &AlertConfig, status: &InstallationStatus, now: Timestamp, into: &mut Findings) {
    let Some(waits) = &status.person_waits else { return };
    if !status.more_person_waits {
        into.looked_at_parts
            .extend([AlertKind::CustomerWaits, AlertKind::PersonNeeded]);
    }
    into.found.extend(waits.iter().filter_map(person_needed_finding));
    let minutes = config.customer_wait_minutes;
    let long = |wait: &&PersonWait| add_duration(wait.since, from_minutes(minutes)) < now;
    into.found.extend(waits.iter().filter(long).map(|wait| {
        let summary = format!(
            "a customer of {} waits for a person for more than {}: conversation {}",
            wait.instance,
            count_minutes(minutes),
            wait.conversation
        );
        wait_finding(wait, AlertKind::CustomerWaits, summary)
    }));
}

fn wait_finding(wait: &PersonWait, kind: AlertKind, summary: String) -> Finding {
    Finding {
        subject: AlertSubject {
            tenant: Some(wait.tenant.clone()),
            instance: Some(wait.instance.clone()),
            conversation: Some(wait.conversation.clone()),
        },
        since: Some(wait.since),
        ..installation_finding(kind, AlertSeverity::Warning, summary)
    }
}

/// Returns the condition that the agent left the conversation to a person. It is told at once.
fn person_needed_finding(wait: &PersonWait) -> Option<Finding> {
    let (instance, conversation) = (&wait.instance, &wait.conversation);
    let what = match wait.needed? {
        // The alert about the model tells of all of them.
        Reason::ModelFailed => return None,
        Reason::TooMuchToRead => "stopped reading a conversation that is too long",
        Reason::TooManyTurns => "pauses: it wrote one contact as many replies in an hour as its limit allows",
        Reason::TokenBudget => "pauses: its tenant used up the tokens of this day",
        Reason::AnswerLoop => "pauses: a contact repeats one text after each reply, as another program does",
        Reason::UnknownOutcome => {
            "does not know whether it answered: the installation was restored from a backup"
        }
        _ => "handed a conversation over to a person",
    };
    let summary = format!("the agent of {instance} {what}: conversation {conversation}");
    Some(wait_finding(wait, AlertKind::PersonNeeded, summary))
}
