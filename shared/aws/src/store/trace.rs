//! What bears one correlation id, by the index `trace`: it holds keys only, so that it costs little to keep.

use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::Key;
use super::records;
use super::table::Query;
use recado_domain::ids::{CorrelationId, MessageId};
use recado_domain::message::Message;
use recado_pipeline::ports::{Ambient, Conversations, PortError, PortResult, Traced, Traces};

/// What an entry of the index names.
enum Named {
    Event(Key),
    Message(Key),
}

fn named(item: &Item) -> Option<Named> {
    let key = Key {
        pk: item::string(item, "pk")?.to_owned(),
        sk: item::string(item, "sk")?.to_owned(),
    };
    match key.pk.split_once('#')?.0 {
        "E" => Some(Named::Event(key)),
        "C" => Some(Named::Message(key)),
        _ => None,
    }
}

impl<A: Ambient> DynamoStore<A> {
    /// A message by its record's place; an open one as it is now.
    async fn traced_message(&self, what: &'static str, record: &Item) -> PortResult<Option<Message>> {
        let message: Message = item::read(what, record)?;
        let id: MessageId = message.id();
        Conversations::message(self, &id).await
    }
}

impl<A: Ambient> Traces for DynamoStore<A> {
    async fn traced(&self, correlation: &CorrelationId, limit: usize) -> PortResult<Traced> {
        const WHAT: &str = "reading a trace";
        let query = Query {
            index: Some("trace"),
            keys: Expression::new("#trace = :trace").text(":trace", correlation.as_str()),
            reverse: false,
            limit: Some(limit),
        };
        let (mut events, mut messages) = (Vec::new(), Vec::new());
        for entry in self.table.query(WHAT, &query).await?.iter().filter_map(named) {
            match entry {
                Named::Event(key) => events.push(key),
                Named::Message(key) => messages.push(key),
            }
        }
        let now = self.table.ambient.now();
        let found = self.table.get_many(WHAT, events, true).await?;
        let unexpired = found.into_iter().filter_map(|item| item::unexpired(item, now));
        let events: Result<Vec<_>, PortError> =
            unexpired.map(|item| records::read_event(WHAT, &item)).collect();
        let mut traced = Traced {
            events: events?,
            messages: Vec::new(),
        };
        for record in self.table.get_many(WHAT, messages, true).await? {
            traced.messages.extend(self.traced_message(WHAT, &record).await?);
        }
        Ok(traced)
    }
}
