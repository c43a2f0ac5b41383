//! Operators of endpoints, to which a tenant's events are posted.

use super::{Plan, happens};
use crate::executor::Simulation;
use crate::fake_world::StandIn;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use jiff::SignedDuration;
use recado_domain::ids::TenantId;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// What an operator does with an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Gives it another secret.
    Rotate,
    /// Pauses it for a while.
    Pause,
    /// Removes it, and makes another one under its name.
    Replace,
    /// Lets failed events be posted again.
    PostAgain,
    /// Nothing; the function that posts begins a pass beside those that run.
    PassBeside,
}

/// An operator of each tenant makes an endpoint, and then does this and that with it.
pub(super) fn endpoints<S, Q>(sim: &Arc<Simulator<S, Q>>, plan: &Plan)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    if !plan.has_endpoints || !sim.extras.publishes {
        return;
    }
    let mut tenants: Vec<TenantId> = plan
        .lines
        .iter()
        .map(|line| line.bound.tenant.id.clone())
        .collect();
    tenants.dedup();
    tenants.truncate(2);
    for tenant in tenants {
        let on = Arc::clone(sim);
        happens(sim, async move { operate(&on, &tenant).await });
    }
}

async fn operate<S, Q>(sim: &Arc<Simulator<S, Q>>, tenant: &TenantId)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let simulation = sim.simulation();
    simulation.sleep(simulation.between(0, 40_000)).await;
    let mut number = sim.make_endpoint(tenant, "crm").await;
    trouble(sim, number);
    for _ in 0..simulation.between(0, 6) {
        simulation.sleep(simulation.between(500, 60_000)).await;
        match choose(simulation) {
            Act::Rotate => {
                let overlap = SignedDuration::from_secs(simulation.between(60, 600));
                sim.rotate_endpoint(number, overlap).await;
            }
            Act::Pause => {
                sim.pause_endpoint(number, true).await;
                simulation.sleep(simulation.between(500, 60_000)).await;
                sim.pause_endpoint(number, false).await;
            }
            Act::Replace => {
                sim.remove_endpoint(number).await;
                simulation.sleep(simulation.pick(&[0, 0, 20, 5_000])).await;
                number = sim.make_endpoint(tenant, "crm").await;
                trouble(sim, number);
            }
            Act::PostAgain => sim.post_failed_again(number).await,
            Act::PassBeside => sim.pass_beside(number),
        }
    }
}

fn choose(simulation: &Simulation) -> Act {
    use Act::{PassBeside, Pause, PostAgain, Replace, Rotate};
    simulation.pick(&[Rotate, Pause, Replace, Replace, PostAgain, PassBeside])
}

/// Half of the systems fail, hang and answer late until nothing goes wrong any more.
fn trouble<S, Q>(sim: &Arc<Simulator<S, Q>>, number: usize) {
    if !sim.common.is_calm() && sim.common.simulation.chance(0.5) {
        sim.fake_world.stand_in(number, StandIn::let_posts_end_by_chance);
    }
}
