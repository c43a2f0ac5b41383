//! Schemas of the configuration of alerts.

use super::content::MessageTemplateSchema;
use super::{AlertKindSchema, SeveritySchema};
use recado_domain::alert::{AlertKind, AlertSeverity};
use serde::Serialize;
use utoipa::ToSchema;

/// Thresholds and destinations of alerts. What is left out has its default.
#[derive(Serialize, ToSchema)]
#[schema(as = AlertConfig)]
#[serde(deny_unknown_fields)]
pub(super) struct AlertConfigSchema {
    /// Kinds of alerts that are switched off.
    #[schema(required = false, value_type = Vec<AlertKindSchema>)]
    off: Vec<AlertKind>,
    /// Number of waiting messages above which a warning is told.
    #[schema(required = false, default = 100)]
    depth_warning: u64,
    /// Number of waiting messages above which it is critical.
    #[schema(required = false, default = 1000)]
    depth_critical: u64,
    /// Time for which as many must wait, in minutes.
    #[schema(required = false, maximum = 1440, default = 5)]
    depth_minutes: u32,
    /// Time after which an instance that is not connected is a warning, in minutes.
    #[schema(required = false, maximum = 1440, default = 2)]
    disconnected_warning_minutes: u32,
    /// Time after which it is critical, in minutes.
    #[schema(required = false, maximum = 1440, default = 10)]
    disconnected_critical_minutes: u32,
    /// Number of dead letters above which a warning is told.
    #[schema(required = false, maximum = 1000, default = 10)]
    dead_letters_warning: u64,
    /// Number of dead letters above which it is critical.
    #[schema(required = false, maximum = 1000, default = 50)]
    dead_letters_critical: u64,
    /// Messages a second below which processing is too slow while messages wait.
    #[schema(required = false, minimum = 0, maximum = 1000, default = 0.5)]
    rate_per_second: f64,
    /// Time for which processing must be too slow, in minutes.
    #[schema(required = false, maximum = 1440, default = 5)]
    rate_minutes: u32,
    /// Time without a look at the installation after which Recado counts as not running, in minutes.
    #[schema(required = false, minimum = 2, maximum = 1440, default = 5)]
    heartbeat_minutes: u32,
    /// Time for which a customer may wait for a person, in minutes.
    #[schema(required = false, maximum = 1440, default = 60)]
    customer_wait_minutes: u32,
    /// Space that must be free on the disk of the data folder, in megabytes.
    #[schema(required = false, maximum = 1_000_000_000, default = 500)]
    disk_free_megabytes: u64,
    /// Destinations that are told, 10 at most.
    #[schema(required = false)]
    destinations: Vec<AlertDestinationSchema>,
}

/// A destination of notifications. Exactly one of `webhook`, `whatsapp` and `email` is set.
#[derive(Serialize, ToSchema)]
#[schema(as = AlertDestination)]
#[serde(deny_unknown_fields)]
struct AlertDestinationSchema {
    /// Name of the destination: letters, digits and `-`.
    #[schema(example = "pager")]
    id: String,
    /// Lowest severity that is told there.
    #[schema(required = false, value_type = SeveritySchema)]
    severity: AlertSeverity,
    /// The only tenant whose alerts are told there. If absent, all alerts are.
    tenant: Option<String>,
    /// Request to a URL, signed as Standard Webhooks defines it.
    webhook: Option<WebhookDestinationSchema>,
    /// Message to a WhatsApp number, through an instance of this installation.
    whatsapp: Option<WhatsAppDestinationSchema>,
    /// E-mail.
    email: Option<EmailDestinationSchema>,
}

/// A URL that is told by signed requests.
#[derive(Serialize, ToSchema)]
#[schema(as = WebhookDestination)]
#[serde(deny_unknown_fields)]
struct WebhookDestinationSchema {
    /// The URL: https, or http on this machine.
    url: String,
    /// Reference to the secret, `env:RECADO_ALERT_NAME` or `ssm:…/alerts/name`. The secret is `whsec_` and base64.
    secret: String,
}

/// A WhatsApp number that is told through an instance.
#[derive(Serialize, ToSchema)]
#[schema(as = WhatsAppDestination)]
#[serde(deny_unknown_fields)]
struct WhatsAppDestinationSchema {
    /// The instance that sends. Alerts about this instance are not told by it.
    instance: String,
    /// The number, with its country code.
    to: String,
    /// The template to send, with one parameter: the text.
    template: Option<MessageTemplateSchema>,
}

/// Addresses that are told by e-mail.
#[derive(Serialize, ToSchema)]
#[schema(as = EmailDestination)]
#[serde(deny_unknown_fields)]
struct EmailDestinationSchema {
    /// The server: `smtps://host` (TLS) or `smtp://host` (STARTTLS; without TLS only on this machine).
    server: String,
    /// Name with which Recado logs in at the server.
    user: Option<String>,
    /// Reference to the password, as the secret of a webhook.
    password: Option<String>,
    /// Address of the sender.
    from: String,
    /// Addresses of the recipients, 20 at most.
    to: Vec<String>,
}
