//! The newest signs of contacts' typing, in memory: after a restart nobody is waited for.

use crate::threads::lock_unpoisoned;
use jiff::Timestamp;
use recado_domain::ids::ThreadId;
use recado_domain::millis::add_duration;
use recado_domain::typing::{TYPING_SIGN_KEPT, TypingSign};
use std::collections::HashMap;
use std::sync::Mutex;

/// Number of signs from which on those that are over are dropped at each new one.
const SIGNS_SWEPT: usize = 1_000;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct TypingMemory(Mutex<HashMap<ThreadId, TypingSign>>);

impl TypingMemory {
    /// Keeps a sign in place of an earlier one.
    pub(crate) fn keep_sign(&self, thread: &ThreadId, sign: &TypingSign) {
        let mut signs = lock_unpoisoned(&self.0);
        if signs.len() >= SIGNS_SWEPT {
            signs.retain(|_, kept| is_kept(kept, sign.at));
        }
        signs.insert(thread.clone(), sign.clone());
    }

    /// Returns the newest sign of these threads that is kept at `now`.
    pub(crate) fn find_newest(&self, threads: &[ThreadId], now: Timestamp) -> Option<TypingSign> {
        let signs = lock_unpoisoned(&self.0);
        let found = threads.iter().filter_map(|thread| signs.get(thread));
        let kept = found.filter(|sign| is_kept(sign, now));
        kept.max_by_key(|sign| sign.at).cloned()
    }
}

fn is_kept(sign: &TypingSign, now: Timestamp) -> bool {
    now < add_duration(sign.at, TYPING_SIGN_KEPT)
}
