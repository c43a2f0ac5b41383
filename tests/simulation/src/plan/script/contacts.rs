//! What contacts write.

use super::{LinePlan, happens};
use crate::fake_world::{Changed, Said, traits};
use crate::person::Habit;
use crate::plan::address;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::contact::ContactAddress;
use recado_domain::inbound::WebhookItem;
use recado_domain::millis::add_millis;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// A contact writes some messages; their webhooks come late, twice and in another order.
pub(super) fn conversation<S, Q>(
    sim: &Arc<Simulator<S, Q>>,
    line: &LinePlan,
    contact: &(ContactAddress, Habit),
    (lost, name): (f64, &mut usize),
) where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let simulation = sim.simulation();
    let (provider, mut at) = (line.bound.instance.provider, simulation.between(0, 20_000));
    let Some(external) = line.bound.instance.resolve_external_id() else {
        return;
    };
    let messages = if simulation.chance(0.03) {
        simulation.between(21, 40)
    } else {
        simulation.between(1, 7)
    };
    let mut together = Vec::new();
    let (number, habit) = contact;
    for nth in 0..messages.unsigned_abs() {
        *name += 1;
        at += simulation.pick(&[100, 1_000, 3_000, 10_000, 60_000, 200_000]);
        let text = match simulation.below(40) {
            0 => format!("reaction m{name}"),
            1 if sim.common.faults.disturb() => "poison".to_owned(),
            2 => format!("m{name}-photo"),
            3 => format!("m{name}-voice"),
            4 => format!("m{name}-inline-photo"),
            _ => format!("m{name}"),
        };
        // Some are two hours old: too old to be answered; some fifty minutes.
        let written = match simulation.below(100) {
            0..=2 => at - 7_200_000,
            3..=4 => at - 3_000_000,
            _ => at,
        };
        let said = Said {
            id: &format!("in-{name}"),
            text: &text,
            from_me: false,
            sent_at: Some(add_millis(simulation.now(), written)),
        };
        let shows = habit.shows(simulation, nth);
        let mut event = said.event_in(provider, &external, number, shows);
        if lost > 0.0 && traits(provider).has_history && simulation.chance(lost) {
            sim.lose(&mut event);
            continue;
        }
        let late = simulation.pick(&[0, 0, 0, 200, 5_000, 400_000]);
        if text.starts_with('m') && simulation.chance(0.12) {
            change(sim, line, contact, (said, at), name);
        }
        together.push(WebhookItem::Event(event));
        // Now and then one webhook brings several.
        if !simulation.chance(0.1) {
            sim.post_all(std::mem::take(&mut together), at + late);
        }
    }
    if !together.is_empty() {
        sim.post_all(together, at);
    }
}

/// The contact says something else in the place of what it `said` at some time, or takes it back; some do both.
fn change<S, Q>(
    sim: &Arc<Simulator<S, Q>>,
    line: &LinePlan,
    (number, habit): &(ContactAddress, Habit),
    (said, at): (Said<'_>, i64),
    name: &mut usize,
) where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (simulation, provider) = (sim.simulation(), line.bound.instance.provider);
    let Some(external) = line.bound.instance.resolve_external_id() else {
        return;
    };
    let (mut changes, mut at) = (simulation.pick(&[1, 1, 1, 2]), at);
    while changes > 0 {
        changes -= 1;
        *name += 1;
        at += simulation.pick(&[100, 1_000, 5_000, 30_000, 200_000]);
        let deletes = simulation.chance(0.4);
        let words = if deletes {
            String::new()
        } else {
            format!("m{name}")
        };
        let changed = Changed {
            said: Said {
                id: &format!("in-{name}"),
                text: &words,
                from_me: false,
                sent_at: Some(add_millis(simulation.now(), at)),
            },
            target: said.id,
            deletes,
            crossed: simulation.chance(0.3),
        };
        let (address, _) = habit.shows_now(simulation).names(number);
        let event = changed.event(provider, &external, &address);
        let late = simulation.pick(&[0, 0, 200, 5_000, 100_000]);
        sim.post(WebhookItem::Event(event), at + late);
        if deletes {
            return;
        }
    }
}

/// A contact writes once more, much later.
pub(super) fn write<S, Q>(
    sim: &Arc<Simulator<S, Q>>,
    line: &LinePlan,
    (number, habit): &(ContactAddress, Habit),
    name: usize,
    at: i64,
) where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let instance = &line.bound.instance;
    let Some(external) = instance.resolve_external_id() else {
        return;
    };
    let said = Said {
        id: &format!("in-{name}"),
        text: &format!("m{name}"),
        from_me: false,
        sent_at: Some(add_millis(sim.simulation().now(), at)),
    };
    let shows = habit.shows_now(sim.simulation());
    let event = said.event_in(instance.provider, &external, number, shows);
    sim.post(WebhookItem::Event(event), at);
}

/// Sixty messages of ten more contacts at once.
pub(super) fn flood<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, name: &mut usize)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let Some(external) = line.bound.instance.resolve_external_id() else {
        return;
    };
    for number in 0..60 {
        *name += 1;
        let contact = address(900, number % 10);
        let said = Said {
            id: &format!("in-{name}"),
            text: &format!("m{name}"),
            from_me: false,
            sent_at: Some(sim.simulation().now()),
        };
        let event = said.event(line.bound.instance.provider, &external, &contact);
        sim.post(WebhookItem::Event(event), sim.simulation().between(0, 2_000));
    }
}

/// An operator fetches what was missed: now and then, and once more when nothing goes wrong any more.
pub(super) fn catch_ups<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, calm_from_ms: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, instance) = (Arc::clone(sim), line.bound.instance.id.clone());
    let begun = sim.simulation().now();
    happens(sim, async move {
        let simulation = on.simulation();
        for _ in 0..simulation.between(0, 4) {
            simulation.sleep(simulation.between(1_000, 120_000)).await;
            let since = simulation.pick(&[None, Some(begun)]);
            on.fetch(&instance, since);
        }
        let left = calm_from_ms.saturating_sub(simulation.elapsed_ms()).max(0);
        simulation.sleep(left + simulation.between(0, 60_000)).await;
        // What was written two hours before its webhook is to be found, too.
        on.fetch(&instance, Some(add_millis(begun, -7_200_000)));
    });
}
