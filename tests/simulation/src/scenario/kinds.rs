use crate::fault_injector::DistinctStep;
use std::collections::HashMap;

/// How many steps of one kind a suite plays in all its stories together.
const STEPS_OF_A_KIND: usize = 3;

/// How many steps of each kind were played.
#[derive(Debug, Default)]
pub struct PlayedKinds(HashMap<String, usize>);

impl PlayedKinds {
    /// Returns whether a step of this kind is still to be played, and counts it then.
    pub fn take(&mut self, step: &DistinctStep) -> bool {
        let played = self.0.entry(step.kind.clone()).or_default();
        *played += 1;
        *played <= STEPS_OF_A_KIND
    }
}
