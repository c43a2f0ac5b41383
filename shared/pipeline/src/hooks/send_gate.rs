//! The gates of a message: they are asked whether it may leave, and until when that holds.

use crate::Deps;
use crate::steps::sending::{SendContext, StepResult};
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::message::Outgoing;

/// The moments at which gates are asked. All but `OtherGroup` are on a message's way, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMoment {
    /// A send job comes to a message that another FIFO group handles.
    OtherGroup,
    /// A send job comes to a queued message. Nothing was looked up for it.
    Queued,
    /// No evidence tells that the message was sent. It has no slot, and may not be due yet.
    BeforeSlot,
    /// The message has a slot, and its instance is open.
    AfterSlot,
    /// Everything is ready for the attempt, which is claimed next.
    BeforeClaim,
}

/// The answer of a gate: the time until which the message may leave, or `None` without a limit.
pub type GateAnswer = StepResult<Option<Timestamp>>;

/// Looks at a message before it leaves, and may keep it back.
#[async_trait]
pub trait SendGate: Send + Sync {
    /// Lets the message pass, or stops it. Returns the time until which the answer holds; `None` if it holds without a limit.
    async fn check(&self, deps: &Deps, context: SendContext<'_>, message: &Outgoing) -> GateAnswer;
}
