//! What happened outside: what was written, what people did, and what they were told. The checks ask this, not the
//! records.

use crate::executor::START_MS;
use recado_domain::delivery::{DeliveryKey, StatusUpdate};
use recado_domain::event::{EventKind, derive_event_id};
use recado_domain::ids::{ConversationId, EventId, InstanceId, Ordinal};
use recado_domain::inbound::WebhookEvent;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

use super::{
    ClientBatch, ClientOrder, Entries, Erasure, GuestLedger, InvitedContact, OperatorRequest, Removal,
    ToldLimit,
};

/// How long a request that nobody waits for any more may still take effect, in milliseconds: its function may stall.
pub const LINGERS_MS: i64 = 600_000;

/// See the module.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Events whose webhook was answered 200.
    pub acknowledged: BTreeSet<EventId>,
    /// Every event posted, acknowledged or not.
    pub posted: BTreeSet<EventId>,
    /// Every message that was written, by the contact or on the business's phone, with what it is.
    pub said: BTreeMap<EventId, Spoken>,
    /// Statuses whose webhook was answered 200.
    pub statuses: Vec<StatusUpdate>,
    /// The deliveries of which a status was posted.
    pub told_deliveries: BTreeSet<DeliveryKey>,
    /// What people asked for, in the order in which they began.
    pub acts: Vec<Act>,
    /// Orders of clients of the API.
    pub orders: Vec<ClientOrder>,
    /// Batches of invitations that clients sent.
    pub batches: Vec<ClientBatch>,
    /// Guests who are to get an invitation once.
    pub invited: Vec<InvitedContact>,
    /// Limits of a portfolio, in the order in which its provider told them.
    pub limits: Vec<ToldLimit>,
    /// Guests who are invited by WhatsApp and by e-mail.
    pub guests: GuestLedger,
    /// Contacts that were erased.
    pub erased: Vec<Erasure>,
    /// Tenants that were removed.
    pub removals: Vec<Removal>,
    /// What was redriven, by the ids of dead letters.
    pub redrives: Vec<Redrive>,
    /// Words typed on the phone.
    pub typed: BTreeSet<String>,
    /// Instances whose configuration was changed.
    pub configured: BTreeSet<InstanceId>,
    /// Entries of the configuration that are replaced.
    pub entries: Entries,
    /// Whether anything posts to endpoints.
    pub has_posts: bool,
    /// Posts and requests that have begun and not ended.
    pub pending: usize,
}

/// What a message is, by who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Words.
    Words,
    /// A reaction to something.
    Reaction,
    /// Something was taken back.
    Deletion,
}

/// A message as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// On which line.
    pub line: String,
    /// In whose chat.
    pub address: String,
    /// What it says.
    pub text: String,
    /// What it is.
    pub kind: Kind,
    /// The event of the message that it edits or takes back.
    pub changes: Option<EventId>,
    /// Whether it shows the number and another identity of whose chat it is in.
    pub shows_both: bool,
    /// Whether the business wrote it.
    pub from_me: bool,
    /// When, by the provider's clock, in milliseconds since the Unix epoch.
    pub sent_at: Option<i64>,
}

impl Spoken {
    /// What `event` says, if it is a message.
    pub fn of(event: &WebhookEvent) -> Option<Self> {
        if event.kind != EventKind::Message {
            return None;
        }
        let text = event.payload["text"].as_str().unwrap_or_default();
        let target = event.payload["target"].as_str();
        let kind = match target {
            Some(_) if event.payload["deletes"] == true => Kind::Deletion,
            None if text.starts_with("reaction ") => Kind::Reaction,
            _ => Kind::Words,
        };
        let of = |target| derive_event_id(event.provider, &event.external, EventKind::Message, target);
        Some(Self {
            line: event.external.to_string(),
            address: event.payload["address"].as_str().unwrap_or_default().to_owned(),
            text: text.to_owned(),
            kind,
            changes: target.map(of),
            shows_both: event.payload["also"].is_string(),
            from_me: event.payload["from_me"] == Value::Bool(true),
            sent_at: event.payload["sent_at"].as_i64(),
        })
    }
}

/// A redrive of a dead letter, in milliseconds since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redrive {
    /// The dead letter's id.
    pub dead_letter: String,
    /// When it was asked for.
    pub from_ms: i64,
    /// Until when it may find a death to undo. In the console the copy names one that was before; a request by the API
    /// names the dead letter alone, and is repeated until it is answered.
    pub to_ms: i64,
}

/// A person's request about a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// About which conversation.
    pub conversation: ConversationId,
    /// What for.
    pub request: OperatorRequest,
    /// When it was asked for first, in milliseconds since the start.
    pub begun_ms: i64,
    /// From when on it changes nothing any more, in milliseconds since the start.
    pub over_ms: i64,
    /// What the person was told, if anything: whether it was done.
    pub told: Option<bool>,
}

impl Act {
    /// Whether it gives the conversation to people.
    pub fn takes_over(&self) -> bool {
        matches!(
            self.request,
            OperatorRequest::TakeOver | OperatorRequest::Answer(..)
        )
    }

    /// Whether it may have been done.
    pub fn may_be_done(&self) -> bool {
        self.told != Some(false)
    }
}

impl Ledger {
    /// Notes what an event says.
    pub fn note_said(&mut self, event: &WebhookEvent) {
        if let Some(spoken) = Spoken::of(event) {
            self.said.insert(event.id.clone(), spoken);
        }
    }

    /// Notes what a request to erase, which begins now, must take away.
    pub fn begin_erasure(&mut self, place: usize) {
        let accepted = self.orders.iter().filter_map(|order| order.accepted.clone());
        let (known, accepted) = (self.acknowledged.clone(), accepted.collect());
        let erasure = &mut self.erased[place];
        (erasure.known, erasure.accepted) = (known, accepted);
    }

    /// Returns `true` if its contact may have been erased after it came: it was written before the erasure was over.
    pub fn may_be_erased(&self, event: &EventId) -> bool {
        let address = self
            .said
            .get(event)
            .map(|spoken| (&spoken.address, spoken.sent_at));
        address.is_some_and(|(address, sent_at)| {
            let mut erased = self.erased.iter();
            erased.any(|erased| {
                let over_ms = erased.told_ms.unwrap_or(i64::MAX - START_MS);
                let before = sent_at.is_none_or(|at| at <= START_MS + over_ms);
                erased.contact.as_str() == address && before
            })
        })
    }

    /// All that was said of one thing: the message that `event` is or changes, first, and every change of it.
    pub fn versions(&self, event: &EventId) -> Vec<(&EventId, &Spoken)> {
        let changed = self.said.get(event).and_then(|spoken| spoken.changes.as_ref());
        let original = changed.unwrap_or(event);
        let of_it = |(_, spoken): &(&EventId, &Spoken)| spoken.changes.as_ref() == Some(original);
        let first = self.said.get_key_value(original);
        first.into_iter().chain(self.said.iter().filter(of_it)).collect()
    }

    /// Whether its author took back what `event` is or changes.
    pub fn is_taken_back(&self, event: &EventId) -> bool {
        let mut versions = self.versions(event).into_iter();
        versions.any(|(_, spoken)| spoken.kind == Kind::Deletion)
    }

    /// Whether somebody redrove the dead letter `id` in this time.
    pub fn redriven(&self, id: &str, from_ms: i64, to_ms: i64) -> bool {
        let mut redrives = self.redrives.iter();
        redrives
            .any(|redrive| redrive.dead_letter == id && redrive.from_ms <= to_ms && redrive.to_ms >= from_ms)
    }

    /// The acts about one conversation.
    pub fn acts_on<'a>(&'a self, conversation: &'a ConversationId) -> impl Iterator<Item = &'a Act> {
        self.acts
            .iter()
            .filter(move |act| act.conversation == *conversation)
    }

    /// Up to which ordinal the author of a request to end the conversation had read it, if one may have been granted.
    pub fn resolved_upto(&self, conversation: &ConversationId) -> Option<Ordinal> {
        let seen = |act: &Act| match act.request {
            OperatorRequest::Resolve(seen) if act.may_be_done() => Some(seen),
            _ => None,
        };
        self.acts_on(conversation).filter_map(seen).max()
    }
}
