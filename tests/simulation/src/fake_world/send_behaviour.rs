//! How sends end.

/// How a send may end, as weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SendBehaviours {
    /// It is accepted, and the answer comes.
    pub accepted: u32,
    /// It is accepted, and the answer is lost in a time-out.
    pub accepted_unheard: u32,
    /// It is not accepted, and nobody says so.
    pub lost_unheard: u32,
    /// It hangs beyond the time-out and goes out up to a minute later.
    pub late: u32,
    /// 429, with a time to wait.
    pub throttled: u32,
    /// 500; nothing left.
    pub failed: u32,
    /// Refused for good.
    pub refused: u32,
    /// Accepted, and reported as failed later.
    pub failed_later: u32,
    /// It is not accepted, and the answer does not say so.
    pub unexplained: u32,
    /// It is accepted, and a gateway answers 502.
    pub accepted_then_failed: u32,
    /// Of 100 sends, so many end as all later attempts at the same message will.
    pub steady: u32,
}

impl SendBehaviours {
    /// Everything is accepted.
    pub fn calm() -> Self {
        Self {
            accepted: 1,
            ..Self::default()
        }
    }

    fn weights(&self) -> [(u32, SendBehaviour); 10] {
        [
            (self.accepted, SendBehaviour::Accepted),
            (self.accepted_unheard, SendBehaviour::AcceptedUnheard),
            (self.lost_unheard, SendBehaviour::LostUnheard),
            (self.late, SendBehaviour::Late),
            (self.throttled, SendBehaviour::Throttled),
            (self.failed, SendBehaviour::Failed),
            (self.refused, SendBehaviour::Refused),
            (self.failed_later, SendBehaviour::FailedLater),
            (self.unexplained, SendBehaviour::Unexplained),
            (self.accepted_then_failed, SendBehaviour::AcceptedThenFailed),
        ]
    }

    /// The one of them that lies at `at` of all weights.
    pub(super) fn at(&self, mut at: u32) -> SendBehaviour {
        for (weight, behaviour) in self.weights() {
            if at < weight {
                return behaviour;
            }
            at -= weight;
        }
        SendBehaviour::Accepted
    }

    /// All weights together.
    pub(super) fn total(&self) -> u32 {
        self.weights().iter().map(|(weight, _)| weight).sum()
    }
}

/// How one send ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendBehaviour {
    /// See [`SendBehaviours::accepted`].
    Accepted,
    /// See [`SendBehaviours::accepted_unheard`].
    AcceptedUnheard,
    /// See [`SendBehaviours::lost_unheard`].
    LostUnheard,
    /// See [`SendBehaviours::late`].
    Late,
    /// See [`SendBehaviours::throttled`].
    Throttled,
    /// See [`SendBehaviours::failed`].
    Failed,
    /// See [`SendBehaviours::refused`].
    Refused,
    /// See [`SendBehaviours::failed_later`].
    FailedLater,
    /// See [`SendBehaviours::unexplained`].
    Unexplained,
    /// See [`SendBehaviours::accepted_then_failed`].
    AcceptedThenFailed,
    /// It says after eight seconds that WhatsApp is gone, and nothing left.
    Closed,
    /// It answers, after sixty seconds; nobody waits for it.
    Hangs,
}
