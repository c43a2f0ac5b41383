mod configuration;
mod contacts;
mod people;
mod troubles;

use super::{LinePlan, Plan};
use crate::executor::Life;
use crate::person::Habit;
use crate::queue::WorkQueues;
use crate::stage::{Stage, Style};
use configuration::configuration;
use contacts::{catch_ups, conversation, flood, write};
use people::{people, redrives};
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;
use troubles::{calm, credentials, model_fails, outage, power_cuts, unreachable};

/// Starts what happens by itself.
pub(super) fn set<S, Q>(plan: &Plan, stage: &Arc<Stage<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    for line in &plan.lines {
        let instance = &line.bound.instance;
        stage
            .outside
            .connect(&instance.id, instance.provider, line.fates.clone());
        stage.outside.line(&instance.id, |known| {
            (known.clock_ms, known.remembers) = (line.clock_ms, line.remembers);
        });
        let named = line.contacts.iter().filter(|(_, habit)| *habit != Habit::Plain);
        named.for_each(|(contact, _)| stage.outside.know_by_identity(contact));
    }
    let mut name = 0;
    for line in &plan.lines {
        for contact in &line.contacts {
            conversation(stage, line, contact, (plan.lost, &mut name));
            if let Some(slow) = plan.slow.filter(|_| stage.simulation().chance(0.4)) {
                name += 1;
                let at = slow.until_ms + stage.simulation().between(-120_000, 60_000);
                write(stage, line, contact, name, at);
            }
            if stage.simulation().chance(0.35) {
                people(stage, line, contact);
            }
        }
    }
    if plan.floods {
        flood(stage, &plan.lines[0], &mut name);
    }
    for (number, (line, at, length)) in plan.outages.iter().enumerate() {
        outage(stage, &plan.lines[*line], number, *at, *length);
    }
    for (line, at, length) in &plan.unreachable {
        unreachable(stage, &plan.lines[*line], *at, *length);
    }
    if stage.simulation().chance(0.1) {
        credentials(stage, &plan.lines[0]);
    }
    if stage.simulation().chance(0.1) {
        model_fails(stage);
    }
    stage
        .outside
        .let_model_go_on(stage.simulation().pick(&[0.0, 0.1, 0.5]));
    if plan.faults.disturb() && plan.style == Style::Machine && stage.aids.recover.is_some() {
        power_cuts(stage);
    }
    for line in &plan.lines {
        configuration(stage, line);
    }
    redrives(stage);
    calm(stage);
    if plan.lost > 0.0 {
        for line in &plan.lines {
            catch_ups(stage, line, plan.faults.calm_from_ms);
        }
    }
}

/// A task of the world around, which the end waits for.
fn happens<S, Q, F>(stage: &Arc<Stage<S, Q>>, happening: F)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
    F: Future<Output = ()> + Send + 'static,
{
    stage.ledger().pending += 1;
    let after = Arc::clone(stage);
    stage.simulation().spawn(Life::default(), async move {
        happening.await;
        after.ledger().pending -= 1;
    });
}
