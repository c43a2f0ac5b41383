//! Reads the events and messages of one correlation id, over the index `trace`. The index holds keys only, so that it
//! costs little.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::TableKey;
use super::records;
use super::table::RecordQuery;
use recado_domain::event::EventRecord;
use recado_domain::ids::{CorrelationId, TenantId};
use recado_pipeline::ports::{
    ConfigurationStore, Conversations, CorrelatedRecords, CorrelationIndex, PortResult, System,
};

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

/// The number of pages of the index that are read at most. Another tenant may have used the same correlation id often:
/// its records come with the others, and only reading them shows whose they are.
const PAGES_MAX: usize = 20;

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
            let event = records::parse_event_record(what, &item)?;
            if traced.events.len() + traced.messages.len() < limit
                && self.is_of_tenant(&event, tenant).await?
            {
                traced.events.push(event);
            }
        }
        for record in self.table.get_records(what, messages, true).await? {
            let message = records::parse_message(what, &record)?;
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

impl<A: System> CorrelationIndex for DynamoStore<A> {
    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        tenant: Option<&TenantId>,
        limit: usize,
    ) -> PortResult<CorrelatedRecords> {
        const WHAT: &str = "reading a trace";
        let query = RecordQuery {
            index: Some("trace"),
            keys: Expression::new("#trace = :trace").with_text(":trace", correlation.as_str()),
            filter: None,
            reverse: false,
            limit: Some(limit),
        };
        let (mut traced, mut start) = (CorrelatedRecords::default(), None);
        for _ in 0..PAGES_MAX {
            let (keys, next) = self.table.query_page(WHAT, &query, start).await?;
            self.read_traced_records(WHAT, &keys, tenant, limit, &mut traced)
                .await?;
            start = next;
            if start.is_none() || traced.events.len() + traced.messages.len() >= limit {
                break;
            }
        }
        Ok(traced)
    }
}
