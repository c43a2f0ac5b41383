//! Reads the events and messages of one correlation id, over the index `trace`. The index holds keys only, so that it
//! costs little.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, TableKey};
use super::records;
use super::table::RecordQuery;
use futures::stream::{self, StreamExt, TryStreamExt};
use recado_domain::config::Instance;
use recado_domain::event::EventRecord;
use recado_domain::ids::{CorrelationId, TenantId};
use recado_ports::ports::{
    ConfigurationStore, Conversations, CorrelatedRecords, CorrelationIndex, PageRequest, PortResult, System,
};
use recado_ports::records::configuration::list_entries;

/// The number of instances of a tenant of which records are found.
const INSTANCES_MAX: usize = 10_000;

/// The key of a record that the index names.
enum TracedKey {
    Event(TableKey),
    Message(TableKey),
}

fn parse_traced_key(item: &Item) -> Option<TracedKey> {
    let key = TableKey {
        pk: item::get_string(item, "pk")?.to_owned(),
        sk: item::get_string(item, "sk")?.to_owned(),
    };
    match key.pk.split_once('#')?.0 {
        "E" => Some(TracedKey::Event(key)),
        "C" => Some(TracedKey::Message(key)),
        _ => None,
    }
}

/// The number of owners whose keys are read side by side.
const OWNERS_AT_ONCE: usize = 16;

impl<A: System> DynamoStore<A> {
    /// Adds the records with these keys that are of `tenant` (`None`: of any) to `traced`, up to `limit` in all.
    async fn read_traced_records(
        &self,
        what: &'static str,
        keys: &[Item],
        tenant: Option<&TenantId>,
        limit: usize,
        traced: &mut CorrelatedRecords,
    ) -> PortResult<()> {
        let (mut events, mut messages) = (Vec::new(), Vec::new());
        for entry in keys.iter().filter_map(parse_traced_key) {
            match entry {
                TracedKey::Event(key) => events.push(key),
                TracedKey::Message(key) => messages.push(key),
            }
        }
        let now = self.table.system.now();
        let found = self.table.get_records(what, events, true).await?;
        for item in found.into_iter().filter_map(|item| item::unexpired(item, now)) {
            let Some(event) = item::keep_readable(records::parse_event_record(what, &item)) else {
                continue;
            };
            if traced.events.len() + traced.messages.len() < limit
                && self.is_of_tenant(&event, tenant).await?
            {
                traced.events.push(event);
            }
        }
        for record in self.table.get_records(what, messages, true).await? {
            let Some(message) = item::keep_readable(records::parse_message(what, &record)) else {
                continue;
            };
            let wanted = tenant.is_none_or(|own| message.tenant == *own);
            if wanted && traced.events.len() + traced.messages.len() < limit {
                // An open one is read in its current state.
                let message = Conversations::find_message(self, &message.message_id()).await?;
                traced.messages.extend(message);
            }
        }
        Ok(())
    }

    /// Returns whether the event's instance is configured for `tenant`; always `true` without a tenant.
    async fn is_of_tenant(&self, event: &EventRecord, tenant: Option<&TenantId>) -> PortResult<bool> {
        let Some(tenant) = tenant else { return Ok(true) };
        let bound = self
            .find_instance_config(event.job.provider, &event.job.external)
            .await?;
        Ok(bound.is_some_and(|bound| bound.tenant.id == *tenant))
    }
}

impl<A: System> DynamoStore<A> {
    /// Returns the owners of a tenant's records in the index: the tenant, and each of its instances as configured now.
    async fn list_trace_owners(&self, tenant: &TenantId) -> PortResult<Vec<String>> {
        let mut owners = vec![keys::message_owner(tenant)];
        let page = PageRequest {
            limit: INSTANCES_MAX,
            cursor: None,
        };
        for instance in list_entries::<Instance>(self, Some(tenant), &page).await?.items {
            let external = instance.resolve_external_id();
            owners.extend(external.map(|external| keys::event_owner(instance.provider, &external)));
        }
        Ok(owners)
    }

    /// Returns the keys of the records with a correlation id that the index has of `owner`, or of all (`None`).
    async fn query_traced_keys(
        &self,
        what: &'static str,
        correlation: &CorrelationId,
        owner: Option<&str>,
        limit: usize,
    ) -> PortResult<Vec<Item>> {
        let keys = match owner {
            None => Expression::new("#trace = :trace"),
            Some(owner) => {
                Expression::new("#trace = :trace AND #trace_of = :owner").with_text(":owner", owner)
            }
        };
        let query = RecordQuery {
            index: Some("trace"),
            keys: keys.with_text(":trace", correlation.as_str()),
            filter: None,
            reverse: false,
            limit: Some(limit),
        };
        self.table.query_records(what, &query).await
    }
}

impl<A: System> CorrelationIndex for DynamoStore<A> {
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
}
