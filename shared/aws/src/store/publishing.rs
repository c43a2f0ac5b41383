//! Publishes changes: derives the events of records of the stream, and writes them into the log.
//!
//! One transaction writes events of several tenants: into each tenant's log, once more into the installation's, and the head, on
//! condition that the head still has the number after which these were numbered. A transaction becomes visible record by record. So
//! before the next one is sent, the records of the one before are read as settled, and none appears behind a number that was seen.
//!
//! A number is at least 1024 times the time in milliseconds. So numbers tell times, and a table that was restored goes on above all
//! that it gave before.

use super::DynamoStore;
use super::changed_record::{ChangedDelivery, ChangedRecord, read_change};
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::TableKey;
use super::log_head::{DoneChanges, LogHead, find_note_key};
use super::push_connections::{add_installation, find_listening};
use super::records;
use super::stream_record::StreamRecord;
use super::table::RETRIES_MAX;
use super::transaction::TransactionAction;
use jiff::{SignedDuration, Timestamp};
use recado_domain::ids::{InstanceId, MessageId, TenantId};
use recado_domain::millis::add_duration;
use recado_domain::outbox::OutboxState;
use recado_domain::published_event::{EventCursor, MessageOwner, PublishedEvent};
use recado_ports::ports::{PortError, PortResult, System};
use recado_ports::records::configuration::find_config_by_id;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

const WHAT: &str = "publishing changes";

/// The numbers that are given in a millisecond, on average at most.
const NUMBERS_OF_A_MILLISECOND: i64 = 1024;

/// The greatest numbers of events, tenants and notes of sent messages that one transaction writes. With the head and the note of what
/// is published it has at most 97 actions of 100.
const EVENTS_MAX: usize = 300;
const TENANTS_MAX: usize = 40;
const SENT_MAX: usize = 15;

/// Time for which a later status of a message waits until it is published that the message was sent. The shard of the stream that
/// tells of the message may be late. 5 minutes.
const SENT_WAIT: SignedDuration = SignedDuration::from_mins(5);

/// Pause before changes come again that wait for another shard.
const WAIT_PAUSE: Duration = Duration::from_millis(500);

/// Time for which it is noted which changes are published, and that a message was sent. The stream holds changes for a day.
const NOTES_KEPT: SignedDuration = SignedDuration::from_hours(36);

/// The result of publishing changes of the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PublishedChanges {
    /// The number of events that were written.
    pub events: usize,
    /// The tenants of these events.
    pub tenants: BTreeSet<TenantId>,
    /// The tenants whose push connections are to be told that there is more. `None`: the installation.
    pub listening: BTreeSet<Option<TenantId>>,
    /// The place in the stream of the first change that must come again, since it waits for another. `None`: all are done.
    pub come_back: Option<String>,
}

/// Returns the least number that may be given at a time.
pub(super) fn number_of_time(at: Timestamp) -> EventCursor {
    let number = at.as_millisecond().saturating_mul(NUMBERS_OF_A_MILLISECOND);
    EventCursor(u64::try_from(number).unwrap_or_default())
}

/// The events of the first changes of a batch.
#[derive(Default)]
struct Chunk {
    /// The number of these changes.
    changes: usize,
    /// Their events, by tenant.
    logs: BTreeMap<Option<TenantId>, Vec<PublishedEvent>>,
    events: usize,
    sent: BTreeMap<MessageId, MessageOwner>,
    /// `true` if the change behind these waits for another.
    waits: bool,
}

impl Chunk {
    fn is_full(&self) -> bool {
        self.events >= EVENTS_MAX || self.logs.len() >= TENANTS_MAX || self.sent.len() >= SENT_MAX
    }

    fn add_events(&mut self, events: Vec<PublishedEvent>) {
        self.events += events.len();
        for event in events {
            self.logs.entry(event.tenant.clone()).or_default().push(event);
        }
    }
}

/// The result of a try to write a chunk.
enum ChunkOutcome {
    /// They are written, and these listen to their events.
    Written(BTreeSet<Option<TenantId>>),
    /// The changes up to this place of the stream are published.
    DoneUpTo(String),
}

impl<A: System> DynamoStore<A> {
    /// Publishes changes of one shard of the stream, in this order. The events are kept for `retention`.
    ///
    /// Changes that come again are recognized, unless a batch begins in the middle of what was published together: then its events
    /// are published again, under the same ids. After an error all changes must come again.
    pub async fn publish_changes(
        &self,
        changes: &[StreamRecord],
        retention: SignedDuration,
    ) -> PortResult<PublishedChanges> {
        let (mut published, mut rest) = (PublishedChanges::default(), changes);
        while let Some(first) = rest.first() {
            let chunk = self.derive_chunk(rest).await?;
            let (done, behind) = rest.split_at(chunk.changes);
            if let Some(last) = done.last().filter(|_| chunk.events > 0) {
                match self.write_chunk((first, last), &chunk, retention).await? {
                    ChunkOutcome::Written(listening) => {
                        published.events += chunk.events;
                        published.listening.extend(listening);
                        published.tenants.extend(chunk.logs.into_keys().flatten());
                    }
                    ChunkOutcome::DoneUpTo(place) => {
                        let known = rest.iter().take_while(|change| !change.is_behind(&place)).count();
                        rest = &rest[known.max(1)..];
                        continue;
                    }
                }
            }
            if chunk.waits {
                // Lambda hands the rest out at once.
                self.table.system.sleep(WAIT_PAUSE).await;
                published.come_back = behind.first().map(|change| change.sequence.clone());
                break;
            }
            rest = behind;
        }
        Ok(published)
    }

    /// Derives the events of the first changes, as many as one transaction writes. A change that cannot be read is left out.
    async fn derive_chunk(&self, changes: &[StreamRecord]) -> PortResult<Chunk> {
        let read_or_leave_out = |change: &StreamRecord| {
            let read = item::keep_readable(read_change(change, self.kinds));
            read.unwrap_or(ChangedRecord::Events(Vec::new()))
        };
        let read: Vec<ChangedRecord> = changes.iter().map(read_or_leave_out).collect();
        let noted = self.find_sent_notes(&read).await?;
        let mut chunk = Chunk::default();
        for change in read {
            if chunk.is_full() {
                break;
            }
            match change {
                ChangedRecord::Events(events) => chunk.add_events(events),
                ChangedRecord::SentMessage {
                    message,
                    owner,
                    events,
                } => {
                    chunk.add_events(events);
                    chunk.sent.insert(message, owner);
                }
                ChangedRecord::Delivery(change) => {
                    let noted = chunk
                        .sent
                        .get(&change.message)
                        .or_else(|| noted.get(&change.message));
                    let owner = match noted {
                        Some(owner) => DeliveryOwner::Known(owner.clone()),
                        None => self.find_delivery_owner(&change).await?,
                    };
                    match owner {
                        DeliveryOwner::Known(owner) => {
                            chunk.add_events(change.derive_published_events(&owner));
                        }
                        DeliveryOwner::Gone => {}
                        DeliveryOwner::Waits => {
                            chunk.waits = true;
                            break;
                        }
                    }
                }
                ChangedRecord::Instance(change) => {
                    let bound = match find_config_by_id(self, &change.instance).await {
                        Err(error) if !error.is_retryable() => item::keep_readable(Err(error)),
                        bound => bound?,
                    };
                    let events = bound.map(|bound| change.derive_published_events(&bound.tenant.id));
                    chunk.add_events(events.unwrap_or_default());
                }
            }
            chunk.changes += 1;
        }
        Ok(chunk)
    }

    /// Reads which messages of changed deliveries are known to be published as sent, and whose they are.
    async fn find_sent_notes(&self, read: &[ChangedRecord]) -> PortResult<HashMap<MessageId, MessageOwner>> {
        let messages = read.iter().filter_map(|change| match change {
            ChangedRecord::Delivery(change) => Some(&change.message),
            _ => None,
        });
        let keys: Vec<TableKey> = messages.map(TableKey::for_sent_note).collect();
        if keys.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.table.get_records(WHAT, keys, true).await?;
        Ok(found.iter().filter_map(parse_sent_note).collect())
    }

    /// Finds whose a message is of which it is not noted that its being sent is published.
    async fn find_delivery_owner(&self, change: &ChangedDelivery) -> PortResult<DeliveryOwner> {
        let Ok((conversation, ordinal)) = change.message.conversation_and_ordinal() else {
            return Ok(DeliveryOwner::Gone);
        };
        let key = TableKey::for_message(&conversation, ordinal);
        let Some(item) = self.table.get_record(WHAT, key).await? else {
            return Ok(DeliveryOwner::Gone);
        };
        // What cannot be read cannot be published, and the shard must go on.
        let Some(message) = item::keep_readable(records::parse_message(WHAT, &item)) else {
            return Ok(DeliveryOwner::Gone);
        };
        let state = message.out.as_ref().map(|out| &out.state);
        if let Some(OutboxState::Sent { at }) = state
            && self.table.system.now() < add_duration(*at, SENT_WAIT)
        {
            return Ok(DeliveryOwner::Waits);
        }
        Ok(DeliveryOwner::Known(MessageOwner {
            tenant: message.tenant,
            instance: message.instance,
        }))
    }

    /// Writes the events of the changes from `first` to `last`.
    async fn write_chunk(
        &self,
        (first, last): (&StreamRecord, &StreamRecord),
        chunk: &Chunk,
        retention: SignedDuration,
    ) -> PortResult<ChunkOutcome> {
        for round in 0..=RETRIES_MAX {
            let key = vec![TableKey::for_event_log_head()];
            let found = self.table.get_records(WHAT, key, true).await?;
            let head = LogHead::parse_head(found.first())?;
            if let Some(place) = self.find_published_place(&head, first).await? {
                return Ok(ChunkOutcome::DoneUpTo(place));
            }
            self.wait_until_visible(&head).await?;
            let actions = self.chunk_actions(head, (first, last), chunk, retention)?;
            if self.table.run_transaction(WHAT, actions).await?.is_ok() {
                return self.find_listeners(chunk).await.map(ChunkOutcome::Written);
            }
            // Another process published meanwhile: the changes of another shard, or these.
            self.table.wait_before_retry(round).await;
        }
        Err(PortError::contended(WHAT))
    }

    /// Returns the place up to which the changes that begin with `first` are published; `None` if they are not. The note is read behind
    /// the head, and only if the head may have forgotten them.
    async fn find_published_place(&self, head: &LogHead, first: &StreamRecord) -> PortResult<Option<String>> {
        if let Some(place) = head.find_done(first) {
            return Ok(Some(place.to_owned()));
        }
        if !head.may_have_forgotten(first) {
            return Ok(None);
        }
        let notes = self
            .table
            .get_records(WHAT, vec![find_note_key(first)], true)
            .await?;
        let place = |note: &Item| {
            item::get_string(note, "last")
                .unwrap_or(&first.sequence)
                .to_owned()
        };
        Ok(notes.first().map(place))
    }

    /// Waits until all records of the newest transaction are visible. Mostly they are, and one read of each shows that.
    async fn wait_until_visible(&self, head: &LogHead) -> PortResult<()> {
        let keys = head.list_written_keys();
        let seen = self.table.get_records(WHAT, keys.clone(), true).await?;
        if seen.len() < keys.len() {
            for some in keys.chunks(100) {
                self.table.get_settled_records(WHAT, some.to_vec()).await?;
            }
        }
        Ok(())
    }

    /// Finds out who listens to the events of a chunk. Who began a moment ago may be missed, and asks once a minute.
    async fn find_listeners(&self, chunk: &Chunk) -> PortResult<BTreeSet<Option<TenantId>>> {
        let asked = add_installation(chunk.logs.keys());
        let notes = asked
            .iter()
            .map(|tenant| TableKey::for_push_listening(tenant.as_ref()));
        let found = self.table.get_records(WHAT, notes.collect(), false).await?;
        Ok(find_listening(asked, &found, self.table.system.now()))
    }

    fn chunk_actions(
        &self,
        head: LogHead,
        (first, last): (&StreamRecord, &StreamRecord),
        chunk: &Chunk,
        retention: SignedDuration,
    ) -> PortResult<Vec<TransactionAction>> {
        let now = self.table.system.now();
        let before = head.newest;
        let noted_until = add_duration(now, NOTES_KEPT);
        let kept_until = number_attribute(add_duration(now, retention).as_second());
        let newest = before.unwrap_or_default();
        let mut next = newest.0.saturating_add(1).max(number_of_time(now).0);
        let mut written = Vec::new();
        let mut actions = Vec::new();
        for (tenant, events) in &chunk.logs {
            let count = u64::try_from(events.len()).unwrap_or(u64::MAX);
            let text = serde_json::to_string(events).map_err(|error| PortError::invalid(WHAT, error))?;
            let place = EventCursor(next.saturating_add(count).saturating_sub(1));
            let item = Item::from([
                ("first".to_owned(), number_attribute(next)),
                ("events".to_owned(), text_attribute(text)),
                ("ttl".to_owned(), kept_until.clone()),
            ]);
            for log in tenant.iter().map(Some).chain([None]) {
                let key = TableKey::for_logged_events(log, place);
                actions.push(TransactionAction::put(key.into_item(item.clone())));
            }
            written.push((tenant.clone(), place));
            next = place.0.saturating_add(1);
        }
        for (message, owner) in &chunk.sent {
            let note = Item::from([
                ("message".to_owned(), text_attribute(message.as_str())),
                ("tenant".to_owned(), text_attribute(owner.tenant.as_str())),
                ("instance".to_owned(), text_attribute(owner.instance.as_str())),
                ("ttl".to_owned(), number_attribute(noted_until.as_second())),
            ]);
            let key = TableKey::for_sent_note(message);
            actions.push(TransactionAction::put(key.into_item(note)));
        }
        let mut after = LogHead {
            newest: written.last().map(|(_, place)| *place),
            written,
            done: head.done,
        };
        let forgotten = after.remember_done(DoneChanges::new(first, last, now));
        actions.extend(forgotten.map(|done| TransactionAction::put(done.build_note(noted_until))));
        actions.push(after.into_put(before)?);
        Ok(actions)
    }

    /// Returns the newest number that was given. Nothing that is published later has this number or a lower one.
    pub(super) async fn find_newest_number(&self) -> PortResult<EventCursor> {
        let keys = vec![TableKey::for_event_log_head()];
        let found = self
            .table
            .get_settled_records("reading the head of the log of events", keys)
            .await?;
        let head = LogHead::parse_head(found.into_iter().flatten().next().as_ref())?;
        Ok(head.newest.unwrap_or_default())
    }
}

/// The owner of the message of a changed delivery.
enum DeliveryOwner {
    Known(MessageOwner),
    /// The message was erased, or its retention is over.
    Gone,
    /// The event that the message was sent is published later.
    Waits,
}

fn parse_sent_note(item: &Item) -> Option<(MessageId, MessageOwner)> {
    let text = |name| item::get_string(item, name);
    let owner = MessageOwner {
        tenant: TenantId::parse(text("tenant")?).ok()?,
        instance: InstanceId::parse(text("instance")?).ok()?,
    };
    Some((MessageId::parse(text("message")?).ok()?, owner))
}
