//! When the reminders of an occasion fall due, and which batches they are.

use super::batch_id::write_batch_id;
use super::{Occasion, OccasionReminder};
use crate::calendar::lead::subtract_lead;
use crate::ids::{BatchId, hash_parts};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A reminder of an occasion that has a date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedReminder<'a> {
    /// The batch that it is. Its id is the same for the same reminder of the same date, so that it goes once.
    pub batch: BatchId,
    /// The reminder.
    pub reminder: &'a OccasionReminder,
    /// Time at which it falls due.
    pub due: Timestamp,
    /// Time at which the occasion begins.
    pub begins_at: Timestamp,
}

impl Occasion {
    /// Lists the reminders of an occasion that takes place and has a date.
    pub fn list_reminders(&self, tenant: &TimeZone) -> Vec<PlannedReminder<'_>> {
        let Some(begins_at) = self.begins_at(tenant.clone()).filter(|_| !self.cancelled) else {
            return Vec::new();
        };
        let zone = self.resolve_time_zone(tenant.clone());
        let plan = |reminder| self.plan_reminder(reminder, begins_at, &zone);
        self.reminders.iter().filter_map(plan).collect()
    }

    fn plan_reminder<'a>(
        &self,
        reminder: &'a OccasionReminder,
        begins_at: Timestamp,
        zone: &TimeZone,
    ) -> Option<PlannedReminder<'a>> {
        let due = subtract_lead(begins_at, &reminder.before, zone)?;
        let date = begins_at.as_millisecond().to_string();
        let parts = [
            "reminder",
            self.id.as_str(),
            &date,
            &reminder.before,
            reminder.channel.as_str(),
            reminder.template.as_str(),
        ];
        let bits = u64::from_str_radix(&hash_parts(&parts, 8), 16).ok()?;
        Some(PlannedReminder {
            batch: write_batch_id(due, bits),
            reminder,
            due,
            begins_at,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::GuestStatus;
    use super::*;
    use serde_json::{Value, json};

    fn occasion(fields: &Value) -> Occasion {
        let mut all = json!({"id": "ev_demo", "tenant": "demo", "instance": "line", "starts_at": "2026-11-01T10:00:00",
            "time_zone": "America/New_York"});
        all.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    fn reminded(before: &str) -> Value {
        json!({"before": before, "template": "remind"})
    }

    #[test]
    fn a_reminder_is_due_before_the_occasion_by_its_clocks() {
        // The clocks go back in the night before.
        let one = occasion(&json!({"reminders": [reminded("P1D"), reminded("PT2H")]}));
        let due: Vec<String> = one
            .list_reminders(&TimeZone::UTC)
            .iter()
            .map(|planned| planned.due.to_string())
            .collect();
        assert_eq!(due, ["2026-10-31T14:00:00Z", "2026-11-01T13:00:00Z"]);
        assert_eq!(
            one.reminders[0].guests,
            [GuestStatus::Pending, GuestStatus::Confirmed]
        );
    }

    #[test]
    fn a_cancelled_occasion_and_one_without_a_date_have_none() {
        for fields in [json!({"cancelled": true}), json!({"starts_at": null})] {
            let mut fields = fields;
            fields["reminders"] = json!([reminded("P1D")]);
            assert_eq!(occasion(&fields).list_reminders(&TimeZone::UTC), [], "{fields}");
        }
    }

    #[test]
    fn the_same_reminder_of_the_same_date_is_the_same_batch() {
        let ids = |fields: Value| -> Vec<BatchId> {
            let one = occasion(&fields);
            let planned = one.list_reminders(&TimeZone::UTC);
            planned.into_iter().map(|planned| planned.batch).collect()
        };
        let reminders = json!([reminded("P1D"), reminded("PT2H")]);
        let first = ids(json!({"reminders": reminders}));
        assert_ne!(first[0], first[1]);
        assert_eq!(ids(json!({"reminders": reminders, "name": "Boda"})), first);
        let moved = ids(json!({"reminders": reminders, "starts_at": "2026-11-02T10:00:00"}));
        assert!(moved.iter().all(|id| !first.contains(id)));
    }
}
