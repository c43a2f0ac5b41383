//! Nothing is left of a tenant that was removed, whatever crashed meanwhile and whoever writes on.

use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use recado_domain::config::ConfigDocument;
use recado_pipeline::ports::Store;
use recado_pipeline::records::configuration::load_configuration;
use recado_pipeline::records::dead_letters::count_dead_letters;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (removals, said) = {
        let ledger = sim.ledger();
        (ledger.removals.clone(), ledger.said.clone())
    };
    for removal in &removals {
        let tenant = &removal.tenant;
        if removal.told_ms.is_none() {
            sim.common
                .broken(format!("the removal of {tenant} was never confirmed"));
        }
        let configured = block_on(load_configuration(&sim.store, Some(tenant)));
        if configured.expect("the configuration is read") != ConfigDocument::default() {
            sim.common
                .broken(format!("the configuration of {tenant} is left"));
        }
    }
    // The stories have no other tenant.
    let left = super::told(sim);
    if !left.is_empty() {
        sim.common.broken(format!(
            "{} conversations of a removed tenant are left",
            left.len()
        ));
    }
    let letters = block_on(count_dead_letters(&sim.store, None)).expect("dead letters are counted");
    if letters.count_of(None) > 0 || !sim.queues.dead().is_empty() {
        sim.common
            .broken("dead letters of a removed tenant are left".to_owned());
    }
    for (event, spoken) in &said {
        let record = block_on(sim.store.find_event(event)).expect("events are read");
        let body = record.map(|record| format!("{:?}", record.job.payload));
        if body.is_some_and(|body| body.contains(&spoken.address)) {
            sim.common
                .broken(format!("the body of {event} is left of a removed tenant"));
        }
    }
}
