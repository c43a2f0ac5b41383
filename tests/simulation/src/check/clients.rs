//! An order of a client is one message, to whom they said and not before they said; and none once it was taken back.

use super::Told;
use crate::person::phone;
use crate::queue::WorkQueues;
use crate::simulator::{ClientOrder, Simulator};
use recado_domain::conversation::Conversation;
use recado_domain::message::{Message, Role};
use recado_pipeline::ports::Store;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
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
