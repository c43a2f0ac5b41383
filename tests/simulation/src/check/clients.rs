//! An order of a client is one message, to whom they said and not before they said; and none once it was taken back.

use super::Told;
use crate::person::phone;
use crate::queue::WorkQueues;
use crate::simulator::{ClientOrder, Simulator};
use futures::executor::block_on;
use recado_domain::conversation::Conversation;
use recado_domain::ids::EventId;
use recado_domain::message::{Message, Role};
use recado_pipeline::ports::Store;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    erased(sim, told);
    let orders = sim.ledger().orders.clone();
    for order in orders.iter().filter(|order| !is_of_erased(sim, order)) {
        let made: Vec<(&Conversation, &Message)> = told
            .iter()
            .flat_map(|(conversation, messages)| messages.iter().map(move |message| (conversation, message)))
            .filter(|(_, message)| message.role == Role::Operator && says(message, order))
            .collect();
        let (text, count) = (&order.text, made.len());
        if count > 1 {
            sim.common
                .broken(format!("{text}, ordered once, is {count} messages"));
        }
        if order.is_cancelled && count > 0 {
            sim.common
                .broken(format!("{text} was taken back, and is a message"));
        }
        // Nobody is left who could send it: the history is over when nothing waits any more.
        if order.accepted.is_some() && !order.asks_back && count == 0 && sim.reconciles {
            sim.common
                .broken(format!("{text} was accepted, and no message has it"));
        }
        for (conversation, message) in made {
            let early = order.send_at.is_some_and(|at| message.stored_at < at);
            let to_other = phone(&conversation.address) != phone(&order.to);
            if early || to_other || message.instance != order.instance {
                let id = message.message_id();
                sim.common
                    .broken(format!("{id} is not as it was ordered: {order:?}"));
            }
        }
    }
}

fn says(message: &Message, order: &ClientOrder) -> bool {
    message.out.is_some() && message.content.render_text() == order.text
}

fn is_of_erased<S, Q>(sim: &Simulator<S, Q>, order: &ClientOrder) -> bool {
    let ledger = sim.ledger();
    ledger.erased.iter().any(|erased| erased.contact == order.to)
}

/// Nothing is left of what an erased contact wrote before, of the replies to it, and of what was ordered for it.
fn erased<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (erasures, said, orders) = {
        let ledger = sim.ledger();
        (ledger.erased.clone(), ledger.said.clone(), ledger.orders.clone())
    };
    for erasure in erasures.iter().filter(|erasure| erasure.is_told) {
        let is_theirs = |event: &EventId| sim.ledger().is_erased(event);
        let of_contact = said.iter().filter(|(event, _)| is_theirs(event));
        let mut words: Vec<String> = of_contact.map(|(_, spoken)| spoken.text.clone()).collect();
        let ordered = orders.iter().filter(|order| order.to == erasure.contact);
        words.extend(ordered.map(|order| order.text.clone()));
        let names = |text: &str| {
            text.split_whitespace()
                .any(|word| words.iter().any(|own| own == word))
        };
        let mut left: Vec<String> = told
            .iter()
            .filter(|(conversation, _)| phone(&conversation.address) == erasure.contact)
            .flat_map(|(_, messages)| messages)
            .filter(|message| names(&message.content.render_text()))
            .map(|message| message.message_id().to_string())
            .collect();
        for (event, _) in said.iter().filter(|(event, _)| is_theirs(event)) {
            let record = block_on(sim.store.find_event(event)).expect("events are read");
            let letter = block_on(sim.store.find_dead_letter(event.as_str())).expect("letters are read");
            let body = record
                .map(|record| format!("{:?}", record.job.payload))
                .unwrap_or_default();
            if letter.is_some() || body.contains(erasure.contact.as_str()) {
                left.push(event.to_string());
            }
        }
        let pending = block_on(sim.store.list_pending_scheduled(&sim.bounds[0].instance.id));
        let pending = pending.expect("scheduled messages are read").into_iter();
        left.extend(
            pending
                .filter(|one| one.to == erasure.contact)
                .map(|one| one.id.to_string()),
        );
        if !left.is_empty() {
            sim.common
                .broken(format!("{left:?} are left of a contact that was erased"));
        }
    }
}
