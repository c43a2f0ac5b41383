//! The workers of the queues: one loop per queue, and one for scheduled messages.

use crate::compose::LocalEmails;
use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use recado_domain::dead_letter::QueueName;
use recado_domain::ids::TenantId;
use recado_domain::millis::add_millis;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};
use recado_embedded::{DequeuedMessage, Embedded, FairShare, TenantKey};
use recado_http::{LoopWatchdog, WatchedLoop};
use recado_pipeline::Deps;
use recado_pipeline::ports::PortResult;
use recado_pipeline::records::scheduled_messages::list_due_scheduled;
use recado_pipeline::settings::VisibilityTimeouts;
use recado_pipeline::table::Kind;
use recado_pipeline::{Verdict, handle_outbound_message, handle_turns_message, process};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

/// The longest time that a stopping process waits for work that was begun: longer than the longest lease.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(100);

/// The longest time between two looks at a queue, in case a wake-up is missed.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The longest time that a busy queue waits for more workers to become free. Each receive is a write, so it should be for
/// several messages.
const GATHERING_TIMEOUT: Duration = Duration::from_millis(5);

/// Longest time between two rounds of a loop. With the longest wait for a message there are ten seconds left for the store.
pub const ROUND_TIMEOUT: Duration = Duration::from_secs(15);

/// Time to wait after a queue could not be read. Its messages stay receivable meanwhile, so an error would otherwise
/// repeat at once.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// Returns the number of messages of each queue that are processed at a time.
///
/// One tenant or instance gets three quarters of them at most ([`FairShare`]), so that a model or a provider that hangs
/// does not hold the others up. Events wait for nothing but the store, whose one writer commits what is waiting
/// together: so with more of them at a time, each commit does more. Acknowledgements go before them.
fn max_concurrency(queue: QueueName) -> usize {
    match queue {
        QueueName::Inbound => 96,
        QueueName::Turns | QueueName::Outbound => 80,
    }
}

/// The workers of a queue.
#[derive(Clone)]
struct WorkerPool {
    share: Arc<Mutex<FairShare>>,
    finished: Arc<Notify>,
}

impl WorkerPool {
    fn for_queue(queue: QueueName) -> Self {
        Self {
            share: Arc::new(Mutex::new(FairShare::for_workers(max_concurrency(queue)))),
            finished: Arc::default(),
        }
    }

    /// Locks the share, also after a panic: a panic cannot leave the counts half changed.
    fn lock_share(&self) -> MutexGuard<'_, FairShare> {
        self.share.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// While many workers are busy, waits until some more of them are free, but not long: work that hangs must not hold up what
    /// other workers can do.
    async fn gather_free_workers(&self, all: usize) {
        let free = self.lock_share().free_workers();
        if all - free < all / 4 {
            return;
        }
        let gathered = async {
            while self.lock_share().free_workers() < free + all / 8 {
                self.finished.notified().await;
            }
        };
        // In time or not, those that are free receive now.
        let _ = tokio::time::timeout(GATHERING_TIMEOUT, gathered).await;
    }

    fn enter_owner(&self, owner: TenantKey) -> WorkerPermit {
        self.lock_share().start_work(&owner);
        WorkerPermit {
            pool: self.clone(),
            owner,
        }
    }
}

/// The permit of a worker, held for as long as it works.
struct WorkerPermit {
    pool: WorkerPool,
    owner: TenantKey,
}

impl Drop for WorkerPermit {
    fn drop(&mut self) {
        self.pool.lock_share().finish_work(&self.owner);
        self.pool.finished.notify_one();
    }
}

fn visibility_timeout(queue: QueueName) -> Duration {
    match queue {
        QueueName::Inbound => VisibilityTimeouts::INBOUND,
        QueueName::Turns => VisibilityTimeouts::TURNS,
        QueueName::Outbound => VisibilityTimeouts::OUTBOUND,
    }
}

/// Runs the workers of all queues until `stop` is `true`. Then they receive no more messages and finish those that were begun, for
/// as long as the longest lease. The future is boxed here, so that the message's path is compiled with this crate.
pub fn run_queue_workers(
    deps: Arc<Deps>,
    emails: LocalEmails,
    queues: Embedded,
    watchdog: LoopWatchdog,
    stop: watch::Receiver<bool>,
) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut loops = JoinSet::new();
        for queue in QueueName::ALL {
            let ports = (Arc::clone(&deps), emails.clone());
            let watched = watchdog.add_loop(queue.as_str(), ROUND_TIMEOUT);
            loops.spawn(run_queue_worker(
                queue,
                ports,
                queues.clone(),
                watched,
                stop.clone(),
            ));
        }
        let watched = watchdog.add_loop("scheduled messages", ROUND_TIMEOUT);
        loops.spawn(run_scheduled_sends(deps, queues, watched, stop));
        while loops.join_next().await.is_some() {}
    })
}

async fn run_queue_worker(
    queue: QueueName,
    (deps, emails): (Arc<Deps>, LocalEmails),
    queues: Embedded,
    watched: WatchedLoop,
    mut stop: watch::Receiver<bool>,
) {
    let pool = WorkerPool::for_queue(queue);
    let mut running = JoinSet::new();
    let mut more_may_wait = false;
    while !*stop.borrow() {
        watched.report_round();
        while running.try_join_next().is_some() {}
        if more_may_wait {
            pool.gather_free_workers(max_concurrency(queue)).await;
        }
        let room = pool.lock_share().clone();
        let batch = match room.free_workers() {
            0 => Vec::new(),
            _ => match queues
                .receive_for_share(queue, room, visibility_timeout(queue))
                .await
            {
                Ok(batch) => batch,
                Err(error) => {
                    tracing::error!(queue = queue.as_str(), %error, "the queue cannot be read");
                    tokio::select! {
                        () = tokio::time::sleep(FAILURE_PAUSE) => {}
                        _ = stop.changed() => {}
                    }
                    continue;
                }
            },
        };
        more_may_wait = !batch.is_empty();
        if batch.is_empty() {
            wait_for_work(queue, &deps, &queues, &pool.finished, &mut stop).await;
            continue;
        }
        for received in batch {
            let place = pool.enter_owner(received.owner.clone());
            let (deps, emails, queues) = (Arc::clone(&deps), emails.clone(), queues.clone());
            running.spawn(async move {
                handle_message((&deps, &emails), &queues, received).await;
                drop(place);
            });
        }
    }
    drop(watched);
    let drained = tokio::time::timeout(DRAIN_TIMEOUT, async {
        while running.join_next().await.is_some() {}
    })
    .await;
    if drained.is_err() {
        tracing::warn!(
            queue = queue.as_str(),
            "stopped before all was finished: the queue brings the rest back"
        );
    }
}

/// Waits until there may be a message to receive.
async fn wait_for_work(
    queue: QueueName,
    deps: &Deps,
    queues: &Embedded,
    finished: &Notify,
    stop: &mut watch::Receiver<bool>,
) {
    let next = queues.next_visible_at(queue).await.ok().flatten();
    let now = deps.system().now();
    let wait = next.map_or(IDLE_TIMEOUT, |at| {
        // A message that is visible already only waits for its group or for a free worker: `finished` is notified then.
        let milliseconds = at.as_millisecond().saturating_sub(now.as_millisecond()).max(20);
        Duration::from_millis(milliseconds.unsigned_abs()).min(IDLE_TIMEOUT)
    });
    tokio::select! {
        () = queues.wait_for_change(queue) => {}
        () = finished.notified() => {}
        () = tokio::time::sleep(wait) => {}
        _ = stop.changed() => {}
    }
}

/// Returns the verdict of `work`. A panic counts as a failure of the message: the queue delivers it again, and its
/// record counts the attempts.
async fn catch_panic(queue: QueueName, work: impl Future<Output = Verdict>) -> Verdict {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!(queue = queue.as_str(), "a worker panicked");
        Verdict::Retry {
            after: SignedDuration::from_secs(2),
        }
    })
}

async fn handle_message((deps, emails): (&Deps, &LocalEmails), queues: &Embedded, received: DequeuedMessage) {
    let deadline = add_millis(deps.system().now(), 30_000);
    // The last write of the work acknowledges the message in its own transaction, where it can.
    let queues = queues.for_message(&received.receipt);
    let deps = &deps.with_queues(queues.clone());
    let (body, times) = (&received.body, received.receives);
    let worked = async {
        match received.queue {
            QueueName::Inbound => process::process(deps, body, times).await,
            QueueName::Turns => handle_turns_message(deps, body, times, None).await,
            QueueName::Outbound => handle_outbound_message(deps, emails, body, times, Some(deadline)).await,
        }
    };
    let verdict = catch_panic(received.queue, worked).await;
    let kept = match verdict {
        Verdict::Done if queues.has_acknowledged() => return,
        Verdict::Done => queues.delete_received(&received.receipt).await,
        Verdict::Retry { after } => {
            queues
                .change_visibility(&received.receipt, after.unsigned_abs())
                .await
        }
    };
    if let Err(error) = kept {
        tracing::error!(queue = received.queue.as_str(), %error, "the queue did not take the verdict");
    }
}

/// The number of scheduled messages that are released in one go.
const DUE_AT_ONCE: usize = 100;

/// Releases scheduled messages in the second in which they are due. On AWS `reconcile` does it, but only every minute.
async fn run_scheduled_sends(
    deps: Arc<Deps>,
    queues: Embedded,
    watched: WatchedLoop,
    mut stop: watch::Receiver<bool>,
) {
    loop {
        watched.report_round();
        let now = deps.system().now();
        let (due, next) = match read_due_messages(&queues, now).await {
            Ok(found) => found,
            Err(error) => {
                tracing::error!(%error, "scheduled messages cannot be read");
                Default::default()
            }
        };
        for (tenant, id) in due {
            watched.report_round();
            if let Err(error) = recado_sends::release_due_message(&deps, &tenant, &id).await {
                tracing::warn!(message_id = %id, %error, "a scheduled message could not be sent yet");
            }
        }
        // A message that is scheduled meanwhile may be due before the next one that is known.
        let wait = next.map_or(1_000, |at| {
            at.as_millisecond().saturating_sub(now.as_millisecond())
        });
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(wait.clamp(20, 1_000).unsigned_abs())) => {}
            _ = stop.changed() => return,
        }
    }
}

/// Returns the scheduled messages that are due, and the time at which the next one is.
async fn read_due_messages(
    queues: &Embedded,
    now: Timestamp,
) -> PortResult<(Vec<(TenantId, ScheduledId)>, Option<Timestamp>)> {
    let due = list_due_scheduled(queues, now, DUE_AT_ONCE).await?;
    let kind = Kind::of::<ScheduledMessage>();
    Ok((due, queues.find_next_due(&kind, now).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_worker_panicked_over_comes_back() {
        let panics = async { panic!("as the test wants") };
        let Verdict::Retry { after } = catch_panic(QueueName::Inbound, panics).await else {
            panic!("it must not be acknowledged");
        };
        assert_eq!(after, SignedDuration::from_secs(2));
        let done = catch_panic(QueueName::Inbound, async { Verdict::Done }).await;
        assert_eq!(done, Verdict::Done);
    }
}
