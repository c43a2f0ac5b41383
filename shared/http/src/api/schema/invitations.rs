//! Schemas of occasions and templates of invitations, as a configuration document has them.

use super::content::MessageTemplateSchema;
use serde::Serialize;
use utoipa::ToSchema;

/// An occasion to which guests are invited.
#[derive(Serialize, ToSchema)]
#[schema(as = Occasion)]
#[serde(deny_unknown_fields)]
pub(super) struct OccasionSchema {
    #[schema(example = "ev_demo")]
    id: String,
    tenant: String,
    name: Option<String>,
    /// The instance that sends what goes by WhatsApp.
    instance: String,
    /// Date and time at which it begins, by the clocks of its time zone.
    #[schema(example = "2027-03-05T18:00:00")]
    starts_at: Option<String>,
    /// IANA time zone, if another than the tenant's.
    time_zone: Option<String>,
    /// Language of guests who have none of their own.
    language: Option<String>,
    /// `true` if it does not take place: nobody is reminded of it.
    #[schema(required = false, default = false)]
    cancelled: bool,
    #[schema(required = false)]
    reminders: Vec<OccasionReminderSchema>,
}

/// A reminder of an occasion: a template that goes to its guests at a time before it.
#[derive(Serialize, ToSchema)]
#[schema(as = OccasionReminder)]
#[serde(deny_unknown_fields)]
struct OccasionReminderSchema {
    /// The time before the occasion, as an ISO 8601 duration: 5 minutes to 30 days.
    #[schema(example = "P1D")]
    before: String,
    /// Name of the template.
    template: String,
    /// `whatsapp`, which it is if absent, or `email`.
    #[schema(required = false)]
    channel: String,
    /// Statuses of the guests to whom it goes: `pending`, `confirmed`, or both, which it is if absent.
    #[schema(required = false)]
    guests: Vec<String>,
}

/// A template of invitations: either a text or a template that the provider approved.
#[derive(Serialize, ToSchema)]
#[schema(as = InvitationTemplate)]
#[serde(deny_unknown_fields)]
pub(super) struct InvitationTemplateSchema {
    #[schema(example = "invite")]
    name: String,
    tenant: String,
    /// `whatsapp` or `email`.
    channel: String,
    language: Option<String>,
    /// Subject of an e-mail.
    subject: Option<String>,
    /// The text, with variables as `{{name}}` or `{{name|words in its place}}`.
    text: Option<String>,
    /// HTML of an e-mail, beside its text. Values are escaped in it.
    html: Option<String>,
    approved: Option<MessageTemplateSchema>,
}
