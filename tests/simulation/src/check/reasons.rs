//! Every message of a contact ends with an answer or one reason, as the API tells it, and the reason is true.

use super::Told;
use super::answers::{Wants, counts, covers, wants};
use super::people::{People, see_to};
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use futures::executor::block_on;
use recado_domain::access::Caller;
use recado_domain::answer::{AnswerReason, AnswerState, ExplainedAnswer};
use recado_domain::conversation::{ConversationMode, ConversationStatus};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::{Author, OutboxState};

use recado_pipeline::ports::{PageRequest, Store};
use std::fmt::Debug;

/// Messages on a page: few, so that answers are also looked for beyond it.
const PAGE: usize = 3;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told], people: &People)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let deps = sim.calm_deps();
    for conversation in told {
        let mut page = PageRequest::first(PAGE);
        loop {
            let id = &conversation.0.id;
            let listed = block_on(recado_operators::list_messages(
                &deps,
                &Caller::installation(),
                id,
                &page,
            ));
            let Ok(listed) = listed else {
                sim.common.broken(format!("{id} cannot be listed: {listed:?}"));
                break;
            };
            for view in &listed.items {
                match &view.answer {
                    Some(answer) => one(sim, people, conversation, &view.message, answer),
                    None if view.message.role == Role::User => {
                        let id = view.message.message_id();
                        sim.common.broken(format!("{id} has no reason and no answer"));
                    }
                    None => {}
                }
            }
            match listed.next_cursor {
                Some(cursor) => page.cursor = Some(cursor),
                None => break,
            }
        }
    }
}

fn one<S, Q>(sim: &Simulator<S, Q>, people: &People, told: &Told, message: &Message, answer: &ExplainedAnswer)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let (conversation, messages) = told;
    let wants = wants(sim, message);
    let named = answer.reply.as_ref().and_then(|id| {
        let mut all = messages.iter();
        all.find(|other| other.message_id() == *id)
    });
    let is_true = match answer.reason {
        AnswerReason::Replied | AnswerReason::ErrorMessage => {
            named.is_some_and(|reply| is_sent_by(reply, Author::Ai) && covers(reply) >= message.ordinal)
        }
        AnswerReason::MaybeReplied | AnswerReason::DeadLetter => {
            named.is_some_and(|reply| counts(reply) && covers(reply) >= message.ordinal)
        }
        AnswerReason::Manual => {
            conversation.mode == ConversationMode::Manual && conversation.status == ConversationStatus::Active
        }
        AnswerReason::NeedsPerson => {
            let handed_over = super::decisions::is_handed_over(told, message);
            let paused = super::limits::is_paused(sim, told, message);
            handed_over || paused || super::reading::is_too_much(sim, told, message) || wants != Wants::Yes
        }
        AnswerReason::Stale => wants != Wants::Yes,
        AnswerReason::NothingToAnswer => {
            let silence = conversation.find_silence_reason(message.ordinal);
            wants != Wants::Yes || silence.is_some() && silence == answer.cause
        }
        AnswerReason::Person | AnswerReason::Resolved | AnswerReason::Cancelled => {
            see_to(sim, people, told, message) || wants != Wants::Yes
        }
        // No history ends while these hold.
        AnswerReason::Debounce
        | AnswerReason::Drafting
        | AnswerReason::TurnPlace
        | AnswerReason::EffectUnderWay
        | AnswerReason::Sending
        | AnswerReason::OutOfHours
        | AnswerReason::ModelKey
        | AnswerReason::InstanceClosed
        | AnswerReason::InstanceUnreachable
        | AnswerReason::InstanceKey
        | AnswerReason::NoInstance
        | AnswerReason::AgentDisabled
        | AnswerReason::NotKept => false,
    };
    if wants == Wants::No && answer.reason.state() == AnswerState::Waiting {
        let id = message.message_id();
        sim.common
            .broken(format!("{id} asks for nothing, and waits: {answer:?}"));
    }
    if !is_true {
        let id = message.message_id();
        sim.common
            .broken(format!("{id} is told as {answer:?}, which is not so"));
    }
}

fn is_sent_by(reply: &Message, author: Author) -> bool {
    let mut out = reply.out.iter();
    out.any(|out| out.author == author && matches!(out.state, OutboxState::Sent { .. }))
}
