//! The head of the log of published events: the newest number, and what the newest transaction wrote.

use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::TableKey;
use super::stream_record::StreamRecord;
use super::transaction::TransactionAction;
use jiff::{SignedDuration, Timestamp};
use recado_domain::ids::{TenantId, hash_parts};
use recado_domain::millis::{self, add_duration};
use recado_domain::published_event::EventCursor;
use recado_ports::ports::{PortError, PortResult};
use serde::{Deserialize, Serialize};

const WHAT: &str = "reading the head of the log of events";

/// The number of transactions that the head remembers. With them it mostly has less than 1 KB, which is what a write is billed by.
const DONE_MAX: usize = 8;

/// Age up to which a forgotten transaction is noted in a record of its own. Changes mostly come again within a minute: a run that was
/// cut off is repeated at once. 2 minutes.
const NOTED_WITHIN: SignedDuration = SignedDuration::from_mins(2);

/// Greatest difference between the clocks of the stream and of a function. The stream tells whole seconds.
const CLOCKS_DIFFER_MAX: SignedDuration = SignedDuration::from_mins(1);

/// Changes that one transaction published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DoneChanges {
    /// A hash of the id of the first one.
    first: String,
    /// The place of the last one in its shard of the stream.
    pub(super) last: String,
    #[serde(with = "millis")]
    at: Timestamp,
}

impl DoneChanges {
    pub(super) fn new(first: &StreamRecord, last: &StreamRecord, at: Timestamp) -> Self {
        Self {
            first: hash_first(first),
            last: last.sequence.clone(),
            at,
        }
    }

    /// Returns the note of these changes, which is kept until a time.
    pub(super) fn build_note(&self, until: Timestamp) -> Item {
        let note = Item::from([
            ("last".to_owned(), text_attribute(self.last.as_str())),
            ("ttl".to_owned(), number_attribute(until.as_second())),
        ]);
        TableKey::for_published_changes(&self.first).into_item(note)
    }
}

/// Returns the key of the note of the changes that begin with `first`.
pub(super) fn find_note_key(first: &StreamRecord) -> TableKey {
    TableKey::for_published_changes(&hash_first(first))
}

fn hash_first(first: &StreamRecord) -> String {
    hash_parts(&["changes", &first.id], 8)
}

/// The newest number of the log, the records that the newest transaction wrote, and what the newest ones published.
#[derive(Default)]
pub(super) struct LogHead {
    pub(super) newest: Option<EventCursor>,
    pub(super) written: Vec<(Option<TenantId>, EventCursor)>,
    pub(super) done: Vec<DoneChanges>,
}

impl LogHead {
    /// Returns the place up to which the changes that begin with `first` are published, as far as the head remembers.
    pub(super) fn find_done(&self, first: &StreamRecord) -> Option<&str> {
        let hash = hash_first(first);
        let done = self.done.iter().find(|done| done.first == hash)?;
        Some(&done.last)
    }

    /// Returns `true` if the changes that begin with `first` may be published although the head does not remember them. It remembers
    /// all that was published since the oldest that it knows.
    pub(super) fn may_have_forgotten(&self, first: &StreamRecord) -> bool {
        let oldest = self.done.first().filter(|_| self.done.len() >= DONE_MAX);
        oldest.is_some_and(|oldest| first.at < add_duration(oldest.at, CLOCKS_DIFFER_MAX))
    }

    /// Remembers what is published now. Returns what is to be noted in a record of its own, since it is forgotten with the next
    /// transaction: so whoever reads both, in any order, finds it in one of them.
    pub(super) fn remember_done(&mut self, done: DoneChanges) -> Option<DoneChanges> {
        let now = done.at;
        if self.done.len() >= DONE_MAX {
            self.done.remove(0);
        }
        self.done.push(done);
        let oldest = self.done.first().filter(|_| self.done.len() == DONE_MAX);
        let is_young = |oldest: &&DoneChanges| now.duration_since(oldest.at) < NOTED_WITHIN;
        oldest.filter(is_young).cloned()
    }

    pub(super) fn parse_head(found: Option<&Item>) -> PortResult<Self> {
        let Some(item) = found else {
            return Ok(Self::default());
        };
        let list = |name| item::get_string(item, name).unwrap_or("[]");
        let invalid = |error| PortError::invalid(WHAT, error);
        Ok(Self {
            newest: parse_number(item, "newest"),
            written: serde_json::from_str(list("written")).map_err(invalid)?,
            done: serde_json::from_str(list("done")).map_err(invalid)?,
        })
    }

    /// Lists the keys of the records that the newest transaction wrote.
    pub(super) fn list_written_keys(&self) -> Vec<TableKey> {
        let of_tenant = self.written.iter().filter(|(tenant, _)| tenant.is_some());
        let of_tenant = of_tenant.map(|(tenant, last)| TableKey::for_logged_events(tenant.as_ref(), *last));
        let of_all = self
            .written
            .iter()
            .map(|(_, last)| TableKey::for_logged_events(None, *last));
        of_tenant.chain(of_all).collect()
    }

    pub(super) fn into_put(self, before: Option<EventCursor>) -> PortResult<TransactionAction> {
        let invalid = |error| PortError::invalid(WHAT, error);
        let written = serde_json::to_string(&self.written).map_err(invalid)?;
        let done = serde_json::to_string(&self.done).map_err(invalid)?;
        let newest = self.newest.unwrap_or_default();
        let item = Item::from([
            ("newest".to_owned(), number_attribute(newest.0)),
            ("written".to_owned(), text_attribute(written)),
            ("done".to_owned(), text_attribute(done)),
        ]);
        let condition = match before {
            None => Expression::record_absent(),
            Some(before) => Expression::new("#newest = :before").with_number(":before", before.0),
        };
        let item = TableKey::for_event_log_head().into_item(item);
        Ok(TransactionAction::Put(item, Some(condition)))
    }
}

/// Returns the number in an attribute; `None` if there is none.
pub(super) fn parse_number(item: &Item, name: &str) -> Option<EventCursor> {
    let number = u64::try_from(item::get_integer(item, name)?).ok()?;
    Some(EventCursor(number))
}
