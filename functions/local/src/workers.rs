//! The functions' part of the process: one loop per queue, and the clockwork.

use crate::clock::Watch;
use crate::compose::LocalWorld;
use futures::FutureExt;
use recado_domain::dead_letter::QueueName;
use recado_domain::millis::shift;
use recado_embedded::{Embedded, Owner, Received, Room};
use recado_pipeline::ports::Ambient;
use recado_pipeline::settings::Visibility;
use recado_pipeline::{Verdict, World, deliver, process, reconcile, reply, send};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// What a stopping process waits for what it has begun: longer than the longest lease.
const DRAIN: Duration = Duration::from_secs(100);

/// How long a queue is left alone at most, should a wake-up be missed.
const IDLE: Duration = Duration::from_secs(5);

/// How long a queue is left alone that could not be read: what it would hand out is there all the time.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// How many messages of each queue are worked on at once. One tenant or instance gets three quarters of them at most
/// ([`Room`]): a model or a provider that hangs does not hold the others up. Events wait for nothing but the store, which has
/// one writer: more of them at once would only make its queue longer, for everybody.
fn at_once(queue: QueueName) -> usize {
    match queue {
        QueueName::Inbound => 12,
        QueueName::Turns | QueueName::Outbound => 80,
    }
}

/// The workers of a queue.
#[derive(Clone)]
struct Crew {
    room: Arc<Mutex<Room>>,
    finished: Arc<Notify>,
}

impl Crew {
    fn of(queue: QueueName) -> Self {
        Self {
            room: Arc::new(Mutex::new(Room::of(at_once(queue)))),
            finished: Arc::default(),
        }
    }

    /// A panic cannot leave the counts half changed.
    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, owner: Owner) -> Place {
        self.room().enter(&owner);
        Place {
            crew: self.clone(),
            owner,
        }
    }
}

/// A worker's place, for as long as it works.
struct Place {
    crew: Crew,
    owner: Owner,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.crew.room().leave(&self.owner);
        self.crew.finished.notify_one();
    }
}

fn visibility(queue: QueueName) -> Duration {
    match queue {
        QueueName::Inbound => Visibility::INBOUND,
        QueueName::Turns => Visibility::TURNS,
        QueueName::Outbound => Visibility::OUTBOUND,
    }
}

/// Runs until `stop` says so, then receives nothing more and finishes what was begun, for as long as the longest lease.
pub(crate) async fn run(world: Arc<LocalWorld>, queues: Embedded, mut stop: watch::Receiver<bool>) {
    let mut loops = JoinSet::new();
    for queue in QueueName::ALL {
        loops.spawn(work(queue, Arc::clone(&world), queues.clone(), stop.clone()));
    }
    loops.spawn(scheduled_sends(Arc::clone(&world), queues.clone(), stop.clone()));
    loops.spawn(clockwork(world, queues, stop.clone()));
    // An error means that the sender is gone, which is a stop as well.
    let _ = stop.wait_for(|stopped| *stopped).await;
    let all = async { while loops.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN + IDLE, all).await.is_err() {
        tracing::warn!("stopped before the clockwork had finished: the next start takes it up");
    }
}

async fn work(queue: QueueName, world: Arc<LocalWorld>, queues: Embedded, mut stop: watch::Receiver<bool>) {
    let crew = Crew::of(queue);
    let mut running = JoinSet::new();
    while !*stop.borrow() {
        while running.try_join_next().is_some() {}
        let room = crew.room().clone();
        let batch = match room.free() {
            0 => Vec::new(),
            _ => match queues.receive_into(queue, room, visibility(queue)).await {
                Ok(batch) => batch,
                Err(error) => {
                    tracing::error!(queue = queue.as_str(), %error, "the queue cannot be read");
                    tokio::select! {
                        () = tokio::time::sleep(AFTER_A_FAILURE) => {}
                        _ = stop.changed() => {}
                    }
                    continue;
                }
            },
        };
        if batch.is_empty() {
            idle(queue, &world, &queues, &crew.finished, &mut stop).await;
            continue;
        }
        for received in batch {
            let place = crew.enter(received.owner.clone());
            let (world, queues) = (Arc::clone(&world), queues.clone());
            running.spawn(async move {
                handle(&world, &queues, received).await;
                drop(place);
            });
        }
    }
    let drained = tokio::time::timeout(DRAIN, async { while running.join_next().await.is_some() {} }).await;
    if drained.is_err() {
        tracing::warn!(
            queue = queue.as_str(),
            "stopped before all was finished: the queue brings the rest back"
        );
    }
}

/// Waits until there may be something to do.
async fn idle(
    queue: QueueName,
    world: &LocalWorld,
    queues: &Embedded,
    finished: &Notify,
    stop: &mut watch::Receiver<bool>,
) {
    let next = queues.next_visible(queue).await.ok().flatten();
    let now = world.ambient().now();
    let wait = next.map_or(IDLE, |at| {
        // A message that is visible already is only waiting for its group or for room: `finished` tells.
        let milliseconds = at.as_millisecond().saturating_sub(now.as_millisecond()).max(20);
        Duration::from_millis(milliseconds.unsigned_abs()).min(IDLE)
    });
    tokio::select! {
        () = queues.notified(queue) => {}
        () = finished.notified() => {}
        () = tokio::time::sleep(wait) => {}
        _ = stop.changed() => {}
    }
}

/// What the queue is told. A panic is its message's failure: the queue brings it back, and its attempts are counted in its
/// record.
async fn survived(queue: QueueName, work: impl Future<Output = Verdict>) -> Verdict {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(queue = queue.as_str(), "a worker panicked");
        Verdict::ComeBack {
            after: Duration::from_secs(2),
        }
    })
}

async fn handle(world: &LocalWorld, queues: &Embedded, received: Received) {
    let deadline = shift(world.ambient().now(), 30_000);
    let (body, times) = (&received.body, received.receives);
    let worked = async {
        match received.queue {
            QueueName::Inbound => process::process(world, body, times).await,
            QueueName::Turns => reply::reply(world, body, times).await,
            QueueName::Outbound => send::send(world, body, times, Some(deadline)).await,
        }
    };
    let verdict = survived(received.queue, worked).await;
    let kept = match verdict {
        Verdict::Done => queues.delete(&received.receipt).await,
        Verdict::ComeBack { after } => queues.change_visibility(&received.receipt, after).await,
    };
    if let Err(error) = kept {
        tracing::error!(queue = received.queue.as_str(), %error, "the queue did not take the verdict");
    }
}

/// How many scheduled messages fall due in one go.
const DUE_AT_ONCE: usize = 100;

/// Lets scheduled messages fall due in their second: `reconcile`, which does it on AWS, comes only every minute.
async fn scheduled_sends(world: Arc<LocalWorld>, queues: Embedded, mut stop: watch::Receiver<bool>) {
    loop {
        let now = world.ambient().now();
        let (due, next) = match queues.scheduled_until(now, DUE_AT_ONCE).await {
            Ok(found) => found,
            Err(error) => {
                tracing::error!(%error, "scheduled messages cannot be read");
                Default::default()
            }
        };
        for id in due {
            if let Err(error) = deliver::fall_due(&*world, &id).await {
                tracing::warn!(message_id = %id, %error, "a scheduled message could not be sent yet");
            }
        }
        // One that is asked for meanwhile may be due before the next that is known.
        let wait = next.map_or(1_000, |at| {
            at.as_millisecond().saturating_sub(now.as_millisecond())
        });
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(wait.clamp(20, 1_000).unsigned_abs())) => {}
            _ = stop.changed() => return,
        }
    }
}

/// Every minute: reconcile, and forget what has expired.
async fn clockwork(world: Arc<LocalWorld>, queues: Embedded, mut stop: watch::Receiver<bool>) {
    let mut minute = tokio::time::interval(Duration::from_secs(60));
    minute.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut watch = Watch::new(world.ambient().now(), Instant::now());
    let mut set_back = false;
    loop {
        tokio::select! {
            _ = minute.tick() => {}
            _ = stop.changed() => return,
        }
        set_back = handle_clock_set_back(&mut watch, set_back, &world, &queues).await;
        if let Err(error) = reconcile::reconcile(&*world).await {
            tracing::error!(%error, "reconcile failed");
        }
        if let Err(error) = queues.sweep(world.ambient().now()).await {
            tracing::error!(%error, "expired records were not removed");
        }
    }
}

/// Lets nothing wait for what the clock said before it was set back, a minute after that was found: by then no send runs any
/// more that was begun before. Returns whether that is still to be done.
async fn handle_clock_set_back(
    watch: &mut Watch,
    found: bool,
    world: &LocalWorld,
    queues: &Embedded,
) -> bool {
    if found {
        match queues.set_back().await {
            Ok(changed) => tracing::warn!(changed, "what waited for the clock as it was goes on"),
            Err(error) => {
                tracing::error!(%error, "what waits for the clock as it was could not be changed yet");
                return true;
            }
        }
    }
    let by = watch.look(world.ambient().now(), Instant::now());
    if let Some(by) = by {
        tracing::warn!(seconds = by.as_secs(), "the machine's clock was set back");
    }
    by.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_worker_panicked_over_comes_back() {
        let panics = async { panic!("as the test wants") };
        let Verdict::ComeBack { after } = survived(QueueName::Inbound, panics).await else {
            panic!("it must not be acknowledged");
        };
        assert_eq!(after, Duration::from_secs(2));
        let done = survived(QueueName::Inbound, async { Verdict::Done }).await;
        assert_eq!(done, Verdict::Done);
    }
}
