//! Whom the access list refuses begins no conversation, and nobody else is left out.

use super::Told;
use crate::person::{identity, phone};
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use recado_domain::contact::ContactAddress;
use recado_domain::ids::EventId;
use recado_domain::message::Role;
use recado_domain::reason::Reason;
use recado_pipeline::ports::Store;
use std::fmt::Debug;

/// No conversation of somebody who is refused begins with that person's own message.
pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    for (conversation, messages) in told {
        let begun_by_contact = messages.first().is_some_and(|first| first.role == Role::User);
        let line = conversation.instance.as_str();
        if begun_by_contact && is_refused(sim, line, &conversation.address) {
            sim.common.broken(format!(
                "{} was begun by somebody who is refused",
                conversation.id
            ));
        }
    }
}

/// Whether the event was left out because its author is refused. Who is not refused is not left out.
pub(crate) fn is_left_out<S, Q>(sim: &Simulator<S, Q>, id: &EventId) -> bool
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let record = block_on(sim.store.find_event(id)).expect("events are read");
    if record.and_then(|record| record.reason) != Some(Reason::Blocked) {
        return false;
    }
    let said = sim.ledger().said.get(id).cloned();
    let refused = said.is_some_and(|said| {
        let address = ContactAddress::parse(&said.address);
        address.is_some_and(|address| is_refused(sim, &said.line, &address))
    });
    if !refused {
        sim.common
            .broken(format!("event {id} was left out, and its author is not refused"));
    }
    true
}

/// Whether the access list of this line refuses the person, under either name. (Lists name a person under both.)
fn is_refused<S, Q>(sim: &Simulator<S, Q>, line: &str, address: &ContactAddress) -> bool {
    let number = phone(address);
    let names = [&number, &identity(&number)];
    let mut bounds = sim.bounds.iter();
    let bound = bounds.find(|bound| bound.instance.id.as_str() == line);
    bound.is_some_and(|bound| bound.instance.access.refuses_person(&names))
}
