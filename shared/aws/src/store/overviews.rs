//! Counts open work, over the index `open` that `reconcile` reads. The index holds only some attributes of a record, so
//! that most writes leave it alone: those that are read here, and the fields of parked conversations.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, TableKey};
use super::lists::ListSource;
use super::record_indexes::{ANY_TIME, OWNERS_AT_ONCE, parse_overdue_work};
use super::record_query::RecordQuery;
use super::records;
use async_trait::async_trait;
use futures::future::try_join_all;
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use jiff::civil::Date;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::delivery::UnacknowledgedMessage;
use recado_domain::ids::{CorrelationId, ExternalId, InstanceId, TenantId};
use recado_domain::instance::ParkedConversation;
use recado_domain::millis;
use recado_domain::outbox::Outbox;
use recado_domain::provider::Provider;
use recado_domain::usage::{UsageSum, merge_usage_sums};
use recado_ports::ports::{
    ConversationFilter, CorrelatedRecords, OpenEvent, OpenMessage, OpenWork, OverdueWork, Overviews,
    OwedAnswer, Page, PageRequest, PortResult, System, TroubledInstances, UnacknowledgedCounts,
    UnacknowledgedFilter, WaitingForPerson,
};
use serde::Deserialize;

const WHAT: &str = "counting what is open";

/// The number of instances whose work one query finds at most: a condition has 4 KB.
pub(super) const INSTANCES_AT_ONCE: usize = 20;

/// The fields of an open message that the index holds.
#[derive(Deserialize)]
struct IndexedMessage {
    instance: InstanceId,
    #[serde(with = "millis")]
    stored_at: Timestamp,
    out: Outbox,
}

/// The fields of an event that the index holds.
#[derive(Deserialize)]
struct IndexedEvent {
    job: IndexedJob,
}

#[derive(Deserialize)]
struct IndexedJob {
    provider: Provider,
    external: ExternalId,
    #[serde(with = "millis")]
    received_at: Timestamp,
}

/// The part of a conversation in which an answer is owed that the index holds.
#[derive(Deserialize)]
struct IndexedConversation {
    instance: InstanceId,
    #[serde(with = "millis")]
    waiting_since: Timestamp,
}

/// Returns the condition that a message or conversation is of one of `instances`.
fn of_instances(instances: &[Instance]) -> Expression {
    let ids = instances.iter().map(|instance| instance.id.as_str());
    Expression::one_of("#instance", ids)
}

/// Returns the condition that an event is of one of `instances`. An event names its instance as the provider does.
pub(super) fn events_of_instances(instances: &[Instance]) -> Expression {
    let (mut texts, mut condition) = (Vec::new(), Expression::default());
    for (number, instance) in instances.iter().enumerate() {
        let Some(external) = instance.resolve_external_id() else {
            continue;
        };
        let (p, e) = (format!(":p{number}"), format!(":e{number}"));
        texts.push(format!("(#job.#provider = {p} AND #job.#external = {e})"));
        condition = condition
            .with_text(&p, instance.provider.as_str())
            .with_text(&e, external.as_str());
    }
    condition.text = texts.join(" OR ");
    condition
}

impl<A: System> DynamoStore<A> {
    /// Reads the whole records of items that the index `open` holds in part.
    pub(super) async fn get_indexed_records(&self, indexed: Vec<Item>) -> PortResult<Vec<Item>> {
        let keys = indexed.iter().filter_map(TableKey::from_item).collect();
        self.table.get_records(WHAT, keys, true).await
    }

    /// Returns the longest overdue records of a kind that `filter` lets through, and whether there are more. Each shard
    /// contributes an equal part of `limit`.
    async fn query_open_of_kind(
        &self,
        kind: char,
        filter: Option<&Expression>,
        limit: usize,
    ) -> PortResult<(Vec<Item>, bool)> {
        self.query_open_shards(kind, ANY_TIME, filter, false, limit).await
    }

    /// Returns records of a kind that are due in a range of times, in milliseconds, and whether there are more.
    pub(super) async fn query_open_shards(
        &self,
        kind: char,
        (from, upto): (i64, i64),
        filter: Option<&Expression>,
        reverse: bool,
        limit: usize,
    ) -> PortResult<(Vec<Item>, bool)> {
        let most = limit.div_ceil(keys::SHARDS as usize).max(1);
        let shard = |number: u32| async move {
            let list = ListSource::Open(keys::open_shard(kind, number));
            let query = list.query_range(from, upto).filtered(filter.cloned());
            let query = RecordQuery { reverse, ..query }.up_to(most + 1);
            self.table.query_records(WHAT, &query).await
        };
        let found = try_join_all((0..keys::SHARDS).map(shard)).await?;
        let more = found.iter().any(|items| items.len() > most);
        let first = found.into_iter().flat_map(|items| items.into_iter().take(most));
        Ok((first.collect(), more))
    }

    /// Returns the instance of each parked conversation of `instances`, and whether there are more. Each instance has them in a
    /// partition of its own, so nobody else's are read.
    async fn read_parked_of(
        &self,
        instances: &[Instance],
        limit: usize,
    ) -> PortResult<(Vec<InstanceId>, bool)> {
        let mut parked = Vec::new();
        for instance in instances {
            let left = limit.saturating_sub(parked.len()).saturating_add(1);
            let query =
                RecordQuery::for_partition(keys::instance_pk(&instance.id), Some(keys::PARK), Some(left));
            let found = self.table.query_records(WHAT, &query).await?;
            parked.extend(found.iter().map(|_| instance.id.clone()));
        }
        let more = parked.len() > limit;
        parked.truncate(limit);
        Ok((parked, more))
    }

    /// Returns the instance of each parked conversation, and whether there are more.
    async fn read_parked_of_all(&self, limit: usize) -> PortResult<(Vec<InstanceId>, bool)> {
        let (parked, more) = self.query_open_of_kind('P', None, limit).await?;
        let instance = |item: &Item| {
            let parked: Option<ParkedConversation> = item::keep_readable(item::decode_record(WHAT, item));
            parked.map(|parked| parked.instance)
        };
        Ok((parked.iter().filter_map(instance).collect(), more))
    }

    /// Reads the open work of the instances `of`, or of all (`None`).
    async fn read_work_of(&self, of: Option<&[Instance]>, limit: usize) -> PortResult<OpenWork> {
        let (of_part, events) = (of.map(of_instances), of.map(events_of_instances));
        let (messages, more_messages) = self.query_open_of_kind('O', of_part.as_ref(), limit).await?;
        let (events, more_events) = match events {
            Some(none) if none.text.is_empty() => (Vec::new(), false),
            events => self.query_open_of_kind('E', events.as_ref(), limit).await?,
        };
        let (parked, more_parked) = match of {
            Some(instances) => self.read_parked_of(instances, limit).await?,
            None => self.read_parked_of_all(limit).await?,
        };
        let (owing, more_owing) = self.query_open_of_kind('C', of_part.as_ref(), limit).await?;
        let messages = item::decode_readable(WHAT, &messages).into_iter();
        let message = |found: IndexedMessage| OpenMessage {
            instance: found.instance,
            state: found.out.state.as_str(),
            attempts: found.out.attempts,
            since: found.stored_at,
        };
        let events = item::decode_readable(WHAT, &events).into_iter();
        let event = |found: IndexedEvent| OpenEvent {
            provider: found.job.provider,
            external: found.job.external,
            since: found.job.received_at,
        };
        let owing = item::decode_readable(WHAT, &owing).into_iter();
        let owed = |found: IndexedConversation| OwedAnswer {
            instance: found.instance,
            since: found.waiting_since,
        };
        Ok(OpenWork {
            owed: owing.map(owed).collect(),
            messages: messages.map(message).collect(),
            events: events.map(event).collect(),
            parked,
            at_least: more_messages || more_events || more_parked || more_owing,
        })
    }
}

#[async_trait]
impl<A: System> Overviews for DynamoStore<A> {
    async fn read_open_work(&self, of: Option<&[Instance]>, limit: usize) -> PortResult<OpenWork> {
        let Some(instances) = of else {
            return self.read_work_of(None, limit).await;
        };
        let mut work = OpenWork::default();
        for some in instances.chunks(INSTANCES_AT_ONCE) {
            let part = self.read_work_of(Some(some), limit).await?;
            work.messages.extend(part.messages);
            work.events.extend(part.events);
            work.parked.extend(part.parked);
            work.owed.extend(part.owed);
            work.at_least |= part.at_least;
        }
        Ok(work)
    }

    async fn list_troubled_instances(&self, limit: usize) -> PortResult<TroubledInstances> {
        let (indexed, at_least) = self.query_open_of_kind('I', None, limit).await?;
        let items = self.get_indexed_records(indexed).await?;
        let state = |item: &Item| {
            let id = item::get_string(item, "pk")?.strip_prefix("I#")?;
            let state = item::keep_readable(item::decode_record(WHAT, item))?;
            Some((InstanceId::parse(id).ok()?, state))
        };
        Ok(TroubledInstances {
            states: items.iter().filter_map(state).collect(),
            at_least,
        })
    }

    async fn list_waiting_for_person(&self, before: Timestamp, limit: usize) -> PortResult<WaitingForPerson> {
        let range = (i64::MIN, before.as_millisecond());
        let (indexed, at_least) = self
            .query_open_shards(keys::waiting::PERSON_OWED, range, None, true, limit)
            .await?;
        let items = self.get_indexed_records(indexed).await?;
        let conversation = |item: &Item| item::keep_readable(records::parse_conversation(WHAT, item));
        let found = items.iter().filter_map(conversation).collect();
        Ok(WaitingForPerson::from_conversations(found, at_least))
    }

    async fn list_waiting_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        self.read_waiting_page(filter, page).await
    }

    async fn count_unacknowledged(
        &self,
        range: (Timestamp, Timestamp),
        limit: usize,
    ) -> PortResult<UnacknowledgedCounts> {
        self.count_unacknowledged_of_all(range, limit).await
    }

    async fn list_unacknowledged(
        &self,
        filter: &UnacknowledgedFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> PortResult<Page<UnacknowledgedMessage>> {
        self.read_unacknowledged_page(filter, now, page).await
    }

    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        const WHAT: &str = "reading what is overdue";
        let shard = |(kind, shard): (char, u32)| async move {
            let due = ListSource::Open(keys::open_shard(kind, shard));
            let query = due.query_range(i64::MIN, now.as_millisecond()).up_to(limit);
            self.table.query_records(WHAT, &query).await
        };
        let mut due: Vec<Item> = Vec::new();
        for kind in keys::OPEN_KINDS {
            let found = try_join_all((0..keys::SHARDS).map(|number| shard((kind, number)))).await?;
            let mut of_kind: Vec<Item> = found.into_iter().flatten().collect();
            of_kind.sort_by_key(|item| item::get_integer(item, "open_due"));
            of_kind.truncate(limit);
            due.extend(of_kind);
        }
        due.extend(self.query_overdue_returns(now, limit).await?);
        due.sort_by_key(|item| item::get_integer(item, "open_due"));
        let work = due.iter().map(|item| parse_overdue_work(WHAT, item));
        Ok(work.filter_map(item::keep_readable).collect())
    }

    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<CorrelatedRecords> {
        const WHAT: &str = "reading a trace";
        let found: Vec<Item> = match tenant {
            None => self.query_traced_keys(WHAT, correlation, None, limit).await?,
            Some(tenant) => {
                let owners = self.list_trace_owners(tenant).await?;
                let queries: Vec<_> = owners
                    .iter()
                    .map(|owner| self.query_traced_keys(WHAT, correlation, Some(owner.as_str()), limit))
                    .collect();
                let found: Vec<Vec<Item>> = stream::iter(queries)
                    .buffered(OWNERS_AT_ONCE)
                    .try_collect()
                    .await?;
                found.concat()
            }
        };
        let mut traced = CorrelatedRecords::default();
        self.read_traced_records(WHAT, &found, tenant, limit, &mut traced)
            .await?;
        Ok(traced)
    }

    async fn list_usage(&self, tenant: &TenantId, from: Date, to: Date) -> PortResult<Vec<UsageSum>> {
        const WHAT: &str = "reading the use of models";
        let range = (from.to_string(), keys::usage_day_boundary(to));
        let query = RecordQuery::of_range(keys::usage_partition_key(tenant), range);
        let found = self.table.query_records(WHAT, &query).await?;
        let now = self.table.system.now();
        let kept = found.into_iter().filter_map(|item| item::unexpired(item, now));
        let sums: Vec<UsageSum> = item::decode_readable(WHAT, kept);
        Ok(merge_usage_sums(sums))
    }
}
