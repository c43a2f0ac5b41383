//! What an agent decides holds from the reply on that says it, and from no other: its last words arrive, it says nothing after
//! them, and its script goes on with replies that were committed.

use super::Told;
use super::hours::is_notice;
use super::persons::Persons;
use crate::executor::START_MS;
use crate::queue::WorkQueues;
use crate::simulator::Simulator;
use recado_domain::config::Agent;
use recado_domain::conversation::Conversation;
use recado_domain::decision::{AgentDecision, DecisionKind};
use recado_domain::ids::StepId;
use recado_domain::message::Message;
use recado_domain::outbox::{Author, OutboxState};
use recado_domain::reason::Reason;
use recado_pipeline::ports::Store;
use std::collections::BTreeSet;
use std::fmt::Debug;

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told])
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    let persons = Persons::of(sim, told);
    for (conversation, messages) in told {
        let of_agent = messages.iter().filter(|message| is_agents(message));
        let of_agent: Vec<&Message> = of_agent.collect();
        last_words(sim, &of_agent);
        silence(sim, told, &persons, (conversation, &of_agent));
        script(sim, told, &persons, (conversation, &of_agent));
    }
}

fn is_agents(message: &Message) -> bool {
    message.out.as_ref().is_some_and(|out| out.author == Author::Ai)
}

/// Whether the agent handed the conversation over, nobody has taken it, and `message` came too late for its last words.
pub(super) fn is_handed_over((conversation, _): &Told, message: &Message) -> bool {
    conversation.needs_person == Some(Reason::HandedOver) && message.ordinal > conversation.answered
}

/// Whether the agent of a conversation may resolve it.
pub(super) fn may_resolve<S, Q>(sim: &Simulator<S, Q>, conversation: &Conversation) -> bool {
    let agent = sim.agent_of(&conversation.instance);
    agent.is_some_and(|agent| agent.decisions.contains(&DecisionKind::Resolve))
}

/// No takeover cancelled last words: they were sent, or there is a dead letter.
fn last_words<S, Q>(sim: &Simulator<S, Q>, of_agent: &[&Message]) {
    for message in of_agent {
        let Some(out) = message.out.as_ref().filter(|out| out.last_words) else {
            continue;
        };
        if !matches!(out.state, OutboxState::Sent { .. } | OutboxState::Dead { .. }) {
            let state = out.state.as_str();
            sim.common
                .broken(format!("the last words {} are {state}", message.message_id()));
        }
    }
}

/// While a person is waited for, the agent says nothing after its last words. They may have been said under another name of
/// the same person: then no turn begins here once both are known to be one person's.
fn silence<S, Q>(
    sim: &Simulator<S, Q>,
    told: &[Told],
    persons: &Persons,
    (conversation, of_agent): (&Conversation, &[&Message]),
) {
    let id = &conversation.id;
    let note = conversation.people.hand_over_note.as_ref();
    let Some(note) = note.filter(|_| conversation.needs_person == Some(Reason::HandedOver)) else {
        return;
    };
    let says_it = |message: &Message| is_last_word(message) && message.stored_at == note.at;
    let goes_on = if let Some(words) = of_agent.iter().rev().find(|message| says_it(message)) {
        let mut after = of_agent.iter().filter(|message| message.ordinal > words.ordinal);
        after.any(|message| !says_it(message))
    } else {
        let mut others = told
            .iter()
            .filter(|(other, _)| persons.others(id).any(|id| *id == other.id));
        if !others.any(|(_, messages)| messages.iter().any(says_it)) {
            sim.common.broken(format!("{id} was handed over without a word"));
        }
        let handed_over = note.at.as_millisecond() - START_MS;
        // What is handed over after they were joined goes on here when they are joined again, if ever.
        let joined = persons.joined_ms(id).filter(|joined| handed_over <= *joined);
        let until = joined.map(|joined| joined + 2 * sim.common.faults.skew_ms);
        let begun = of_agent
            .iter()
            .filter_map(|message| message.out.as_ref()?.turn.as_ref());
        let mut begun = begun.map(|turn| turn.began_at.as_millisecond() - START_MS);
        begun.any(|at| until.is_some_and(|until| at > until))
    };
    if goes_on {
        sim.common
            .broken(format!("the agent went on in {id} after it handed over"));
    }
}

fn is_last_word(message: &Message) -> bool {
    message.out.as_ref().is_some_and(|out| out.last_words)
}

/// The step of a conversation is the one to which its committed replies lead, and each was drafted at the step before it.
/// Before its first reply it may have taken over the step of a conversation of the same person.
fn script<S, Q>(
    sim: &Simulator<S, Q>,
    told: &[Told],
    persons: &Persons,
    (conversation, of_agent): (&Conversation, &[&Message]),
) {
    let Some(agent) = sim.agent_of(&conversation.instance) else {
        return;
    };
    let mut steps = inherited_steps(sim, told, persons, conversation);
    for message in of_agent.iter().filter(|message| begins_answer(message)) {
        let answer = sim.fake_world.model_answer(&message.content.render_text());
        let fits = |step: &Option<StepId>| {
            let prompt = prompt_of(agent, step.as_ref());
            let told = answer.as_ref().map(|answer| answer.instructions.as_deref());
            prompt.is_none() || told.is_none_or(|told| told == prompt)
        };
        if !steps.iter().any(fits) {
            let (id, told) = (message.message_id(), &answer);
            sim.common.broken(format!(
                "{id} was drafted by {told:?}, and the conversation was at {steps:?}"
            ));
        }
        steps.retain(fits);
        let decision = answer.as_ref().and_then(|answer| answer.decision.as_ref());
        steps = steps
            .into_iter()
            .map(|step| step_after(agent, step, decision))
            .collect();
    }
    if !steps.contains(&conversation.features.step) {
        let (id, found) = (&conversation.id, &conversation.features.step);
        sim.common.broken(format!(
            "{id} is at step {found:?}, and its replies lead to {steps:?}"
        ));
    }
}

/// The steps at which a conversation may be before its first reply.
fn inherited_steps<S, Q>(
    sim: &Simulator<S, Q>,
    told: &[Told],
    persons: &Persons,
    conversation: &Conversation,
) -> BTreeSet<Option<StepId>> {
    let mut steps = BTreeSet::from([None]);
    let others: BTreeSet<_> = persons.others(&conversation.id).collect();
    for (other, messages) in told.iter().filter(|(other, _)| others.contains(&other.id)) {
        if let Some(agent) = sim.agent_of(&other.instance) {
            steps.insert(agent.steps.first().map(|step| step.id.clone()));
        }
        let replies = messages
            .iter()
            .filter(|message| is_agents(message) && begins_answer(message));
        for message in replies {
            let answer = sim.fake_world.model_answer(&message.content.render_text());
            if let Some(AgentDecision::MoveToStep(next)) = answer.and_then(|answer| answer.decision) {
                steps.insert(Some(next));
            }
        }
    }
    steps
}

fn step_after(agent: &Agent, step: Option<StepId>, decision: Option<&AgentDecision>) -> Option<StepId> {
    if let Some(AgentDecision::MoveToStep(next)) = decision {
        return Some(next.clone());
    }
    step.or_else(|| agent.steps.first().map(|step| step.id.clone()))
}

/// Returns whether a message of the agent is an answer, and no later part of one.
fn begins_answer(message: &Message) -> bool {
    let part = message.out.as_ref().and_then(|out| out.part);
    !is_notice(message) && part.is_none_or(|part| part.number <= 1)
}

fn prompt_of<'a>(agent: &'a Agent, step: Option<&StepId>) -> Option<&'a str> {
    agent.resolve_step(step).map(|step| step.prompt.as_str())
}
