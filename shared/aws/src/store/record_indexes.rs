//! Reads what is overdue (index `open`), and the events and messages of one correlation id (index `trace`). The index `trace`
//! holds keys only, so that it costs little.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::waiting::PERSON_OWED;
use super::keys::{self, MESSAGE, STATE, TableKey};
use super::record_query::RecordQuery;
use super::records;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::event::EventRecord;
use recado_domain::ids::{CorrelationId, InstanceId, TenantId};
use recado_ports::ports::{
    Conversations, CorrelatedRecords, OverdueWork, PageRequest, PortError, PortResult, System,
};
use recado_ports::records::configuration::{find_config_by_external, list_entries};

/// The range of all times.
pub(super) const ANY_TIME: (i64, i64) = (i64::MIN, i64::MAX);

/// Returns the overdue work that an item of the index `open` stands for. Most work is named by the key alone; of a parked
/// conversation the index holds all.
pub(super) fn parse_overdue_work(what: &'static str, item: &Item) -> PortResult<OverdueWork> {
    let pk = item::get_string(item, "pk").unwrap_or_default();
    let sk = item::get_string(item, "sk").unwrap_or_default();
    let malformed = || PortError::invalid(what, "an open record with a malformed key");
    let conversation = || keys::parse_conversation_key(item).ok_or_else(malformed);
    Ok(match pk.split_once('#') {
        Some(("E", _)) => OverdueWork::Event(keys::parse_event_key(item).ok_or_else(malformed)?),
        Some(("O", _)) => OverdueWork::Outgoing {
            conversation: conversation()?,
            ordinal: keys::parse_ordinal(item).ok_or_else(malformed)?,
        },
        Some(("C", _)) if sk.contains(MESSAGE) => OverdueWork::File {
            conversation: conversation()?,
            ordinal: keys::parse_ordinal(item).ok_or_else(malformed)?,
        },
        Some(("C", _)) => OverdueWork::Owed(conversation()?),
        Some(("I", id)) if sk == STATE => {
            OverdueWork::Probe(InstanceId::parse(id).map_err(|error| PortError::invalid(what, error))?)
        }
        Some(("I", _)) => OverdueWork::Parked(item::decode_record(what, item)?),
        _ => return Err(PortError::invalid(what, "an open record of an unknown kind")),
    })
}

/// The number of instances of a tenant of which records are found.
const INSTANCES_MAX: usize = 10_000;

/// The number of owners whose keys are read side by side.
pub(super) const OWNERS_AT_ONCE: usize = 16;

impl<A: System> DynamoStore<A> {
    /// Adds the records with these keys that are of `tenant` (`None`: of any) to `traced`, up to `limit` in all.
    pub(super) async fn read_traced_records(
        &self,
        what: &'static str,
        keys: &[Item],
        tenant: Option<&TenantId>,
        limit: usize,
        traced: &mut CorrelatedRecords,
    ) -> PortResult<()> {
        let keys_of = |kind: &'static str| -> Vec<TableKey> {
            let keys = keys.iter().filter_map(TableKey::from_item);
            keys.filter(|key| key.pk.starts_with(kind)).collect()
        };
        let now = self.table.system.now();
        let found = self.table.get_records(what, keys_of("E#"), true).await?;
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
        for record in self.table.get_records(what, keys_of("C#"), true).await? {
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
        let bound = find_config_by_external(self, event.job.provider, &event.job.external).await?;
        Ok(bound.is_some_and(|bound| bound.tenant.id == *tenant))
    }

    /// Returns the owners of a tenant's records in the index: the tenant, and each of its instances as configured now.
    pub(super) async fn list_trace_owners(&self, tenant: &TenantId) -> PortResult<Vec<String>> {
        let mut owners = vec![keys::message_owner(tenant)];
        let page = PageRequest::first(INSTANCES_MAX);
        for instance in list_entries::<Instance>(self, Some(tenant), &page).await?.items {
            let external = instance.resolve_external_id();
            owners.extend(external.map(|external| keys::event_owner(instance.provider, &external)));
        }
        Ok(owners)
    }

    /// Returns the keys of the records with a correlation id that the index has of `owner`, or of all (`None`).
    pub(super) async fn query_traced_keys(
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
        let keys = keys.with_text(":trace", correlation.as_str());
        let query = RecordQuery::of_index("trace", keys).up_to(limit);
        self.table.query_records(what, &query).await
    }

    /// Returns the conversations in which a person owes an answer and the agent's return is overdue. The index orders them
    /// by what the person owes, so all of these conversations are looked through.
    pub(super) async fn query_overdue_returns(&self, now: Timestamp, limit: usize) -> PortResult<Vec<Item>> {
        let overdue = Conversation::latest_overdue_return(now);
        let is_overdue = Expression::new("#agent_returns_at <= :overdue")
            .with_number(":overdue", overdue.as_millisecond());
        let (items, _) = self
            .query_open_shards(PERSON_OWED, ANY_TIME, Some(&is_overdue), false, limit)
            .await?;
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::text_attribute;
    use super::*;
    use recado_domain::ids::{ConversationId, EventId, Ordinal};

    #[test]
    fn each_open_record_is_known_by_its_key() {
        let record = |pk: &str, sk: &str| {
            Item::from([
                ("pk".to_owned(), text_attribute(pk)),
                ("sk".to_owned(), text_attribute(sk)),
            ])
        };
        let probe = parse_overdue_work("test", &record("I#front#desk", STATE));
        assert!(probe.is_err(), "an instance id holds no `#`");
        let probe = parse_overdue_work("test", &record("I#front-desk", STATE)).unwrap();
        assert_eq!(
            probe,
            OverdueWork::Probe(InstanceId::parse("front-desk").unwrap())
        );
        assert!(parse_overdue_work("test", &record("Q#1", "?")).is_err());
        let thread = "0123456789abcdef0123456789abcdef";
        let id = ConversationId::parse(&format!("c_{thread}-7")).unwrap();
        let (owed, open) = (
            TableKey::for_conversation(&id),
            TableKey::for_open_message(&id, Ordinal(12)),
        );
        assert_eq!(
            parse_overdue_work("test", &owed.into_key_item()).unwrap(),
            OverdueWork::Owed(id.clone())
        );
        let outgoing = OverdueWork::Outgoing {
            conversation: id,
            ordinal: Ordinal(12),
        };
        assert_eq!(
            parse_overdue_work("test", &open.into_key_item()).unwrap(),
            outgoing
        );
        let event = EventId::parse("abc").unwrap();
        let key = TableKey::for_event(&event).into_key_item();
        assert_eq!(
            parse_overdue_work("test", &key).unwrap(),
            OverdueWork::Event(event)
        );
        assert!(parse_overdue_work("test", &record("C#short", "1#Z")).is_err());
    }
}
