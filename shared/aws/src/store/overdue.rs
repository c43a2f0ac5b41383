use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item};
use super::keys::waiting::PERSON_OWED;
use super::keys::{self, MESSAGE, STATE};
use super::table::RecordQuery;
use futures::future::try_join_all;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::InstanceId;
use recado_ports::ports::{OverdueIndex, OverdueWork, PortError, PortResult, System};

/// Returns the overdue work that an item of the index `open` stands for. Most work is named by the key alone; of a parked
/// conversation the index holds all.
fn parse_overdue_work(what: &'static str, item: &Item) -> PortResult<OverdueWork> {
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

impl<A: System> DynamoStore<A> {
    /// Returns the conversations in which a person owes an answer and the agent's return is overdue. The index orders them
    /// by what the person owes, so all of these conversations are looked through.
    async fn query_overdue_returns(&self, now: Timestamp, limit: usize) -> PortResult<Vec<Item>> {
        let keys = |shard| Expression::new("#open_shard = :shard").with_text(":shard", shard);
        let overdue = Conversation::latest_overdue_return(now);
        let is_overdue = Expression::new("#agent_returns_at <= :overdue")
            .with_number(":overdue", overdue.as_millisecond());
        let (items, _) = self
            .query_open_shards(PERSON_OWED, keys, Some(&is_overdue), false, limit)
            .await?;
        Ok(items)
    }
}

impl<A: System> OverdueIndex for DynamoStore<A> {
    async fn list_overdue(&self, now: Timestamp, limit: usize) -> PortResult<Vec<OverdueWork>> {
        const WHAT: &str = "reading what is overdue";
        let shard = |(kind, shard): (char, u32)| async move {
            let keys = Expression::new("#open_shard = :shard AND #open_due <= :now")
                .with_text(":shard", keys::open_shard(kind, shard))
                .with_number(":now", now.as_millisecond());
            let query = RecordQuery {
                index: Some("open"),
                keys,
                filter: None,
                reverse: false,
                limit: Some(limit),
            };
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
}

#[cfg(test)]
mod tests {
    use super::super::item::text_attribute;
    use super::super::keys::TableKey;
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
