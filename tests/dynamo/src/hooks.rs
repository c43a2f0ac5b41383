//! What a simulator decides: the time, what goes wrong, and who goes on first.

use crate::operation::Operation;
use jiff::Timestamp;
use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// What goes wrong with one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// It is refused for now, and nothing is done. A transaction is cancelled, as on AWS, which the store tries again
    /// some times by itself.
    ThrottleBefore,
    /// It is done, and the answer is lost.
    FailAfter,
    /// Another transaction holds a record: nothing is done. Only writes are refused for it; to a read it is
    /// [`Fault::None`].
    TransactionConflict,
    /// A transaction is done item by item, in an order that the number chooses (0: its own), with the pause
    /// [`Hooks::between`] before each: meanwhile a plain read sees some of its records as they became and others as they
    /// were, and whoever writes one of them, or reads it in a transaction, collides. The answer comes when all is done. To
    /// everything else it is [`Fault::None`].
    Torn(u64),
    /// A transaction is done, and the answer says that it is still in progress. To everything else it is [`Fault::None`].
    StillInProgress,
    /// An index (or a read that did not ask for a strong one) answers as it was this long ago; one that has answered
    /// from later does not go back. To everything else it is [`Fault::None`].
    StaleIndex(Duration),
}

/// Waiting for as long as the simulator wants to.
pub type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

type Clock = dyn Fn() -> Timestamp + Send + Sync;
type Faults = dyn Fn(&Operation) -> Fault + Send + Sync;
type Pauses = dyn Fn(&Operation) -> Pause + Send + Sync;

/// The simulator's hooks. A new one lets everything succeed at once.
#[derive(Clone)]
pub struct Hooks {
    pub(crate) clock: Arc<Clock>,
    pub(crate) fault: Arc<Faults>,
    pub(crate) before: Arc<Pauses>,
    pub(crate) after: Arc<Pauses>,
    pub(crate) between: Arc<Pauses>,
}

impl Hooks {
    /// Hooks with this clock, without faults and pauses.
    pub fn new(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            clock: Arc::new(clock),
            fault: Arc::new(|_| Fault::None),
            before: Arc::new(|_| Box::pin(ready(()))),
            after: Arc::new(|_| Box::pin(ready(()))),
            between: Arc::new(|_| Box::pin(ready(()))),
        }
    }

    /// What goes wrong. Asked once for each request, after the pause before it and just before its effect.
    #[must_use]
    pub fn fault(mut self, fault: impl Fn(&Operation) -> Fault + Send + Sync + 'static) -> Self {
        self.fault = Arc::new(fault);
        self
    }

    /// The request's way there. Dropping the caller in this pause is a crash before the effect.
    #[must_use]
    pub fn before(mut self, pause: impl Fn(&Operation) -> Pause + Send + Sync + 'static) -> Self {
        self.before = Arc::new(pause);
        self
    }

    /// The answer's way back. Dropping the caller in this pause is a crash after the effect.
    #[must_use]
    pub fn after(mut self, pause: impl Fn(&Operation) -> Pause + Send + Sync + 'static) -> Self {
        self.after = Arc::new(pause);
        self
    }

    /// The time before each record of a transaction that is done item by item. A caller that is dropped here does not stop
    /// it: what has begun is done at once.
    #[must_use]
    pub fn between(mut self, pause: impl Fn(&Operation) -> Pause + Send + Sync + 'static) -> Self {
        self.between = Arc::new(pause);
        self
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").finish_non_exhaustive()
    }
}
