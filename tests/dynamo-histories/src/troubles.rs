use recado_dynamo_simulation::{Fault, Operation, Verb};
use recado_simulation::executor::Simulation;
use recado_simulation::fault_injector::FaultInjector;
use std::time::Duration;

/// What may go wrong with the requests of a history, how often, until the calm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Troubles {
    /// How likely a request is refused for now.
    pub throttled: f64,
    /// How likely a request is done and its answer lost.
    pub lost: f64,
    /// How likely another transaction holds one of a write's records.
    pub conflict: f64,
    /// How likely a transaction is seen half done for a while.
    pub torn: f64,
    /// How likely a transaction is done and said to be in progress.
    pub in_progress: f64,
    /// How far indexes are behind at most, in milliseconds.
    pub behind_ms: i64,
    /// How often the SDK tries a request.
    pub attempts: u32,
}

impl Default for Troubles {
    fn default() -> Self {
        Self {
            throttled: 0.0,
            lost: 0.0,
            conflict: 0.0,
            torn: 0.0,
            in_progress: 0.0,
            behind_ms: 0,
            attempts: 1,
        }
    }
}

impl Troubles {
    /// What `simulation`'s random numbers make of it.
    pub fn random(simulation: &Simulation) -> Self {
        let chances = [0.0, 0.0, 0.005, 0.03];
        Self {
            throttled: simulation.pick(&chances),
            lost: simulation.pick(&chances),
            conflict: simulation.pick(&chances),
            torn: simulation.pick(&[0.0, 0.05, 0.3]),
            in_progress: simulation.pick(&chances),
            behind_ms: simulation.pick(&[0, 0, 500, 5_000]),
            attempts: simulation.pick(&[1, 3]),
        }
    }

    /// What goes wrong with `operation`, a request of `injector`'s function.
    pub(super) fn decide(&self, operation: &Operation, injector: &FaultInjector) -> Fault {
        let common = &injector.common;
        let fault = if common.is_calm() {
            Fault::None
        } else {
            self.by_chance(operation, &common.simulation)
        };
        match fault {
            Fault::None => common.note(|| format!("{} requests {operation}", injector.function)),
            fault => common.note(|| format!("{} requests {operation}: {fault:?}", injector.function)),
        }
        if !matches!(fault, Fault::None | Fault::StaleIndex(_) | Fault::Torn(_)) {
            common.count(|counters| counters.unavailable += 1);
        }
        fault
    }

    fn by_chance(&self, operation: &Operation, simulation: &Simulation) -> Fault {
        if simulation.chance(self.throttled) {
            return Fault::ThrottleBefore;
        }
        if simulation.chance(self.lost) {
            return Fault::FailAfter;
        }
        if operation.verb.writes() && simulation.chance(self.conflict) {
            return Fault::TransactionConflict;
        }
        // Not of a claim: whether a takeover was before it is looked at when its answer comes.
        let claims = operation.keys.iter().any(|key| key.sk.starts_with("FLY#"));
        if operation.verb == Verb::Transact && !claims && simulation.chance(self.in_progress) {
            return Fault::StillInProgress;
        }
        if operation.verb == Verb::Transact && simulation.chance(self.torn) {
            return Fault::Torn(simulation.random());
        }
        if self.behind_ms > 0 && operation.verb == Verb::Query && operation.index.is_some() {
            let behind = simulation.between(0, self.behind_ms);
            return Fault::StaleIndex(Duration::from_millis(behind.unsigned_abs()));
        }
        Fault::None
    }
}
