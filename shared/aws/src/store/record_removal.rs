use super::DynamoStore;
use super::conversations::put_conversation;
use super::expression::Expression;
use super::item;
use super::keys::{self, TableKey};
use super::lists::ListSource;
use super::overviews::{INSTANCES_AT_ONCE, events_of_instances};
use super::record_query::RecordQuery;
use super::records;
use super::table::write_outcome;
use super::tenant_records::list_partitions;
use super::transaction::TransactionAction;
use async_trait::async_trait;
use futures::future::try_join_all;
use jiff::Timestamp;
use recado_domain::config::Instance;
use recado_domain::conversation::Conversation;
use recado_domain::event::{EventRecord, EventState};
use recado_domain::ids::{ConversationId, TenantId};
use recado_domain::message::Message;
use recado_ports::ports::{
    DeletedPart, EventOwners, PortError, PortResult, RecordRemoval, System, WriteOutcome,
};

/// The number of FIFO groups whose events one query finds. A condition has 100 values at most.
const GROUPS_AT_ONCE: usize = 50;

/// Returns the actions that write a conversation and delete messages of it.
fn message_deletions(
    what: &'static str,
    conversation: &Conversation,
    messages: &[Message],
) -> PortResult<Vec<TransactionAction>> {
    let mut actions = vec![
        put_conversation(what, conversation)?,
        TransactionAction::put(records::retention_item(conversation)),
    ];
    for message in messages {
        let (id, ordinal) = (&message.conversation, message.ordinal);
        actions.push(TransactionAction::delete(TableKey::for_message(id, ordinal)));
        if message.out.is_some() {
            let open = TableKey::for_open_message(id, ordinal);
            actions.push(TransactionAction::delete(open));
        }
    }
    Ok(actions)
}

/// Returns the actions that delete the record of a conversation.
fn record_deletions(conversation: &Conversation) -> Vec<TransactionAction> {
    let as_read =
        Expression::new("attribute_not_exists(#pk) OR #rev = :rev").with_number(":rev", conversation.rev);
    vec![
        TransactionAction::Delete(TableKey::for_conversation(&conversation.id), Some(as_read)),
        TransactionAction::delete(TableKey::for_retention(&conversation.id)),
    ]
}

impl<A: System> DynamoStore<A> {
    /// Reads the pending events that `theirs` lets through. The index holds each event's job, so that the database leaves the
    /// others out; the records come from the table.
    async fn read_pending_events(
        &self,
        what: &'static str,
        theirs: &Expression,
    ) -> PortResult<Vec<EventRecord>> {
        let shard = |number: u32| async move {
            let shard = keys::open_shard('E', number);
            let keys = Expression::new("#open_shard = :shard").with_text(":shard", shard);
            let query = RecordQuery::of_index("open", keys).filtered(Some(theirs.clone()));
            self.table.query_records(what, &query).await
        };
        let open = try_join_all((0..keys::SHARDS).map(shard)).await?;
        let items = self
            .get_indexed_records(open.into_iter().flatten().collect())
            .await?;
        let records = items.iter().map(|item| records::parse_event_record(what, item));
        let mut records: Vec<EventRecord> = records.filter_map(item::keep_readable).collect();
        records.retain(|record| record.state == EventState::Pending);
        Ok(records)
    }

    pub(super) async fn delete_any(&self, what: &'static str, key: TableKey) -> PortResult<()> {
        let exists = Expression::new("attribute_exists(#pk)");
        let _absent = self.table.delete_record(what, key, exists).await?;
        Ok(())
    }
}

#[async_trait]
impl<A: System> RecordRemoval for DynamoStore<A> {
    async fn list_kept_since(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<ConversationId>> {
        const WHAT: &str = "listing what is kept since";
        let kept = ListSource::Lists(keys::retention_list_key(tenant));
        let query = kept.query_range(i64::MIN, before.as_millisecond()).up_to(limit);
        let found = self.table.query_records(WHAT, &query).await?;
        let id = |item: &item::Item| {
            let id = item::get_string(item, "conversation").unwrap_or_default();
            ConversationId::parse(id).map_err(|error| PortError::invalid(WHAT, error))
        };
        Ok(found.iter().map(id).filter_map(item::keep_readable).collect())
    }

    async fn delete_part_of(
        &self,
        conversation: &Conversation,
        part: DeletedPart<'_>,
    ) -> PortResult<WriteOutcome> {
        let (what, actions) = match part {
            DeletedPart::Messages(messages) => {
                const WHAT: &str = "deleting messages";
                (WHAT, message_deletions(WHAT, conversation, messages)?)
            }
            DeletedPart::Record => ("deleting a conversation", record_deletions(conversation)),
        };
        let written = self.table.run_transaction(what, actions).await?;
        Ok(write_outcome(written.is_ok()))
    }

    async fn list_pending_events(&self, owners: EventOwners<'_>) -> PortResult<Vec<EventRecord>> {
        const WHAT: &str = "listing pending events";
        let mut found = Vec::new();
        match owners {
            EventOwners::Groups(groups) => {
                let groups: Vec<&String> = groups.iter().collect();
                for some in groups.chunks(GROUPS_AT_ONCE) {
                    let theirs = Expression::one_of("#job.#group", some.iter().map(|group| group.as_str()));
                    found.extend(self.read_pending_events(WHAT, &theirs).await?);
                }
            }
            EventOwners::Instances(instances, limit) => {
                for some in instances.chunks(INSTANCES_AT_ONCE) {
                    let theirs = events_of_instances(some);
                    if found.len() < limit && !theirs.text.is_empty() {
                        found.extend(self.read_pending_events(WHAT, &theirs).await?);
                    }
                }
                found.truncate(limit);
            }
        }
        Ok(found)
    }

    /// Nothing is left to do: the table has no files of ours.
    async fn overwrite_deleted(&self) -> PortResult<()> {
        Ok(())
    }

    async fn delete_tenant_records(
        &self,
        tenant: &TenantId,
        instances: &[Instance],
        limit: usize,
    ) -> PortResult<usize> {
        let mut deleted = 0;
        for pk in list_partitions(tenant, instances) {
            deleted += self.delete_partition(pk, limit).await?;
        }
        deleted += self.delete_event_log(tenant, limit).await?;
        deleted += self.delete_push_connections(tenant, limit).await?;
        for kind in self.kinds.iter().filter(|kind| !kind.goes_last) {
            deleted += self.remove_of_kind(kind, tenant, limit).await?;
        }
        Ok(deleted)
    }
}
