//! How sends end.

/// How a send may end, as weights.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fates {
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

impl Fates {
    /// Everything is accepted.
    pub fn calm() -> Self {
        Self {
            accepted: 1,
            ..Self::default()
        }
    }

    fn weights(&self) -> [(u32, Fate); 10] {
        [
            (self.accepted, Fate::Accepted),
            (self.accepted_unheard, Fate::AcceptedUnheard),
            (self.lost_unheard, Fate::LostUnheard),
            (self.late, Fate::Late),
            (self.throttled, Fate::Throttled),
            (self.failed, Fate::Failed),
            (self.refused, Fate::Refused),
            (self.failed_later, Fate::FailedLater),
            (self.unexplained, Fate::Unexplained),
            (self.accepted_then_failed, Fate::AcceptedThenFailed),
        ]
    }

    /// The one of them that lies at `at` of all weights.
    pub(super) fn at(&self, mut at: u32) -> Fate {
        for (weight, fate) in self.weights() {
            if at < weight {
                return fate;
            }
            at -= weight;
        }
        Fate::Accepted
    }

    /// All weights together.
    pub(super) fn total(&self) -> u32 {
        self.weights().iter().map(|(weight, _)| weight).sum()
    }
}

/// How one send ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// See [`Fates::accepted`].
    Accepted,
    /// See [`Fates::accepted_unheard`].
    AcceptedUnheard,
    /// See [`Fates::lost_unheard`].
    LostUnheard,
    /// See [`Fates::late`].
    Late,
    /// See [`Fates::throttled`].
    Throttled,
    /// See [`Fates::failed`].
    Failed,
    /// See [`Fates::refused`].
    Refused,
    /// See [`Fates::failed_later`].
    FailedLater,
    /// See [`Fates::unexplained`].
    Unexplained,
    /// See [`Fates::accepted_then_failed`].
    AcceptedThenFailed,
    /// It says after eight seconds that WhatsApp is gone, and nothing left.
    Closed,
    /// It answers, after sixty seconds; nobody waits for it.
    Hangs,
}
