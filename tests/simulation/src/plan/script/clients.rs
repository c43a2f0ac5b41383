//! Orders of clients of the API, signs of typing, and bodies too large for a queue.

use super::{LinePlan, happens};
use crate::executor::Simulation;
use crate::fake_world::Said;
use crate::person::Habit;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::contact::ContactAddress;
use recado_domain::event::PAYLOAD_INLINE_BYTES_MAX;
use recado_domain::inbound::WebhookItem;
use recado_domain::provider::Provider;
use recado_domain::typing::{TypingState, TypingUpdate};
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// Clients write to a contact, now or some time later, and take half of that back.
pub(super) fn orders<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, contact: &ContactAddress)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    // (Numbers of Meta are written in another way than these contacts are named.)
    if line.bound.instance.provider != Provider::Evolution {
        return;
    }
    let (on, instance, contact) = (Arc::clone(sim), line.bound.instance.id.clone(), contact.clone());
    happens(sim, async move {
        for number in 0..on.simulation().between(1, 4) {
            let simulation = on.simulation();
            simulation.sleep(simulation.between(500, 60_000)).await;
            let text = format!("client-{number}-{}", simulation.below(1 << 40));
            let ahead = simulation.pick(&[None, Some(1_000), Some(45_000), Some(400_000)]);
            let cancels = ahead.filter(|_| simulation.chance(0.5));
            let cancels = cancels.map(|ahead| simulation.between(0, ahead + 70_000));
            on.order(on.order_of(&instance, &contact, text, ahead), cancels);
        }
    });
}

/// A contact is seen typing, recording and stopping, whatever it sends.
pub(super) fn typing<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, contact: &(ContactAddress, Habit))
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let instance = &line.bound.instance;
    let Some(external) = instance.resolve_external_id() else {
        return;
    };
    let (number, habit) = contact;
    for _ in 0..sim.simulation().between(3, 20) {
        let simulation = sim.simulation();
        let (address, _) = habit.shows_now(simulation).names(number);
        let update = TypingUpdate {
            provider: instance.provider,
            external: external.clone(),
            address,
            state: simulation.pick(&[TypingState::Typing, TypingState::Typing, TypingState::Paused]),
        };
        sim.post(WebhookItem::Typing(update), simulation.between(0, 200_000));
    }
}

/// A contact writes something whose webhook is too large for a queue.
pub(super) fn large_body<S, Q>(
    sim: &Arc<Simulator<S, Q>>,
    line: &LinePlan,
    (number, habit): &(ContactAddress, Habit),
    name: &mut usize,
) where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (instance, simulation): (_, &Simulation) = (&line.bound.instance, sim.simulation());
    let Some(external) = instance.resolve_external_id() else {
        return;
    };
    *name += 1;
    let at = simulation.between(0, 120_000);
    let said = Said {
        id: &format!("in-{name}"),
        text: &format!("m{name}"),
        from_me: false,
        sent_at: Some(recado_domain::millis::add_millis(simulation.now(), at)),
    };
    let mut event = said.event_in(instance.provider, &external, number, habit.shows_now(simulation));
    event.payload["more"] = "x".repeat(PAYLOAD_INLINE_BYTES_MAX).into();
    sim.post(WebhookItem::Event(event), at);
}
