//! The watchdog of the loops that work in the background of a process: it knows which of them are late.
//!
//! Each loop reports each round. Others ask for the late ones: requests for `/health` and the process, on threads on which none of
//! the loops runs. So they tell of it also when every thread of the background is held up.

use recado_domain::health::HealthStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The loops of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct LoopWatchdog {
    loops: Arc<Mutex<Vec<WatchdogEntry>>>,
}

#[derive(Debug)]
struct WatchdogEntry {
    name: &'static str,
    /// Longest time between two reports.
    within: Duration,
    last: Instant,
}

/// The handle with which one loop reports. A loop that ends drops it, and is not waited for any more; one that panics stays late.
#[derive(Debug)]
pub struct WatchedLoop {
    watchdog: LoopWatchdog,
    name: &'static str,
}

impl LoopWatchdog {
    /// Adds a loop that reports within this time at least. Its name must be its own.
    pub fn add_loop(&self, name: &'static str, within: Duration) -> WatchedLoop {
        let last = Instant::now();
        self.lock_loops().push(WatchdogEntry { name, within, last });
        WatchedLoop {
            watchdog: self.clone(),
            name,
        }
    }

    /// Returns the names of the loops whose report is late.
    pub fn list_late(&self) -> Vec<&'static str> {
        let loops = self.lock_loops();
        let late = loops.iter().filter(|one| one.last.elapsed() > one.within);
        late.map(|one| one.name).collect()
    }

    /// Returns the health of the background. `None`: nothing runs in it.
    pub fn judge(&self) -> Option<HealthStatus> {
        if self.lock_loops().is_empty() {
            return None;
        }
        Some(HealthStatus::judge(self.list_late().is_empty()))
    }

    fn lock_loops(&self) -> MutexGuard<'_, Vec<WatchdogEntry>> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WatchedLoop {
    /// Notes that the loop came round.
    pub fn report_round(&self) {
        for one in self
            .watchdog
            .lock_loops()
            .iter_mut()
            .filter(|one| one.name == self.name)
        {
            one.last = Instant::now();
        }
    }
}

impl Drop for WatchedLoop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.watchdog.lock_loops().retain(|one| one.name != self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_loop_is_late_until_it_comes_round_or_ends() {
        let watchdog = LoopWatchdog::default();
        assert_eq!(watchdog.judge(), None);
        let (steady, other) = (
            watchdog.add_loop("steady", LONG),
            watchdog.add_loop("other", LONG),
        );
        assert_eq!(watchdog.judge(), Some(HealthStatus::Healthy));
        watchdog.lock_loops()[1].last -= 2 * LONG;
        assert_eq!(
            (watchdog.list_late(), watchdog.judge()),
            (vec!["other"], Some(HealthStatus::Unhealthy))
        );
        steady.report_round();
        assert_eq!(
            watchdog.list_late(),
            ["other"],
            "the report of another loop does not count"
        );
        other.report_round();
        assert_eq!(watchdog.judge(), Some(HealthStatus::Healthy));
        watchdog.lock_loops()[1].last -= 2 * LONG;
        drop(other);
        assert_eq!(watchdog.judge(), Some(HealthStatus::Healthy));
    }

    #[test]
    fn a_loop_that_panicked_stays_late() {
        let watchdog = LoopWatchdog::default();
        let watched = watchdog.add_loop("loop", Duration::ZERO);
        let panicked = std::thread::spawn(move || {
            let _watched = watched;
            panic!("as the test wants");
        });
        assert!(panicked.join().is_err());
        assert_eq!(watchdog.list_late(), ["loop"]);
    }
}
