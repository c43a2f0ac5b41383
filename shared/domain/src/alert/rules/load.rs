//! The rules of load: too many messages wait, too many were given up, or the disk is full.

use super::super::{AlertKind, AlertSeverity, AlertSubject, Finding, Findings};
use super::{InstallationStatus, count_minutes, from_minutes, installation_finding};
use crate::config::AlertConfig;
use crate::ids::{InstanceId, TenantId};

/// The load of an instance: what waits, and what was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceLoad {
    /// The instance's tenant.
    pub tenant: TenantId,
    /// The instance.
    pub instance: InstanceId,
    /// Number of its open outgoing messages and pending events.
    pub depth: u64,
    /// Number of its dead letters.
    pub dead_letters: u64,
}

/// Judges what waits and what was given up: of the whole installation, and of each instance by itself, since one of many
/// may be in trouble while the installation's numbers are small.
pub(super) fn find_loads(config: &AlertConfig, status: &InstallationStatus, into: &mut Findings) {
    if let Some(depth) = status.depth {
        into.looked_at.insert(AlertKind::QueueDepth);
        into.found.extend(find_depth(config, depth, None));
    }
    if let Some(count) = status.dead_letters {
        into.looked_at.insert(AlertKind::DeadLetters);
        into.found.extend(find_dead_letters(config, count, None));
    }
    let Some(loads) = &status.loads else { return };
    into.looked_at_parts.insert(AlertKind::DeadLetters);
    if !status.more_open {
        into.looked_at_parts.insert(AlertKind::QueueDepth);
    }
    for load in loads {
        into.found.extend(find_depth(config, load.depth, Some(load)));
        into.found
            .extend(find_dead_letters(config, load.dead_letters, Some(load)));
    }
}

pub(super) fn find_full_disk(config: &AlertConfig, status: &InstallationStatus, into: &mut Findings) {
    let Some(free) = status.disk_free else { return };
    into.looked_at.insert(AlertKind::FullDisk);
    let (free, least) = (free / 1_000_000, config.disk_free_megabytes);
    if free < least {
        let summary = format!("the disk of the data folder has {free} MB left, less than {least} MB");
        let finding = installation_finding(AlertKind::FullDisk, AlertSeverity::Critical, summary);
        into.found.push(finding);
    }
}

/// Returns the alerts on a depth: of an instance, or of the whole installation (`None`).
fn find_depth(config: &AlertConfig, depth: u64, of: Option<&InstanceLoad>) -> Vec<Finding> {
    let levels = [
        (AlertSeverity::Critical, config.depth_critical),
        (AlertSeverity::Warning, config.depth_warning),
    ];
    let finding = |(severity, threshold): (AlertSeverity, u64)| {
        let minutes = config.depth_minutes;
        let summary = format!(
            "{depth} messages{} wait: more than {threshold} for {}",
            name_owner(of),
            count_minutes(minutes)
        );
        Finding {
            hold: from_minutes(minutes),
            subject: subject_of(of),
            ..installation_finding(AlertKind::QueueDepth, severity, summary)
        }
    };
    let is_above = |(_, threshold): &(AlertSeverity, u64)| depth > *threshold;
    levels.into_iter().filter(is_above).map(finding).collect()
}

/// Returns the alerts on dead letters: of an instance, or of the whole installation (`None`).
fn find_dead_letters(config: &AlertConfig, count: u64, of: Option<&InstanceLoad>) -> Vec<Finding> {
    let levels = [
        (AlertSeverity::Critical, config.dead_letters_critical),
        (AlertSeverity::Warning, config.dead_letters_warning),
    ];
    let finding = |(severity, threshold): (AlertSeverity, u64)| {
        let summary = format!("there are more than {threshold} dead letters{}", name_owner(of));
        Finding {
            subject: subject_of(of),
            ..installation_finding(AlertKind::DeadLetters, severity, summary)
        }
    };
    let is_above = |(_, threshold): &(AlertSeverity, u64)| count > *threshold;
    levels.into_iter().filter(is_above).map(finding).collect()
}

/// Returns the part of a summary that names the instance.
fn name_owner(of: Option<&InstanceLoad>) -> String {
    of.map_or_else(String::new, |of| format!(" of instance {}", of.instance))
}

fn subject_of(load: Option<&InstanceLoad>) -> AlertSubject {
    AlertSubject {
        tenant: load.map(|load| load.tenant.clone()),
        instance: load.map(|load| load.instance.clone()),
        conversation: None,
    }
}
