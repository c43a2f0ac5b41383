//! Whether the store takes writes: asked by the process itself, whatever strangers request.

use crate::problem;
use futures::future::{Either, select};
use recado_domain::Timestamp;
use recado_domain::dead_letter::QueueName;
use recado_pipeline::World;
use recado_pipeline::health::{Status, prove_write};
use recado_pipeline::ports::{Ambient, Depths, PortError};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a write that succeeded proves anything.
const FRESH_MS: i64 = 10_000;

/// How long the store and the queue may take.
const PATIENCE: Duration = Duration::from_secs(4);

/// What the store and the queue last did, and when. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Pulse {
    last: Arc<Mutex<Last>>,
    /// Whether a request for `/health` may cause a write, once in ten seconds at most.
    when_asked: bool,
}

#[derive(Debug, Clone, Copy)]
struct Last {
    tried: Option<Timestamp>,
    written: Option<Timestamp>,
    queue: Status,
}

/// What is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vitals {
    pub(crate) store: Status,
    pub(crate) queue: Status,
    /// When the last write succeeded that was made to prove that one can.
    pub(crate) written: Option<Timestamp>,
}

impl Pulse {
    /// One that its process beats, every few seconds, with [`Pulse::beat`].
    pub fn beaten() -> Self {
        Self::new(false)
    }

    /// One for a process that runs only while it is asked: beaten by a request if the last beat is ten seconds old.
    pub fn when_asked() -> Self {
        Self::new(true)
    }

    fn new(when_asked: bool) -> Self {
        let last = Last {
            tried: None,
            written: None,
            queue: Status::Degraded,
        };
        Self {
            last: Arc::new(Mutex::new(last)),
            when_asked,
        }
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a record, asks a queue for its depth, and keeps what came of it. A store that does not take the write is
    /// unhealthy; a queue whose depth cannot be read may still take messages, so that is only degraded.
    pub async fn beat<W: World, D: Depths>(&self, world: &W, depths: &D) {
        let at = world.ambient().now();
        self.last().tried = Some(at);
        let write = within(world, "proving a write", prove_write(world, at)).await;
        let depth = within(world, "the depth of a queue", depths.depth(QueueName::Inbound)).await;
        let mut last = self.last();
        match write {
            Ok(()) => last.written = Some(at),
            Err(error) => problem::log(&error),
        }
        last.queue = match depth {
            Ok(_) => Status::Healthy,
            Err(error) => {
                problem::log(&error);
                Status::Degraded
            }
        };
    }

    /// What is known, after a beat if that is for the request to cause.
    pub(crate) async fn feel<W: World, D: Depths>(&self, world: &W, depths: &D) -> Vitals {
        let old = !is_fresh(self.last().tried, world.ambient().now());
        if self.when_asked && old {
            self.beat(world, depths).await;
        }
        self.vitals(world.ambient().now())
    }

    fn vitals(&self, now: Timestamp) -> Vitals {
        let last = *self.last();
        let store = if is_fresh(last.written, now) {
            Status::Healthy
        } else {
            Status::Unhealthy
        };
        Vitals {
            store,
            queue: last.queue,
            written: last.written,
        }
    }
}

/// Whether `at` is less than ten seconds away; a clock that was set back makes nothing fresh.
fn is_fresh(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| now.as_millisecond().abs_diff(at.as_millisecond()) <= FRESH_MS.unsigned_abs())
}

async fn within<W: World, T>(
    world: &W,
    what: &'static str,
    work: impl Future<Output = Result<T, PortError>>,
) -> Result<T, PortError> {
    match select(pin!(work), pin!(world.ambient().sleep(PATIENCE))).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(PortError::unavailable(what, "it took longer than four seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::instant;

    #[test]
    fn a_write_proves_something_for_ten_seconds() {
        let pulse = Pulse::beaten();
        assert_eq!(
            pulse.vitals(instant(0)).store,
            Status::Unhealthy,
            "none was made yet"
        );
        pulse.last().written = Some(instant(50_000));
        for (now, store) in [
            (50_000, Status::Healthy),
            (60_000, Status::Healthy),
            (60_001, Status::Unhealthy),
            (39_999, Status::Unhealthy),
        ] {
            let vitals = pulse.vitals(instant(now));
            assert_eq!(
                (vitals.store, vitals.written),
                (store, Some(instant(50_000))),
                "{now}"
            );
        }
    }
}
