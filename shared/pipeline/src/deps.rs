//! The dependencies of the use cases.

use crate::Features;
use futures::lock::{Mutex, MutexGuard};
use jiff::SignedDuration;
use recado_domain::config::InstanceConfig;
use recado_domain::provider::ProviderCapabilities;
use recado_domain::rate::Rate;
use recado_ports::Settings;
use recado_ports::ports::{ModelPorts, Providers, QueuePorts, Store, System};
use recado_ports::time_limit::run_within;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The dependencies of the use cases. A program builds them once at start, and every use case borrows them.
///
/// The ports are trait objects, so that use cases are compiled once for all stores and all tests. Optimised crates leave futures to the
/// crate that boxes them.
#[derive(Clone)]
pub struct Deps {
    store: Arc<dyn Store>,
    queues: Arc<dyn QueuePorts>,
    providers: Arc<dyn Providers>,
    llm: Arc<dyn ModelPorts>,
    system: Arc<dyn System>,
    features: &'static Features,
    settings: Settings,
    /// Lock that an event needs to be retried in this process.
    pub retry_lock: RetryLock,
    /// Limit of exclusive turns.
    pub exclusive_turns: ExclusiveTurns,
}

impl Deps {
    /// Returns the store of all records.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Returns the queues, the schedule, and the stores of large bodies, files and vectors.
    #[must_use]
    pub fn queues(&self) -> &dyn QueuePorts {
        &*self.queues
    }

    /// Returns the providers.
    #[must_use]
    pub fn providers(&self) -> &dyn Providers {
        &*self.providers
    }

    /// Returns the language model, and what transcribes recordings, reads documents, makes vectors, searches the library and
    /// calls tools for it.
    #[must_use]
    pub fn llm(&self) -> &dyn ModelPorts {
        &*self.llm
    }

    /// Returns the clock and random numbers.
    #[must_use]
    pub fn system(&self) -> &dyn System {
        &*self.system
    }

    /// Returns the features that answer the questions of the message path.
    #[must_use]
    pub fn features(&self) -> &'static Features {
        self.features
    }

    /// Returns the times and limits.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the times and limits, to be changed before use cases borrow them.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Returns these dependencies with other queues.
    #[must_use]
    pub fn with_queues(&self, queues: impl QueuePorts + 'static) -> Self {
        Self {
            queues: Arc::new(queues),
            ..self.clone()
        }
    }
}

impl fmt::Debug for Deps {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Deps")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
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
        system: &dyn System,
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
pub fn capabilities(deps: &Deps, bound: &InstanceConfig) -> ProviderCapabilities {
    deps.providers().capabilities(bound.instance.provider)
}

/// Returns the rate of an instance to one contact; `None` if it is not limited.
pub fn pair_rate(deps: &Deps, bound: &InstanceConfig) -> Option<Rate> {
    bound.instance.resolve_pair_rate(&capabilities(deps, bound))
}

/// A [`Deps`] with its parts at hand, each in its own type.
///
/// The use cases see the parts that [`Self::new`] was given: another part needs another value of this type.
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
    /// The same parts, as the use cases borrow them.
    pub deps: Arc<Deps>,
}

impl<S, Q, P, L, A> Components<S, Q, P, L, A>
where
    S: Store + Clone + 'static,
    Q: QueuePorts + Clone + 'static,
    P: Providers + Clone + 'static,
    L: ModelPorts + Clone + 'static,
    A: System + Clone + 'static,
{
    /// Joins the parts, whose clones share what they hold. Exclusive turns are not limited.
    pub fn new(
        store: S,
        queues: Q,
        providers: P,
        llm: L,
        system: A,
        features: &'static Features,
        settings: Settings,
    ) -> Self {
        let deps = Deps {
            store: Arc::new(store.clone()),
            queues: Arc::new(queues.clone()),
            providers: Arc::new(providers.clone()),
            llm: Arc::new(llm.clone()),
            system: Arc::new(system.clone()),
            features,
            settings,
            retry_lock: RetryLock::default(),
            exclusive_turns: ExclusiveTurns::default(),
        };
        Self {
            store,
            queues,
            providers,
            llm,
            system,
            deps: Arc::new(deps),
        }
    }
}

impl<S, Q, P, L, A> Components<S, Q, P, L, A> {
    /// Returns the dependencies, to be changed before use cases borrow them.
    pub fn deps_mut(&mut self) -> &mut Deps {
        Arc::make_mut(&mut self.deps)
    }
}

impl<S, Q, P, L, A> Deref for Components<S, Q, P, L, A> {
    type Target = Deps;

    fn deref(&self) -> &Deps {
        &self.deps
    }
}
