//! What contacts are shown beside replies: that their own message was read, that somebody types, and only where that is
//! configured.

use super::Told;
use super::answers::covers;
use super::waits::is_undisturbed;
use crate::observations::Mark;
use crate::person::phone;
use crate::simulator::Simulator;
use recado_domain::config::InstanceConfig;
use recado_domain::contact::ContactAddress;
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::message::Message;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    let marks = sim.common.observations().marks.clone();
    for mark in &marks {
        let bound = sim.bounds.iter().find(|bound| bound.instance.id == mark.instance);
        if !bound.is_some_and(|bound| is_right(sim, bound, mark)) {
            sim.common.broken(format!("{mark:?} was shown"));
        }
    }
    if !is_undisturbed(sim) {
        return;
    }
    for (conversation, messages) in told {
        let bound = sim
            .bounds
            .iter()
            .find(|bound| bound.instance.id == conversation.instance);
        if !bound.is_some_and(|bound| bound.instance.mark_read || bound.instance.typing) {
            continue;
        }
        for reply in messages.iter().filter(|message| message.model.is_some()) {
            let newest = messages.iter().find(|message| message.ordinal == covers(reply));
            if newest.is_some_and(|newest| !is_marked(&marks, newest)) {
                let what = format!("{} was written, and nobody was shown that", reply.message_id());
                sim.common.broken(what);
            }
        }
    }
}

/// Whether the contact's message has no id, or was shown as read.
fn is_marked(marks: &[Mark], message: &Message) -> bool {
    let id = message.provider_message_id.as_ref();
    id.is_none_or(|id| marks.iter().any(|mark| mark.id == *id))
}

/// Whether it was asked for, and is about a message that this contact wrote.
fn is_right<S, Q>(sim: &Simulator<S, Q>, bound: &InstanceConfig, mark: &Mark) -> bool {
    let instance = &bound.instance;
    let Some(external) = instance.resolve_external_id() else {
        return false;
    };
    let event = derive_event_id(instance.provider, &external, EventKind::Message, &mark.id);
    let ledger = sim.ledger();
    let spoken = ledger.said.get(&event);
    // Whatever name the person appeared under.
    let of_person =
        |address: &str| ContactAddress::parse(address).is_some_and(|own| phone(&own) == phone(&mark.to));
    spoken.is_some_and(|spoken| !spoken.from_me && of_person(&spoken.address))
        && if mark.typing {
            instance.typing
        } else {
            instance.mark_read
        }
}
