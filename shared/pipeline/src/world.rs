//! Everything a use case may reach.

use crate::ports::{Ambient, DeadQueues, Llm, Providers, Queues, Store};
use crate::settings::Settings;
use futures::lock::{Mutex, MutexGuard};
use recado_domain::config::Bound;
use recado_domain::provider::Traits;
use recado_domain::rate::Rate;
use std::sync::Arc;

/// What the functions compose once at start and the use cases borrow.
pub trait World: Send + Sync {
    /// Records.
    type Store: Store;
    /// Queues, schedule, large bodies.
    type Queues: Queues + DeadQueues;
    /// The providers' edge.
    type Providers: Providers;
    /// The model.
    type Llm: Llm;
    /// Time and chance.
    type Ambient: Ambient;

    /// Records.
    fn store(&self) -> &Self::Store;
    /// Queues, schedule, large bodies.
    fn queues(&self) -> &Self::Queues;
    /// The providers' edge.
    fn providers(&self) -> &Self::Providers;
    /// The model.
    fn llm(&self) -> &Self::Llm;
    /// Time and chance.
    fn ambient(&self) -> &Self::Ambient;
    /// Times and limits.
    fn settings(&self) -> &Settings;
    /// The process's turn to try an event again.
    fn retries(&self) -> &Retries;
}

/// Lets one event at a time be tried again in this process, so that a process that ends tells which event ended it.
#[derive(Debug, Clone, Default)]
pub struct Retries(Arc<Mutex<()>>);

impl Retries {
    /// Waits until nothing else is tried again, and keeps it so while the guard lives.
    pub(crate) async fn alone(&self) -> MutexGuard<'_, ()> {
        self.0.lock().await
    }
}

/// What the rules ask of an instance's provider.
pub(crate) fn traits<W: World>(world: &W, bound: &Bound) -> Traits {
    world.providers().traits(bound.instance.provider)
}

/// How fast an instance writes to one contact, if that is limited.
pub(crate) fn pair_rate<W: World>(world: &W, bound: &Bound) -> Option<Rate> {
    bound.instance.pair_rate(&traits(world, bound))
}

/// A [`World`] made of its parts.
#[derive(Debug, Clone)]
pub struct Parts<S, Q, P, L, A> {
    /// Records.
    pub store: S,
    /// Queues, schedule, large bodies.
    pub queues: Q,
    /// The providers' edge.
    pub providers: P,
    /// The model.
    pub llm: L,
    /// Time and chance.
    pub ambient: A,
    /// Times and limits.
    pub settings: Settings,
    /// The process's turn to try an event again.
    pub retries: Retries,
}

impl<S: Store, Q: Queues + DeadQueues, P: Providers, L: Llm, A: Ambient> World for Parts<S, Q, P, L, A> {
    type Store = S;
    type Queues = Q;
    type Providers = P;
    type Llm = L;
    type Ambient = A;

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

    fn ambient(&self) -> &A {
        &self.ambient
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn retries(&self) -> &Retries {
        &self.retries
    }
}
