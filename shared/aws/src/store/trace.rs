//! Reads the events and messages of one correlation id, over the index `trace`. The index holds keys only, so that it
//! costs little.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::TableKey;
use super::records;
use super::table::RecordQuery;
use recado_domain::ids::CorrelationId;
use recado_domain::message::Message;
use recado_pipeline::ports::{
    Conversations, CorrelatedRecords, CorrelationIndex, PortError, PortResult, System,
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

impl<A: System> DynamoStore<A> {
    /// Reads a message, given its record. An open one is read in its current state.
    async fn read_traced_message(&self, what: &'static str, record: &Item) -> PortResult<Option<Message>> {
        let message = records::parse_message(what, record)?;
        Conversations::find_message(self, &message.message_id()).await
    }
}

impl<A: System> CorrelationIndex for DynamoStore<A> {
    async fn find_by_correlation(
        &self,
        correlation: &CorrelationId,
        limit: usize,
    ) -> PortResult<CorrelatedRecords> {
        const WHAT: &str = "reading a trace";
        let query = RecordQuery {
            index: Some("trace"),
            keys: Expression::new("#trace = :trace").with_text(":trace", correlation.as_str()),
            reverse: false,
            limit: Some(limit),
        };
        let (mut events, mut messages) = (Vec::new(), Vec::new());
        for entry in self
            .table
            .query_records(WHAT, &query)
            .await?
            .iter()
            .filter_map(parse_traced_key)
        {
            match entry {
                TracedKey::Event(key) => events.push(key),
                TracedKey::Message(key) => messages.push(key),
            }
        }
        let now = self.table.system.now();
        let found = self.table.get_records(WHAT, events, true).await?;
        let unexpired = found.into_iter().filter_map(|item| item::unexpired(item, now));
        let events: Result<Vec<_>, PortError> = unexpired
            .map(|item| records::parse_event_record(WHAT, &item))
            .collect();
        let mut traced = CorrelatedRecords {
            events: events?,
            messages: Vec::new(),
        };
        for record in self.table.get_records(WHAT, messages, true).await? {
            traced
                .messages
                .extend(self.read_traced_message(WHAT, &record).await?);
        }
        Ok(traced)
    }
}
