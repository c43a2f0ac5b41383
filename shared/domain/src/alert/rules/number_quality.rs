//! The rules of numbers: WhatsApp judges one as less than good, lowered its messaging limit, or lets it begin no chats.

use super::super::{AlertKind, AlertSeverity, Finding};
use super::{InstanceStatus, instance_finding};
use crate::instance::{NumberQuality, NumberStanding};
use jiff::Timestamp;

/// Finds out whether the number of an instance lost quality or reach. A low quality is critical: a restriction may follow.
pub(super) fn quality_finding(one: &InstanceStatus, now: Timestamp) -> Option<Finding> {
    if let Some(until) = one.state.first_contacts_from.filter(|until| *until > now) {
        let summary = format!(
            "instance {}: WhatsApp refused a message to a person who never wrote: no other goes out before {}",
            one.instance,
            super::in_seconds(until)
        );
        return Some(instance_finding(
            one,
            AlertKind::NumberQuality,
            AlertSeverity::Critical,
            summary,
        ));
    }
    let standing = one.state.standing.filter(NumberStanding::is_troubled)?;
    let severity = if standing.quality == NumberQuality::Red {
        AlertSeverity::Critical
    } else {
        AlertSeverity::Warning
    };
    let mut told = Vec::new();
    if matches!(standing.quality, NumberQuality::Yellow | NumberQuality::Red) {
        told.push(format!("its quality is {}", standing.quality.as_str()));
    }
    if let (Some(before), Some(limit)) = (standing.limit_before, standing.limit) {
        told.push(format!(
            "its limit fell from {} to {}",
            before.describe(),
            limit.describe()
        ));
    }
    let summary = format!("instance {}: {}", one.instance, told.join(", and "));
    let since = standing
        .fell_at
        .map_or(standing.since, |fell_at| fell_at.max(standing.since));
    Some(Finding {
        since: Some(since),
        ..instance_finding(one, AlertKind::NumberQuality, severity, summary)
    })
}
