//! The settings: times and limits, with defaults that fit together.
//!
//! Those that belong together (a test checks their order):
//!
//! | | processor, `inbound` | deferred-reply, `turns` | sender, `outbound` |
//! | --- | --- | --- | --- |
//! | longest outside call | store, 8 s with retries | model, 60 s in all | provider, 20 s |
//! | time-out of the function | 15 s | 90 s | 30 s |
//! | lease in the record | none | 95 s | 35 s |
//! | visibility | 30 s | 120 s | 60 s |
//! | batch | 10, groups side by side | 5, side by side | 1 |
//! | receives at most (a last limit: what waits comes back too) | 1000 | 1000 | 1000 |
//! | attempts, counted in the record | 3 | 3 | 5 |

mod environment;
mod legacy_names;
#[cfg(test)]
mod tests;
mod trace_links;
mod variables;

pub use trace_links::TraceLinks;
pub use variables::{SettingError, VariableReader};

use jiff::{SignedDuration, Timestamp};
use recado_domain::backoff::Backoff;
use recado_domain::debounce::{Debounce, DebounceBounds};
use recado_domain::knowledge::KnowledgeLimits;
use recado_domain::model_files::ModelFileLimits;
use recado_domain::rate::Rate;
use recado_domain::typing::TypingWait;
use std::time::Duration;

/// Number of bytes of a mebibyte.
pub const MEBIBYTE: u64 = 1024 * 1024;

/// The bounds of the adaptive debounce, unless set.
const DEBOUNCE_BOUNDS: DebounceBounds = DebounceBounds {
    short: SignedDuration::from_millis(900),
    long: SignedDuration::from_secs(8),
};

/// The times and limits of the use cases. Their order matters: longest outside call < function time-out < lease <
/// visibility time-out.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Wait after a contact's last message, because more messages of a burst may come.
    pub debounce: Debounce,
    /// Bounds of the adaptive debounce, also of instances that set one of the two.
    pub debounce_bounds: DebounceBounds,
    /// Maximum time by which a burst can delay the reply.
    pub debounce_max: SignedDuration,
    /// Wait for a contact who types, within `debounce_max`. Off unless set, since it costs requests where the signs are records.
    pub typing: TypingWait,
    /// Number of drafts in a row that are dropped because the contact wrote while they were made. 0: none.
    pub restart_drafts: u32,
    /// Age on arrival above which a message is stored and not answered.
    pub stale_after: SignedDuration,
    /// Time for which an applied event is recognized again.
    pub event_ttl: SignedDuration,
    /// Retention of audit entries.
    pub audit_ttl: SignedDuration,
    /// Retention of published events.
    pub published_event_ttl: SignedDuration,
    /// Retention of deliveries whose tenant is not known: of messages that Recado did not send, or whose outcome is not stored.
    pub delivery_ttl: SignedDuration,
    /// Retention of clients' idempotency keys.
    pub key_ttl: SignedDuration,
    /// Time within which the same template goes to the same guest once. 0: each request is sent.
    pub invitation_window: SignedDuration,
    /// Limits of the text that the model reads for one turn.
    pub turn_reads: TurnReadLimits,
    /// Limits of the files that the model sees in one turn.
    pub model_files: ModelFileLimits,
    /// The rewriting of messages that need those before them, for a search in the agent's knowledge.
    pub rewriting: RewriteSettings,
    /// Maximum time for the embedding model to make the vector of a question. Without it, blocks are searched by words.
    pub question_vector_timeout: SignedDuration,
    /// Maximum number of characters of a block of knowledge.
    pub knowledge_block_characters: usize,
    /// The size that the knowledge of an agent may have.
    pub knowledge: KnowledgeLimits,
    /// Maximum time for the model to answer, retries included.
    pub llm_timeout: SignedDuration,
    /// Maximum number of calls of tools in one turn.
    pub tool_calls: usize,
    /// `true` if a tool may be on this machine or in a private network, and without TLS.
    pub private_tools: bool,
    /// `true` if a tenant's mail server may be this machine or in a private network. The carriers judge each address by the same
    /// variable.
    pub private_mail_servers: bool,
    /// `true` if a page that becomes a document may be on this machine or in a private network.
    pub private_pages: bool,
    /// Lease of a turn.
    pub turn_lease: SignedDuration,
    /// Maximum time for a provider to accept a message.
    pub provider_timeout: SignedDuration,
    /// Lease of an attempt to send.
    pub send_lease: SignedDuration,
    /// Base URL at which the installation is reached, for the unsubscribe links of e-mails.
    pub public_url: Option<String>,
    /// Maximum numbers of attempts at an event, at a turn and at a send.
    pub attempts: AttemptLimits,
    /// Waits between attempts to process an event.
    pub inbound_backoff: Backoff,
    /// Waits of a turn after a store or queue failed.
    pub turns_backoff: Backoff,
    /// Waits between attempts to send.
    pub outbound_backoff: Backoff,
    /// The same for invitations.
    pub delivery_backoff: Backoff,
    /// Least number of recipients of a batch whose invitations are made at once: they share what is read and written for each piece.
    pub batch_piece: usize,
    /// Rate of an Evolution instance that has no rate of its own.
    pub rate: Rate,
    /// Time for which evidence is awaited after an unknown outcome.
    pub unknown_wait: SignedDuration,
    /// Time within which WhatsApp acknowledges a message that its provider accepted. Later, the acknowledgement is missing.
    /// 0: it is not waited for.
    pub acknowledgement_wait: SignedDuration,
    /// `true`: a first message whose acknowledgement is missing is sent once more, to the recipient's linked identity.
    pub identity_attempts: bool,
    /// Age at which the answer about a contact's picture is old. 0: pictures are not asked for.
    pub picture_refresh: SignedDuration,
    /// Maximum time for which messages wait for a disconnected instance.
    pub parked_max: SignedDuration,
    /// Time for which the stored state `open` of an instance is trusted before a sender asks again. 0: without limit.
    pub connection_stale: SignedDuration,
    /// Maximum age of the configuration and of tokens in a warm function: a revoked token is accepted no longer than that.
    pub config_ttl: SignedDuration,
    /// Maximum time to store and enqueue a webhook before it is refused.
    pub webhook_deadline: SignedDuration,
    /// `true` if a file that is to be sent may be on this machine or in a private network.
    pub private_media: bool,
    /// Maximum number of bytes of a contact's file. A larger one is not stored.
    pub file_bytes_max: u64,
    /// Maximum time for which a turn waits for the files of its messages.
    pub file_wait: SignedDuration,
    /// Maximum time for which a turn waits for the files of its messages and for their texts together.
    pub file_work_wait: SignedDuration,
    /// Maximum time to fetch one file.
    pub file_timeout: SignedDuration,
    /// The links from messages to their traces.
    pub trace_links: TraceLinks,
    /// Time at which the installation went on from a backup. What contacts wrote before it waits for a person.
    pub restored_at: Option<Timestamp>,
}

/// The limits of the text that the model reads for one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnReadLimits {
    /// Maximum number of messages: those that are owed an answer, and those before them.
    pub messages: usize,
    /// Maximum number of characters of one message; the rest is cut off.
    pub message_chars: usize,
    /// Maximum number of characters of all messages together. One message is always read, whatever its length, cut to
    /// this limit.
    pub transcript_chars: usize,
}

impl Default for TurnReadLimits {
    fn default() -> Self {
        Self {
            messages: 20,
            message_chars: 8_000,
            transcript_chars: 40_000,
        }
    }
}

/// The way in which a message that needs those before it becomes a question that stands alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteWay {
    /// A light model writes it; rules where it fails.
    Model,
    /// Rules join it with the contact's messages before it.
    Rules,
    /// Nothing: the message is searched for as it is.
    Off,
}

/// The settings of the rewriting of messages that need those before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteSettings {
    /// The way.
    pub way: RewriteWay,
    /// Name of the model that serves agents which use the installation's keys. `None`: one of each agent's own provider.
    pub model: Option<String>,
    /// Maximum time for the light model to answer.
    pub timeout: SignedDuration,
}

impl Default for RewriteSettings {
    fn default() -> Self {
        Self {
            way: RewriteWay::Model,
            model: None,
            timeout: SignedDuration::from_millis(1_500),
        }
    }
}

/// The maximum numbers of attempts before something is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptLimits {
    /// Maximum attempts to process an event.
    pub inbound: u32,
    /// Maximum attempts to ask the model for one turn.
    pub turn: u32,
    /// Maximum attempts to send a message.
    pub outbound: u32,
}

impl Default for AttemptLimits {
    fn default() -> Self {
        Self {
            inbound: 3,
            turn: 3,
            outbound: 5,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = SignedDuration::from_secs;
        Self {
            debounce: Debounce::Adaptive(DEBOUNCE_BOUNDS),
            debounce_bounds: DEBOUNCE_BOUNDS,
            debounce_max: seconds(20),
            typing: TypingWait {
                short: seconds(2),
                long: SignedDuration::ZERO,
            },
            restart_drafts: 0,
            stale_after: seconds(3600),
            event_ttl: seconds(7 * 86_400),
            audit_ttl: seconds(365 * 86_400),
            published_event_ttl: seconds(7 * 86_400),
            delivery_ttl: seconds(30 * 86_400),
            key_ttl: seconds(48 * 3600),
            invitation_window: seconds(24 * 3600),
            turn_reads: TurnReadLimits::default(),
            model_files: ModelFileLimits::default(),
            rewriting: RewriteSettings::default(),
            question_vector_timeout: seconds(1),
            knowledge_block_characters: 1_000,
            knowledge: KnowledgeLimits::default(),
            llm_timeout: seconds(60),
            tool_calls: 4,
            private_tools: false,
            private_mail_servers: false,
            private_pages: false,
            turn_lease: seconds(95),
            provider_timeout: seconds(20),
            send_lease: seconds(35),
            public_url: None,
            attempts: AttemptLimits::default(),
            inbound_backoff: Backoff::default(),
            turns_backoff: Backoff::default(),
            outbound_backoff: Backoff::default(),
            delivery_backoff: Backoff::Sequence {
                seconds: vec![1.0, 5.0, 20.0, 60.0],
            },
            batch_piece: 20,
            rate: Rate::EVOLUTION,
            unknown_wait: seconds(300),
            acknowledgement_wait: seconds(600),
            identity_attempts: true,
            picture_refresh: seconds(7 * 86_400),
            parked_max: seconds(72 * 3600),
            connection_stale: seconds(600),
            config_ttl: seconds(30),
            webhook_deadline: seconds(8),
            private_media: false,
            file_bytes_max: 16 * MEBIBYTE,
            file_wait: seconds(10),
            file_work_wait: seconds(25),
            file_timeout: seconds(60),
            trace_links: TraceLinks::default(),
            restored_at: None,
        }
    }
}

/// The visibility time-outs of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisibilityTimeouts;

impl VisibilityTimeouts {
    /// Visibility time-out of `inbound`.
    pub const INBOUND: Duration = Duration::from_secs(30);
    /// Visibility time-out of `turns`.
    pub const TURNS: Duration = Duration::from_secs(120);
    /// Visibility time-out of `outbound`.
    pub const OUTBOUND: Duration = Duration::from_secs(60);
    /// Number of receives after which a queue dead-letters a message by itself.
    pub const RECEIVES_MAX: u32 = 1000;
}
