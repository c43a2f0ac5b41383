//! What passed between the use cases and the world around them, noted as it happened. The checks ask this where a record
//! could say anything.

use recado_domain::ids::EventId;
use std::collections::BTreeMap;

/// See the module. All times are true, in milliseconds since the start.
#[derive(Debug, Default)]
pub struct Witness {
    /// When each event was handed to the store as received, first, and last before its message was stored.
    pub received: BTreeMap<EventId, (i64, i64)>,
    /// When each event was on the queue first.
    pub enqueued: BTreeMap<EventId, i64>,
    /// When each event's message was stored.
    pub stored: BTreeMap<EventId, i64>,
}

impl Witness {
    /// An event is handed to the store.
    pub fn receive(&mut self, event: &EventId, at_ms: i64) {
        let times = self.received.entry(event.clone()).or_insert((at_ms, at_ms));
        if !self.stored.contains_key(event) {
            times.1 = at_ms;
        }
    }

    /// An event is on the queue.
    pub fn enqueue(&mut self, event: &EventId, at_ms: i64) {
        self.enqueued.entry(event.clone()).or_insert(at_ms);
    }

    /// An event's message is stored.
    pub fn store(&mut self, event: &EventId, at_ms: i64) {
        self.stored.entry(event.clone()).or_insert(at_ms);
    }
}
