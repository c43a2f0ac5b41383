use super::{LinePlan, Plan, identity_key};
use crate::executor::Life;
use crate::outside::{Said, connection_event, traits};
use crate::queue::WorkQueues;
use crate::stage::{Stage, Style, Wish};
use futures::executor::block_on;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::inbound::WebhookItem;
use recado_domain::millis::shift;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

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
    if plan.style == Style::Machine && stage.aids.recover.is_some() {
        power_cuts(stage);
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

/// A contact writes some messages; their webhooks come late, twice and in another order.
fn conversation<S, Q>(
    stage: &Arc<Stage<S, Q>>,
    line: &LinePlan,
    contact: &ContactAddress,
    (lost, name): (f64, &mut usize),
) where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let simulation = stage.simulation();
    let (provider, mut at) = (line.bound.instance.provider, simulation.between(0, 20_000));
    let Some(external) = line.bound.instance.external() else {
        return;
    };
    let messages = if simulation.chance(0.03) {
        simulation.between(21, 40)
    } else {
        simulation.between(1, 7)
    };
    let mut together = Vec::new();
    for _ in 0..messages {
        *name += 1;
        at += simulation.pick(&[100, 1_000, 3_000, 10_000, 60_000, 200_000]);
        let text = match simulation.below(40) {
            0 => format!("reaction m{name}"),
            1 => "poison".to_owned(),
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
            sent_at: Some(shift(simulation.now(), written)),
        };
        let mut event = said.event(provider, &external, contact);
        if lost > 0.0 && traits(provider).remembers && simulation.chance(lost) {
            stage.lose(&mut event);
            continue;
        }
        let late = simulation.pick(&[0, 0, 0, 200, 5_000, 400_000]);
        together.push(WebhookItem::Event(event));
        // Now and then one webhook brings several.
        if !simulation.chance(0.1) {
            stage.post_all(std::mem::take(&mut together), at + late);
        }
    }
    if !together.is_empty() {
        stage.post_all(together, at);
    }
}

/// An operator fetches what was missed: now and then, and once more when nothing goes wrong any more.
fn catch_ups<S, Q>(stage: &Arc<Stage<S, Q>>, line: &LinePlan, calm_from_ms: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, instance) = (Arc::clone(stage), line.bound.instance.id.clone());
    let begun = stage.simulation().now();
    happens(stage, async move {
        let simulation = on.simulation();
        for _ in 0..simulation.between(0, 4) {
            simulation.sleep(simulation.between(1_000, 120_000)).await;
            let since = simulation.pick(&[None, Some(begun)]);
            on.fetch(&instance, since);
        }
        let left = calm_from_ms.saturating_sub(simulation.elapsed_ms()).max(0);
        simulation.sleep(left + simulation.between(0, 60_000)).await;
        // What was written two hours before its webhook is to be found, too.
        on.fetch(&instance, Some(shift(begun, -7_200_000)));
    });
}

/// A contact writes once more, much later.
fn write<S, Q>(stage: &Arc<Stage<S, Q>>, line: &LinePlan, contact: &ContactAddress, name: usize, at: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let instance = &line.bound.instance;
    let Some(external) = instance.external() else {
        return;
    };
    let said = Said {
        id: &format!("in-{name}"),
        text: &format!("m{name}"),
        from_me: false,
        sent_at: Some(shift(stage.simulation().now(), at)),
    };
    let event = said.event(instance.provider, &external, contact);
    stage.post(WebhookItem::Event(event), at);
}

/// What an operator sees of the contact's conversation now.
fn seen<S, Q>(stage: &Stage<S, Q>, line: &LinePlan, contact: &ContactAddress) -> Option<Conversation>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let thread = identity_key().thread(&line.bound.instance.id, contact.as_str());
    block_on(stage.store.latest(&thread)).ok().flatten()
}

/// People take over, answer, give back, resolve, and type on the phone.
fn people<S, Q>(stage: &Arc<Stage<S, Q>>, line: &LinePlan, contact: &ContactAddress)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, line, contact) = (Arc::clone(stage), line.clone(), contact.clone());
    happens(stage, async move {
        for number in 0..on.simulation().between(1, 4) {
            on.simulation()
                .sleep(on.simulation().between(1_000, 60_000))
                .await;
            let Some(conversation) = seen(&on, &line, &contact) else {
                continue;
            };
            let last = conversation.last;
            let answer = format!(
                "person-{}-{number}",
                contact.as_str().len() + usize::try_from(on.simulation().below(1 << 40)).unwrap_or(0)
            );
            let wish = match on.simulation().below(10) {
                0..=2 => Wish::TakeOver,
                3..=5 => Wish::Answer(answer, last),
                6..=7 => Wish::GiveBack,
                8 => Wish::Resolve(last),
                _ => {
                    type_on_phone(&on, &line, &contact, &answer);
                    continue;
                }
            };
            on.wish(&conversation.id, wish);
        }
        on.simulation()
            .sleep(on.simulation().between(1_000, 90_000))
            .await;
        if let Some(conversation) = seen(&on, &line, &contact) {
            on.wish(&conversation.id, Wish::GiveBack);
        }
    });
}

fn type_on_phone<S, Q>(stage: &Arc<Stage<S, Q>>, line: &LinePlan, contact: &ContactAddress, text: &str)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let instance = &line.bound.instance;
    let Some(external) = instance.external() else {
        return;
    };
    let id = stage.outside.type_on_phone(&instance.id, contact, text);
    stage.ledger().typed.insert(text.to_owned());
    let said = Said {
        id: &id,
        text,
        from_me: true,
        sent_at: Some(stage.simulation().now()),
    };
    let event = said.event(instance.provider, &external, contact);
    stage.post(WebhookItem::Event(event), stage.simulation().between(0, 3_000));
}

/// Sixty messages of ten more contacts at once.
fn flood<S, Q>(stage: &Arc<Stage<S, Q>>, line: &LinePlan, name: &mut usize)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let Some(external) = line.bound.instance.external() else {
        return;
    };
    for number in 0..60 {
        *name += 1;
        let contact = super::address(900, number % 10);
        let said = Said {
            id: &format!("in-{name}"),
            text: &format!("m{name}"),
            from_me: false,
            sent_at: Some(stage.simulation().now()),
        };
        let event = said.event(line.bound.instance.provider, &external, &contact);
        stage.post(WebhookItem::Event(event), stage.simulation().between(0, 2_000));
    }
}

/// The number loses WhatsApp for a while; the events that say so may come late or not at all.
fn outage<S, Q>(stage: &Arc<Stage<S, Q>>, line: &LinePlan, number: usize, at: i64, length: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, instance) = (Arc::clone(stage), line.bound.instance.clone());
    happens(stage, async move {
        let Some(external) = instance.external() else {
            return;
        };
        on.simulation().sleep(at).await;
        for open in [false, true] {
            on.outside.line(&instance.id, |line| line.connected = open);
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
fn unreachable<S, Q>(stage: &Arc<Stage<S, Q>>, line: &LinePlan, at: i64, length: i64)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, instance) = (Arc::clone(stage), line.bound.instance.id.clone());
    happens(stage, async move {
        on.simulation().sleep(at).await;
        for (reachable, length) in [(false, length), (true, 0)] {
            on.outside.line(&instance, |line| line.reachable = reachable);
            on.common
                .note(|| format!("{instance}'s provider can be reached: {reachable}"));
            on.simulation().sleep(length).await;
        }
    });
}

/// The provider refuses our key for a while.
fn credentials<S, Q>(stage: &Arc<Stage<S, Q>>, line: &LinePlan)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, instance) = (Arc::clone(stage), line.bound.instance.id.clone());
    happens(stage, async move {
        on.simulation().sleep(on.simulation().between(0, 60_000)).await;
        on.outside.line(&instance, |line| line.key_is_good = false);
        on.simulation()
            .sleep(on.simulation().between(10_000, 3_600_000))
            .await;
        on.outside.line(&instance, |line| line.key_is_good = true);
    });
}

fn model_fails<S, Q>(stage: &Arc<Stage<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let on = Arc::clone(stage);
    happens(stage, async move {
        on.outside.set_model(on.simulation().chance(0.5), 0.3);
        on.simulation()
            .sleep(on.simulation().between(10_000, 900_000))
            .await;
        on.outside.set_model(true, 0.0);
    });
}

/// The one machine loses its power now and then.
fn power_cuts<S, Q>(stage: &Arc<Stage<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let on = Arc::clone(stage);
    let cuts = stage.simulation().pick(&[0, 0, 1, 3, 10]);
    happens(stage, async move {
        for _ in 0..cuts {
            on.simulation().sleep(on.simulation().between(500, 30_000)).await;
            on.cut_power();
        }
    });
}

/// An operator moves dead letters back, some of them twice.
fn redrives<S, Q>(stage: &Arc<Stage<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let on = Arc::clone(stage);
    if stage.simulation().chance(0.5) {
        return;
    }
    happens(stage, async move {
        for _ in 0..3 {
            on.simulation()
                .sleep(on.simulation().between(60_000, 400_000))
                .await;
            for dead in on.queues.dead().into_iter().filter(|dead| dead.copy_of.is_some()) {
                on.common.note(|| format!("redriven: {}", dead.body));
                if let Some(copy) = dead.copy_of.as_ref().filter(|_| on.simulation().chance(0.4)) {
                    on.redrive(copy.letter.clone());
                }
                if on.simulation().chance(0.7) {
                    on.move_back(&dead);
                }
            }
        }
    });
}

/// From then on nothing goes wrong any more.
fn calm<S, Q>(stage: &Arc<Stage<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let on = Arc::clone(stage);
    happens(stage, async move {
        on.simulation().sleep(on.common.faults.calm_from_ms).await;
        on.outside.calm();
        on.common.note(|| "calm".to_owned());
    });
}
