use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number, text};
use super::keys::{self, Key};
use super::records;
use super::scheduled::free;
use super::table::{Query, ROUNDS};
use super::transaction::{Action, Refusals};
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, IdempotencyKey, MessageId, Ordinal, ThreadId};
use recado_domain::message::Message;
use recado_pipeline::ports::{
    Ambient, Committed, ConversationFilter, Conversations, KeyClaim, KeyRecord, OutboxStore, Page,
    PageRequest, PortError, PortResult, Written,
};
use std::collections::BTreeMap;

/// A client's key as it is kept for `message`.
pub(super) fn key_item(claim: &KeyClaim, message: &MessageId) -> Item {
    let item = Item::from([
        ("request_hash".to_owned(), text(&claim.request_hash)),
        ("message".to_owned(), text(message.as_str())),
        ("expires".to_owned(), number(claim.expires.as_millisecond())),
        // Expiry counts in seconds; rounded up, so that nothing goes early.
        (
            "ttl".to_owned(),
            number(claim.expires.as_second().saturating_add(1)),
        ),
    ]);
    Key::client(&claim.scope, &claim.key).into_item(item)
}

fn key_record(what: &'static str, item: &Item) -> PortResult<KeyRecord> {
    let field =
        |name| item::string(item, name).ok_or_else(|| PortError::invalid(what, "a key without its request"));
    let message = MessageId::parse(field("message")?).map_err(|error| PortError::invalid(what, error))?;
    Ok(KeyRecord {
        request_hash: field("request_hash")?.to_owned(),
        message,
    })
}

/// What a refused commit found. The client's key comes first: a request that was carried out is final, whatever became
/// of the conversation since.
pub(super) fn committed(
    what: &'static str,
    refusals: &Refusals,
    key: Option<usize>,
) -> PortResult<Committed> {
    match key
        .and_then(|action| refusals.of(action))
        .and_then(|refused| refused.0.as_ref())
    {
        Some(item) => Ok(Committed::KeyTaken(key_record(what, item)?)),
        None => Ok(Committed::Conflict),
    }
}

/// The condition that what is written as `conversation` follows what is stored.
pub(super) fn follows(conversation: &Conversation) -> Expression {
    Expression::follows("rev", conversation.rev)
}

/// What writes a conversation and its new messages: at most two for each, so that 10 stay far from the 100 that a
/// transaction may have. The conversation's condition keeps the ordinals new.
fn commits(what: &'static str, conversation: &Conversation, messages: &[Message]) -> PortResult<Vec<Action>> {
    let record = records::conversation(what, conversation)?;
    let mut actions = vec![Action::Put(record, Some(follows(conversation)))];
    for message in messages {
        actions.push(Action::Put(records::message(what, message)?, None));
        if records::stays_open(message) {
            actions.push(Action::Put(records::open(what, message)?, None));
        }
    }
    Ok(actions)
}

/// Whether `messages` are the newest by the conversation's own count, without a gap. A query may see some of a
/// transaction's records and not yet the others.
fn belong_together(conversation: &Conversation, messages: &[Message], limit: usize) -> bool {
    let last = conversation.last.0;
    let newest = messages.iter().rev().map(|message| message.ordinal.0);
    newest.eq((1..=last).rev().take(messages.len())) && messages.is_empty() == (last == 0 || limit == 0)
}

/// A conversation's record and messages, in whatever order they were read; messages by ordinal.
fn assemble(what: &'static str, items: &[Item]) -> PortResult<Option<(Conversation, Vec<Message>)>> {
    let is_record = |item: &&Item| item::string(item, "sk").is_some_and(|sk| sk.ends_with("#Z"));
    let Some(record) = items.iter().find(is_record) else {
        return Ok(None);
    };
    let messages = items.iter().filter(|item| !is_record(item));
    let mut messages: Vec<Message> = messages
        .map(|item| item::read(what, item))
        .collect::<PortResult<_>>()?;
    messages.sort_by_key(|message| message.ordinal);
    Ok(Some((item::read(what, record)?, messages)))
}

impl<A: Ambient> DynamoStore<A> {
    /// A message as it is now: its open copy while it is open, else its record.
    async fn current(
        &self,
        what: &'static str,
        conversation: &ConversationId,
        ordinal: Ordinal,
    ) -> PortResult<Option<Message>> {
        let keys = vec![
            Key::open(conversation, ordinal),
            Key::message(conversation, ordinal),
        ];
        let found = self.table.get_settled(what, keys).await?;
        let found = found.into_iter().flatten().next();
        found.map(|item| item::read(what, &item)).transpose()
    }
}

impl<A: Ambient> Conversations for DynamoStore<A> {
    async fn latest(&self, thread: &ThreadId) -> PortResult<Option<Conversation>> {
        const WHAT: &str = "reading a thread";
        let keys = Expression::new("#pk = :pk").text(":pk", keys::thread(thread));
        let newest = Query {
            index: None,
            keys,
            reverse: true,
            limit: Some(1),
        };
        let found = self.table.query(WHAT, &newest).await?;
        found.first().map(|item| item::read(WHAT, item)).transpose()
    }

    async fn conversation(&self, id: &ConversationId) -> PortResult<Option<Conversation>> {
        const WHAT: &str = "reading a conversation";
        let found = self.table.get(WHAT, Key::conversation(id)).await?;
        found.map(|item| item::read(WHAT, &item)).transpose()
    }

    /// Open messages are shown as they were stored: their text is final, their state is [`OutboxStore::open`]'s to tell.
    async fn with_history(
        &self,
        id: &ConversationId,
        limit: usize,
    ) -> PortResult<Option<(Conversation, Vec<Message>)>> {
        const WHAT: &str = "reading a conversation's history";
        let keys = Expression::new("#pk = :pk AND begins_with(#sk, :within)")
            .text(":pk", keys::thread(id.thread()))
            .text(":within", keys::within(id));
        let query = Query {
            index: None,
            keys,
            reverse: true,
            limit: Some(limit.saturating_add(1)),
        };
        for round in 0..=ROUNDS {
            let Some((conversation, messages)) = assemble(WHAT, &self.table.query(WHAT, &query).await?)?
            else {
                return Ok(None);
            };
            if belong_together(&conversation, &messages, limit) {
                return Ok(Some((conversation, messages)));
            }
            self.table.pause(round).await;
        }
        Err(PortError::unavailable(
            WHAT,
            "a transaction is in the middle of it",
        ))
    }

    /// As they were stored, like those of [`Conversations::with_history`].
    async fn messages_after(
        &self,
        id: &ConversationId,
        after: Ordinal,
        limit: usize,
    ) -> PortResult<Vec<Message>> {
        const WHAT: &str = "reading a conversation's messages";
        let keys = Expression::new("#pk = :pk AND #sk BETWEEN :first AND :last")
            .text(":pk", keys::thread(id.thread()))
            .text(":first", keys::message_sk(id, after.next()))
            .text(":last", keys::message_sk(id, Ordinal(999_999_999_999)));
        let query = Query {
            index: None,
            keys,
            reverse: false,
            limit: Some(limit),
        };
        let found = self.table.query(WHAT, &query).await?;
        found.iter().map(|item| item::read(WHAT, item)).collect()
    }

    async fn update(&self, conversation: &Conversation) -> PortResult<Written> {
        const WHAT: &str = "writing a conversation";
        let item = records::conversation(WHAT, conversation)?;
        let written = self.table.put(WHAT, item, Some(follows(conversation))).await?;
        Ok(if written.is_ok() {
            Written::Yes
        } else {
            Written::Conflict
        })
    }

    async fn commit(
        &self,
        conversation: &Conversation,
        message: &Message,
        key: Option<&KeyClaim>,
    ) -> PortResult<Committed> {
        const WHAT: &str = "committing a message";
        let mut actions = commits(WHAT, conversation, std::slice::from_ref(message))?;
        let at = key.map(|claim| {
            let item = key_item(claim, &message.id());
            actions.push(Action::Put(item, Some(free(message.stored_at))));
            actions.len() - 1
        });
        match self.table.transact(WHAT, actions).await? {
            Ok(()) => Ok(Committed::Yes),
            Err(refusals) => committed(WHAT, &refusals, at),
        }
    }

    async fn commit_reply(&self, conversation: &Conversation, parts: &[Message]) -> PortResult<Written> {
        const WHAT: &str = "committing a reply";
        let actions = commits(WHAT, conversation, parts)?;
        Ok(match self.table.transact(WHAT, actions).await? {
            Ok(()) => Written::Yes,
            Err(_) => Written::Conflict,
        })
    }

    async fn key(&self, scope: &str, key: &IdempotencyKey) -> PortResult<Option<KeyRecord>> {
        const WHAT: &str = "reading a client's key";
        let found = self.table.get(WHAT, Key::client(scope, key)).await?;
        let found = found.and_then(|item| item::unexpired(item, self.table.ambient.now()));
        found.map(|item| key_record(WHAT, &item)).transpose()
    }

    async fn list(&self, filter: &ConversationFilter, page: &PageRequest) -> PortResult<Page<Conversation>> {
        self.list_conversations(filter, page).await
    }

    async fn messages(&self, id: &ConversationId, page: &PageRequest) -> PortResult<Page<Message>> {
        const WHAT: &str = "listing a conversation's messages";
        let before = match &page.cursor {
            Some(cursor) => cursor
                .parse::<u64>()
                .map_err(|error| PortError::invalid(WHAT, error))?,
            None => 1_000_000_000_000,
        };
        let limit = page.limit.max(1);
        // Open ones first: a message that is settled in between is then found in its record, as it became.
        let open = self.open(id.thread()).await?;
        let mut open: BTreeMap<Ordinal, Message> = open
            .into_iter()
            .filter(|message| message.conversation == *id)
            .map(|message| (message.ordinal, message))
            .collect();
        let keys = Expression::new("#pk = :pk AND #sk BETWEEN :first AND :last")
            .text(":pk", keys::thread(id.thread()))
            .text(":first", keys::message_sk(id, Ordinal(0)))
            .text(":last", keys::message_sk(id, Ordinal(before.saturating_sub(1))));
        let query = Query {
            index: None,
            keys,
            reverse: true,
            limit: Some(limit.saturating_add(1)),
        };
        let found = self.table.query(WHAT, &query).await?;
        let more = found.len() > limit;
        let mut items: Vec<Message> = Vec::with_capacity(found.len().min(limit));
        for item in found.iter().take(limit) {
            let stored: Message = item::read(WHAT, item)?;
            items.push(match open.remove(&stored.ordinal) {
                Some(current) => current,
                // It was settled, or became open, between the two reads.
                None if records::was_open(item, &stored) => {
                    self.current(WHAT, id, stored.ordinal).await?.unwrap_or(stored)
                }
                None => stored,
            });
        }
        let next_cursor = items
            .last()
            .filter(|_| more)
            .map(|message| message.ordinal.to_string());
        Ok(Page { items, next_cursor })
    }

    async fn message(&self, id: &MessageId) -> PortResult<Option<Message>> {
        const WHAT: &str = "reading a message";
        let Ok((conversation, ordinal)) = id.parts() else {
            return Ok(None);
        };
        self.current(WHAT, &conversation, ordinal).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recado_domain::millis::instant;

    #[test]
    fn a_clients_key_survives_being_written_and_read() {
        let claim = KeyClaim {
            scope: "front-desk".to_owned(),
            key: IdempotencyKey::parse("order-7").unwrap(),
            request_hash: "abc".to_owned(),
            expires: instant(1_500),
        };
        let message = MessageId::parse("c_0-1.2").unwrap();
        let item = key_item(&claim, &message);
        assert_eq!(
            key_record("test", &item).unwrap(),
            KeyRecord {
                request_hash: "abc".to_owned(),
                message
            }
        );
        assert_eq!(
            (item::whole(&item, "expires"), item::whole(&item, "ttl")),
            (Some(1_500), Some(2))
        );
    }

    #[test]
    fn a_history_without_its_conversations_record_is_no_conversation() {
        assert_eq!(assemble("test", &[]).unwrap(), None);
    }
}
