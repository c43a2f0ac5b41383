//! What happens to the machine itself, and not to one of its functions.

use super::{Faults, locked};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// See the module.
#[derive(Debug, Default)]
pub struct MachineFault {
    marked: Mutex<Vec<u64>>,
    is_damaged: AtomicBool,
}

impl MachineFault {
    /// A function came to a step.
    pub(super) fn note_step(&self, faults: &Faults, number: u64) {
        if faults.marks.contains(&number) {
            locked(&self.marked).push(number);
        }
    }

    /// Returns the marked steps to which functions came since this was asked last.
    pub fn take_marked(&self) -> Vec<u64> {
        std::mem::take(&mut *locked(&self.marked))
    }

    /// A row of the store cannot be read any more.
    pub fn note_damage(&self) {
        self.is_damaged.store(true, Ordering::Relaxed);
    }

    /// Whether a row of the store cannot be read any more.
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }
}
