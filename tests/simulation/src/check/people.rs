//! What people did holds: their answers are kept, and who has a conversation is as they asked.

use super::Told;
use super::answers::{Wants, wants};
use super::persons::Persons;
use crate::executor::START_MS;
use crate::person::phone;
use crate::queue::WorkQueues;
use crate::simulator::{Act, OperatorRequest, Simulator};
use jiff::SignedDuration;
use recado_domain::config::AgentReturn;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::ids::ConversationId;
use recado_domain::message::{Message, Role};
use recado_domain::millis::add_duration;
use recado_pipeline::ports::Store;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// How late the agent may come back at the end of a history, when nothing else is left to do.
const LATE: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told], people: &People)
where
    S: Store + Clone + Debug + 'static,
    Q: WorkQueues,
{
    answers(sim, told);
    for (conversation, messages) in told {
        let changes = people.to(conversation);
        outranked(sim, &changes, messages);
        if conversation.status != ConversationStatus::Active {
            continue;
        }
        let id = &conversation.id;
        if conversation.mode == ConversationMode::Manual && !changes.may_be_manual() {
            sim.common
                .broken(format!("{id} is people's, and nobody took it over"));
        }
        let now = sim.simulation().now();
        // Where nothing looks after what was left open, nothing is left that could bring the agent back.
        let is_late = |due| !sim.reconciles || add_duration(due, LATE) < now;
        if conversation.return_due_at().is_some_and(is_late) {
            sim.common.broken(format!("the agent did not come back to {id}"));
        }
        if conversation.mode == ConversationMode::Ai && changes.must_be_manual() {
            sim.common
                .broken(format!("{id} was taken over, and the agent has it"));
        }
    }
}

/// Nothing of the agent's was claimed while a person certainly had the conversation.
fn outranked<S, Q>(sim: &Simulator<S, Q>, changes: &Changes, messages: &[Message]) {
    if changes.taken.is_empty() {
        return;
    }
    let attempts = sim.common.observations().attempts.clone();
    for attempt in attempts.iter().filter(|attempt| attempt.by_ai) {
        let of_it = messages
            .iter()
            .any(|message| message.message_id() == attempt.message);
        if of_it && changes.are_peoples_at(attempt.claimed_ms) {
            sim.common
                .broken(format!("{} was claimed after a takeover", attempt.message));
        }
    }
}

/// Whether people saw to `message`, or have the conversation that it is in.
pub(super) fn see_to<S, Q>(
    sim: &Simulator<S, Q>,
    people: &People,
    (conversation, messages): &Told,
    message: &Message,
) -> bool {
    let seen = |ordinal| ordinal >= message.ordinal;
    let by_people = sim.ledger().resolved_upto(&conversation.id).is_some_and(seen);
    // People may take over what the agent resolved, and then nothing is owed there any more.
    let by_agent =
        super::decisions::may_resolve(sim, conversation) && !people.to(conversation).taken.is_empty();
    let ended = conversation.status == ConversationStatus::Resolved && (by_people || by_agent);
    let of_people = messages.iter().filter(|other| other.role == Role::Operator);
    let mut answers = of_people.filter(|other| answered(sim, other, message));
    ended || answers.next().is_some() || {
        let changes = people.to(conversation);
        conversation.status == ConversationStatus::Active
            && conversation.mode == ConversationMode::Manual
            && changes.may_be_manual()
    }
}

/// Whether `answer` is of a person who had read `message`.
pub(crate) fn answered<S, Q>(sim: &Simulator<S, Q>, answer: &Message, message: &Message) -> bool {
    let (ledger, words) = (sim.ledger(), answer.content.render_text());
    if answer.out.is_some() {
        let mut acts = ledger.acts_on(&answer.conversation);
        return acts.any(
            |act| matches!(&act.request, OperatorRequest::Answer(text, seen) if *text == words && *seen >= message.ordinal),
        );
    }
    let sent_at = |message: &Message| {
        let spoken = ledger.said.get(message.event.as_ref()?)?;
        spoken.sent_at
    };
    let typed = ledger.typed.contains(&words);
    typed && answer.ordinal > message.ordinal && sent_at(answer) >= sent_at(message)
}

/// A person's answer that was granted is one message; any other is one at most.
fn answers<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    let acts = sim.ledger().acts.clone();
    for act in acts {
        let OperatorRequest::Answer(text, _) = &act.request else {
            continue;
        };
        let all = told.iter().flat_map(|(_, messages)| messages);
        let count = all
            .filter(|message| message.role == Role::Operator && message.content.render_text() == *text)
            .count();
        if count > 1 || (act.told == Some(true) && count == 0) {
            sim.common
                .broken(format!("the answer {text:?} of a person is stored {count} times"));
        }
    }
}

/// When a change of who has a conversation may have taken effect, in milliseconds since the start.
#[derive(Debug, Clone, Copy)]
struct Change {
    from_ms: i64,
    to_ms: i64,
    /// Whether it certainly did.
    certain: bool,
}

/// How a conversation went to people and back.
#[derive(Debug, Clone, Default)]
struct Changes {
    taken: Vec<Change>,
    given_back: Vec<Change>,
}

impl Changes {
    /// Whether it may be people's: one of them took it, and nobody certainly gave it back after that.
    fn may_be_manual(&self) -> bool {
        let certain = self.given_back.iter().filter(|back| back.certain);
        let last_back = certain.map(|back| back.from_ms).max();
        self.taken.iter().any(|taken| Some(taken.to_ms) >= last_back)
    }

    /// Whether it certainly was at that time: it had been taken, and nobody can have given it back since.
    fn are_peoples_at(&self, at_ms: i64) -> bool {
        let taken = self.taken.iter();
        let mut before = taken.filter(|taken| taken.certain && taken.to_ms < at_ms);
        before.any(|taken| {
            let mut backs = self.given_back.iter();
            !backs.any(|back| back.from_ms <= at_ms && back.to_ms >= taken.from_ms)
        })
    }

    /// Whether it must be: one of them certainly took it, and nobody can have given it back after that.
    fn must_be_manual(&self) -> bool {
        let last_back = self.given_back.iter().map(|back| back.to_ms).max();
        let mut certain = self.taken.iter().filter(|taken| taken.certain);
        certain.any(|taken| Some(taken.from_ms) > last_back)
    }
}

impl Changes {
    /// A join of two threads first takes over the person's other conversation, of which a give-back knows nothing until
    /// the join is complete. A join that is repeated then takes this one over again.
    fn taken_by_late_join(&self, persons: &Persons, id: &ConversationId) -> Vec<Change> {
        let began = persons.may_be_joined_ms(id).unwrap_or(i64::MAX);
        let joined = persons.joined_ms(id).unwrap_or(i64::MAX);
        let meanwhile = |back: &Change| back.from_ms <= joined && back.to_ms >= began;
        if !self.given_back.iter().any(meanwhile) {
            return Vec::new();
        }
        let before = self.taken.iter().filter(|taken| taken.from_ms <= joined);
        let again = before.map(|taken| Change {
            to_ms: taken.to_ms.max(joined),
            certain: false,
            ..*taken
        });
        again.collect()
    }
}

/// A request that hangs and is repeated, or is refused in the end because its conversation is over meanwhile, may take over
/// the person's other conversations late: they are taken over first.
fn late_takeovers<S, Q>(sim: &Simulator<S, Q>, other: &ConversationId, of: &Conversation) -> Vec<Change> {
    let (ledger, skew) = (sim.ledger(), sim.common.faults.skew_ms);
    let began = of.created_at.as_millisecond() - START_MS;
    let acts = ledger
        .acts_on(other)
        .filter(|act| act.takes_over() && act.over_ms >= began - skew);
    let taking = acts.map(|act| Change {
        from_ms: act.begun_ms,
        to_ms: act.over_ms,
        certain: false,
    });
    taking.collect()
}

/// How each conversation went to people and back.
#[derive(Debug, Default)]
pub(super) struct People {
    changes: BTreeMap<ConversationId, Changes>,
}

impl People {
    /// What people did to each conversation, and through another one of the same person.
    pub(super) fn of<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) -> Self {
        let persons = Persons::of(sim, told);
        let own: BTreeMap<&ConversationId, Changes> = told
            .iter()
            .map(|(conversation, messages)| (&conversation.id, changes(sim, conversation, messages)))
            .collect();
        let mut people = Self::default();
        for (conversation, _) in told {
            let id = &conversation.id;
            let mut all = own.get(id).cloned().unwrap_or_default();
            let reaches = |change: &Change| reach(sim, &persons, conversation, *change);
            for other in persons.others(id).filter_map(|other| own.get(other)) {
                all.taken.extend(other.taken.iter().filter_map(reaches));
                let given_back = other.given_back.iter().filter_map(reaches);
                all.given_back.extend(given_back.map(|change| Change {
                    // One from before both were known to be one person's gives back nothing of the other.
                    certain: change.certain && Some(change.from_ms) > persons.joined_ms(id),
                    ..change
                }));
            }
            if persons.may_be_joined_ms(id).is_some() {
                all.taken.extend(words_that_may_take(sim, conversation));
                let others = persons.all(id).filter(|other| *other != id);
                all.taken
                    .extend(others.flat_map(|other| late_takeovers(sim, other, conversation)));
                let own = own.get(id).cloned().unwrap_or_default();
                all.taken.extend(own.taken_by_late_join(&persons, id));
            }
            people.changes.insert(id.clone(), all);
        }
        people
    }

    fn to(&self, conversation: &Conversation) -> Changes {
        self.changes.get(&conversation.id).cloned().unwrap_or_default()
    }
}

/// What a change of another conversation of the same person is to this one: the same, from when on both are known to be one
/// person's.
fn reach<S, Q>(
    sim: &Simulator<S, Q>,
    persons: &Persons,
    to: &Conversation,
    change: Change,
) -> Option<Change> {
    let may_be = persons.may_be_joined_ms(&to.id)?;
    let skew = sim.common.faults.skew_ms;
    let began = to.created_at.as_millisecond() - START_MS;
    let joined = persons.joined_ms(&to.id);
    let over = change.to_ms.max(joined.unwrap_or(i64::MAX));
    let ended = |act: &Act| matches!(act.request, OperatorRequest::Resolve(_)) && act.may_be_done();
    // Also the one in whose place this one began: with it ended what it and the others had been taken over for.
    let all_go_on = !persons.all(&to.id).any(|id| sim.ledger().acts_on(id).any(ended));
    if began - skew > over && !all_go_on {
        // It began anew, as it is configured.
        return None;
    }
    let certain = if joined.is_some_and(|joined| joined < change.from_ms) {
        all_go_on || began + skew < change.from_ms
    } else {
        // What was done before counts for both once they are known to be one person's, if both go on.
        all_go_on && joined.is_some() && change.to_ms < may_be
    };
    let was_known = joined.is_some_and(|joined| joined < change.from_ms);
    Some(Change {
        to_ms: if was_known { change.to_ms } else { over },
        certain: certain && change.certain,
        ..change
    })
}

/// Words typed on the phone take the person's other conversations over first: also if they are never stored.
fn words_that_may_take<S, Q>(sim: &Simulator<S, Q>, conversation: &Conversation) -> Vec<Change> {
    let (ledger, observations) = (sim.ledger(), sim.common.observations());
    let typed = ledger.said.iter().filter(|(_, said)| {
        said.from_me
            && ledger.typed.contains(&said.text)
            && said.line == conversation.instance.as_str()
            && ContactAddress::parse(&said.address)
                .is_some_and(|address| phone(&address) == phone(&conversation.address))
    });
    let received = typed.filter_map(|(event, _)| observations.received.get(event));
    let taking = received.map(|(first, _)| Change {
        from_ms: *first,
        to_ms: i64::MAX,
        certain: false,
    });
    taking.collect()
}

fn changes<S, Q>(sim: &Simulator<S, Q>, conversation: &Conversation, messages: &[Message]) -> Changes {
    let mut changes = Changes::default();
    for act in sim
        .ledger()
        .acts_on(&conversation.id)
        .filter(|act| act.may_be_done())
    {
        let change = Change {
            from_ms: act.begun_ms,
            to_ms: act.over_ms,
            certain: act.told == Some(true),
        };
        if act.takes_over() {
            changes.taken.push(change);
        } else if act.request == OperatorRequest::GiveBack {
            changes.given_back.push(change);
        }
    }
    let of_phone = messages
        .iter()
        .filter(|message| message.role == Role::Operator && message.out.is_none());
    let typed: Vec<Typed> = of_phone.filter_map(|message| typed(sim, message)).collect();
    let asked = changes.taken.iter().map(|change| change.from_ms);
    let words: Vec<i64> = asked.chain(typed.iter().map(|typed| typed.received_ms)).collect();
    changes
        .taken
        .extend(typed.into_iter().map(|typed| typed.takes_over));
    let returns = sim.agent_returns(&conversation.instance);
    changes.given_back.extend(returns_of_agent(sim, returns, &words));
    if returns == AgentReturn::Never && conversation.id.number_in_thread() > 1 {
        // People may have had the conversation before, and then they have this one.
        let began = conversation.created_at.as_millisecond() - START_MS;
        changes.taken.push(Change {
            from_ms: began,
            to_ms: began,
            certain: false,
        });
    }
    changes
}

/// When the agent may have come back by itself: so long after a takeover or a word of a person, which was asked for or came at
/// one of these times. (A takeover of what people have already does not put it off.)
fn returns_of_agent<S, Q>(sim: &Simulator<S, Q>, returns: AgentReturn, words: &[i64]) -> Vec<Change> {
    let AgentReturn::AfterMinutes(minutes) = returns else {
        return Vec::new();
    };
    let skew = sim.common.faults.skew_ms;
    let back = words.iter().map(|at| Change {
        from_ms: at + i64::from(minutes) * 60_000 - skew,
        to_ms: i64::MAX,
        certain: false,
    });
    back.collect()
}

/// Words on the phone.
struct Typed {
    /// They take the conversation over when they are stored.
    takes_over: Change,
    /// When they came: from then on the time of the people counts, however late they are stored.
    received_ms: i64,
}

/// Words on the phone take the conversation over, unless they are old.
fn typed<S, Q>(sim: &Simulator<S, Q>, message: &Message) -> Option<Typed> {
    let event = message.event.as_ref()?;
    if !sim.ledger().typed.contains(&message.content.render_text()) {
        return None;
    }
    let young = wants(sim, message);
    let observations = sim.common.observations();
    let at = *observations.stored.get(event)?;
    let (received_ms, _) = *observations.received.get(event)?;
    let takes_over = Change {
        from_ms: at,
        to_ms: at,
        certain: young == Wants::Yes,
    };
    (young != Wants::No).then_some(Typed {
        takes_over,
        received_ms,
    })
}
