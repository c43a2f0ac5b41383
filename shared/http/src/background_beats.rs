//! Beats of the loops that work in the background of a process, and which of them are late.
//!
//! Each loop passes a beat whenever it comes round. The beats are looked at by others: by requests for `/health` and by the process,
//! on threads on which none of the loops runs. So they tell of it also when every thread of the background is held up.

use recado_domain::health::HealthStatus;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The loops of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct BackgroundBeats {
    loops: Arc<Mutex<Vec<BeatState>>>,
}

#[derive(Debug)]
struct BeatState {
    name: &'static str,
    /// Longest time between two beats.
    within: Duration,
    last: Instant,
}

/// The beats of one loop. A loop that ends drops them, and is not waited for any more; one that panics stays late.
#[derive(Debug)]
pub struct LoopBeat {
    beats: BackgroundBeats,
    name: &'static str,
}

impl BackgroundBeats {
    /// Adds a loop that passes a beat within this time at least. Its name must be its own.
    pub fn add_loop(&self, name: &'static str, within: Duration) -> LoopBeat {
        let last = Instant::now();
        self.lock_loops().push(BeatState { name, within, last });
        LoopBeat {
            beats: self.clone(),
            name,
        }
    }

    /// Returns the names of the loops whose beat is late.
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

    fn lock_loops(&self) -> MutexGuard<'_, Vec<BeatState>> {
        self.loops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LoopBeat {
    /// Notes that the loop came round.
    pub fn pass(&self) {
        for one in self
            .beats
            .lock_loops()
            .iter_mut()
            .filter(|one| one.name == self.name)
        {
            one.last = Instant::now();
        }
    }
}

impl Drop for LoopBeat {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.beats.lock_loops().retain(|one| one.name != self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn a_loop_is_late_until_it_comes_round_or_ends() {
        let beats = BackgroundBeats::default();
        assert_eq!(beats.judge(), None);
        let (steady, other) = (beats.add_loop("steady", LONG), beats.add_loop("other", LONG));
        assert_eq!(beats.judge(), Some(HealthStatus::Healthy));
        beats.lock_loops()[1].last -= 2 * LONG;
        assert_eq!(
            (beats.list_late(), beats.judge()),
            (vec!["other"], Some(HealthStatus::Unhealthy))
        );
        steady.pass();
        assert_eq!(
            beats.list_late(),
            ["other"],
            "the beat of another loop does not count"
        );
        other.pass();
        assert_eq!(beats.judge(), Some(HealthStatus::Healthy));
        beats.lock_loops()[1].last -= 2 * LONG;
        drop(other);
        assert_eq!(beats.judge(), Some(HealthStatus::Healthy));
    }

    #[test]
    fn a_loop_that_panicked_stays_late() {
        let beats = BackgroundBeats::default();
        let beat = beats.add_loop("loop", Duration::ZERO);
        let panicked = std::thread::spawn(move || {
            let _beat = beat;
            panic!("as the test wants");
        });
        assert!(panicked.join().is_err());
        assert_eq!(beats.list_late(), ["loop"]);
    }
}
