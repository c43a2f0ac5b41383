use super::DynamoStore;
use super::conversations::follows_stored;
use super::expression::Expression;
use super::item;
use super::keys::{self, TableKey};
use super::records;
use super::table::RecordQuery;
use super::transaction::TransactionAction;
use super::usage::add_usage_to_sum;
use jiff::Timestamp;
use recado_domain::conversation::Conversation;
use recado_domain::ids::{ConversationId, TenantId};
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use recado_ports::ports::{PortError, PortResult, RetainedRecords, System, WriteOutcome};

/// Returns the condition that the stored message has the revision before `rev`. A message that was never replaced has
/// none.
fn follows_replacement(rev: u64) -> Expression {
    match rev.checked_sub(1) {
        Some(0) => Expression::new("attribute_not_exists(#rev)"),
        Some(before) => Expression::new("#rev = :before").with_number(":before", before),
        // Nothing is stored with a revision below zero.
        None => Expression::record_absent(),
    }
}

impl<A: System> RetainedRecords for DynamoStore<A> {
    async fn list_kept_since(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<ConversationId>> {
        const WHAT: &str = "listing what is kept since";
        let keys = Expression::new("#list_key = :key AND #list_at <= :before")
            .with_text(":key", keys::retention_list_key(tenant))
            .with_number(":before", before.as_millisecond());
        let query = RecordQuery {
            index: Some("lists"),
            keys,
            filter: None,
            reverse: false,
            limit: Some(limit),
        };
        let found = self.table.query_records(WHAT, &query).await?;
        let id = |item: &item::Item| {
            let id = item::get_string(item, "conversation").unwrap_or_default();
            ConversationId::parse(id).map_err(|error| PortError::invalid(WHAT, error))
        };
        Ok(found.iter().map(id).filter_map(item::keep_readable).collect())
    }

    async fn delete_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "deleting messages";
        let mut actions = vec![
            TransactionAction::Put(
                records::conversation_item(WHAT, conversation)?,
                Some(follows_stored(conversation)),
            ),
            TransactionAction::Put(records::retention_item(conversation), None),
        ];
        for message in messages {
            let (id, ordinal) = (&message.conversation, message.ordinal);
            actions.push(TransactionAction::Delete(
                TableKey::for_message(id, ordinal),
                None,
            ));
            if message.out.is_some() {
                let open = TableKey::for_open_message(id, ordinal);
                actions.push(TransactionAction::Delete(open, None));
            }
        }
        Ok(match self.table.run_transaction(WHAT, actions).await? {
            Ok(()) => WriteOutcome::Written,
            Err(_) => WriteOutcome::Conflict,
        })
    }

    async fn delete_conversation(&self, conversation: &Conversation) -> PortResult<WriteOutcome> {
        let as_read =
            Expression::new("attribute_not_exists(#pk) OR #rev = :rev").with_number(":rev", conversation.rev);
        let actions = vec![
            TransactionAction::Delete(TableKey::for_conversation(&conversation.id), Some(as_read)),
            TransactionAction::Delete(TableKey::for_retention(&conversation.id), None),
        ];
        let deleted = self
            .table
            .run_transaction("deleting a conversation", actions)
            .await?;
        Ok(match deleted {
            Ok(()) => WriteOutcome::Written,
            Err(_) => WriteOutcome::Conflict,
        })
    }

    async fn replace_message(&self, message: &Message, used: Option<&UsageSum>) -> PortResult<WriteOutcome> {
        const WHAT: &str = "replacing a message";
        if message.out.is_some() {
            return Ok(WriteOutcome::Conflict);
        }
        let stored = Expression::new("attribute_exists(#pk) AND attribute_not_exists(#out)")
            .and_condition(follows_replacement(message.rev));
        let item = records::message_item(WHAT, message)?;
        let is_written = match used {
            Some(used) => {
                let sum = add_usage_to_sum(used, message.conversation.thread_id());
                let actions = vec![TransactionAction::Put(item, Some(stored)), sum];
                self.table.run_transaction(WHAT, actions).await?.is_ok()
            }
            None => self.table.put_record(WHAT, item, Some(stored)).await?.is_ok(),
        };
        Ok(if is_written {
            WriteOutcome::Written
        } else {
            WriteOutcome::Conflict
        })
    }
}
