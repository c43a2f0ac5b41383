use recado_domain::ids::{MessageId, Nonce};
use recado_domain::message::Message;
use recado_domain::outbox::{Outbox, OutboxState};
use recado_pipeline::ports::SendOutcome;

/// One attempt to send a message: from its claim to what its sender wrote down.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Which message.
    pub message: MessageId,
    /// Text of the message.
    pub text: String,
    /// Whether the agent speaks, and not its last words.
    pub by_ai: bool,
    /// The how manieth it is, as it is counted in the record.
    pub number: u32,
    /// Whether the record says that it may have been sent before.
    pub marked: bool,
    /// The nonce of its claim.
    pub nonce: Option<Nonce>,
    /// When it was claimed.
    pub claimed_ms: i64,
    /// The slot that it was claimed for, in milliseconds since the Unix epoch.
    pub slot: Option<i64>,
    /// When the request left, if one did.
    pub requested_ms: Option<i64>,
    /// What the sender was told, and when.
    pub told: Option<(i64, Told)>,
    /// Whether the sender wrote down how it ended. Else nobody can know but from the provider.
    pub settled: bool,
}

/// What a sender was told of its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// The provider has it.
    Accepted,
    /// It could not be taken now: to be tried again, not sooner than after so many milliseconds.
    Later(i64),
    /// It is refused for good.
    Refused,
    /// It did not get as far as WhatsApp.
    NotReached,
    /// Nothing, or nothing that says what became of it.
    Nothing,
}

impl Told {
    fn of(outcome: &SendOutcome) -> Self {
        match outcome {
            SendOutcome::Accepted { .. } => Self::Accepted,
            SendOutcome::Retryable { after, .. } => {
                let after = after.map_or(0, |after| after.as_millis());
                Self::Later(i64::try_from(after).unwrap_or(i64::MAX))
            }
            SendOutcome::Permanent { .. }
            | SendOutcome::NewChatRefused { .. }
            | SendOutcome::Refused {
                everything: false, ..
            } => Self::Refused,
            SendOutcome::Disconnected { .. }
            | SendOutcome::Refused { everything: true, .. }
            | SendOutcome::Credentials { .. }
            | SendOutcome::Unreached { .. } => Self::NotReached,
            SendOutcome::Unknown { .. } => Self::Nothing,
        }
    }
}

impl Attempt {
    /// The attempt that begins with the claim of `message`.
    pub(super) fn of(message: &Message, out: &Outbox, at_ms: i64) -> Self {
        Self {
            message: message.message_id(),
            text: message.content.render_text(),
            by_ai: out.yields_to_takeover(),
            number: out.attempts,
            marked: out.maybe_sent,
            nonce: match &out.state {
                OutboxState::Sending { nonce, .. } => Some(nonce.clone()),
                _ => None,
            },
            claimed_ms: at_ms,
            slot: out.slot.map(jiff::Timestamp::as_millisecond),
            requested_ms: None,
            told: None,
            settled: false,
        }
    }

    /// Notes what the provider answered.
    pub(super) fn tell(&mut self, outcome: &SendOutcome, at_ms: i64) {
        self.told = Some((at_ms, Told::of(outcome)));
    }

    /// How it ended, as far as its sender wrote it down.
    pub fn ending(&self) -> Told {
        match self.told {
            _ if !self.settled => Told::Nothing,
            Some((_, told)) => told,
            None => Told::NotReached,
        }
    }

    /// Whether it counts: all do but those that certainly never reached WhatsApp.
    pub fn counts(&self) -> bool {
        self.ending() != Told::NotReached
    }
}
