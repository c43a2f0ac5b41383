//! Counts the open records of instances.

use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::ids::{ExternalId, InstanceId};
use recado_domain::provider::Provider;
use recado_ports::ports::{OpenMessage, OpenWork};
use std::collections::{BTreeMap, HashMap};

/// The counts of open records, of one instance or of all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenWorkCounts {
    /// Number of open outgoing messages and pending events.
    pub depth: u64,
    /// Number of outgoing messages that are being sent.
    pub sending: u64,
    /// Number of outgoing messages whose outcome is unknown.
    pub unknown: u64,
    /// Number of parked conversations.
    pub parked: u64,
    /// Time of the oldest open message or pending event.
    pub oldest: Option<Timestamp>,
    /// Number of open outgoing messages by their number of attempts.
    pub attempts: BTreeMap<u32, u64>,
}

impl OpenWorkCounts {
    fn add_record(&mut self, since: Timestamp) {
        self.depth += 1;
        self.oldest = Some(self.oldest.map_or(since, |oldest| oldest.min(since)));
    }

    fn add_message(&mut self, message: &OpenMessage) {
        self.add_record(message.since);
        *self.attempts.entry(message.attempts).or_insert(0) += 1;
        self.sending += u64::from(message.state == "sending");
        self.unknown += u64::from(message.state == "unknown");
    }
}

/// Counts the open records of all instances, including those that are no longer configured.
pub fn count_open_work(open: &OpenWork) -> OpenWorkCounts {
    let mut waiting = OpenWorkCounts::default();
    open.events
        .iter()
        .for_each(|event| waiting.add_record(event.since));
    open.messages
        .iter()
        .for_each(|message| waiting.add_message(message));
    waiting.parked = open.parked.len() as u64;
    waiting
}

/// The open records of each instance: messages and parked conversations by our name of it, events by the provider's.
#[derive(Debug, Default)]
pub struct WaitingByInstance<'a> {
    own: HashMap<&'a InstanceId, OpenWorkCounts>,
    events: HashMap<(Provider, &'a ExternalId), Vec<Timestamp>>,
}

impl<'a> WaitingByInstance<'a> {
    /// Counts in one pass.
    pub fn count_records(open: &'a OpenWork) -> Self {
        let mut counts = Self::default();
        for event in &open.events {
            let named = (event.provider, &event.external);
            counts.events.entry(named).or_default().push(event.since);
        }
        for message in &open.messages {
            let own = counts.own.entry(&message.instance).or_default();
            own.add_message(message);
        }
        for instance in &open.parked {
            counts.own.entry(instance).or_default().parked += 1;
        }
        counts
    }

    /// Returns the counts of an instance.
    pub fn count_of(&self, instance: &Instance) -> OpenWorkCounts {
        let mut counts = self.own.get(&instance.id).cloned().unwrap_or_default();
        if !self.events.is_empty()
            && let Some(external) = instance.resolve_external_id()
        {
            let events = self.events.get(&(instance.provider, &external));
            events
                .into_iter()
                .flatten()
                .for_each(|since| counts.add_record(*since));
        }
        counts
    }
}
