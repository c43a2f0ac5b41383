//! Reminders of appointments: when they fall due, and what stands in them.

use super::lead::{measure_lead, subtract_lead};
use crate::content::{Content, MessageTemplate};
use crate::effects::EffectId;
use crate::ids::hash_parts;
use crate::scheduled::ScheduledId;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Greatest number of reminders of one calendar.
pub const REMINDERS_MAX: usize = 4;

/// Longest text of a reminder, in characters.
const TEXT_MAX: usize = 1_000;

/// Greatest number of values of a template.
const PARAMETERS_MAX: usize = 10;

/// A reminder of an appointment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Reminder {
    /// The time before the appointment, as an ISO 8601 duration of weeks, days, hours and minutes: 5 minutes to 30 days. A day is one of
    /// the calendar's zone: the time on the clock stays the same where clocks change.
    #[cfg_attr(feature = "schema", schema(example = "P1D"))]
    pub before: String,
    /// The text, with `{date}` and `{time}` of the appointment. It is sent where the provider takes texts.
    #[cfg_attr(feature = "schema", schema(max_length = 1000))]
    pub text: String,
    /// The template that is sent outside the 24-hour window. If absent, nothing is sent then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<ReminderTemplate>,
}

/// A template of the provider's that reminds of an appointment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReminderTemplate {
    /// The template's name at the provider.
    pub name: String,
    /// The template's language, such as `pt_BR`.
    #[cfg_attr(feature = "schema", schema(example = "pt_BR"))]
    pub language: String,
    /// The values of its body, in order, with `{date}` and `{time}` of the appointment: at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
}

/// The reasons why a reminder is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReminderError {
    /// There are too many reminders, or two at the same time.
    #[error("reminders holds at most {REMINDERS_MAX} reminders, each with another `before`")]
    Number,
    /// The time before the appointment cannot be used.
    #[error(
        "reminders.before must be a duration of weeks, days, hours and minutes such as P1D or PT2H, from 5 minutes to 30 days"
    )]
    Before,
    /// The text is empty or too long, or has a place that is not known.
    #[error("reminders.text must have 1 to 1000 characters, and no places but {{date}} and {{time}}")]
    Text,
    /// The template has no name or language, or values that cannot be sent.
    #[error(
        "reminders.template needs name and language, and at most 10 parameters of 1 to 1000 characters, with no places but {{date}} and {{time}}"
    )]
    Template,
}

/// Checks the reminders of a calendar.
pub fn check_reminders(reminders: &[Reminder]) -> Result<(), ReminderError> {
    let mut leads = Vec::new();
    for reminder in reminders {
        leads.push(measure_lead(&reminder.before).ok_or(ReminderError::Before)?);
        if !is_fine_text(&reminder.text) {
            return Err(ReminderError::Text);
        }
        if reminder
            .template
            .as_ref()
            .is_some_and(|template| !template.is_fine())
        {
            return Err(ReminderError::Template);
        }
    }
    leads.sort();
    let all = leads.len();
    leads.dedup();
    if leads.len() < all || all > REMINDERS_MAX {
        return Err(ReminderError::Number);
    }
    Ok(())
}

fn is_fine_text(text: &str) -> bool {
    let without_places = text.replace("{date}", "").replace("{time}", "");
    (1..=TEXT_MAX).contains(&text.trim().chars().count()) && !without_places.contains(['{', '}'])
}

impl ReminderTemplate {
    fn is_fine(&self) -> bool {
        let named = !self.name.trim().is_empty() && !self.language.trim().is_empty();
        named
            && self.parameters.len() <= PARAMETERS_MAX
            && self.parameters.iter().all(|text| is_fine_text(text))
    }
}

impl Reminder {
    /// Returns the time at which the reminder of an appointment that begins at `start` falls due.
    pub fn due_at(&self, start: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        subtract_lead(start, &self.before, zone)
    }

    /// Makes the content of the message: the text if `takes_text`, else the template. `None`: there is none that may be sent.
    pub fn make_content(&self, start: Timestamp, zone: &TimeZone, takes_text: bool) -> Option<Content> {
        let fill = |text: &str| {
            let start = start.to_zoned(zone.clone());
            let (date, time) = (
                start.strftime("%d/%m/%Y").to_string(),
                start.strftime("%H:%M").to_string(),
            );
            text.replace("{date}", &date).replace("{time}", &time)
        };
        if takes_text {
            return Some(Content::from_text(fill(&self.text)));
        }
        let template = self.template.as_ref()?;
        let values = template
            .parameters
            .iter()
            .map(|text| json!({"type": "text", "text": fill(text)}));
        let values: Vec<_> = values.collect();
        let components = if values.is_empty() {
            Vec::new()
        } else {
            vec![json!({"type": "body", "parameters": values})]
        };
        Some(Content::Template(MessageTemplate {
            name: template.name.clone(),
            language: template.language.clone(),
            components,
        }))
    }
}

/// Returns the id of the scheduled message that reminds of an event at this time: the same for the same reminder, so that it is
/// stored once.
pub fn name_reminder(event: &EffectId, start: Timestamp, due: Timestamp) -> Option<ScheduledId> {
    let (start, due) = (
        start.as_millisecond().to_string(),
        due.as_millisecond().to_string(),
    );
    let hash = hash_parts(&["reminder", event.as_str(), &start, &due], 16);
    ScheduledId::parse(&format!("s_{hash}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reminder(before: &str) -> Reminder {
        serde_json::from_value(
            json!({"before": before, "text": "Lembrete: {date} às {time}. Confirma?",
            "template": {"name": "lembrete", "language": "pt_BR", "parameters": ["{date}", "{time}"]}}),
        )
        .unwrap()
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_day_before_is_the_same_time_on_the_clock() {
        let zone = TimeZone::get("America/New_York").unwrap();
        // The clocks go back in between.
        let start = at("2026-11-01T15:00:00Z");
        assert_eq!(
            reminder("P1D").due_at(start, &zone),
            Some(at("2026-10-31T14:00:00Z"))
        );
        assert_eq!(
            reminder("PT24H").due_at(start, &zone),
            Some(at("2026-10-31T15:00:00Z"))
        );
    }

    #[test]
    fn where_clocks_change_at_midnight_a_day_before_is_told_once_at_a_time_that_there_is() {
        for (zone, start, due) in [
            // 00:00 to 01:00 of the day before is skipped.
            (
                "America/Santiago",
                "2026-09-07T00:30:00-03:00",
                "2026-09-06T01:30:00-03:00",
            ),
            (
                "Africa/Cairo",
                "2026-04-25T00:30:00+03:00",
                "2026-04-24T01:30:00+03:00",
            ),
            // 23:00 to 24:00 of the day before comes twice.
            (
                "America/Santiago",
                "2026-04-05T23:30:00-04:00",
                "2026-04-04T23:30:00-03:00",
            ),
        ] {
            let zone = TimeZone::get(zone).unwrap();
            assert_eq!(reminder("P1D").due_at(at(start), &zone), Some(at(due)), "{start}");
        }
        let zone = TimeZone::get("America/Santiago").unwrap();
        let two_hours = reminder("PT2H").due_at(at("2026-09-06T02:00:00-03:00"), &zone);
        assert_eq!(
            two_hours,
            Some(at("2026-09-05T23:00:00-04:00")),
            "hours are hours"
        );
    }

    #[test]
    fn a_reminder_is_a_text_or_a_template_with_the_time_of_the_zone() {
        let zone = TimeZone::get("America/Sao_Paulo").unwrap();
        let start = at("2026-11-24T13:30:00Z");
        let text = reminder("P1D").make_content(start, &zone, true).unwrap();
        assert_eq!(text.render_text(), "Lembrete: 24/11/2026 às 10:30. Confirma?");
        let Some(Content::Template(template)) = reminder("P1D").make_content(start, &zone, false) else {
            panic!("a template")
        };
        assert_eq!(template.components[0]["parameters"][0]["text"], "24/11/2026");
        let without = Reminder {
            template: None,
            ..reminder("P1D")
        };
        assert_eq!(without.make_content(start, &zone, false), None);
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for before in ["1 day", "P1M", "PT1M", "P31D", "-P1D", "PT2H30S", ""] {
            assert_eq!(
                check_reminders(&[reminder(before)]),
                Err(ReminderError::Before),
                "{before}"
            );
        }
        assert_eq!(check_reminders(&[reminder("P1D"), reminder("PT2H")]), Ok(()));
        assert_eq!(
            check_reminders(&[reminder("P1D"), reminder("PT24H")]),
            Err(ReminderError::Number)
        );
        for text in ["", " ", "{name}", "{date"] {
            let bad = Reminder {
                text: text.to_owned(),
                ..reminder("P1D")
            };
            assert_eq!(check_reminders(&[bad]), Err(ReminderError::Text), "{text}");
        }
        let mut bad = reminder("P1D");
        bad.template.as_mut().unwrap().parameters = vec!["{name}".to_owned()];
        assert_eq!(check_reminders(&[bad]), Err(ReminderError::Template));
    }

    #[test]
    fn the_same_reminder_has_one_id() {
        let event = EffectId::from_random_bits(1, 2);
        let (start, due) = (at("2026-11-24T13:30:00Z"), at("2026-11-23T13:30:00Z"));
        let id = name_reminder(&event, start, due).unwrap();
        assert_eq!(name_reminder(&event, start, due), Some(id.clone()));
        assert_ne!(name_reminder(&event, due, due), Some(id));
    }
}
