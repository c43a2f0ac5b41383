//! Counts open work, over the index `open` that `reconcile` reads.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::{self, STATE};
use super::records;
use super::table::RecordQuery;
use futures::future::try_join_all;
use recado_domain::ids::InstanceId;
use recado_domain::instance::{ConnectionStatus, InstanceState, ParkedConversation};
use recado_domain::message::Message;
use recado_pipeline::ports::{ClosedInstance, Gauges, OpenEvent, OpenMessage, OpenWork, PortResult, System};

const WHAT: &str = "counting what is open";

impl<A: System> DynamoStore<A> {
    /// Returns the longest overdue records of a kind, and whether there are more. Each shard contributes an equal part
    /// of `limit`.
    async fn query_open_of_kind(&self, kind: char, limit: usize) -> PortResult<(Vec<Item>, bool)> {
        let most = limit.div_ceil(keys::SHARDS as usize).max(1);
        let shard = |number: u32| async move {
            let keys =
                Expression::new("#open_shard = :shard").with_text(":shard", keys::open_shard(kind, number));
            let query = RecordQuery {
                index: Some("open"),
                keys,
                reverse: false,
                limit: Some(most + 1),
            };
            self.table.query_records(WHAT, &query).await
        };
        let found = try_join_all((0..keys::SHARDS).map(shard)).await?;
        let more = found.iter().any(|items| items.len() > most);
        let first = found.into_iter().flat_map(|items| items.into_iter().take(most));
        Ok((first.collect(), more))
    }
}

/// Returns the instance whose state `item` holds, if it is not open. Such an instance has a next probe, so it is in the
/// index.
fn parse_closed_instance(item: &Item) -> Option<ClosedInstance> {
    let id = item::get_string(item, "pk")?.strip_prefix("I#")?;
    let instance = InstanceId::parse(id).ok()?;
    let is_state = item::get_string(item, "sk") == Some(STATE);
    let state: InstanceState = item::decode_record(WHAT, item).ok().filter(|_| is_state)?;
    (state.connection != ConnectionStatus::Open).then_some(ClosedInstance {
        instance,
        connection: state.connection,
        since: state.since,
    })
}

impl<A: System> Gauges for DynamoStore<A> {
    async fn read_open_work(&self, limit: usize) -> PortResult<OpenWork> {
        let (messages, more_messages) = self.query_open_of_kind('O', limit).await?;
        let (events, more_events) = self.query_open_of_kind('E', limit).await?;
        let (parked, more_parked) = self.query_open_of_kind('P', limit).await?;
        let (states, more_states) = self.query_open_of_kind('I', limit).await?;
        // One record that cannot be read must not hide the others from a monitor.
        let message = |item: &Item| {
            let message: Option<Message> = item::decode_record(WHAT, item).ok();
            message.as_ref().and_then(OpenMessage::from_message)
        };
        let event = |item: &Item| {
            records::parse_event_record(WHAT, item)
                .ok()
                .as_ref()
                .map(OpenEvent::from_record)
        };
        let instance = |item: &Item| {
            let parked: Option<ParkedConversation> = item::decode_record(WHAT, item).ok();
            parked.map(|parked| parked.instance)
        };
        Ok(OpenWork {
            messages: messages.iter().filter_map(message).collect(),
            events: events.iter().filter_map(event).collect(),
            parked: parked.iter().filter_map(instance).collect(),
            closed: states.iter().filter_map(parse_closed_instance).collect(),
            at_least: more_messages || more_events || more_parked || more_states,
        })
    }
}
