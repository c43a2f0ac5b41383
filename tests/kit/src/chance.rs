//! Random numbers that are the same again for the same seed.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The variable that names the seed of a run, to play it again.
pub const SEED: &str = "RECADO_SEED";

/// The seed that the environment names; else a new one. Printed, so that a failed run can be played again.
///
/// # Panics
/// When the variable holds no number.
pub fn seed() -> u64 {
    let named = std::env::var(SEED).ok();
    let seed = named.map_or_else(anew, |text| {
        text.trim().parse().expect("RECADO_SEED must be a number")
    });
    println!("{SEED}={seed}");
    seed
}

fn anew() -> u64 {
    let mut bytes = [0; 4];
    getrandom::fill(&mut bytes).expect("the system's random numbers");
    u64::from(u32::from_le_bytes(bytes))
}

/// A sequence of numbers (`SplitMix64`).
#[derive(Debug, Clone)]
pub struct SeededRng(u64);

impl SeededRng {
    /// The sequence of `seed` for one purpose: each `part` has its own.
    pub fn new(seed: u64, part: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (seed, part).hash(&mut hasher);
        Self(hasher.finish())
    }

    /// Any number below `limit`, or 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit.max(1)
    }

    /// True in `percent` of 100 cases.
    pub fn hits(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
