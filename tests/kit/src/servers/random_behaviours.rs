//! What becomes of requests when it is left to chance.

use super::behaviour::Behaviour;
use super::journal::Recorded;
use crate::chance::SeededRng;
use std::collections::BTreeMap;

/// Behaviours by weight. A request's behaviour depends on the seed, on what it asks for and on how often that was asked before,
/// and on nothing else: neither on when it comes nor on what comes beside it.
#[derive(Debug, Clone)]
pub struct RandomBehaviours {
    seed: u64,
    weighted: Vec<(u64, Behaviour)>,
    asked: BTreeMap<String, u64>,
}

impl RandomBehaviours {
    /// Each behaviour with its weight: of 100 in all, its percentage.
    pub fn new(seed: u64, weighted: Vec<(u64, Behaviour)>) -> Self {
        Self {
            seed,
            weighted,
            asked: BTreeMap::new(),
        }
    }

    pub(super) fn draw(&mut self, request: &Recorded) -> Behaviour {
        let what = format!("{} {}", request.path, request.body);
        let times = self.asked.entry(what.clone()).or_default();
        *times += 1;
        let all = self.weighted.iter().map(|(weight, _)| weight).sum();
        let mut left = SeededRng::new(self.seed, (what, *times)).below(all);
        for (weight, behaviour) in &self.weighted {
            if left < *weight {
                return behaviour.clone();
            }
            left -= weight;
        }
        Behaviour::Normal
    }
}
