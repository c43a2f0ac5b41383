//! Work beside other work: what the contact is shown must not delay what the contact is told.

use crate::Deps;
use futures::future::{Either, select};
use jiff::SignedDuration;
use std::future::Future;
use std::pin::pin;

/// Minimum time for `beside`, from the begin of both. A quick request is completed even if the work is done sooner.
const BESIDE_MIN: SignedDuration = SignedDuration::from_secs(1);

/// Runs `work`, and `beside` meanwhile, which ends with the work, but not before [`BESIDE_MIN`]. The work is never
/// delayed: its effects are done when `beside` is waited for.
pub async fn run_beside<T>(
    deps: &Deps,
    work: impl Future<Output = T> + Send,
    beside: impl Future<Output = ()> + Send,
) -> T {
    let began = deps.system().now();
    let (work, beside) = (pin!(work), pin!(beside));
    match select(work, beside).await {
        Either::Right(((), work)) => work.await,
        Either::Left((done, beside)) => {
            let took = deps.system().now().duration_since(began);
            // The clock may have been set back.
            let took = if took.is_negative() { BESIDE_MIN } else { took };
            let left = (BESIDE_MIN - took).max(SignedDuration::ZERO);
            let left = pin!(deps.system().sleep(left.unsigned_abs()));
            select(beside, left).await;
            done
        }
    }
}

/// Runs `work`, and `beside` until the work is done and no longer.
pub async fn run_until_done<T>(
    work: impl Future<Output = T> + Send,
    beside: impl Future<Output = ()> + Send,
) -> T {
    match select(pin!(work), pin!(beside)).await {
        Either::Right(((), work)) => work.await,
        Either::Left((done, _)) => done,
    }
}
