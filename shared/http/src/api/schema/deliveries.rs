//! Schemas of the rules for deliveries, and of the senders of e-mails.

use serde::Serialize;
use utoipa::ToSchema;

/// The rules of a tenant for unsolicited messages. They do not concern answers to a contact's own messages.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryRules)]
#[serde(deny_unknown_fields)]
pub(super) struct DeliveryRulesSchema {
    /// Hours in which nothing is delivered.
    quiet_hours: Option<QuietHoursSchema>,
    /// Greatest number of deliveries to one recipient.
    frequency_cap: Option<FrequencyCapSchema>,
}

/// Hours of every day in which nothing is delivered. They run past midnight if they end before they begin.
#[derive(Serialize, ToSchema)]
#[schema(as = QuietHours)]
#[serde(deny_unknown_fields)]
struct QuietHoursSchema {
    /// Begin, `HH:MM`.
    #[schema(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$", example = "21:00")]
    from: String,
    /// End, `HH:MM`: from then on messages are delivered.
    #[schema(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$", example = "08:00")]
    to: String,
}

/// At most so many deliveries to one recipient in any time of so many hours.
#[derive(Serialize, ToSchema)]
#[schema(as = FrequencyCap)]
#[serde(deny_unknown_fields)]
struct FrequencyCapSchema {
    #[schema(minimum = 1, maximum = 100)]
    messages: u32,
    #[schema(minimum = 1, maximum = 720)]
    hours: u32,
}

/// A way by which a tenant sends e-mails. Which fields a kind needs and takes: `docs/email.md`.
#[derive(Serialize, ToSchema)]
#[schema(as = EmailSender)]
#[serde(deny_unknown_fields)]
pub(super) struct EmailSenderSchema {
    #[schema(example = "mail")]
    id: String,
    kind: EmailSenderKindSchema,
    /// The sender that recipients see.
    #[schema(example = "Clinic <hello@clinic.example>")]
    from: String,
    /// Address for answers, if another.
    reply_to: Option<String>,
    /// Reference to its key: `env:NAME` or `ssm:/path`.
    credential: Option<String>,
    /// `ses`: the region.
    #[schema(example = "sa-east-1")]
    region: Option<String>,
    /// `ses`: the configuration set.
    configuration_set: Option<String>,
    /// `smtp`: the server, `smtps://host` or `smtp://host`, with a port if needed.
    server: Option<String>,
    /// `smtp`: the name of the user.
    user: Option<String>,
}

/// The carrier of a sender's e-mails.
#[derive(Serialize, ToSchema)]
#[schema(as = EmailSenderKind)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "the variants describe those of `EmailSenderKind`")]
enum EmailSenderKindSchema {
    Resend,
    Ses,
    Smtp,
    Simulated,
}
