//! The dependencies of the use cases.

use crate::ports::{
    DeadLetterQueues, DocumentReader, Embedder, Files, KnowledgeLibrary, Llm, Providers, Queues, Store,
    System, Tools, Transcriber, VectorStore,
};
use crate::settings::Settings;
use crate::time_limit::run_within;
use futures::lock::{Mutex, MutexGuard};
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::provider::ProviderCapabilities;
use recado_domain::rate::Rate;
use std::sync::Arc;

/// The dependencies that a function builds once at start and the use cases borrow.
pub trait Deps: Send + Sync {
    /// Type of the store of all records.
    type Store: Store;
    /// Type of the queues, the schedule, and the stores of large bodies, files and vectors.
    type Queues: Queues + DeadLetterQueues + Files + VectorStore;
    /// Type of the providers.
    type Providers: Providers;
    /// Types of the language model and of what works for it. These transcribe recordings, read documents, make vectors, search
    /// its library and call its tools.
    type Llm: Llm + Transcriber + DocumentReader + Embedder + KnowledgeLibrary + Tools;
    /// Type of the clock and random numbers.
    type System: System;

    /// Returns the store of all records.
    fn store(&self) -> &Self::Store;
    /// Returns the queues, the schedule, and the stores of large bodies, files and vectors.
    fn queues(&self) -> &Self::Queues;
    /// Returns the providers.
    fn providers(&self) -> &Self::Providers;
    /// Returns the language model, and what transcribes recordings, reads documents and makes vectors for it.
    fn llm(&self) -> &Self::Llm;
    /// Returns the clock and random numbers.
    fn system(&self) -> &Self::System;
    /// Returns the times and limits.
    fn settings(&self) -> &Settings;
    /// Returns the lock that an event needs to be retried in this process.
    fn retry_lock(&self) -> &RetryLock;
    /// Returns the limit of exclusive turns.
    fn exclusive_turns(&self) -> &ExclusiveTurns;
}

/// A lock that lets one event at a time be retried in this process. If an event ends the process, only that event keeps
/// a counted attempt.
#[derive(Debug, Clone, Default)]
pub struct RetryLock(Arc<Mutex<()>>);

impl RetryLock {
    /// Waits until no other event is retried in this process. Others wait while the guard is held.
    pub async fn acquire_lock(&self) -> MutexGuard<'_, ()> {
        self.0.lock().await
    }
}

/// The limit of exclusive turns, which run one at a time in this process: turns that hold files in memory, and turns whose
/// earlier attempt did not end. Other turns run beside them. So files of many turns do not fill a small memory, and a turn
/// that ends the process uses up no attempts but its own.
#[derive(Debug, Clone, Default)]
pub struct ExclusiveTurns(Option<Arc<Mutex<()>>>);

/// The right to run as the exclusive turn of this process, until it is dropped.
#[derive(Debug)]
pub struct ExclusiveTurn<'a>(
    #[expect(dead_code, reason = "held until it is dropped")] Option<MutexGuard<'a, ()>>,
);

impl ExclusiveTurns {
    /// Returns the limit of one exclusive turn at a time. The default is no limit.
    #[must_use]
    pub fn one_at_a_time() -> Self {
        Self(Some(Arc::default()))
    }

    /// Waits at most `limit` until no other exclusive turn runs. `None`: another one took longer.
    pub async fn begin_exclusive_turn(
        &self,
        system: &impl System,
        limit: SignedDuration,
    ) -> Option<ExclusiveTurn<'_>> {
        let Some(lock) = &self.0 else {
            return Some(ExclusiveTurn(None));
        };
        if let Some(guard) = lock.try_lock() {
            return Some(ExclusiveTurn(Some(guard)));
        }
        let waited = run_within(system, limit.unsigned_abs(), lock.lock()).await;
        waited.map(|guard| ExclusiveTurn(Some(guard)))
    }
}

/// Returns the capabilities of an instance's provider.
pub fn capabilities(deps: &impl Deps, bound: &InstanceConfig) -> ProviderCapabilities {
    deps.providers().capabilities(bound.instance.provider)
}

/// Returns the rate of an instance to one contact; `None` if it is not limited.
pub fn pair_rate(deps: &impl Deps, bound: &InstanceConfig) -> Option<Rate> {
    bound.instance.resolve_pair_rate(&capabilities(deps, bound))
}

/// A [`Deps`] that is built from its parts.
#[derive(Debug, Clone)]
pub struct Components<S, Q, P, L, A> {
    /// Store of all records.
    pub store: S,
    /// Queues, schedule, and stores of large bodies, files and vectors.
    pub queues: Q,
    /// Providers.
    pub providers: P,
    /// Language model, and what transcribes recordings, reads documents and makes vectors for it.
    pub llm: L,
    /// Clock and random numbers.
    pub system: A,
    /// Times and limits.
    pub settings: Settings,
    /// Lock that an event needs to be retried in this process.
    pub retry_lock: RetryLock,
    /// Limit of exclusive turns.
    pub exclusive_turns: ExclusiveTurns,
}

impl<S, Q, P, L, A> Deps for Components<S, Q, P, L, A>
where
    S: Store,
    Q: Queues + DeadLetterQueues + Files + VectorStore,
    P: Providers,
    L: Llm + Transcriber + DocumentReader + Embedder + KnowledgeLibrary + Tools,
    A: System,
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

    fn exclusive_turns(&self) -> &ExclusiveTurns {
        &self.exclusive_turns
    }
}
