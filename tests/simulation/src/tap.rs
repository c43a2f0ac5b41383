//! The ports as a running function has them: every call goes through its [`Hand`], and a mutation drops its safeguard
//! here.

mod queues;
mod store;

use crate::hand::Hand;

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
}
