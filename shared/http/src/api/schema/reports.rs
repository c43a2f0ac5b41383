//! Schemas of what the pipeline and the providers report.
#![expect(dead_code, reason = "these types only describe")]

use super::ConfigurationChangeKindSchema;
use recado_domain::Timestamp;
use utoipa::ToSchema;

/// The result of a catch-up.
#[derive(ToSchema)]
#[schema(as = CatchUpReport)]
pub(in crate::api) struct CatchUpReportSchema {
    /// Start of the period that was read, the overlap included.
    since: Timestamp,
    /// End of the period that was read.
    until: Timestamp,
    /// `true` if the provider has a history that can be read. If `false`, all counts are 0.
    offered: bool,
    /// Number of messages that were read, of contacts and of the business.
    looked_at: usize,
    /// Number of messages that were known already.
    known: usize,
    /// Number of messages that were missed: they are stored now, and answered if they are young enough.
    missed: usize,
    /// Number of statuses of Recado's messages that were newer than the stored ones.
    statuses: usize,
    /// Number of messages that Recado ignores (groups, broadcasts and the like).
    ignored: usize,
    /// Number of pages that were read.
    pages: u32,
    /// `true` if there is more to read: continue with `next` as `since`.
    more: bool,
    /// Time of the newest message that was read.
    next: Option<Timestamp>,
    /// `true` if the provider offers only its newest messages, and they do not reach back to the requested start.
    cut: bool,
    /// The future of the missed messages. Only with `dry_run`: then nothing was stored.
    preview: Option<MissedMessagesSchema>,
}

/// The messages that a catch-up would store, by what would become of them.
#[derive(ToSchema)]
#[schema(as = MissedMessages)]
pub(in crate::api) struct MissedMessagesSchema {
    /// Number of messages that would be answered, unless a person has the conversation.
    answerable: usize,
    /// Number of messages that are too old for an answer: they would be stored only.
    too_old: usize,
    /// Time of the oldest missed message.
    oldest: Option<Timestamp>,
    /// Time of the newest missed message.
    newest: Option<Timestamp>,
}

/// The result for one tenant, agent or instance of a document.
#[derive(ToSchema)]
#[schema(as = ConfigurationChange)]
pub(in crate::api) struct ConfigurationChangeSchema {
    /// `tenant`, `agent` or `instance`.
    kind: String,
    id: String,
    what: ConfigurationChangeKindSchema,
    /// Names of the fields that changed. Absent if none did.
    #[schema(required = false)]
    fields: Vec<String>,
    /// Number of conversations of an instance that is removed or disabled: at most 200 are counted.
    conversations: Option<usize>,
}

/// The price of a message, in the provider's words.
#[derive(ToSchema)]
#[schema(as = Pricing)]
pub(in crate::api) struct PricingSchema {
    /// `true` if the message is charged.
    billable: Option<bool>,
    /// `PMP` (by message) or `CBP` (by conversation, before 2025-07).
    model: Option<String>,
    /// `regular`, `free_customer_service`, `free_entry_point` …
    r#type: Option<String>,
    /// `marketing`, `utility`, `authentication`, `service` …
    category: Option<String>,
    /// Country of the recipient, by its two characters.
    #[schema(example = "BR")]
    country: Option<String>,
}

/// An error of a failed message, without personal data.
#[derive(ToSchema)]
#[schema(as = StatusError)]
pub(in crate::api) struct StatusErrorSchema {
    /// The provider's error code.
    code: Option<i64>,
    /// The meaning of the code.
    title: String,
    /// Further details from the provider, with personal data masked.
    details: Option<String>,
}

/// A message that was sent to the simulated provider.
#[derive(ToSchema)]
#[schema(as = SimulatedMessage)]
pub(in crate::api) struct SimulatedMessageSchema {
    message_id: String,
    instance_id: String,
    /// Address of the recipient.
    to: String,
    text: String,
    provider_message_id: String,
    sent_at: Timestamp,
}
