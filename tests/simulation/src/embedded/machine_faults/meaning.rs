//! What phones and calendars got, by its meaning: the question of which a reply names the words, the words of an invitation, of a
//! reminder, of an order. Messages and their ids count for nothing: after a restore another message may have the same.

use super::Machine;
use crate::check::{answered, covers, is_left_out};
use crate::fake_world::{Arrived, REMINDER_WORDS};
use crate::person;
use crate::scenario::STOP_WORD;
use crate::simulator::Kind;
use futures::executor::block_on;
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::{Conversation, ConversationMode, ConversationStatus};
use recado_domain::ids::{EventId, MessageId};
use recado_domain::message::{Message, Role};
use recado_domain::outbox::OutboxState;
use recado_pipeline::ports::{ConversationFilter, Conversations, Page, PageRequest, PortResult};
use recado_pipeline::records::dead_letters::find_dead_letter;
use std::collections::{BTreeMap, BTreeSet};

/// Whose phone, and what it means.
pub type Meaning = (String, String);

/// The first words of what is said once to one phone. Notices and templates may be said again.
const ONCE: [&str; 4] = ["client-", "person-", "invite ", REMINDER_WORDS];

/// One message as a phone got it.
#[derive(Debug, Clone)]
pub struct Got {
    /// When, in milliseconds since the start.
    pub at_ms: i64,
    /// Which.
    pub message: MessageId,
    /// All that it means.
    pub meanings: Vec<Meaning>,
}

/// Whether a word is that of a contact's question, and not of what the model is told of files, nor the number of its answer.
fn is_question(word: &str) -> bool {
    if word == "poison" {
        return true;
    }
    let number = word.strip_prefix('m').map(str::as_bytes);
    number.is_some_and(|number| number.first().is_some_and(u8::is_ascii_digit))
}

/// Returns what a text means: each word of the question that a reply names, or the whole text.
fn meanings_of(phone: &str, text: &str) -> Vec<Meaning> {
    let of_phone = |what: &str| (phone.to_owned(), what.to_owned());
    match text.strip_prefix("re ") {
        Some(words) => words
            .split_whitespace()
            .filter(|word| is_question(word))
            .map(|word| of_phone(&format!("re {word}")))
            .collect(),
        None if ONCE.iter().any(|words| text.starts_with(words)) => vec![of_phone(text)],
        None => Vec::new(),
    }
}

/// Lists what the phones got, in its order.
pub fn list_got(sim: &Machine) -> Vec<Got> {
    let phones = sim.fake_world.phones();
    let all = phones.iter().flat_map(|((_, phone), arrived)| {
        arrived.iter().map(move |one: &Arrived| Got {
            at_ms: one.at_ms,
            message: one.message.clone(),
            meanings: meanings_of(phone.as_str(), &one.text),
        })
    });
    let mut all: Vec<Got> = all.collect();
    all.sort_by_key(|got| got.at_ms);
    all
}

/// Returns when each meaning arrived first.
pub fn first_arrivals(sim: &Machine) -> BTreeMap<Meaning, i64> {
    let mut first = BTreeMap::new();
    for got in list_got(sim) {
        for meaning in got.meanings {
            first.entry(meaning).or_insert(got.at_ms);
        }
    }
    first
}

/// Lists the messages that say nothing that their phone had not been told before.
pub fn list_repeats(sim: &Machine) -> Vec<Got> {
    let (mut seen, mut repeats) = (BTreeSet::new(), Vec::new());
    for got in list_got(sim) {
        let says_new = got.meanings.iter().any(|meaning| !seen.contains(meaning));
        seen.extend(got.meanings.iter().cloned());
        if !says_new && !got.meanings.is_empty() {
            repeats.push(got);
        }
    }
    repeats
}

/// Whether the record of a message says that it may have been sent before.
fn is_marked(sim: &Machine, message: &MessageId) -> bool {
    let found = block_on(sim.store.find_message(message)).ok().flatten();
    let out = found.and_then(|message| message.out);
    out.is_some_and(|out| out.maybe_sent || matches!(out.state, OutboxState::Unknown { .. }))
}

/// Notes each meaning that came twice from `from_ms` on and whose second record does not say so. `excused`: what comes twice in this story
/// also where nothing happens to the machine.
pub fn check_repeats(sim: &Machine, from_ms: i64, excused: &BTreeSet<Meaning>) {
    for got in list_repeats(sim) {
        let is_excused = got.meanings.iter().all(|meaning| excused.contains(meaning));
        if got.at_ms >= from_ms && !is_excused && !is_marked(sim, &got.message) {
            let (message, meanings) = (&got.message, &got.meanings);
            sim.common
                .broken(format!("{message} says {meanings:?} again and is not marked"));
        }
    }
    let mut wishes = BTreeSet::new();
    for happened in sim.fake_world.happened() {
        if !wishes.insert(happened.wish.clone()) {
            sim.common
                .broken(format!("a wish was done twice: {}", happened.wish));
        }
    }
}

/// Notes each meaning of `owed` that never came or came late. Late is more than `within_ms` after both its time in the undisturbed story
/// and `from_ms`. A question that has a reason for no answer is owed none: it seemed old to the wrong clock, its turn ran out of time by
/// it, or a person is needed since an effect's end is not known.
pub fn check_arrivals(sim: &Machine, owed: &BTreeMap<Meaning, i64>, from_ms: i64, within_ms: i64) {
    let came = first_arrivals(sim);
    let unowed = list_questions_with_reason(sim);
    for (meaning, undisturbed) in owed {
        if unowed.contains(meaning) {
            continue;
        }
        let most = undisturbed.max(&from_ms) + within_ms;
        match came.get(meaning) {
            Some(at) if *at <= most => {}
            Some(at) => sim
                .common
                .broken(format!("{meaning:?} came at {at} ms, not by {most} ms")),
            None => sim.common.broken(format!("{meaning:?} never came")),
        }
    }
}

/// Lists the conversations that can be read, with their messages that can be.
fn list_conversations(sim: &Machine) -> Vec<(Conversation, Vec<Message>)> {
    let everything = ConversationFilter::default();
    let all = read_pages(|page| {
        let found = block_on(sim.store.search_conversations(&everything, page));
        found.map(|found| Page {
            items: found.items,
            next_cursor: found.next_cursor,
        })
    });
    let with_messages = |conversation: Conversation| {
        let messages = read_pages(|page| block_on(sim.store.list_messages(&conversation.id, page)));
        (conversation, messages.unwrap_or_default())
    };
    let all = all.expect("conversations are read").into_iter();
    all.map(with_messages).collect()
}

/// Whether a person has a conversation, or is told that it needs one; or it is over, or its contact was asked by a template to write again.
fn is_for_person(conversation: &Conversation) -> bool {
    conversation.needs_person.is_some()
        || conversation.mode != ConversationMode::Ai
        || conversation.status != ConversationStatus::Active
        || conversation.linked.moved_to.is_some()
        || conversation.features.reengaged.is_some()
}

/// Whether a message is an answer to a question, or stands for one that did not arrive: a person wrote it; or its record says that it was
/// given up, that it may have been sent, or that it says no more than that there is no answer; or its provider said that it failed.
fn stands_for_answer(sim: &Machine, message: &Message, question: &Message) -> bool {
    if message.role == Role::Operator {
        return answered(sim, message, question);
    }
    message.out.as_ref().is_some_and(|out| {
        let is_told = out.maybe_sent
            || matches!(out.state, OutboxState::Dead { .. })
            || message.unanswered.is_some()
            || !sim.fake_world.failures(&message.message_id()).is_empty();
        is_told && covers(message) >= question.ordinal
    })
}

/// Reads all pages of a list.
fn read_pages<T>(read: impl Fn(&PageRequest) -> PortResult<Page<T>>) -> PortResult<Vec<T>> {
    let (mut all, mut page) = (Vec::new(), first_page());
    loop {
        let found = read(&page)?;
        all.extend(found.items);
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return Ok(all),
        }
    }
}

fn first_page() -> PageRequest {
    PageRequest::first(100)
}

/// Lists the contacts' words that were acknowledged, with the phone on which each was written.
pub fn list_questions(sim: &Machine) -> Vec<(EventId, Meaning)> {
    let ledger = sim.ledger();
    let asked = ledger.said.iter().filter(|(event, spoken)| {
        let asks = !spoken.from_me && spoken.kind == Kind::Words && spoken.text != STOP_WORD;
        asks && ledger.versions(event).len() == 1 && ledger.acknowledged.contains(*event)
    });
    let meaning = |address: &str, text: &str| {
        let phone = ContactAddress::parse(address).map(|address| person::phone(&address));
        let phone = phone.map_or_else(|| address.to_owned(), |phone| phone.as_str().to_owned());
        (phone, format!("re {text}"))
    };
    asked
        .map(|(event, spoken)| (event.clone(), meaning(&spoken.address, &spoken.text)))
        .collect()
}

/// Whether a question's own message, or another one that stands for its answer, says why no answer arrived.
fn has_reason(sim: &Machine, question: &Message, messages: &[Message]) -> bool {
    let mut others = messages.iter();
    question.unanswered.is_some() || others.any(|message| stands_for_answer(sim, message, question))
}

/// Lists the questions of which a record says why no answer arrived, or that a person is needed.
fn list_questions_with_reason(sim: &Machine) -> BTreeSet<Meaning> {
    let all = list_conversations(sim);
    let with_reason: BTreeSet<&EventId> = all
        .iter()
        .flat_map(|told| told.1.iter().map(move |message| (told, message)))
        .filter(|((conversation, messages), message)| {
            conversation.needs_person.is_some() || has_reason(sim, message, messages)
        })
        .filter_map(|(_, message)| message.event.as_ref())
        .collect();
    let mut questions = list_questions(sim);
    questions.retain(|(event, _)| with_reason.contains(event));
    questions.into_iter().map(|(_, meaning)| meaning).collect()
}

/// Whether no message is stored of an event for a reason: its author is refused, or it was given up and its dead letter says so.
fn is_not_stored(sim: &Machine, event: &EventId) -> bool {
    let letter = block_on(find_dead_letter(&sim.store, event.as_str()));
    is_left_out(sim, event) || letter.expect("letters are read").is_some()
}

/// Lists the texts of all messages that are stored.
pub(super) fn list_texts(sim: &Machine) -> BTreeSet<String> {
    let all = list_conversations(sim).into_iter();
    let messages = all.flat_map(|(_, messages)| messages);
    messages.map(|message| message.content.render_text()).collect()
}

/// Notes each acknowledged question that is stored other than once, or that was neither answered nor left to a person.
pub fn check_questions(sim: &Machine) {
    let (came, all) = (first_arrivals(sim), list_conversations(sim));
    for (event, meaning) in list_questions(sim) {
        let stored: Vec<_> = all
            .iter()
            .flat_map(|told| told.1.iter().map(move |message| (told, message)))
            .filter(|(_, message)| message.event.as_ref() == Some(&event))
            .collect();
        if stored.is_empty() && is_not_stored(sim, &event) {
            continue;
        }
        if stored.len() != 1 {
            let count = stored.len();
            sim.common
                .broken(format!("{event}, {meaning:?}, is stored {count} times"));
        }
        let is_settled = stored.iter().any(|((conversation, messages), question)| {
            is_for_person(conversation) || has_reason(sim, question, messages)
        });
        if !came.contains_key(&meaning) && !is_settled {
            sim.common
                .broken(format!("{meaning:?} was neither answered nor left to a person"));
        }
    }
}
