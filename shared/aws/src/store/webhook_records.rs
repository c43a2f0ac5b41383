//! Records of posts to endpoints. The states of all endpoints are one partition, sorted by tenant: there are few. The events that
//! the endpoints of a tenant did not accept are another; those that are posted again stand in the index `open` by their time, each
//! endpoint's in a shard of its own.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number_attribute, text_attribute};
use super::keys::{self, TableKey};
use super::table::RecordQuery;
use super::transaction::TransactionAction;
use jiff::Timestamp;
use recado_domain::ids::{TenantId, WebhookEndpointId};
use recado_domain::published_event::EventCursor;
use recado_domain::revision::revisions_of;
use recado_domain::webhook_endpoint::{EndpointState, FailedEvent};
use recado_ports::ports::{Page, PageRequest, PortError, PortResult, System, WebhookRecords, WriteOutcome};

pub(super) fn failed_item(what: &'static str, failed: &FailedEvent) -> PortResult<Item> {
    let mut item = item::encode_record(what, failed)?;
    let expires = number_attribute(failed.expires_at().as_second());
    item.insert("ttl".to_owned(), expires);
    if let Some(next) = failed.next_at {
        let shard = keys::due_failed_events_shard(&failed.tenant, &failed.endpoint);
        item.insert("open_shard".to_owned(), text_attribute(shard));
        item.insert("open_due".to_owned(), number_attribute(next.as_millisecond()));
    }
    let key = TableKey::for_failed_event(&failed.tenant, &failed.endpoint, failed.cursor);
    Ok(key.into_item(item))
}

/// Returns the condition that the event is stored, and belongs to the same generation of its endpoint.
fn is_of_generation(failed: &FailedEvent) -> Expression {
    if failed.generation == 0 {
        return Expression::new("attribute_exists(#pk) AND attribute_not_exists(#generation)");
    }
    Expression::new("#generation = :generation").with_number(":generation", failed.generation)
}

impl<A: System> WebhookRecords for DynamoStore<A> {
    async fn find_endpoint_state(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
    ) -> PortResult<Option<EndpointState>> {
        const WHAT: &str = "reading the state of an endpoint";
        let key = TableKey::for_endpoint_state(tenant, endpoint);
        let found = self.table.get_record(WHAT, key).await?;
        found.map(|item| item::decode_record(WHAT, &item)).transpose()
    }

    async fn list_endpoint_states(
        &self,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<Vec<EndpointState>> {
        const WHAT: &str = "listing the states of endpoints";
        let prefix = tenant.map(keys::endpoint_states_prefix);
        let query = RecordQuery::for_partition(keys::ENDPOINT_STATES_PK, prefix.as_deref(), Some(limit));
        let found = self.table.query_records(WHAT, &query).await?;
        Ok(item::decode_readable(WHAT, &found))
    }

    async fn save_endpoint_state(
        &self,
        state: &EndpointState,
        failed: &[FailedEvent],
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "saving the state of an endpoint";
        let key = TableKey::for_endpoint_state(&state.tenant, &state.endpoint);
        let item = key.into_item(item::encode_record(WHAT, state)?);
        let follows = Expression::follows_revision("rev", state.rev);
        let mut actions = vec![TransactionAction::Put(item, Some(follows))];
        for one in failed {
            actions.push(TransactionAction::Put(failed_item(WHAT, one)?, None));
        }
        Ok(match self.table.run_transaction(WHAT, actions).await? {
            Ok(()) => WriteOutcome::Written,
            Err(_refused) => WriteOutcome::Conflict,
        })
    }

    async fn replace_failed_event(&self, failed: &FailedEvent) -> PortResult<WriteOutcome> {
        const WHAT: &str = "storing an event that was not accepted";
        let same = Some(is_of_generation(failed));
        let put = self.table.put_record(WHAT, failed_item(WHAT, failed)?, same);
        Ok(match put.await? {
            Ok(()) => WriteOutcome::Written,
            Err(_refused) => WriteOutcome::Conflict,
        })
    }

    async fn remove_failed_event(&self, failed: &FailedEvent) -> PortResult<()> {
        const WHAT: &str = "removing an event that was not accepted";
        let key = TableKey::for_failed_event(&failed.tenant, &failed.endpoint, failed.cursor);
        let _gone_or_another = self
            .table
            .delete_record(WHAT, key, is_of_generation(failed))
            .await?;
        Ok(())
    }

    async fn find_failed_event(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        cursor: EventCursor,
    ) -> PortResult<Option<FailedEvent>> {
        const WHAT: &str = "reading an event that was not accepted";
        let key = TableKey::for_failed_event(tenant, endpoint, cursor);
        let found = self.table.get_record(WHAT, key).await?;
        let found = found.and_then(|item| item::unexpired(item, self.table.system.now()));
        found.map(|item| item::decode_record(WHAT, &item)).transpose()
    }

    async fn list_failed_events(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        page: &PageRequest,
    ) -> PortResult<Page<FailedEvent>> {
        const WHAT: &str = "listing events that were not accepted";
        let after = page.cursor.as_deref().map_or(Ok(EventCursor::START), str::parse);
        let after = after.map_err(|error| PortError::invalid(WHAT, error))?;
        let place = |cursor| TableKey::for_failed_event(tenant, endpoint, cursor).sk;
        let first = EventCursor(after.0.saturating_add(1));
        let keys = Expression::new("#pk = :pk AND #sk BETWEEN :first AND :last")
            .with_text(":pk", keys::failed_events_pk(tenant))
            .with_text(":first", place(first))
            .with_text(":last", place(EventCursor(u64::MAX)));
        let query = RecordQuery {
            index: None,
            keys,
            filter: None,
            reverse: false,
            limit: Some(page.limit.max(1).saturating_add(1)),
        };
        let found = self.table.query_records(WHAT, &query).await?;
        let has_more = found.len() > page.limit;
        let now = self.table.system.now();
        let read = found.into_iter().take(page.limit).filter_map(|item| {
            let failed: FailedEvent = item::keep_readable(item::decode_record(WHAT, &item))?;
            let cursor = failed.cursor;
            Some((cursor, item::unexpired(item, now).map(|_| failed)))
        });
        let read: Vec<(EventCursor, Option<FailedEvent>)> = read.collect();
        let next_cursor = read
            .last()
            .filter(|_| has_more)
            .map(|(cursor, _)| cursor.to_string());
        Ok(Page {
            items: read.into_iter().filter_map(|(_, failed)| failed).collect(),
            next_cursor,
        })
    }

    async fn list_due_failed_events(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        now: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<FailedEvent>> {
        const WHAT: &str = "listing events that are posted again";
        let keys = Expression::new("#open_shard = :shard AND #open_due <= :now")
            .with_text(":shard", keys::due_failed_events_shard(tenant, endpoint))
            .with_number(":now", now.as_millisecond());
        let query = RecordQuery {
            index: Some("open"),
            keys,
            filter: None,
            reverse: false,
            limit: Some(limit),
        };
        let indexed = self.table.query_records(WHAT, &query).await?;
        if indexed.is_empty() {
            return Ok(Vec::new());
        }
        // The index may be late: an event may have been accepted, or have failed once more, since.
        let found = self.get_indexed_records(indexed).await?;
        let mut found: Vec<FailedEvent> = item::decode_readable(WHAT, &found);
        found.retain(|failed| failed.next_at.is_some_and(|next| next <= now));
        found.sort_by_key(|failed| failed.next_at);
        Ok(found)
    }

    async fn delete_endpoint_records(
        &self,
        tenant: &TenantId,
        endpoint: &WebhookEndpointId,
        generation: Option<u64>,
    ) -> PortResult<()> {
        const WHAT: &str = "deleting the records of an endpoint";
        let prefix = keys::failed_events_prefix(endpoint);
        let pk = keys::failed_events_pk(tenant);
        let mut failed = self.table.query_partition(WHAT, pk, Some(&prefix)).await?;
        let state = TableKey::for_endpoint_state(tenant, endpoint);
        let Some(generation) = generation else {
            self.delete_found(failed).await?;
            return self.delete_any(WHAT, state).await;
        };
        failed.retain(|item| {
            let of_item = item::get_integer(item, "generation").unwrap_or_default();
            u64::try_from(of_item) == Ok(generation)
        });
        self.delete_found(failed).await?;
        let revisions = revisions_of(generation);
        let is_of_it = Expression::new("#rev >= :first AND #rev < :behind")
            .with_number(":first", revisions.start)
            .with_number(":behind", revisions.end);
        let _gone_or_another = self.table.delete_record(WHAT, state, is_of_it).await?;
        Ok(())
    }
}
