//! Reminders of occasions, as a configuration document has them.

use super::{GuestStatus, InvitationChannel};
use crate::calendar::lead::measure_lead;
use crate::ids::InvitationTemplateName;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Greatest number of reminders of one occasion.
const REMINDERS_MAX: usize = 8;

/// A reminder of an occasion: a template that goes to its guests at a time before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OccasionReminder {
    /// The time before the occasion begins, as an ISO 8601 duration such as `P1D` or `PT2H`: 5 minutes to 30 days. A day is one of the
    /// occasion's zone.
    #[cfg_attr(feature = "schema", schema(example = "P1D"))]
    pub before: String,
    /// Name of the template.
    pub template: InvitationTemplateName,
    /// The channel by which it goes: `whatsapp` if absent.
    #[serde(default = "by_whatsapp")]
    pub channel: InvitationChannel,
    /// Statuses of the guests to whom it goes, as they are when it falls due: `pending`, `confirmed`, or both, which it is if absent.
    #[serde(default = "all_who_may_come")]
    pub guests: Vec<GuestStatus>,
}

fn by_whatsapp() -> InvitationChannel {
    InvitationChannel::Whatsapp
}

fn all_who_may_come() -> Vec<GuestStatus> {
    vec![GuestStatus::Pending, GuestStatus::Confirmed]
}

/// The reason why reminders are not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OccasionReminderError {
    /// A reminder has no valid time.
    #[error(
        "reminders.before must be a duration of weeks, days, hours and minutes such as P1D or PT2H, from 5 minutes to 30 days"
    )]
    Time,
    /// A reminder names no guests, or such as decline.
    #[error("reminders.guests must name pending, confirmed, or both")]
    Guests,
    /// There are too many reminders, or two of the same time, template and channel.
    #[error("there are at most {REMINDERS_MAX} reminders, each of another time, template or channel")]
    Number,
}

/// Checks the reminders of an occasion.
pub(super) fn check_reminders(reminders: &[OccasionReminder]) -> Result<(), OccasionReminderError> {
    let mut known = BTreeSet::new();
    for reminder in reminders {
        let length = measure_lead(&reminder.before).ok_or(OccasionReminderError::Time)?;
        let guests = &reminder.guests;
        if guests.is_empty() || guests.contains(&GuestStatus::Declined) {
            return Err(OccasionReminderError::Guests);
        }
        known.insert((length, &reminder.template, reminder.channel));
    }
    if known.len() < reminders.len() || known.len() > REMINDERS_MAX {
        return Err(OccasionReminderError::Number);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn reminded(before: &str) -> Value {
        json!({"before": before, "template": "remind"})
    }

    #[test]
    fn reminders_that_nobody_can_mean_are_refused() {
        let told = |reminders: Value| {
            let read: Vec<OccasionReminder> = serde_json::from_value(reminders).unwrap();
            check_reminders(&read)
        };
        assert_eq!(told(json!([reminded("P1D"), reminded("PT2H")])), Ok(()));
        assert_eq!(told(json!([reminded("1 day")])), Err(OccasionReminderError::Time));
        assert_eq!(
            told(json!([reminded("P1D"), reminded("PT24H")])),
            Err(OccasionReminderError::Number)
        );
        for guests in [json!([]), json!(["declined"])] {
            let mut one = reminded("P1D");
            one["guests"] = guests;
            assert_eq!(told(json!([one])), Err(OccasionReminderError::Guests));
        }
    }
}
