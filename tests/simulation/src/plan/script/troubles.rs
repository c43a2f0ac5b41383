//! What goes wrong outside of functions, for a while.

use super::{LinePlan, happens};
use crate::fake_world::connection_event;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::inbound::WebhookItem;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// The number loses WhatsApp for a while; the events that say so may come late or not at all.
pub(super) fn outage<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, number: usize, at: i64, length: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, instance) = (Arc::clone(sim), line.bound.instance.clone());
    happens(sim, async move {
        let Some(external) = instance.resolve_external_id() else {
            return;
        };
        on.simulation().sleep(at).await;
        for open in [false, true] {
            on.fake_world.line(&instance.id, |line| line.connected = open);
            on.common.note(|| format!("{} is connected: {open}", instance.id));
            if on.simulation().chance(0.8) {
                let event = connection_event(instance.provider, &external, number as u64, open);
                on.post(WebhookItem::Event(event), on.simulation().between(0, 3_000));
            }
            if !open {
                on.simulation().sleep(length).await;
            }
        }
    });
}

/// The provider cannot be reached for a while.
pub(super) fn unreachable<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, at: i64, length: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, instance) = (Arc::clone(sim), line.bound.instance.id.clone());
    happens(sim, async move {
        on.simulation().sleep(at).await;
        for (reachable, length) in [(false, length), (true, 0)] {
            on.fake_world.line(&instance, |line| line.reachable = reachable);
            on.common
                .note(|| format!("{instance}'s provider can be reached: {reachable}"));
            on.simulation().sleep(length).await;
        }
    });
}

/// The provider refuses our key for a while.
pub(super) fn credentials<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, instance) = (Arc::clone(sim), line.bound.instance.id.clone());
    happens(sim, async move {
        on.simulation().sleep(on.simulation().between(0, 60_000)).await;
        on.fake_world.line(&instance, |line| line.key_is_good = false);
        on.simulation()
            .sleep(on.simulation().between(10_000, 3_600_000))
            .await;
        on.fake_world.line(&instance, |line| line.key_is_good = true);
    });
}

pub(super) fn model_fails<S, Q>(sim: &Arc<Simulator<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let on = Arc::clone(sim);
    happens(sim, async move {
        on.fake_world.set_model(on.simulation().chance(0.5), 0.3);
        on.simulation()
            .sleep(on.simulation().between(10_000, 900_000))
            .await;
        on.fake_world.set_model(true, 0.0);
    });
}

/// The one machine loses its power now and then.
pub(super) fn power_cuts<S, Q>(sim: &Arc<Simulator<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let on = Arc::clone(sim);
    let cuts = sim.simulation().pick(&[0, 0, 1, 3, 10]);
    happens(sim, async move {
        for _ in 0..cuts {
            on.simulation().sleep(on.simulation().between(500, 30_000)).await;
            on.cut_power();
        }
    });
}

/// From then on nothing goes wrong any more.
pub(super) fn calm<S, Q>(sim: &Arc<Simulator<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let on = Arc::clone(sim);
    happens(sim, async move {
        on.simulation().sleep(on.common.faults.calm_from_ms).await;
        on.fake_world.calm();
        on.common.note(|| "calm".to_owned());
    });
}
