//! The ports as a running function has them: every call goes through its [`Hand`], and a mutation drops its safeguard
//! here.

mod queues;
mod store;

use crate::hand::Hand;
use recado_pipeline::ports::PortResult;

/// A port in the hand of one function.
#[derive(Debug, Clone)]
pub struct Tap<P> {
    inner: P,
    hand: Hand,
}

impl<P> Tap<P> {
    /// `inner`, as the function under `hand` has it.
    pub fn new(inner: P, hand: Hand) -> Self {
        Self { inner, hand }
    }

    /// Makes `call`, the port's method `name`, in the hand: it may fail, and the function may die before or after it.
    async fn around<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = PortResult<T>> + Send,
    ) -> PortResult<T> {
        self.hand.call(name, call).await
    }
}
