//! A client that sends a batch of invitations, pauses it and lets it go on.

use super::{Plan, happens};
use crate::plan::address;
use crate::queue::WorkQueues;
use crate::simulator::{LINGERS_MS, Simulator};
use recado_domain::access_list::AccessList;
use recado_domain::contact::ContactAddress;
use recado_domain::invitations::BatchOrder;
use recado_domain::provider::Provider;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// The number of guests, who are no contacts.
const GUESTS: usize = 5;

/// A client of the first number sends a batch, pauses it once and lets it go on.
pub(super) fn batches<S, Q>(sim: &Arc<Simulator<S, Q>>, plan: &Plan)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let Some(line) = plan.lines.first().filter(|_| plan.has_batches) else {
        return;
    };
    let instance = &line.bound.instance;
    // (Numbers of Meta are written in another way than these guests are named. Some access lists leave guests out.)
    if instance.provider != Provider::Evolution || instance.access != AccessList::default() {
        return;
    }
    let guests: Vec<ContactAddress> = (0..GUESTS).map(|guest| address(0, 200 + guest)).collect();
    sim.prepare_occasion(0, &guests);
    let (on, calm_from_ms) = (Arc::clone(sim), plan.faults.calm_from_ms);
    happens(sim, async move {
        let simulation = on.simulation();
        simulation.sleep(simulation.between(0, 120_000)).await;
        let Some(batch) = on.send_batch(0, GUESTS, "batch").await else {
            // Nobody was told whether it was taken.
            on.ledger().invited.clear();
            return;
        };
        simulation.sleep(simulation.between(0, 30_000)).await;
        on.order_batch(batch, BatchOrder::Pause).await;
        simulation.sleep(simulation.between(0, 120_000)).await;
        on.order_batch(batch, BatchOrder::Resume).await;
        // A request to pause that nobody waits for any more may take effect after that.
        let left = calm_from_ms.saturating_sub(simulation.elapsed_ms()).max(0);
        simulation.sleep(left + LINGERS_MS).await;
        if on.is_batch_paused(batch) {
            on.order_batch(batch, BatchOrder::Resume).await;
        }
    });
}
