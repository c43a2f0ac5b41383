//! Lets something else happen at a place where a worker reads the clock or draws a random number.

use crate::world::{Model, Provider, Time, World};
use async_trait::async_trait;
use recado_domain::Timestamp;
use recado_embedded::Embedded;
use recado_features::FEATURES;
use recado_pipeline::Components;
use recado_pipeline::ports::System;
use std::sync::Arc;
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
    happens: Arc<F>,
}

impl<F> Clone for Interrupted<F> {
    fn clone(&self) -> Self {
        Self {
            time: self.time.clone(),
            happens: Arc::clone(&self.happens),
        }
    }
}

#[async_trait]
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
pub(crate) fn interrupt<F: Fn(Asks) + Send + Sync + 'static>(
    world: &World,
    happens: F,
) -> Components<Embedded, Embedded, Provider, Model, Interrupted<F>> {
    let mut interrupted = Components::new(
        world.store.clone(),
        world.queues.clone(),
        world.providers.clone(),
        Model::default(),
        Interrupted {
            time: world.system.clone(),
            happens: Arc::new(happens),
        },
        &FEATURES,
        world.settings().clone(),
    );
    interrupted.deps_mut().exclusive_turns = world.exclusive_turns.clone();
    interrupted
}
