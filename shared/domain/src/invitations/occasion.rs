use super::occasion_reminder::{OccasionReminder, OccasionReminderError, check_reminders};
use crate::ids::{InstanceId, OccasionId, TenantId};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// Longest name of an occasion or a guest, in characters.
pub(super) const NAME_MAX: usize = 200;

/// An occasion to which guests are invited, such as a wedding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Occasion {
    /// The id of the occasion, its own within the tenant.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "ev_demo"))]
    pub id: OccasionId,
    /// The tenant that invites.
    pub tenant: TenantId,
    /// A name for people to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The instance that sends what goes by WhatsApp.
    pub instance: InstanceId,
    /// Date and time at which it begins, by the clocks of its time zone.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>, example = "2027-03-05T18:00:00"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_at: Option<DateTime>,
    /// IANA time zone, if another than the tenant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Language in which guests are written to who have none of their own, such as `pt` or `es`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// `true` if it does not take place: nobody is reminded of it.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub cancelled: bool,
    /// Reminders to its guests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<OccasionReminder>,
}

/// The reason why an occasion cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OccasionError {
    /// The time zone is unknown.
    #[error("occasion `{occasion}`: `{zone}` is no time zone (an IANA name such as America/Sao_Paulo)")]
    TimeZone {
        /// The occasion.
        occasion: OccasionId,
        /// The name that was given.
        zone: String,
    },
    /// The name is empty or too long.
    #[error("occasion `{0}`: its name must have 1 to {NAME_MAX} characters")]
    Name(OccasionId),
    /// The reminders are not valid.
    #[error("occasion `{occasion}`: {why}")]
    Reminders {
        /// The occasion.
        occasion: OccasionId,
        /// Reason.
        why: OccasionReminderError,
    },
}

impl Occasion {
    /// Checks the fields that do not check themselves.
    pub fn check_occasion(&self) -> Result<(), OccasionError> {
        let is_fine = |name: &String| !name.trim().is_empty() && name.chars().count() <= NAME_MAX;
        if !self.name.as_ref().is_none_or(is_fine) {
            return Err(OccasionError::Name(self.id.clone()));
        }
        match &self.time_zone {
            Some(zone) if TimeZone::get(zone).is_err() => Err(OccasionError::TimeZone {
                occasion: self.id.clone(),
                zone: zone.clone(),
            }),
            _ => check_reminders(&self.reminders).map_err(|why| OccasionError::Reminders {
                occasion: self.id.clone(),
                why,
            }),
        }
    }

    /// Returns the time zone of the occasion: its own, or that of the tenant.
    pub fn resolve_time_zone(&self, tenant: TimeZone) -> TimeZone {
        let own = self.time_zone.as_deref();
        own.and_then(|zone| TimeZone::get(zone).ok()).unwrap_or(tenant)
    }

    /// Returns the instant at which it begins; `None` if no date is given.
    pub fn begins_at(&self, tenant: TimeZone) -> Option<Timestamp> {
        let zoned = self.starts_at?.to_zoned(self.resolve_time_zone(tenant)).ok()?;
        Some(zoned.timestamp())
    }

    /// Returns the time until which its guests are kept: `period` after it, and after `now` if it has no date or is over.
    pub fn keep_until(&self, tenant: TimeZone, period: SignedDuration, now: Timestamp) -> Timestamp {
        let last = self.begins_at(tenant).map_or(now, |begins| begins.max(now));
        crate::millis::add_duration(last, period)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn occasion(fields: &serde_json::Value) -> Occasion {
        let mut all = json!({"id": "ev_demo", "tenant": "demo", "instance": "line"});
        let own = fields.as_object().unwrap().clone();
        all.as_object_mut().unwrap().extend(own);
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn it_begins_by_the_clocks_of_its_zone_or_of_the_tenants() {
        let tenant = TimeZone::get("America/Sao_Paulo").unwrap();
        let told = |fields| {
            occasion(&fields)
                .begins_at(tenant.clone())
                .map(|at| at.to_string())
        };
        let at = json!({"starts_at": "2026-12-05T18:00:00"});
        assert_eq!(told(at), Some("2026-12-05T21:00:00Z".to_owned()));
        let own = json!({"starts_at": "2026-12-05T18:00:00", "time_zone": "America/Mexico_City"});
        assert_eq!(told(own), Some("2026-12-06T00:00:00Z".to_owned()));
        assert_eq!(told(json!({})), None);
    }

    #[test]
    fn its_guests_are_kept_after_it_and_never_shorter_than_from_now() {
        let day = SignedDuration::from_hours(24);
        let now: Timestamp = "2026-12-01T00:00:00Z".parse().unwrap();
        let ahead = occasion(&json!({"starts_at": "2026-12-05T00:00:00"}));
        let until = |one: &Occasion| one.keep_until(TimeZone::UTC, day, now).to_string();
        assert_eq!(until(&ahead), "2026-12-06T00:00:00Z");
        let over = occasion(&json!({"starts_at": "2020-12-05T00:00:00"}));
        assert_eq!(until(&over), "2026-12-02T00:00:00Z");
    }

    #[test]
    fn an_unknown_zone_and_an_empty_name_are_refused() {
        for (fields, fine) in [
            (json!({}), true),
            (json!({"name": "Boda"}), true),
            (json!({"name": " "}), false),
            (json!({"time_zone": "Mars/Olympus"}), false),
        ] {
            assert_eq!(occasion(&fields).check_occasion().is_ok(), fine, "{fields}");
        }
    }
}
