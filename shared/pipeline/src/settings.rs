//! Times and limits, with the defaults that belong together.

mod environment;
mod legacy_names;
#[cfg(test)]
mod tests;

pub use environment::SettingError;
pub use legacy_names::list_ignored_variables;

use recado_domain::backoff::Backoff;
use recado_domain::rate::Rate;
use std::time::Duration;

/// See the module. The order of the times matters: longest outside call < function time-out < lease < visibility.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How long to wait for more of a burst.
    pub debounce: Duration,
    /// How long a burst may put the reply off.
    pub debounce_max: Duration,
    /// Messages older than this on arrival are stored and not answered.
    pub stale_after: Duration,
    /// How long applied events are known again.
    pub event_ttl: Duration,
    /// How long delivery records are kept.
    pub delivery_ttl: Duration,
    /// How long clients' keys are kept.
    pub key_ttl: Duration,
    /// How much the model reads for one turn.
    pub turn_reads: TurnReadLimits,
    /// How long the model may take, retries included.
    pub llm_timeout: Duration,
    /// The lease of a turn.
    pub turn_lease: Duration,
    /// How long a provider may take to accept a message.
    pub provider_timeout: Duration,
    /// The lease of an attempt to send.
    pub send_lease: Duration,
    /// Attempts at an event, at a turn, at a send.
    pub attempts: AttemptLimits,
    /// Waits between attempts to process.
    pub inbound_backoff: Backoff,
    /// Waits of a turn whose store or queue failed.
    pub turns_backoff: Backoff,
    /// Waits between attempts to send.
    pub outbound_backoff: Backoff,
    /// How fast an Evolution instance sends that has no rate of its own.
    pub rate: Rate,
    /// How long evidence is waited for after an unknown outcome.
    pub unknown_wait: Duration,
    /// How long messages wait for a disconnected instance.
    pub parked_max: Duration,
    /// How long an instance is believed to be open before a sender asks again. 0: for ever.
    pub connection_stale: Duration,
    /// How old configuration may be in a warm function.
    pub config_ttl: Duration,
    /// How long a webhook may take to be stored and enqueued before it is refused.
    pub webhook_deadline: Duration,
    /// Whether a file that is to be sent may lie on this machine or in a private network.
    pub private_media: bool,
}

/// How much the model reads for one turn, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnReadLimits {
    /// So many messages: what is owed, and what was said before it.
    pub messages: usize,
    /// So many characters of one message; the rest of it is cut off.
    pub message_chars: usize,
    /// So many characters of all of them. One message is read whatever its length, cut to this.
    pub transcript_chars: usize,
}

/// How often something is tried before it is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptLimits {
    /// Processing an event.
    pub inbound: u32,
    /// Asking the model for one turn.
    pub turn: u32,
    /// Sending a message.
    pub outbound: u32,
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            debounce: seconds(4),
            debounce_max: seconds(20),
            stale_after: seconds(3600),
            event_ttl: seconds(7 * 86_400),
            delivery_ttl: seconds(30 * 86_400),
            key_ttl: seconds(48 * 3600),
            turn_reads: TurnReadLimits {
                messages: 20,
                message_chars: 8_000,
                transcript_chars: 40_000,
            },
            llm_timeout: seconds(60),
            turn_lease: seconds(95),
            provider_timeout: seconds(20),
            send_lease: seconds(35),
            attempts: AttemptLimits {
                inbound: 3,
                turn: 3,
                outbound: 5,
            },
            inbound_backoff: Backoff::default(),
            turns_backoff: Backoff::default(),
            outbound_backoff: Backoff::default(),
            rate: Rate::EVOLUTION,
            unknown_wait: seconds(300),
            parked_max: seconds(72 * 3600),
            connection_stale: seconds(600),
            config_ttl: seconds(30),
            webhook_deadline: seconds(8),
            private_media: false,
        }
    }
}

impl Settings {
    /// How long a parked conversation waits, as [`recado_domain::instance::ParkedConversation`] holds it.
    pub(crate) fn parked_max_ms(&self) -> i64 {
        i64::try_from(self.parked_max.as_millis()).unwrap_or(i64::MAX)
    }
}

/// Visibility time-outs of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VisibilityTimeouts;

impl VisibilityTimeouts {
    /// Of `inbound`.
    pub const INBOUND: Duration = Duration::from_secs(30);
    /// Of `turns`.
    pub const TURNS: Duration = Duration::from_secs(120);
    /// Of `outbound`.
    pub const OUTBOUND: Duration = Duration::from_secs(60);
    /// How often a queue hands out a message before it dead-letters it by itself.
    pub const RECEIVES_MAX: u32 = 1000;
}
