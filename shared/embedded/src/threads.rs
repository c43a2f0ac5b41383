//! Starts threads, locks what they share, and lowers the priority of those whose work nobody waits for closely.

use crate::folder::OpenError;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// The number by which such a thread is nicer than the process. While the processors cannot do all that is asked, it gets about a third
/// of the time of the other threads.
#[cfg(target_os = "linux")]
const BACKGROUND_NICE: i32 = 5;

/// Starts a thread of the store.
pub(crate) fn spawn_thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    let thread = Builder::new().name(name.to_owned());
    thread.spawn(work).map_err(OpenError::Thread)
}

/// Locks `mutex`, also after a panic: the holders of these locks cannot leave the data half changed.
pub(crate) fn lock_unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lowers the priority of the calling thread, for work that must not slow acknowledgements down.
///
/// Linux gives each thread a priority of its own, without any right that the process may lack. Elsewhere nothing is done.
pub fn yield_to_acknowledgements() {
    #[cfg(target_os = "linux")]
    if let Err(error) = lower_priority() {
        tracing::warn!(%error, "the priority of a thread in the background could not be lowered");
    }
}

#[cfg(target_os = "linux")]
fn lower_priority() -> rustix::io::Result<()> {
    use rustix::process::{getpid, getpriority_process, setpriority_process};
    // The process's own is that of its first thread. Above 19 the system takes 19.
    let own = getpriority_process(Some(getpid()))?;
    setpriority_process(None, own + BACKGROUND_NICE)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::process::getpriority_process;

    #[test]
    fn a_thread_yields_and_the_others_do_not() {
        let before = getpriority_process(None).unwrap();
        let lowered = std::thread::spawn(|| {
            yield_to_acknowledgements();
            yield_to_acknowledgements();
            getpriority_process(None).unwrap()
        });
        assert_eq!(lowered.join().unwrap(), (before + BACKGROUND_NICE).min(19));
        assert_eq!(getpriority_process(None).unwrap(), before);
    }
}
