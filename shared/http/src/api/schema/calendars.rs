//! Schemas of calendars.

use super::hours::OpeningHoursSchema;
use serde::Serialize;
use utoipa::ToSchema;

/// A calendar in which agents of a tenant book. Exactly one kind is set: `google` or `simulated`.
#[derive(Serialize, ToSchema)]
#[schema(as = Calendar)]
#[serde(deny_unknown_fields)]
pub(in crate::api) struct CalendarSchema {
    #[schema(example = "clinic-agenda")]
    id: String,
    /// Id of the tenant.
    tenant: String,
    /// The lengths that an appointment may have, in minutes: 1 to 8. The first is taken where none is asked for.
    #[schema(required = false, value_type = Vec<u16>, example = json!([30, 60]))]
    minutes: Vec<u16>,
    rules: BookingRulesSchema,
    /// Reminders that each appointment of the calendar carries: at most 4, each with another `before`.
    #[schema(required = false)]
    reminders: Vec<ReminderSchema>,
    /// A calendar of Google's.
    google: Option<GoogleCalendarSchema>,
    /// `true`: a simulated calendar. Nothing is asked or told anywhere; its events are the bookings that Recado stored.
    #[schema(required = false, default = false)]
    simulated: bool,
}

/// A reminder of an appointment.
#[derive(Serialize, ToSchema)]
#[schema(as = Reminder)]
#[serde(deny_unknown_fields)]
struct ReminderSchema {
    /// The time before the appointment, as an ISO 8601 duration of weeks, days, hours and minutes: 5 minutes to 30 days. A day is one of
    /// the calendar's zone.
    #[schema(example = "P1D")]
    before: String,
    /// The text, with `{date}` and `{time}` of the appointment. It is sent where the provider takes texts.
    #[schema(max_length = 1000)]
    text: String,
    /// The template that is sent outside the 24-hour window. If absent, nothing is sent then.
    template: Option<ReminderTemplateSchema>,
}

/// A template of the provider's that reminds of an appointment.
#[derive(Serialize, ToSchema)]
#[schema(as = ReminderTemplate)]
#[serde(deny_unknown_fields)]
struct ReminderTemplateSchema {
    /// The template's name at the provider.
    name: String,
    #[schema(example = "pt_BR")]
    language: String,
    /// The values of its body, in order, with `{date}` and `{time}` of the appointment: at most 10.
    #[schema(required = false)]
    parameters: Vec<String>,
}

/// The rules by which a calendar takes appointments.
#[derive(Serialize, ToSchema)]
#[schema(as = BookingRules)]
#[serde(deny_unknown_fields)]
struct BookingRulesSchema {
    /// The hours within which an appointment lies from its begin to its end, without `closed_message` and `replies_per_minute`.
    hours: OpeningHoursSchema,
    /// Minutes from one possible begin to the next, a divisor of 1440.
    #[schema(required = false, default = 15, minimum = 5, maximum = 240)]
    grid_minutes: u16,
    /// Minutes that are kept free before an appointment.
    #[schema(required = false, default = 0)]
    buffer_before_minutes: u16,
    /// Minutes that are kept free after an appointment.
    #[schema(required = false, default = 0)]
    buffer_after_minutes: u16,
    /// Minutes from now until the first begin that is offered.
    #[schema(required = false, default = 60)]
    notice_minutes: u32,
    /// Days from now until the last begin that is offered.
    #[schema(required = false, default = 60, minimum = 1, maximum = 366)]
    horizon_days: u16,
}

/// A calendar of Google's, and the credential with which it is asked.
#[derive(Serialize, ToSchema)]
#[schema(as = GoogleCalendarAccess)]
#[serde(deny_unknown_fields)]
struct GoogleCalendarSchema {
    /// The calendar's id at Google: an e-mail address.
    #[schema(example = "agenda@clinic.example")]
    calendar_id: String,
    /// Reference to a secret of the tenant (`env:NAME` or `ssm:/path/name`): the key file of a service account, or a refresh token
    /// with its client.
    credential: String,
}
