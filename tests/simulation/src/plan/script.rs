mod batches;
mod clients;
mod configuration;
mod contacts;
mod endpoints;
mod entries;
mod guests;
mod people;
mod troubles;

use super::{LinePlan, Plan};
use crate::executor::Life;
use crate::person::Habit;
use crate::queue::WorkQueues;
use crate::simulator::{Simulator, Style};
use configuration::configuration;
use contacts::{catch_ups, conversation, flood, write};
use people::{people, redrives};
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;
use troubles::{calm, credentials, model_fails, outage, power_cuts, unreachable};

/// Starts what happens by itself.
pub(super) fn set<S, Q>(plan: &Plan, sim: &Arc<Simulator<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for line in &plan.lines {
        let instance = &line.bound.instance;
        sim.fake_world
            .connect(&instance.id, instance.provider, line.behaviours.clone());
        sim.fake_world.line(&instance.id, |known| {
            (known.clock_ms, known.remembers) = (line.clock_ms, line.remembers);
        });
        let named = line.contacts.iter().filter(|(_, habit)| *habit != Habit::Plain);
        named.for_each(|(contact, _)| sim.fake_world.know_by_identity(contact));
    }
    let mut name = 0;
    for line in &plan.lines {
        for contact in &line.contacts {
            conversation(sim, line, contact, (plan.lost, &mut name));
            if let Some(slow) = plan.slow.filter(|_| sim.simulation().chance(0.4)) {
                name += 1;
                let at = slow.until_ms + sim.simulation().between(-120_000, 60_000);
                write(sim, line, contact, name, at);
            }
            if sim.simulation().chance(0.35) {
                people(sim, line, contact);
            }
        }
    }
    if plan.floods {
        flood(sim, &plan.lines[0], &mut name);
    }
    for (number, (line, at, length)) in plan.outages.iter().enumerate() {
        outage(sim, &plan.lines[*line], number, *at, *length);
    }
    for (line, at, length) in &plan.unreachable {
        unreachable(sim, &plan.lines[*line], *at, *length);
    }
    if sim.simulation().chance(0.1) {
        credentials(sim, &plan.lines[0]);
    }
    if sim.simulation().chance(0.1) {
        model_fails(sim);
    }
    sim.fake_world
        .let_model_go_on(sim.simulation().pick(&[0.0, 0.1, 0.5]));
    let decides = sim.simulation().pick(&[0.05, 0.2, 0.5]);
    sim.fake_world.decide_with_chance(decides);
    if plan.faults.disturb() && plan.style == Style::Machine && sim.extras.recover.is_some() {
        power_cuts(sim);
    }
    for line in &plan.lines {
        configuration(sim, line);
    }
    redrives(sim);
    calm(sim);
    set_beside(plan, sim, &mut name);
}

/// Starts what only some histories have beside conversations. `name` counts the contacts' messages.
fn set_beside<S, Q>(plan: &Plan, sim: &Arc<Simulator<S, Q>>, name: &mut usize)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    endpoints::endpoints(sim, plan);
    entries::entries(sim, plan);
    batches::batches(sim, plan);
    if plan.lost > 0.0 {
        for line in &plan.lines {
            catch_ups(sim, line, plan.faults.calm_from_ms);
        }
    }
    if plan.has_guests {
        sim.fake_world.let_mails_end_by_chance();
        for (number, line) in plan.lines.iter().enumerate() {
            guests::guests(sim, number, line);
        }
    }
    if plan.has_clients {
        for line in &plan.lines {
            for contact in &line.contacts {
                clients::orders(sim, line, &contact.0);
                clients::typing(sim, line, contact);
            }
            if let Some(contact) = line.contacts.first().filter(|_| sim.simulation().chance(0.3)) {
                clients::large_body(sim, line, contact, name);
            }
        }
    }
}

/// A task of the world around, which the end waits for.
fn happens<S, Q, F>(sim: &Arc<Simulator<S, Q>>, happening: F)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
    F: Future<Output = ()> + Send + 'static,
{
    sim.ledger().pending += 1;
    let after = Arc::clone(sim);
    sim.simulation().spawn(Life::default(), async move {
        happening.await;
        after.ledger().pending -= 1;
    });
}
