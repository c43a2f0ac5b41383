//! What goes wrong with functions.

use recado_domain::dead_letter::QueueName;

/// What may go wrong with functions, how often.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// How likely a function dies at a step.
    pub crash: f64,
    /// How likely it stalls at a step.
    pub stall: f64,
    /// How likely a store or queue fails, before or after its effect.
    pub unavailable: f64,
    /// How far functions' clocks are apart at most, in milliseconds.
    pub skew_ms: i64,
    /// The one step at which whoever comes there dies.
    pub crash_at: Option<u64>,
    /// From when, in milliseconds since the start, and for how long everything stands still.
    pub freeze: Option<(i64, i64)>,
    /// The one step at which the whole machine dies.
    pub power_cut_at: Option<u64>,
    /// The steps at which something happens to the whole machine.
    pub marks: Vec<u64>,
    /// The one step at which whoever comes there stalls, and for how many milliseconds.
    pub stall_at: Option<(u64, i64)>,
    /// A queue that hands nothing out for a while.
    pub slow: Option<Slow>,
    /// Queues whose function may not run for a while: what is handed out comes again, received once more, and nobody saw it.
    pub throttled: Vec<Slow>,
    /// For how long a function stalls by chance, in milliseconds: one of these.
    pub stall_ms: Vec<i64>,
    /// From when on, in milliseconds since the start, nothing goes wrong by chance any more.
    pub calm_from_ms: i64,
}

/// A queue that hands nothing out for a while, in milliseconds since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slow {
    /// Which.
    pub queue: QueueName,
    /// From when on.
    pub from_ms: i64,
    /// Until when.
    pub until_ms: i64,
}

impl Slow {
    fn is_on(&self, queue: QueueName, now_ms: i64) -> bool {
        self.queue == queue && (self.from_ms..self.until_ms).contains(&now_ms)
    }
}

impl Faults {
    /// Whether functions are disturbed by chance.
    pub fn disturb(&self) -> bool {
        self.crash > 0.0 || self.stall > 0.0 || self.unavailable > 0.0
    }

    /// Until when `queue` hands nothing out, if it does not at `now_ms`.
    pub fn slow_until(&self, queue: QueueName, now_ms: i64) -> Option<i64> {
        let slow = self.slow.filter(|slow| slow.is_on(queue, now_ms));
        slow.map(|slow| slow.until_ms)
    }

    /// Whether what `queue` hands out at `now_ms` is handled by nobody.
    pub fn is_throttled(&self, queue: QueueName, now_ms: i64) -> bool {
        self.throttled.iter().any(|slow| slow.is_on(queue, now_ms))
    }
}
