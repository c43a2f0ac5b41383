//! Everything a use case may reach.

use crate::ports::{DeadLetterQueues, Llm, Providers, Queues, Store, System};
use crate::settings::Settings;
use futures::lock::{Mutex, MutexGuard};
use recado_domain::config::InstanceConfig;
use recado_domain::provider::ProviderCapabilities;
use recado_domain::rate::Rate;
use std::sync::Arc;

/// What the functions compose once at start and the use cases borrow.
pub trait Deps: Send + Sync {
    /// Records.
    type Store: Store;
    /// Queues, schedule, large bodies.
    type Queues: Queues + DeadLetterQueues;
    /// The providers' edge.
    type Providers: Providers;
    /// The model.
    type Llm: Llm;
    /// Time and chance.
    type System: System;

    /// Records.
    fn store(&self) -> &Self::Store;
    /// Queues, schedule, large bodies.
    fn queues(&self) -> &Self::Queues;
    /// The providers' edge.
    fn providers(&self) -> &Self::Providers;
    /// The model.
    fn llm(&self) -> &Self::Llm;
    /// Time and chance.
    fn system(&self) -> &Self::System;
    /// Times and limits.
    fn settings(&self) -> &Settings;
    /// The process's turn to try an event again.
    fn retry_lock(&self) -> &RetryLock;
}

/// Lets one event at a time be tried again in this process, so that a process that ends tells which event ended it.
#[derive(Debug, Clone, Default)]
pub struct RetryLock(Arc<Mutex<()>>);

impl RetryLock {
    /// Waits until nothing else is tried again, and keeps it so while the guard lives.
    pub(crate) async fn acquire_lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock().await
    }
}

/// What the rules ask of an instance's provider.
pub(crate) fn capabilities<W: Deps>(deps: &W, bound: &InstanceConfig) -> ProviderCapabilities {
    deps.providers().capabilities(bound.instance.provider)
}

/// How fast an instance writes to one contact, if that is limited.
pub(crate) fn pair_rate<W: Deps>(deps: &W, bound: &InstanceConfig) -> Option<Rate> {
    bound.instance.resolve_pair_rate(&capabilities(deps, bound))
}

/// A [`Deps`] made of its parts.
#[derive(Debug, Clone)]
pub struct Components<S, Q, P, L, A> {
    /// Records.
    pub store: S,
    /// Queues, schedule, large bodies.
    pub queues: Q,
    /// The providers' edge.
    pub providers: P,
    /// The model.
    pub llm: L,
    /// Time and chance.
    pub system: A,
    /// Times and limits.
    pub settings: Settings,
    /// The process's turn to try an event again.
    pub retry_lock: RetryLock,
}

impl<S: Store, Q: Queues + DeadLetterQueues, P: Providers, L: Llm, A: System> Deps
    for Components<S, Q, P, L, A>
{
    type Store = S;
    type Queues = Q;
    type Providers = P;
    type Llm = L;
    type System = A;

    fn store(&self) -> &S {
        &self.store
    }

    fn queues(&self) -> &Q {
        &self.queues
    }

    fn providers(&self) -> &P {
        &self.providers
    }

    fn llm(&self) -> &L {
        &self.llm
    }

    fn system(&self) -> &A {
        &self.system
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn retry_lock(&self) -> &RetryLock {
        &self.retry_lock
    }
}
