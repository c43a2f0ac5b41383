//! What a reply covers, its model was shown, in the newest words; what was taken back it was not; what no turn could read
//! waits for a person, and there is too much of it.

use super::Told;
use super::answers::{Wants, covers, wants};
use super::people::{People, see_to};
use crate::fake_world::Shown;
use crate::simulator::{Kind, OperatorRequest, Simulator};
use recado_domain::ids::{EventId, Ordinal};
use recado_domain::message::{Message, Role};
use recado_domain::reason::Reason;
use std::collections::BTreeSet;

/// Whether replies of the model cover `message`, and no model was ever shown its words or those that came in their place,
/// nor did people see to it.
pub(super) fn is_covered_unread<S, Q>(
    sim: &Simulator<S, Q>,
    people: &People,
    told: &Told,
    replies: &[&Message],
    message: &Message,
) -> bool {
    let mut of_it = replies
        .iter()
        .filter(|reply| covers(reply) >= message.ordinal)
        .peekable();
    of_it.peek().is_some()
        && of_it.all(|reply| reply.model.is_some())
        && !was_read(sim, message)
        && !see_to(sim, people, told, message)
}

fn was_read<S, Q>(sim: &Simulator<S, Q>, message: &Message) -> bool {
    let ledger = sim.ledger();
    let Some(event) = &message.event else { return false };
    let mut versions = ledger.versions(event).into_iter();
    ledger.is_taken_back(event) || versions.any(|(_, spoken)| sim.fake_world.was_read(&spoken.text))
}

/// Whether the conversation says that the agent could not read all of it, and more asked for an answer before `message`
/// than three turns read.
pub(super) fn is_too_much<S, Q>(
    sim: &Simulator<S, Q>,
    (conversation, messages): &Told,
    message: &Message,
) -> bool {
    let of_contact = messages
        .iter()
        .filter(|other| other.role == Role::User && other.ordinal < message.ordinal);
    let asked = of_contact.filter(|message| wants(sim, message) != Wants::No);
    conversation.needs_person == Some(Reason::TooMuchToRead)
        && asked.count() >= 3 * sim.settings.turn_reads.messages
}

/// No model was shown what had been taken back, nor the old words of what had been changed before anybody answered it.
pub(super) fn check<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) {
    let shown = sim.fake_world.shown();
    for change in changes(sim) {
        let was_shown = |words: &str| shown.iter().any(|shown| shows(shown, change.stored_ms, words));
        let mut old = change.old.iter();
        if change.deletes {
            for (version, words) in old.filter(|(_, words)| was_shown(words)) {
                if told.iter().any(|told| is_known_with(sim, told, version, &change)) {
                    let what = format!("{words} was shown after it had been taken back");
                    sim.common.broken(what);
                }
            }
        } else if old.next().is_some_and(|(_, words)| was_shown(words))
            && told.iter().any(|told| is_in_its_place(sim, told, &change))
        {
            let what = format!("{:?} were shown in the place of {}", change.old, change.event);
            sim.common.broken(what);
        }
    }
}

/// A contact's change of a message, once stored.
struct Change {
    event: EventId,
    original: EventId,
    deletes: bool,
    stored_ms: i64,
    /// What the message said before, in its first words and in every other but these.
    old: Vec<(EventId, String)>,
}

fn changes<S, Q>(sim: &Simulator<S, Q>) -> Vec<Change> {
    let (ledger, observations) = (sim.ledger(), sim.common.observations());
    let of_contact = ledger.said.iter().filter(|(_, spoken)| !spoken.from_me);
    let changes = of_contact.filter_map(|(event, spoken)| {
        let versions = ledger.versions(event).into_iter();
        let old = versions.filter(|(version, old)| old.kind == Kind::Words && *version != event);
        Some(Change {
            event: event.clone(),
            original: spoken.changes.clone()?,
            deletes: spoken.kind == Kind::Deletion,
            stored_ms: *observations.stored.get(event)?,
            old: old
                .map(|(version, old)| (version.clone(), old.text.clone()))
                .collect(),
        })
    });
    changes.collect()
}

/// Whether the contact's `words` were shown, by somebody who read them after `stored_ms`.
fn shows(shown: &Shown, stored_ms: i64, words: &str) -> bool {
    shown.read_ms > stored_ms && shown.words.contains(words)
}

/// Words that came in the place of a message before that message itself: it is read in them, though they may have been
/// answered by then.
pub(super) fn overtaken<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) -> BTreeSet<String> {
    let (ledger, observations) = (sim.ledger(), sim.common.observations());
    let overtook = ledger.said.iter().filter(|(event, spoken)| {
        let Some(original) = &spoken.changes else {
            return false;
        };
        // Their places tell it, also where the store wrote one of them and did not answer.
        stands_before(told, event, original).unwrap_or_else(|| {
            let original = observations.stored.get(original);
            original.is_some_and(|original| observations.stored.get(*event).is_none_or(|at| at <= original))
        })
    });
    overtook.map(|(_, spoken)| spoken.text.clone()).collect()
}

/// Whether a `change` stands before what it changes; `None` unless both are of one conversation.
fn stands_before(told: &[Told], change: &EventId, said: &EventId) -> Option<bool> {
    let mut places = told.iter().filter_map(|told| places(told, said, change));
    places.next().map(|(said, change)| change < said)
}

/// The places of what was `said` and of a `change` of it, where both are of this conversation.
fn places((_, messages): &Told, said: &EventId, change: &EventId) -> Option<(Ordinal, Ordinal)> {
    let place = |event: &EventId| {
        let found = messages
            .iter()
            .find(|message| message.event.as_ref() == Some(event));
        found.map(|message| message.ordinal)
    };
    Some((place(said)?, place(change)?))
}

/// Whether whoever reads what was `said` knows the change: it stands behind it, or every turn reads the whole conversation.
fn is_known_with<S, Q>(sim: &Simulator<S, Q>, told: &Told, said: &EventId, change: &Change) -> bool {
    let behind = places(told, said, &change.event).map(|(said, change)| said < change);
    behind.is_some_and(|behind| behind || told.1.len() <= sim.settings.turn_reads.messages)
}

/// Whether every turn reads the whole conversation, and nobody can have answered the original without its change.
fn is_in_its_place<S, Q>(sim: &Simulator<S, Q>, told: &Told, change: &Change) -> bool {
    let (conversation, messages) = told;
    let Some((original, change)) = places(told, &change.original, &change.event) else {
        return false;
    };
    let between = |ordinal: Ordinal| (original..change).contains(&ordinal);
    let mut others = messages.iter().filter(|message| message.role != Role::User);
    let answered = others.any(|other| {
        let covers = other.out.as_ref().map(|out| out.covers);
        between(other.ordinal) || covers.is_none_or(between)
    });
    let ledger = sim.ledger();
    let mut acts = ledger.acts_on(&conversation.id);
    let seen = acts.any(|act| match act.request {
        OperatorRequest::Answer(_, seen) | OperatorRequest::Resolve(seen) => between(seen),
        OperatorRequest::TakeOver | OperatorRequest::GiveBack => false,
    });
    messages.len() <= sim.settings.turn_reads.messages && !answered && !seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_testkit::builders::Fixture;

    #[test]
    fn what_came_before_the_message_that_it_changes_is_known_by_its_place() {
        let fixture = Fixture::new();
        let (mut conversation, mut next) = (fixture.conversation(1), fixture.conversation(2));
        let [edit, original, elsewhere] = [fixture.job(), fixture.job(), fixture.job()];
        let messages = vec![
            fixture.inbound(&mut conversation, &edit),
            fixture.inbound(&mut conversation, &original),
        ];
        let others = vec![fixture.inbound(&mut next, &elsewhere)];
        let told = [(conversation, messages), (next, others)];
        let before = |change, said| stands_before(&told, change, said);
        assert_eq!(before(&edit.event, &original.event), Some(true));
        assert_eq!(before(&original.event, &edit.event), Some(false));
        assert_eq!(before(&edit.event, &elsewhere.event), None);
    }
}
