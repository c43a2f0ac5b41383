//! Whose call is going on: a store that makes several requests of one call asks, so that its function may die between
//! them. What the checks read belongs to no function.

use super::FaultInjector;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;

thread_local! {
    static CURRENT: RefCell<Option<FaultInjector>> = const { RefCell::new(None) };
}

impl FaultInjector {
    /// The injector of the call that is going on in this thread just now; `None` outside of functions.
    pub fn of_this_call() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Lets `effect` go on as a call of this injector's function.
    pub(super) async fn over_call<T>(&self, effect: impl Future<Output = T>) -> T {
        let mut effect = pin!(effect);
        poll_fn(|context| {
            let before = CURRENT.replace(Some(self.clone()));
            let polled = effect.as_mut().poll(context);
            CURRENT.set(before);
            polled
        })
        .await
    }
}
