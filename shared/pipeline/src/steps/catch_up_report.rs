//! The numbers of a catch-up, or of a preview of one.

use jiff::Timestamp;
use recado_ports::ports::HistorySpan;
use serde::Serialize;

/// The result of a catch-up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CatchUpReport {
    /// Start of the period that was read, the overlap included.
    pub since: Timestamp,
    /// End of the period that was read.
    pub until: Timestamp,
    /// `true` if the provider has a history that can be read. If `false`, all counts are 0.
    pub offered: bool,
    /// Number of messages that were read, of contacts and of the business.
    pub looked_at: usize,
    /// Number of messages that were known already.
    pub known: usize,
    /// Number of messages that were missed: they are stored now, and answered if they are young enough.
    pub missed: usize,
    /// Number of statuses of Recado's messages that were newer than the stored ones.
    pub statuses: usize,
    /// Number of messages that Recado ignores (groups, broadcasts and the like).
    pub ignored: usize,
    /// Number of pages that were read.
    pub pages: u32,
    /// `true` if there is more to read: continue with `next` as `since`.
    pub more: bool,
    /// Time of the newest message that was read. If there is more to read: the start of the next catch-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Timestamp>,
    /// `true` if the provider offers only its newest messages, and they do not reach back to the requested start.
    pub cut: bool,
    /// The future of the missed messages. Only with `dry_run`: then nothing was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<MissedMessages>,
}

impl CatchUpReport {
    /// Returns the report of a catch-up that has read nothing yet.
    pub(crate) fn for_span(span: HistorySpan) -> Self {
        Self {
            since: span.since,
            until: span.until,
            offered: true,
            ..Self::default()
        }
    }
}

/// The messages that a catch-up would store, by what would become of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct MissedMessages {
    /// Number of messages that would be answered, unless a person has the conversation.
    pub answerable: usize,
    /// Number of messages that are too old for an answer: they would be stored only.
    pub too_old: usize,
    /// Time of the oldest missed message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest: Option<Timestamp>,
    /// Time of the newest missed message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest: Option<Timestamp>,
}
