use super::DynamoStore;
use super::expression::Expression;
use super::item::{self, Item, number_attribute};
use super::keys::{self, TableKey};
use super::outbox::note_item;
use super::record_query::RecordQuery;
use super::records;
use super::table::{RETRIES_MAX, write_outcome};
use super::table_port::{list_refused_writes, to_action};
use super::transaction::TransactionAction;
use super::usage::{add_usage_of_reply, add_usage_to_sum};
use async_trait::async_trait;
use recado_domain::conversation::Conversation;
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, MessageId, Ordinal, ThreadId};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::millis::add_duration;
use recado_domain::revision::is_first_write;
use recado_domain::typing::{TYPING_SIGN_KEPT, TypingSign};
use recado_domain::usage::UsageSum;
use recado_ports::ports::{
    CommitOutcome, ConversationFilter, ConversationPage, Conversations, EffectGuard, OutboxStore, Page,
    PageRequest, PortError, PortResult, System, WriteOutcome,
};
use recado_ports::table::{Refusal, Version, Write, WriteResult};
use std::collections::BTreeMap;

/// Returns the condition that the stored conversation is the one from which `conversation` was made.
fn follows_stored(conversation: &Conversation) -> Expression {
    Expression::follows_revision("rev", conversation.rev)
}

/// Returns the action that writes a conversation in place of the one from which it was made.
pub(super) fn put_conversation(
    what: &'static str,
    conversation: &Conversation,
) -> PortResult<TransactionAction> {
    let item = records::conversation_item(what, conversation)?;
    Ok(TransactionAction::Put(item, Some(follows_stored(conversation))))
}

/// Returns the actions that write a conversation and its new messages. Each message needs at most three, so that 10
/// messages stay far below the 100 actions of a transaction. The condition on the conversation ensures that the
/// ordinals are new. A message in its first attempt is written with the note of it.
pub(super) fn commit_actions(
    what: &'static str,
    conversation: &Conversation,
    messages: &[Message],
) -> PortResult<Vec<TransactionAction>> {
    let mut actions = vec![put_conversation(what, conversation)?];
    for message in messages {
        let first = message.as_first_stored();
        actions.push(TransactionAction::put(records::message_item(what, &first)?));
        if records::stays_open(message) {
            actions.push(TransactionAction::put(records::open_message_item(what, message)?));
        }
        if let Some(flight) = InFlightSend::of_new_message(message) {
            let key = TableKey::for_in_flight(&message.instance, &flight);
            actions.push(TransactionAction::put(note_item(
                what,
                key,
                &flight,
                flight.claimed_at,
            )?));
        }
    }
    actions.extend(begin_retention(conversation));
    Ok(actions)
}

/// Returns the write by which the retention of a conversation begins, together with its first message.
pub(super) fn begin_retention(conversation: &Conversation) -> Option<TransactionAction> {
    let begins = is_first_write(conversation.rev);
    begins.then(|| TransactionAction::put(records::retention_item(conversation)))
}

/// Returns the condition that a conversation is as it was drafted.
fn require_as_drafted(guard: &EffectGuard) -> Expression {
    let text = "#mode = :mode AND #epoch = :epoch AND #answered = :answered AND #turn_upto = :upto";
    Expression::new(text)
        .with_text(":mode", "ai")
        .with_number(":epoch", guard.epoch)
        .with_number(":answered", guard.answered.0)
        .with_number(":upto", guard.turn_upto.0)
}

/// Queries the messages of a conversation between two ordinals, both included.
fn messages_between(id: &ConversationId, (first, last): (Ordinal, Ordinal)) -> RecordQuery {
    let range = (keys::message_sk(id, first), keys::message_sk(id, last));
    RecordQuery::of_range(keys::thread_pk(id.thread_id()), range)
}

/// Parses a conversation's record and its messages, in any order. Returns the messages sorted by ordinal.
fn parse_history(what: &'static str, items: &[Item]) -> PortResult<Option<(Conversation, Vec<Message>)>> {
    let is_record = |item: &&Item| item::get_string(item, "sk").is_some_and(|sk| sk.ends_with("#Z"));
    let Some(record) = items.iter().find(is_record) else {
        return Ok(None);
    };
    let messages = items.iter().filter(|item| !is_record(item));
    let mut messages: Vec<Message> = messages
        .filter_map(|item| item::keep_readable(records::parse_message(what, item)))
        .collect();
    messages.sort_by_key(|message| message.ordinal);
    let conversation = records::parse_conversation(what, record)?;
    messages.retain(|message| message.ordinal >= conversation.kept.kept_from);
    Ok(Some((conversation, messages)))
}

impl<A: System> DynamoStore<A> {
    /// Reads a message in its current state: its open copy while it is open, else its record.
    pub(super) async fn read_current_message(
        &self,
        what: &'static str,
        conversation: &ConversationId,
        ordinal: Ordinal,
    ) -> PortResult<Option<Message>> {
        let keys = vec![
            TableKey::for_open_message(conversation, ordinal),
            TableKey::for_message(conversation, ordinal),
        ];
        let found = self.table.get_settled_records(what, keys).await?;
        let found = found.into_iter().flatten().next();
        found.map(|item| records::parse_message(what, &item)).transpose()
    }
}

#[async_trait]
impl<A: System> Conversations for DynamoStore<A> {
    async fn find_latest_conversation(&self, thread: &ThreadId) -> PortResult<Option<Conversation>> {
        const WHAT: &str = "reading a thread";
        let keys = Expression::new("#pk = :pk").with_text(":pk", keys::thread_pk(thread));
        let newest = RecordQuery::of_table(keys).backwards().up_to(1);
        let found = self.table.query_records(WHAT, &newest).await?;
        found
            .first()
            .map(|item| records::parse_conversation(WHAT, item))
            .transpose()
    }

    async fn find_conversation(&self, id: &ConversationId) -> PortResult<Option<Conversation>> {
        const WHAT: &str = "reading a conversation";
        let key = TableKey::for_conversation(id);
        let found = self.table.get_record(WHAT, key).await?;
        found
            .map(|item| records::parse_conversation(WHAT, &item))
            .transpose()
    }

    /// Reads the history. Open messages are shown as they were first stored: their text is final. Their state must be
    /// read with [`OutboxStore::list_open_messages`].
    async fn find_with_history(
        &self,
        id: &ConversationId,
        limit: usize,
    ) -> PortResult<Option<(Conversation, Vec<Message>)>> {
        const WHAT: &str = "reading a conversation's history";
        let (thread, within) = (keys::thread_pk(id.thread_id()), keys::conversation_sk_prefix(id));
        let most = Some(limit.saturating_add(1));
        let query = RecordQuery::for_partition(thread, Some(within.as_str()), most).backwards();
        for round in 0..=RETRIES_MAX {
            let Some((conversation, messages)) =
                parse_history(WHAT, &self.table.query_records(WHAT, &query).await?)?
            else {
                return Ok(None);
            };
            // A query may see some records of a transaction and not yet the others.
            if conversation.is_history_complete(&messages, limit) {
                return Ok(Some((conversation, messages)));
            }
            self.table.wait_before_retry(round).await;
        }
        let why = "a transaction is in the middle of it";
        Err(PortError::unavailable(WHAT, why))
    }

    /// Reads messages as they were first stored, like [`Conversations::find_with_history`].
    async fn list_messages_after(
        &self,
        id: &ConversationId,
        after: Ordinal,
        limit: usize,
    ) -> PortResult<Vec<Message>> {
        const WHAT: &str = "reading a conversation's messages";
        let query = messages_between(id, (after.next_ordinal(), Ordinal(999_999_999_999))).up_to(limit);
        let found = self.table.query_records(WHAT, &query).await?;
        let parsed = found.iter().map(|item| records::parse_message(WHAT, item));
        Ok(parsed.filter_map(item::keep_readable).collect())
    }

    /// Writes a conversation: alone it is one conditional write, with sums a transaction.
    async fn update_conversation(
        &self,
        conversation: &Conversation,
        used: &[UsageSum],
    ) -> PortResult<WriteOutcome> {
        let is_written = if used.is_empty() {
            const WHAT: &str = "writing a conversation";
            let item = records::conversation_item(WHAT, conversation)?;
            let follows = Some(follows_stored(conversation));
            self.table.put_record(WHAT, item, follows).await?.is_ok()
        } else {
            const WHAT: &str = "writing a conversation with its use of models";
            let mut actions = commit_actions(WHAT, conversation, &[])?;
            let thread = conversation.id.thread_id();
            actions.extend(used.iter().map(|sum| add_usage_to_sum(sum, thread)));
            self.table.run_transaction(WHAT, actions).await?.is_ok()
        };
        Ok(write_outcome(is_written))
    }

    async fn commit_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
        beside: &[Write],
    ) -> PortResult<CommitOutcome> {
        const WHAT: &str = "committing messages";
        let mut actions = commit_actions(WHAT, conversation, messages)?;
        let first = actions.len();
        actions.extend(self.build_table_actions(beside));
        actions.extend(add_usage_of_reply(messages, conversation.id.thread_id()));
        let written = self.table.run_transaction(WHAT, actions).await;
        self.forget_table_items(beside);
        let Err(failed) = written? else {
            return Ok(CommitOutcome::Committed);
        };
        let refused = list_refused_writes(&failed, first, beside.len());
        Ok(if refused.is_empty() {
            CommitOutcome::Conflict
        } else {
            CommitOutcome::Refused(refused)
        })
    }

    async fn write_guarded(&self, guard: &EffectGuard, writes: &[Write]) -> PortResult<Option<WriteResult>> {
        const WHAT: &str = "writing beside a conversation";
        let (version, now) = (Version(self.table.system.random_u64()), self.table.system.now());
        let key = TableKey::for_conversation(&guard.conversation);
        let mut actions = vec![TransactionAction::Check(key, require_as_drafted(guard))];
        actions.extend(writes.iter().map(|write| to_action(write, version, now)));
        let written = self.table.run_transaction(WHAT, actions).await;
        self.forget_table_items(writes);
        let Err(failed) = written? else {
            let puts = writes.iter().filter(|write| matches!(write, Write::Put(..)));
            return Ok(Some(Ok(vec![version; puts.count()])));
        };
        let refused = || Refusal(list_refused_writes(&failed, 1, writes.len()));
        Ok(failed.for_action(0).is_none().then(|| Err(refused())))
    }

    async fn search_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<ConversationPage> {
        self.read_conversation_list(filter, page)
            .await
            .map(ConversationPage::from)
    }

    async fn list_messages(&self, id: &ConversationId, page: &PageRequest) -> PortResult<Page<Message>> {
        const WHAT: &str = "listing a conversation's messages";
        let before = match &page.cursor {
            Some(cursor) => cursor
                .parse::<u64>()
                .map_err(|error| PortError::invalid(WHAT, error))?,
            None => 1_000_000_000_000,
        };
        let limit = page.limit.max(1);
        // Open messages are read first: a message that is settled in between is then found in its record, with its
        // final state.
        let open = self.list_open_messages(id.thread_id()).await?;
        let mut open: BTreeMap<Ordinal, Message> = open
            .into_iter()
            .filter(|message| message.conversation == *id)
            .map(|message| (message.ordinal, message))
            .collect();
        let query = messages_between(id, (Ordinal(0), Ordinal(before.saturating_sub(1))));
        let query = query.backwards().up_to(limit.saturating_add(1));
        let found = self.table.query_records(WHAT, &query).await?;
        let more = found.len() > limit;
        let mut items: Vec<Message> = Vec::with_capacity(found.len().min(limit));
        for item in found.iter().take(limit) {
            let Some(stored) = item::keep_readable(records::parse_message(WHAT, item)) else {
                continue;
            };
            items.push(match open.remove(&stored.ordinal) {
                Some(current) => current,
                // The message was settled, or became open, between the two reads.
                None if records::was_open(item, &stored) => self
                    .read_current_message(WHAT, id, stored.ordinal)
                    .await?
                    .unwrap_or(stored),
                None => stored,
            });
        }
        let next_cursor = items
            .last()
            .filter(|_| more)
            .map(|message| message.ordinal.to_string());
        Ok(Page { items, next_cursor })
    }

    async fn find_message(&self, id: &MessageId) -> PortResult<Option<Message>> {
        const WHAT: &str = "reading a message";
        let Ok((conversation, ordinal)) = id.conversation_and_ordinal() else {
            return Ok(None);
        };
        self.read_current_message(WHAT, &conversation, ordinal).await
    }

    async fn put_typing_sign(&self, thread: &ThreadId, sign: &TypingSign) -> PortResult<()> {
        const WHAT: &str = "keeping a sign of typing";
        let mut record = item::encode_record(WHAT, sign)?;
        let expires = add_duration(sign.at, TYPING_SIGN_KEPT);
        record.insert("ttl".to_owned(), number_attribute(expires.as_second()));
        // The newest sign wins.
        let item = TableKey::for_typing(thread).into_item(record);
        self.table.put_always(WHAT, item).await
    }

    async fn find_typing_sign(&self, threads: &[ThreadId]) -> PortResult<Option<TypingSign>> {
        const WHAT: &str = "reading signs of typing";
        let keys = threads.iter().map(TableKey::for_typing).collect();
        let found = self.table.get_records(WHAT, keys, false).await?;
        let now = self.table.system.now();
        let kept = found.into_iter().filter_map(|found| item::unexpired(found, now));
        let signs: Vec<TypingSign> = item::decode_readable(WHAT, kept);
        Ok(signs.into_iter().max_by_key(|sign| sign.at))
    }

    async fn keep_identity_key(&self, make: &(dyn Fn() -> IdentityKey + Sync)) -> PortResult<IdentityKey> {
        self.find_or_store_identity_key(make).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_without_its_conversations_record_is_no_conversation() {
        assert_eq!(parse_history("test", &[]).unwrap(), None);
    }
}
