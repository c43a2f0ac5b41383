//! Guests whom clients invite by WhatsApp and by e-mail, again and at once, and who end their invitations.

use super::{LinePlan, happens};
use crate::fake_world::Said;
use crate::queue::WorkQueues;
use crate::scenario::{START_WORD, STOP_WORD};
use crate::simulator::{InvitationOrder, Simulator, TEMPLATES};
use recado_domain::contact::ContactAddress;
use recado_domain::inbound::WebhookItem;
use recado_domain::invitations::InvitationChannel;
use recado_domain::millis::add_millis;
use recado_domain::provider::Provider;
use recado_pipeline::ports::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// The number of guests of a line who are no contacts.
const OTHERS: usize = 2;

/// The contacts of a line, and others, are invited.
pub(super) fn guests<S, Q>(sim: &Arc<Simulator<S, Q>>, number: usize, line: &LinePlan)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    // (Numbers of Meta are written in another way than these contacts are named.)
    if line.bound.instance.provider != Provider::Evolution {
        return;
    }
    let contacts = line.contacts.iter().map(|(contact, _)| contact.clone());
    let others = (0..OTHERS).map(|other| crate::plan::address(number, 100 + other));
    let numbers: Vec<ContactAddress> = contacts.chain(others).collect();
    let first = sim.ledger().guests.guests.len();
    sim.prepare_guests(number, &numbers);
    for (place, to) in numbers.iter().enumerate() {
        invites(sim, first + place);
        if sim.simulation().chance(0.4) {
            prefers(sim, line, first + place, to);
        }
        if sim.simulation().chance(0.15) {
            let on = Arc::clone(sim);
            happens(sim, async move {
                on.simulation().sleep(on.simulation().between(0, 400_000)).await;
                on.follow_link(first + place).await;
            });
        }
    }
}

/// Clients invite a guest some times; now and then two of them at once.
fn invites<S, Q>(sim: &Arc<Simulator<S, Q>>, guest: usize)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let simulation = sim.simulation();
    for nth in 0..simulation.between(1, 3) {
        let at_ms = simulation.between(0, 400_000);
        let order = InvitationOrder {
            guest,
            template: simulation.pick(&[TEMPLATES[0], TEMPLATES[0], TEMPLATES[1]]),
            channel: simulation.pick(&[
                InvitationChannel::Whatsapp,
                InvitationChannel::Whatsapp,
                InvitationChannel::Email,
            ]),
            note: simulation.pick(&["here", "there"]).to_owned(),
            key: format!("{guest}-{nth}"),
        };
        if simulation.chance(0.3) {
            let other = InvitationOrder {
                note: "elsewhere".to_owned(),
                key: format!("{guest}-{nth}-other"),
                ..order.clone()
            };
            invites_at(sim, at_ms, other);
        }
        invites_at(sim, at_ms, order);
    }
}

fn invites_at<S, Q>(sim: &Arc<Simulator<S, Q>>, at_ms: i64, order: InvitationOrder)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (on, tries) = (Arc::clone(sim), sim.simulation().pick(&[1, 20, 20]));
    happens(sim, async move {
        on.simulation().sleep(at_ms).await;
        on.invite_guest(order, tries).await;
    });
}

/// A guest writes that it wants no more invitations, and some want them again later.
fn prefers<S, Q>(sim: &Arc<Simulator<S, Q>>, line: &LinePlan, guest: usize, to: &ContactAddress)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (instance, simulation) = (&line.bound.instance, sim.simulation());
    let Some(external) = instance.resolve_external_id() else {
        return;
    };
    let mut at_ms = simulation.between(0, 400_000);
    let words: &[&str] = if simulation.chance(0.5) {
        &[STOP_WORD, START_WORD]
    } else {
        &[STOP_WORD]
    };
    for word in words {
        let said = Said {
            id: &format!("in-{word}-{guest}"),
            text: word,
            from_me: false,
            sent_at: Some(add_millis(simulation.now(), at_ms)),
        };
        let event = said.event(instance.provider, &external, to);
        let late_ms = simulation.pick(&[0, 0, 200, 5_000, 60_000]);
        sim.post(WebhookItem::Event(event), at_ms + late_ms);
        at_ms += simulation.between(20_000, 300_000);
    }
}
