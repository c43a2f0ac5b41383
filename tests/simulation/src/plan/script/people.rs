//! What people of the business do.

use super::{LinePlan, happens};
use crate::fake_world::{Changed, Said};
use crate::person::{Habit, identity};
use crate::plan::identity_key;
use crate::queue::WorkQueues;
use crate::simulator::{OperatorRequest, Simulator};
use futures::executor::block_on;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::inbound::WebhookItem;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// People take over, answer, give back, resolve, and type on the phone.
pub(super) fn people<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, contact: &Contact)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, line, contact) = (Arc::clone(sim), line.clone(), contact.clone());
    happens(sim, async move {
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
                contact.0.as_str().len() + usize::try_from(on.simulation().below(1 << 40)).unwrap_or(0)
            );
            let request = match on.simulation().below(11) {
                0..=2 => OperatorRequest::TakeOver,
                3..=5 => OperatorRequest::Answer(answer, last),
                6..=7 => OperatorRequest::GiveBack,
                8 => OperatorRequest::Resolve(last),
                9 => {
                    reword(&on, &line, &contact, &answer);
                    continue;
                }
                _ => {
                    type_on_phone(&on, &line, &contact, &answer);
                    continue;
                }
            };
            on.request(&conversation.id, request);
        }
        on.simulation()
            .sleep(on.simulation().between(1_000, 90_000))
            .await;
        if let Some(conversation) = seen(&on, &line, &contact) {
            on.request(&conversation.id, OperatorRequest::GiveBack);
        }
    });
}

/// A contact, and the names under which they appear.
type Contact = (ContactAddress, Habit);

/// What an operator sees now of the contact's conversation, or of one of two.
pub(super) fn seen<S, Q>(sim: &Simulator<S, Q>, line: &LinePlan, contact: &Contact) -> Option<Conversation>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let conversations = [contact.0.clone(), identity(&contact.0)].map(|name| {
        let thread = identity_key().derive_thread_id(&line.bound.instance.id, name.as_str());
        block_on(sim.store.find_latest_conversation(&thread))
            .ok()
            .flatten()
    });
    let mut shown: Vec<Conversation> = conversations.into_iter().flatten().collect();
    shown.retain(|conversation| conversation.listed_status().is_some());
    if shown.len() > 1 && sim.simulation().chance(0.5) {
        return shown.pop();
    }
    shown.into_iter().next()
}

/// On its phone the business says something else in the place of the newest message that the contact has, or takes it
/// back. That answers nothing.
fn reword<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, contact: &Contact, text: &str)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (instance, simulation) = (&line.bound.instance, sim.simulation());
    let newest = sim.fake_world.newest_to(&instance.id, &contact.0);
    let (Some(external), Some(target)) = (instance.resolve_external_id(), newest) else {
        return;
    };
    let changed = Changed {
        said: Said {
            id: text,
            text,
            from_me: true,
            sent_at: Some(simulation.now()),
        },
        target: &target,
        deletes: simulation.chance(0.5),
        crossed: false,
    };
    let (address, _) = contact.1.shows_now(simulation).names(&contact.0);
    let event = changed.event(instance.provider, &external, &address);
    sim.post(WebhookItem::Event(event), simulation.between(0, 3_000));
}

pub(super) fn type_on_phone<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, contact: &Contact, text: &str)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let instance = &line.bound.instance;
    let Some(external) = instance.resolve_external_id() else {
        return;
    };
    let shows = contact.1.shows_now(sim.simulation());
    let names = shows.names(&contact.0);
    let id = sim.fake_world.type_on_phone(&instance.id, names, text);
    sim.ledger().typed.insert(text.to_owned());
    let said = Said {
        id: &id,
        text,
        from_me: true,
        sent_at: Some(sim.simulation().now()),
    };
    let event = said.event_in(instance.provider, &external, &contact.0, shows);
    sim.post(WebhookItem::Event(event), sim.simulation().between(0, 3_000));
}

/// An operator moves dead letters back, some of them twice.
pub(super) fn redrives<S, Q>(sim: &Arc<Simulator<S, Q>>)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let on = Arc::clone(sim);
    if sim.simulation().chance(0.5) {
        return;
    }
    happens(sim, async move {
        for _ in 0..3 {
            on.simulation()
                .sleep(on.simulation().between(60_000, 400_000))
                .await;
            for dead in on.queues.dead().into_iter().filter(|dead| dead.copy_of.is_some()) {
                on.common.note(|| format!("redriven: {}", dead.body));
                if let Some(copy) = dead.copy_of.as_ref().filter(|_| on.simulation().chance(0.4)) {
                    on.redrive(copy.dead_letter.clone());
                }
                if on.simulation().chance(0.7) {
                    on.move_back(&dead);
                }
            }
        }
    });
}
