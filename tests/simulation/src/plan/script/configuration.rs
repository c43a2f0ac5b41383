//! The configuration that operators change while messages flow.

use super::{LinePlan, happens};
use crate::executor::Simulation;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::config::{ConfigDocument, InstanceConfig};
use recado_domain::hours::OpeningHours;
use recado_pipeline::ports::Store;
use serde_json::json;
use std::fmt::Debug;
use std::sync::Arc;

/// Changes a number's configuration some times; the last change lets its agent answer at all hours.
pub(super) fn configuration<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let count = sim.simulation().pick(&[0, 0, 0, 0, 1, 3]);
    let (on, known) = (Arc::clone(sim), line.bound.clone());
    happens(sim, async move {
        for number in 0..count {
            let simulation = on.simulation();
            simulation.sleep(simulation.between(1_000, 90_000)).await;
            on.configure(changed(simulation, &known, number + 1 == count))
                .await;
        }
    });
}

/// Another prompt and another wait for the rest of a burst, and hours at which nobody answers unless it is the `last` change.
fn changed(simulation: &Simulation, known: &InstanceConfig, last: bool) -> ConfigDocument {
    let mut changed = known.clone();
    changed.agent.system_prompt = format!("You answer, {} times.", simulation.below(1_000));
    changed.instance.debounce_seconds = simulation.pick(&[None, Some(0.0), Some(1.5), Some(15.0)]);
    if !last && simulation.chance(0.5) {
        let hours = json!({"mon": ["00:00-00:01"], "tue": ["00:00-24:00"]});
        let hours: OpeningHours = serde_json::from_value(hours).expect("opening hours");
        changed.instance.opening_hours = Some(hours);
    }
    ConfigDocument {
        tenants: vec![changed.tenant],
        calendars: Vec::new(),
        tools: changed.tools,
        agents: vec![changed.agent],
        instances: vec![changed.instance],
        alerts: None,
        ..ConfigDocument::default()
    }
}
