//! Lets something else happen at a place where a worker reads the clock or draws a random number.

use crate::world::{Model, Provider, Time, World};
use recado_domain::Timestamp;
use recado_embedded::Embedded;
use recado_pipeline::ports::System;
use recado_pipeline::{Components, RetryLock};
use std::time::Duration;

/// What a worker asks its system for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    Clock,
    Number,
}

/// The time of a world. Something happens each time that it is asked, before it answers.
pub(crate) struct Interrupted<F> {
    time: Time,
    happens: F,
}

impl<F: Fn(Asks) + Send + Sync> System for Interrupted<F> {
    fn now(&self) -> Timestamp {
        (self.happens)(Asks::Clock);
        self.time.now()
    }

    fn random_u64(&self) -> u64 {
        (self.happens)(Asks::Number);
        self.time.random_u64()
    }

    async fn sleep(&self, duration: Duration) {
        self.time.sleep(duration).await;
    }
}

/// The same world for a worker to whom `happens` happens.
pub(crate) fn interrupt<F: Fn(Asks) + Send + Sync>(
    world: &World,
    happens: F,
) -> Components<Embedded, Embedded, Provider, Model, Interrupted<F>> {
    Components {
        store: world.store.clone(),
        queues: world.queues.clone(),
        providers: world.providers.clone(),
        llm: Model::default(),
        system: Interrupted {
            time: world.system.clone(),
            happens,
        },
        settings: world.settings.clone(),
        retry_lock: RetryLock::default(),
        exclusive_turns: world.exclusive_turns.clone(),
    }
}
