//! Messages that are to be sent later.

use super::DynamoStore;
use super::client_keys::{client_key_item, commit_outcome, key_is_free};
use super::conversations::{begin_retention, follows_stored};
use super::expression::Expression;
use super::item::{self, Item, number_attribute};
use super::keys::{self, TableKey};
use super::records;
use super::transaction::TransactionAction;
use recado_domain::conversation::Conversation;
use recado_domain::message::Message;
use recado_domain::scheduled::{ScheduledId, ScheduledMessage};
use recado_ports::ports::{
    CommitOutcome, IdempotencyClaim, PortResult, ScheduledMessages, System, WriteOutcome,
};

/// Builds the item of a scheduled message. While it is pending, the index `open` holds it, and `tenants` among those of its
/// instance.
pub(super) fn scheduled_item(what: &'static str, scheduled: &ScheduledMessage) -> PortResult<Item> {
    let key = TableKey::for_scheduled(&scheduled.id);
    let mut item = item::encode_record(what, scheduled)?;
    keys::index_open(&mut item, &key, scheduled.send_due_at());
    if let Some(due) = scheduled.send_due_at() {
        keys::index_tenant_list(&mut item, keys::scheduled_of_instance(&scheduled.instance), due);
    }
    if let Some(expires) = scheduled.expires_at() {
        item.insert("ttl".to_owned(), number_attribute(expires.as_second()));
    }
    Ok(key.into_item(item))
}

/// Returns the write of a scheduled message, on condition that the stored one has the revision before it.
fn put_scheduled_action(what: &'static str, scheduled: &ScheduledMessage) -> PortResult<TransactionAction> {
    let before = Expression::follows_revision("rev", scheduled.rev);
    Ok(TransactionAction::Put(
        scheduled_item(what, scheduled)?,
        Some(before),
    ))
}

impl<A: System> ScheduledMessages for DynamoStore<A> {
    async fn put_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        key: Option<&IdempotencyClaim>,
    ) -> PortResult<CommitOutcome> {
        const WHAT: &str = "keeping a scheduled message";
        let new = TransactionAction::Put(
            scheduled_item(WHAT, scheduled)?,
            Some(Expression::record_absent()),
        );
        let mut actions = vec![new];
        if let Some(claim) = key {
            let item = client_key_item(claim, scheduled.id.as_message_id());
            actions.push(TransactionAction::Put(
                item,
                Some(key_is_free(scheduled.created_at)),
            ));
        }
        match self.table.run_transaction(WHAT, actions).await? {
            Ok(()) => Ok(CommitOutcome::Committed),
            Err(refusals) => commit_outcome(WHAT, &refusals, key.map(|_| 1)),
        }
    }

    async fn find_scheduled(&self, id: &ScheduledId) -> PortResult<Option<ScheduledMessage>> {
        const WHAT: &str = "reading a scheduled message";
        let found = self.table.get_record(WHAT, TableKey::for_scheduled(id)).await?;
        found
            .and_then(|item| item::unexpired(item, self.table.system.now()))
            .map(|item| item::decode_record(WHAT, &item))
            .transpose()
    }

    async fn save_scheduled(&self, scheduled: &ScheduledMessage) -> PortResult<WriteOutcome> {
        const WHAT: &str = "writing a scheduled message";
        let before = Expression::follows_revision("rev", scheduled.rev);
        let put = self
            .table
            .put_record(WHAT, scheduled_item(WHAT, scheduled)?, Some(before))
            .await?;
        Ok(if put.is_ok() {
            WriteOutcome::Written
        } else {
            WriteOutcome::Conflict
        })
    }

    async fn commit_scheduled(
        &self,
        scheduled: &ScheduledMessage,
        conversation: &Conversation,
        message: &Message,
    ) -> PortResult<WriteOutcome> {
        const WHAT: &str = "committing a scheduled message";
        let mut actions = vec![
            put_scheduled_action(WHAT, scheduled)?,
            TransactionAction::Put(
                records::conversation_item(WHAT, conversation)?,
                Some(follows_stored(conversation)),
            ),
            TransactionAction::Put(records::message_item(WHAT, message)?, None),
        ];
        if records::stays_open(message) {
            actions.push(TransactionAction::Put(
                records::open_message_item(WHAT, message)?,
                None,
            ));
        }
        actions.extend(begin_retention(conversation));
        Ok(match self.table.run_transaction(WHAT, actions).await? {
            Ok(()) => WriteOutcome::Written,
            Err(_) => WriteOutcome::Conflict,
        })
    }
}
