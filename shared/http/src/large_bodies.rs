//! Limits how many large bodies are in memory at a time, and how many are parsed at a time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// The size from which a body is large, in bytes. Parsing it takes milliseconds, and it does not arrive together with
/// its headers.
pub(crate) const LARGE_BODY_BYTES: usize = 256 * 1024;

/// The number of large bodies that are in memory at a time, at most.
const HELD_MAX: usize = 16;

/// The number of large bodies that are checked and parsed at a time, at most: a parsed body takes many times its own
/// size.
const READ_AT_ONCE: usize = 2;

/// The large bodies of one process.
#[derive(Debug, Clone)]
pub(crate) struct LargeBodies {
    body_permits: Arc<Semaphore>,
    read_permits: Arc<Semaphore>,
    arriving: Arc<Mutex<ArrivingBodies>>,
}

/// The large bodies that have not arrived completely, the oldest first.
#[derive(Debug, Default)]
struct ArrivingBodies {
    next: u64,
    waiting: VecDeque<(u64, oneshot::Sender<()>)>,
}

/// A permit that a large body holds while it is in memory.
#[derive(Debug)]
pub(crate) struct LargeBodyPermit {
    number: u64,
    bodies: LargeBodies,
    _permit: OwnedSemaphorePermit,
}

impl LargeBodies {
    pub(crate) fn new() -> Self {
        Self {
            body_permits: Arc::new(Semaphore::new(HELD_MAX)),
            read_permits: Arc::new(Semaphore::new(READ_AT_ONCE)),
            arriving: Arc::default(),
        }
    }

    /// Waits for a permit for a body that is arriving. If no permit is free, the oldest body that is still arriving is
    /// given up, so that a slow client cannot keep others out. Returns the permit, and a receiver that resolves when
    /// this body is given up itself.
    pub(crate) async fn acquire_permit(&self) -> Option<(LargeBodyPermit, oneshot::Receiver<()>)> {
        let permit = if let Ok(permit) = Arc::clone(&self.body_permits).try_acquire_owned() {
            permit
        } else {
            let oldest = self.lock_arriving().waiting.pop_front();
            if let Some((_, away)) = oldest {
                // An error means that nobody listens any more: that body's permit is free, or is just being returned.
                let _ = away.send(());
            }
            Arc::clone(&self.body_permits).acquire_owned().await.ok()?
        };
        let (away, sent_away) = oneshot::channel();
        let mut arriving = self.lock_arriving();
        arriving.next += 1;
        let number = arriving.next;
        arriving.waiting.push_back((number, away));
        drop(arriving);
        let place = LargeBodyPermit {
            number,
            bodies: self.clone(),
            _permit: permit,
        };
        Some((place, sent_away))
    }

    /// Waits for the permit to check and parse a body.
    pub(crate) async fn acquire_read_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.read_permits).acquire_owned().await.ok()
    }

    fn lock_arriving(&self) -> MutexGuard<'_, ArrivingBodies> {
        self.arriving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LargeBodyPermit {
    /// Records that the body has arrived completely: from now on it is not given up for another body.
    pub(crate) fn mark_arrived(&self) {
        let mut arriving = self.bodies.lock_arriving();
        arriving.waiting.retain(|(number, _)| *number != self.number);
    }
}

impl Drop for LargeBodyPermit {
    fn drop(&mut self) {
        self.mark_arrived();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[tokio::test]
    async fn who_arrives_slowest_makes_room_and_who_has_arrived_stays() {
        let bodies = LargeBodies::new();
        let mut held = Vec::new();
        for _ in 0..HELD_MAX {
            held.push(bodies.acquire_permit().await.unwrap());
        }
        held[0].0.mark_arrived();
        let mut waiting = Box::pin(bodies.acquire_permit());
        assert!((&mut waiting).now_or_never().is_none());
        assert!((&mut held[0].1).now_or_never().is_none_or(|away| away.is_err()));
        assert_eq!(
            (&mut held[1].1).now_or_never(),
            Some(Ok(())),
            "the oldest that is arriving"
        );
        assert!((&mut held[2].1).now_or_never().is_none());
        drop(held.remove(1));
        assert!(waiting.now_or_never().is_some());
    }

    #[tokio::test]
    async fn who_finds_only_bodies_that_have_arrived_waits() {
        let bodies = LargeBodies::new();
        let mut held = Vec::new();
        for _ in 0..HELD_MAX {
            let (place, _) = bodies.acquire_permit().await.unwrap();
            place.mark_arrived();
            held.push(place);
        }
        let mut waiting = Box::pin(bodies.acquire_permit());
        assert!((&mut waiting).now_or_never().is_none());
        held.pop();
        assert!(waiting.now_or_never().is_some());
    }
}
