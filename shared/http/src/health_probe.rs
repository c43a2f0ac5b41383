//! Checks that the store accepts writes. The process decides when it checks, so that requests of strangers cannot load
//! the store.

use crate::loop_watchdog::LoopWatchdog;
use crate::problem;
use futures::future::{Either, select};
use recado_domain::dead_letter::QueueName;
use recado_domain::health::HealthStatus;
use recado_domain::{SignedDuration, Timestamp};
use recado_pipeline::Deps;
use recado_pipeline::ports::{DiskSpace, PortError, QueueDepths};
use recado_pipeline::steps::store_check::check_store_writes;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Time for which a successful write counts as proof, in milliseconds.
const FRESH_MS: i64 = 10_000;

/// The longest time that the store and the queue may each take to answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(4);

/// Age from which an event that is acknowledged and not recorded makes the queue degraded, and unhealthy.
const INTAKE_DEGRADED: SignedDuration = SignedDuration::from_secs(30);
const INTAKE_UNHEALTHY: SignedDuration = SignedDuration::from_mins(5);

/// The results of the last checks of the store and the queue. Clones share one state.
#[derive(Debug, Clone)]
pub struct HealthProbe {
    last: Arc<Mutex<HealthProbeState>>,
    watchdog: LoopWatchdog,
    /// `true` if a request for `/health` may cause a check, at most once in ten seconds.
    on_request: bool,
}

#[derive(Debug, Clone, Copy)]
struct HealthProbeState {
    tried: Option<Timestamp>,
    written: Option<Timestamp>,
    queue: HealthStatus,
    oldest_intake: Option<Timestamp>,
    /// `true` if the disk was full; `None` if the records are not on a disk.
    disk_full: Option<bool>,
}

/// The result of the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthProbeResult {
    pub store: HealthStatus,
    pub queue: HealthStatus,
    /// When the oldest webhook came that is acknowledged and not recorded; `None` if none waits.
    pub oldest_intake: Option<Timestamp>,
    /// State of the disk; `None` if the records are not on a disk.
    pub disk: Option<HealthStatus>,
    /// State of the work in the background; `None` if the process has none.
    pub background: Option<HealthStatus>,
    /// Time of the last successful write that was made to prove that the store accepts writes.
    pub written: Option<Timestamp>,
}

impl HealthProbe {
    /// Creates a probe that its process runs every few seconds with [`HealthProbe::probe_store`].
    pub fn by_timer() -> Self {
        Self::new(false)
    }

    /// Creates a probe for a process that runs only while it handles requests. A request checks the store if the last
    /// check is more than ten seconds old.
    pub fn on_request() -> Self {
        Self::new(true)
    }

    fn new(on_request: bool) -> Self {
        let last = HealthProbeState {
            tried: None,
            written: None,
            queue: HealthStatus::Degraded,
            oldest_intake: None,
            disk_full: None,
        };
        Self {
            last: Arc::new(Mutex::new(last)),
            watchdog: LoopWatchdog::default(),
            on_request,
        }
    }

    /// Returns the loops in the background of this process. `/health` tells when one is late.
    pub fn watchdog(&self) -> &LoopWatchdog {
        &self.watchdog
    }

    /// Returns `true` if the disk had less room than it should at the last check.
    pub fn is_disk_full(&self) -> bool {
        self.lock_state().disk_full == Some(true)
    }

    fn lock_state(&self) -> MutexGuard<'_, HealthProbeState> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a record, reads the depth of a queue, measures the disk and stores the results. A store that refuses the write is
    /// unhealthy. A queue whose depth cannot be read is only degraded, since it may still accept messages. One into which acknowledged
    /// events do not come is unhealthy after some minutes.
    pub async fn probe_store(&self, deps: &Deps, depths: &dyn QueueDepths) {
        let at = deps.system().now();
        self.lock_state().tried = Some(at);
        let write = run_with_timeout(deps, "proving a write", check_store_writes(deps, depths, at)).await;
        let depth = run_with_timeout(
            deps,
            "the depth of a queue",
            depths.read_queue_depth(QueueName::Inbound),
        )
        .await;
        let intake = run_with_timeout(deps, "the oldest new event", depths.read_oldest_intake()).await;
        let disk = deps.store().read_disk_space().await;
        let mut last = self.lock_state();
        match disk {
            Ok(space) => last.disk_full = note_disk(last.disk_full, space),
            Err(error) => problem::log_port_error(&error),
        }
        match write {
            Ok(()) => last.written = Some(at),
            Err(error) => problem::log_port_error(&error),
        }
        last.queue = match depth {
            Ok(_) => HealthStatus::Healthy,
            Err(error) => {
                problem::log_port_error(&error);
                HealthStatus::Degraded
            }
        };
        match intake {
            Ok(oldest) => last.oldest_intake = oldest,
            Err(error) => problem::log_port_error(&error),
        }
    }

    /// Returns the last result. If requests may cause checks and the last one is too old, checks first.
    pub async fn probe_if_stale(&self, deps: &Deps, depths: &dyn QueueDepths) -> HealthProbeResult {
        let old = !is_fresh(self.lock_state().tried, deps.system().now());
        if self.on_request && old {
            self.probe_store(deps, depths).await;
        }
        self.current_result(deps.system().now())
    }

    fn current_result(&self, now: Timestamp) -> HealthProbeResult {
        let last = *self.lock_state();
        HealthProbeResult {
            store: HealthStatus::judge(is_fresh(last.written, now)),
            queue: last.queue.max(judge_intake(last.oldest_intake, now)),
            oldest_intake: last.oldest_intake,
            disk: last.disk_full.map(|is_full| HealthStatus::judge(!is_full)),
            background: self.watchdog.judge(),
            written: last.written,
        }
    }
}

/// Judges the queue by the age of the oldest event that is acknowledged and not recorded.
fn judge_intake(oldest: Option<Timestamp>, now: Timestamp) -> HealthStatus {
    let age = oldest.map_or(SignedDuration::ZERO, |oldest| now.duration_since(oldest));
    if age >= INTAKE_UNHEALTHY {
        HealthStatus::Unhealthy
    } else if age >= INTAKE_DEGRADED {
        HealthStatus::Degraded
    } else {
        HealthStatus::Healthy
    }
}

/// Logs that the disk became full, and returns whether it is; `None` if the records are not on a disk.
fn note_disk(before: Option<bool>, space: Option<DiskSpace>) -> Option<bool> {
    let space = space?;
    if space.is_full() && before != Some(true) {
        let (free_bytes, least_bytes) = (space.free, space.least);
        tracing::error!(
            event = "disk_full",
            free_bytes,
            least_bytes,
            "the disk of the data folder is full"
        );
    }
    Some(space.is_full())
}

/// Returns whether `at` is at most ten seconds away from `now`. A time ahead of `now` counts by its distance too: after
/// the clock was set back, an old result does not count as fresh.
fn is_fresh(at: Option<Timestamp>, now: Timestamp) -> bool {
    at.is_some_and(|at| now.as_millisecond().abs_diff(at.as_millisecond()) <= FRESH_MS.unsigned_abs())
}

/// Returns the result of `work`, or an error after four seconds.
pub(crate) async fn run_with_timeout<T>(
    deps: &Deps,
    what: &'static str,
    work: impl Future<Output = Result<T, PortError>>,
) -> Result<T, PortError> {
    match select(pin!(work), pin!(deps.system().sleep(PROBE_TIMEOUT))).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => Err(PortError::unavailable(what, "it took longer than four seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::from_unix_millis;

    #[test]
    fn events_that_are_not_recorded_make_the_queue_degraded_and_then_unhealthy() {
        let probe = HealthProbe::by_timer();
        let now = from_unix_millis(1_000_000_000);
        for (oldest, status) in [
            (None, HealthStatus::Healthy),
            (Some(29), HealthStatus::Healthy),
            (Some(30), HealthStatus::Degraded),
            (Some(300), HealthStatus::Unhealthy),
        ] {
            let mut state = probe.lock_state();
            state.queue = HealthStatus::Healthy;
            state.oldest_intake = oldest.map(|age| from_unix_millis(1_000_000_000 - age * 1000));
            drop(state);
            assert_eq!(probe.current_result(now).queue, status, "{oldest:?}");
        }
    }

    #[test]
    fn a_write_proves_something_for_ten_seconds() {
        let probe = HealthProbe::by_timer();
        assert_eq!(
            probe.current_result(from_unix_millis(0)).store,
            HealthStatus::Unhealthy,
            "none was made yet"
        );
        probe.lock_state().written = Some(from_unix_millis(50_000));
        for (now, store) in [
            (50_000, HealthStatus::Healthy),
            (60_000, HealthStatus::Healthy),
            (60_001, HealthStatus::Unhealthy),
            (39_999, HealthStatus::Unhealthy),
        ] {
            let result = probe.current_result(from_unix_millis(now));
            assert_eq!(
                (result.store, result.written),
                (store, Some(from_unix_millis(50_000))),
                "{now}"
            );
        }
    }
}
