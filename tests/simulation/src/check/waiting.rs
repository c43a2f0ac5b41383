//! Each conversation in which people owe an answer is in the list of those that wait for a person, and every listed one is a conversation
//! that people see elsewhere, too.

use super::Told;
use super::answers::{Wants, counts, covers, wants};
use super::people::answered;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use recado_domain::access::Caller;
use recado_domain::conversation::{ConversationMode, ConversationStatus};
use recado_domain::ids::ConversationId;
use recado_domain::message::{Message, Role};

use recado_pipeline::ports::{ConversationFilter, PageRequest, Store};
use std::collections::BTreeSet;
use std::fmt::Debug;

/// Items on a page: few, so that lists have several.
const PAGE: usize = 2;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let waiting = list_waiting(sim);
    for conversation in told.iter().filter(|told| owes_answer(sim, told)) {
        let id = &conversation.0.id;
        if !waiting.contains(id) {
            sim.common
                .broken(format!("people owe an answer in {id}, and no list says so"));
        }
    }
    for id in waiting {
        if !told.iter().any(|(conversation, _)| conversation.id == id) {
            sim.common
                .broken(format!("{id} waits for a person, and is not listed"));
        }
    }
}

fn list_waiting<S, Q>(sim: &Simulator<S, Q>) -> BTreeSet<ConversationId>
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (deps, caller) = (sim.calm_deps(), Caller::installation());
    let mut page = PageRequest::first(PAGE);
    let mut waiting = BTreeSet::new();
    loop {
        let all = ConversationFilter::default();
        let listed = block_on(recado_operators::list_waiting_conversations(
            &deps, &caller, all, &page,
        ));
        let listed = listed.expect("waiting conversations are read");
        waiting.extend(listed.items.into_iter().map(|one| one.id));
        match listed.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return waiting,
        }
    }
}

/// Returns `true` if people have the conversation, and its contact wrote something that asks for an answer and that nobody answered.
fn owes_answer<S, Q>(sim: &Simulator<S, Q>, (conversation, messages): &Told) -> bool {
    let is_peoples = conversation.status == ConversationStatus::Active
        && conversation.mode == ConversationMode::Manual
        && conversation.erased_at.is_none();
    let is_owed = |message: &Message| {
        let mut others = messages.iter();
        let is_answered = others.any(|other| {
            let by_agent = counts(other) && covers(other) >= message.ordinal;
            by_agent || other.role == Role::Operator && answered(sim, other, message)
        });
        !is_answered && conversation.find_silence_reason(message.ordinal).is_none()
    };
    let mut of_contact = messages.iter().filter(|message| message.role == Role::User);
    is_peoples && of_contact.any(|message| wants(sim, message) == Wants::Yes && is_owed(message))
}
