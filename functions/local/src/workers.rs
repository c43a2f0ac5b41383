//! The work of the process in the background: the workers of the queues, and what runs every minute.

use crate::alert_monitor::AlertMonitor;
use crate::clock::ClockWatch;
use crate::metrics::ProcessMetrics;
use crate::word_indexing::run_word_indexing;
use recado_embedded::Embedded;
use recado_http::{LoopWatchdog, WatchedLoop};
use recado_local::compose::LocalEmails;
use recado_local::queue_workers::{DRAIN_TIMEOUT, IDLE_TIMEOUT, ROUND_TIMEOUT, run_queue_workers};
use recado_pipeline::Deps;
use recado_pipeline::reconcile;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Runs until `stop` is `true`. Then finishes what was begun.
pub(crate) async fn run_workers(
    deps: Arc<Deps>,
    emails: LocalEmails,
    queues: Embedded,
    (metrics, watchdog): (ProcessMetrics, LoopWatchdog),
    alert_monitor: AlertMonitor,
    mut stop: watch::Receiver<bool>,
) {
    let mut loops = JoinSet::new();
    let stops = stop.clone();
    loops.spawn(run_queue_workers(
        Arc::clone(&deps),
        emails,
        queues.clone(),
        watchdog.clone(),
        stops,
    ));
    loops.spawn(report_threads_alive(
        watchdog.add_loop("threads", ROUND_TIMEOUT),
        stop.clone(),
    ));
    loops.spawn(run_word_indexing(queues.clone(), stop.clone()));
    let watched = watchdog.add_loop("periodic work", MINUTE_WITHIN);
    loops.spawn(run_every_minute(
        deps,
        queues,
        metrics,
        (alert_monitor, watched),
        stop.clone(),
    ));
    // An error means that the sender is gone, which is a stop as well.
    let _ = stop.wait_for(|stopped| *stopped).await;
    let all = async { while loops.join_next().await.is_some() {} };
    if tokio::time::timeout(DRAIN_TIMEOUT + IDLE_TIMEOUT, all)
        .await
        .is_err()
    {
        tracing::warn!("stopped before the periodic work had finished: the next start goes on");
    }
}

/// Longest time between two rounds of the periodic work. A round of a large installation may take minutes.
const MINUTE_WITHIN: Duration = Duration::from_secs(15 * 60);

/// Time between two reports of the threads.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Reports that a thread is free: a task that only waits is held up where every thread is.
async fn report_threads_alive(watched: WatchedLoop, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        watched.report_round();
        tokio::select! {
            () = tokio::time::sleep(REPORT_INTERVAL) => {}
            _ = stop.changed() => {}
        }
    }
}

/// Runs `reconcile`, tells alerts and deletes expired records, every minute.
async fn run_every_minute(
    deps: Arc<Deps>,
    queues: Embedded,
    metrics: ProcessMetrics,
    (alert_monitor, watched): (AlertMonitor, WatchedLoop),
    mut stop: watch::Receiver<bool>,
) {
    let mut minute = tokio::time::interval(Duration::from_secs(60));
    minute.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut watch = ClockWatch::new(deps.system().now(), Instant::now());
    let mut set_back = false;
    loop {
        tokio::select! {
            _ = minute.tick() => {}
            _ = stop.changed() => return,
        }
        watched.report_round();
        set_back = handle_clock_set_back(&mut watch, set_back, &deps, &queues).await;
        if let Err(error) = queues.note_clock().await {
            tracing::warn!(%error, "the time is noted a minute later");
        }
        let began = deps.system().now();
        let reconciled = reconcile::reconcile(&deps).await;
        let took_ms = deps.system().now().as_millisecond() - began.as_millisecond();
        tracing::debug!(took_ms, "reconciled");
        if let Err(error) = &reconciled {
            tracing::error!(%error, "reconcile failed");
        } else {
            metrics.record_reconcile(deps.system().now());
        }
        alert_monitor
            .run_pass(&deps, &queues, reconciled.as_ref().ok())
            .await;
        if let Err(error) = queues.delete_expired(deps.system().now()).await {
            tracing::error!(%error, "expired records were not removed");
        }
        if let Err(error) = queues.overwrite_left_out().await {
            tracing::warn!(%error, "what was left out is overwritten a minute later");
        }
    }
}

/// Corrects stored times a minute after the clock was found set back: by then no send that began before is still
/// running. Returns whether a correction is still to be made.
async fn handle_clock_set_back(watch: &mut ClockWatch, found: bool, deps: &Deps, queues: &Embedded) -> bool {
    if found {
        match queues.adjust_to_set_back_clock().await {
            Ok(changed) => tracing::warn!(
                changed,
                "the clock was set back: the times of waiting work were corrected"
            ),
            Err(error) => {
                tracing::error!(%error, "the clock was set back: the times of waiting work could not be corrected yet");
                return true;
            }
        }
    }
    let by = watch.measure_set_back(deps.system().now(), Instant::now());
    if let Some(by) = by {
        tracing::warn!(seconds = by.as_secs(), "the machine's clock was set back");
    }
    by.is_some()
}
