//! The calendars in which agents book appointments: what a tenant configures.

use super::error::check_tenant_exists;
use super::{ConfigError, CredentialRef, Tenant};
use crate::calendar::{BookingRules, Reminder, check_reminders};
use crate::ids::{CalendarId, TenantId};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Greatest number of lengths of appointments.
const LENGTHS_MAX: usize = 8;

/// Longest id of a calendar at Google, in characters.
const GOOGLE_ID_MAX: usize = 254;

/// A calendar in which agents of a tenant book. Exactly one kind is set: `google` or `simulated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Calendar {
    /// The calendar's id.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "clinic-agenda"))]
    pub id: CalendarId,
    /// The tenant that the calendar belongs to.
    pub tenant: TenantId,
    /// The lengths that an appointment may have, in minutes: 1 to 8. The first is taken where none is asked for.
    #[cfg_attr(feature = "schema", schema(example = json!([30, 60])))]
    #[serde(default = "default_appointment_minutes")]
    pub minutes: Vec<u16>,
    /// The rules by which appointments are taken.
    pub rules: BookingRules,
    /// Reminders that each appointment of the calendar carries: at most 4, each with another `before`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reminders: Vec<Reminder>,
    /// A calendar of Google's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub google: Option<GoogleCalendarAccess>,
    /// `true`: a simulated calendar. Nothing is asked or told anywhere; its events are the bookings that Recado stored.
    #[cfg_attr(feature = "schema", schema(default = false))]
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

/// A calendar of Google's, and the credential with which it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GoogleCalendarAccess {
    /// The calendar's id at Google: an e-mail address.
    #[cfg_attr(feature = "schema", schema(example = "agenda@clinic.example"))]
    pub calendar_id: String,
    /// Reference to a secret of the tenant (`env:NAME` or `ssm:/path/name`): the key file of a service account, or a refresh token with
    /// its client.
    pub credential: CredentialRef,
}

fn default_appointment_minutes() -> Vec<u16> {
    vec![30]
}

impl Calendar {
    /// Checks the calendar by itself.
    fn check_calendar(&self) -> Result<(), String> {
        let rules = self.rules.check_rules();
        rules.map_err(|why| why.to_string())?;
        let lengths: BTreeSet<u16> = self.minutes.iter().copied().collect();
        if !(1..=LENGTHS_MAX).contains(&lengths.len()) || lengths.len() != self.minutes.len() {
            return Err(format!(
                "minutes holds 1 to {LENGTHS_MAX} lengths of appointments, each once"
            ));
        }
        for minutes in lengths {
            let fits = self.rules.check_duration(minutes);
            fits.map_err(|why| why.to_string())?;
        }
        check_reminders(&self.reminders).map_err(|why| why.to_string())?;
        match &self.google {
            Some(google) if !self.simulated => google.check_google_access(&self.tenant),
            None if self.simulated => Ok(()),
            _ => Err("a calendar needs exactly one kind: `google` or `simulated`".to_owned()),
        }
    }

    /// Returns the reference to the secret with which the calendar is asked.
    pub fn credential(&self) -> Option<&CredentialRef> {
        self.google.as_ref().map(|google| &google.credential)
    }

    /// Returns the name under which cells of the calendar are held: that of the other side, so that two calendars of the
    /// configuration that are one there do not book the same time.
    pub fn name_cell_calendar(&self) -> String {
        match &self.google {
            Some(google) => google.calendar_id.clone(),
            None => format!("simulated:{}", self.id),
        }
    }

    /// Returns the zone in which the hours are read, and the calendar shows its events.
    pub fn resolve_time_zone(&self, tenant: &Tenant) -> TimeZone {
        self.rules.resolve_time_zone(tenant.resolve_time_zone())
    }

    /// Returns the length of an appointment that asks for none.
    pub fn usual_appointment_length(&self) -> SignedDuration {
        let minutes = self.minutes.first().copied().unwrap_or(30);
        SignedDuration::from_mins(i64::from(minutes))
    }
}

impl GoogleCalendarAccess {
    fn check_google_access(&self, tenant: &TenantId) -> Result<(), String> {
        let fine = |c: char| c.is_ascii_graphic();
        let is_id = self.calendar_id.chars().count() <= GOOGLE_ID_MAX
            && self.calendar_id.chars().all(fine)
            && self
                .calendar_id
                .split('@')
                .filter(|part| !part.is_empty())
                .count()
                == 2;
        if !is_id {
            return Err(
                "google.calendar_id must be the calendar's id at Google, an e-mail address".to_owned(),
            );
        }
        if !self.credential.belongs_to_tenant(tenant) {
            let allowed = CredentialRef::describe_allowed_for(tenant);
            return Err(format!("its credential must be {allowed}"));
        }
        Ok(())
    }
}

/// Checks the calendars of a configuration: each by itself, and that its tenant exists.
pub(super) fn check_calendars(
    calendars: &[Calendar],
    tenants: &BTreeSet<&TenantId>,
) -> Result<(), ConfigError> {
    for calendar in calendars {
        let of = format!("calendar `{}`", calendar.id);
        check_tenant_exists(&of, &calendar.tenant, tenants)?;
        let checked = calendar.check_calendar();
        checked.map_err(|why| ConfigError::of(of, why))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigDocument, ConfigEntry, EntryRef};
    use serde_json::{Value, json};

    fn calendar(changes: &Value) -> Value {
        let mut calendar = json!({"id": "agenda", "tenant": "clinic", "minutes": [30, 60],
            "rules": {"hours": {"mon": ["09:00-12:00"]}, "buffer_after_minutes": 10},
            "google": {"calendar_id": "agenda@clinic.example", "credential": "env:RECADO_CREDENTIAL_CLINIC_KEY"}});
        for (name, value) in changes.as_object().unwrap() {
            calendar[name] = value.clone();
        }
        calendar
    }

    fn problem(changes: &Value) -> Option<String> {
        let document =
            json!({"tenants": [{"id": "clinic"}, {"id": "shop"}], "calendars": [calendar(changes)]});
        let document: ConfigDocument = serde_json::from_value(document).unwrap();
        let checked = document.validate_against(&ConfigDocument::default());
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn a_calendar_with_hours_and_a_credential_of_its_tenant_is_valid() {
        assert_eq!(problem(&json!({})), None);
        assert_eq!(problem(&json!({"google": null, "simulated": true})), None);
        let read: Calendar = serde_json::from_value(calendar(&json!({}))).unwrap();
        assert_eq!(read.usual_appointment_length(), SignedDuration::from_mins(30));
        assert_eq!(
            serde_json::from_value::<Calendar>(serde_json::to_value(&read).unwrap()).unwrap(),
            read
        );
    }

    #[test]
    fn what_is_wrong_with_a_calendar_is_said() {
        let google = |id: &str, key: &str| json!({"google": {"calendar_id": id, "credential": key}});
        let own = "env:RECADO_CREDENTIAL_CLINIC_KEY";
        for (changes, part) in [
            (json!({"tenant": "nobody"}), "tenant `nobody`"),
            (json!({"minutes": []}), "1 to 8 lengths"),
            (json!({"minutes": [30, 30]}), "each once"),
            (json!({"minutes": [580]}), "at most 585"),
            (json!({"google": null}), "exactly one kind"),
            (json!({"simulated": true}), "exactly one kind"),
            (google("agenda", own), "an e-mail address"),
            (google("a b@clinic.example", own), "an e-mail address"),
            (
                google("a@clinic.example", "env:RECADO_CREDENTIAL_SHOP_KEY"),
                "RECADO_CREDENTIAL_CLINIC_",
            ),
            (
                json!({"rules": {"hours": {"mon": ["09:00-12:00"]}, "grid_minutes": 7}}),
                "grid_minutes",
            ),
            (
                json!({"rules": {"hours": {"mon": ["09:00-12:00"], "time_zone": "Mars/Base"}}}),
                "Mars/Base",
            ),
        ] {
            let told = problem(&changes).unwrap_or_default();
            assert!(told.contains(part), "{changes}: {told}");
        }
    }

    #[test]
    fn a_calendar_keeps_its_tenant_and_goes_when_a_document_leaves_it_out() {
        let known = json!({"tenants": [{"id": "clinic"}], "calendars": [calendar(&json!({}))]});
        let known: ConfigDocument = serde_json::from_value(known).unwrap();
        let none = BTreeSet::new();
        let plan = known.plan_prune(&known.calendars[0].clone().into_document(), &none);
        assert!(plan.remove.is_empty(), "its tenant stays with it");
        let plan = known.plan_prune(&ConfigDocument::default(), &none);
        let removed = plan.remove.list_entry_names();
        let removed: Vec<&str> = removed.iter().map(EntryRef::kind_word).collect();
        assert_eq!(removed, ["calendar", "tenant"]);
        assert_eq!(known.without(&plan.remove), ConfigDocument::default());
    }
}
