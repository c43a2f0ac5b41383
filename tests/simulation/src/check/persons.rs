//! Which conversations are one person's, under whatever name, and since when that was to be known.

use super::Told;
use crate::executor::START_MS;
use crate::person::phone;
use crate::simulator::{Simulator, Spoken};
use recado_domain::contact::ContactAddress;
use recado_domain::conversation::Conversation;
use recado_domain::ids::ConversationId;
use std::collections::BTreeMap;

/// A phone, as the conversations of one line have it.
type Name = (String, ContactAddress);

/// What is older than this on arrival teaches nothing.
const OLD_MS: i64 = 3_600_000;

/// How far the clocks of those who ask how old it is may be off.
const CLOCKS_MS: i64 = 2_500;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Persons {
    of: BTreeMap<ConversationId, Name>,
    conversations: BTreeMap<Name, Vec<ConversationId>>,
    joined_ms: BTreeMap<Name, i64>,
    may_be_joined: BTreeMap<Name, i64>,
}

fn name_of(conversation: &Conversation) -> Name {
    (conversation.instance.to_string(), phone(&conversation.address))
}

fn name_in(spoken: &Spoken) -> Option<Name> {
    Some((
        spoken.line.clone(),
        phone(&ContactAddress::parse(&spoken.address)?),
    ))
}

impl Persons {
    pub(super) fn of<S, Q>(sim: &Simulator<S, Q>, told: &[Told]) -> Self {
        let mut persons = Self::default();
        for (conversation, _) in told {
            let (id, name) = (conversation.id.clone(), name_of(conversation));
            persons.of.insert(id.clone(), name.clone());
            persons.conversations.entry(name).or_default().push(id);
        }
        let (ledger, observations) = (sim.ledger(), sim.common.observations());
        for (event, spoken) in ledger.said.iter().filter(|(_, spoken)| spoken.shows_both) {
            let (Some(name), Some((first, last))) = (name_in(spoken), observations.received.get(event))
            else {
                continue;
            };
            let first = persons
                .may_be_joined
                .get(&name)
                .map_or(*first, |known| *known.min(first));
            persons.may_be_joined.insert(name.clone(), first);
            let age = spoken.sent_at.map_or(0, |sent_at| START_MS + last - sent_at);
            let Some(stored) = observations
                .stored
                .get(event)
                .filter(|_| age < OLD_MS - CLOCKS_MS)
            else {
                continue;
            };
            let stored = persons
                .joined_ms
                .get(&name)
                .map_or(*stored, |known| *known.min(stored));
            persons.joined_ms.insert(name, stored);
        }
        persons
    }

    /// The same person's conversations in other threads.
    pub(super) fn others<'a>(&'a self, id: &'a ConversationId) -> impl Iterator<Item = &'a ConversationId> {
        self.all(id).filter(|other| other.thread_id() != id.thread_id())
    }

    /// All of the person's conversations.
    pub(super) fn all<'a>(&'a self, id: &'a ConversationId) -> impl Iterator<Item = &'a ConversationId> {
        let all = self.of.get(id).and_then(|name| self.conversations.get(name));
        all.into_iter().flatten()
    }

    /// From when on the threads of the person are certainly one person's, in milliseconds since the start.
    pub(super) fn joined_ms(&self, id: &ConversationId) -> Option<i64> {
        self.joined_ms.get(self.of.get(id)?).copied()
    }

    /// From when on they may be.
    pub(super) fn may_be_joined_ms(&self, id: &ConversationId) -> Option<i64> {
        self.may_be_joined.get(self.of.get(id)?).copied()
    }
}
