mod claims;
mod conversations;
mod effects;
mod inbox;
mod instances;
mod record_indexes;
mod spoiled_invitations;
mod spoiled_records;
mod spoiled_writes;
mod table;
mod webhooks;

use super::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::Timestamp;
use jiff::civil::Date;
use recado_domain::access_list::AccessList;
use recado_domain::config::{ConfigRemoval, Instance, InstanceConfig};
use recado_domain::conversation::Conversation;
use recado_domain::delivery::{Delivery, DeliveryKey, StatusUpdate, UnacknowledgedMessage};
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::event::EventRecord;
use recado_domain::identity::IdentityKey;
use recado_domain::ids::{ConversationId, InstanceId, TenantId};
use recado_domain::instance::InFlightSend;
use recado_domain::message::Message;
use recado_domain::usage::UsageSum;
use recado_pipeline::ports::{
    ConfigurationStore, ConversationFilter, Deliveries, DiskSpace, Gauges, IdentityKeyStore, OpenWork, Page,
    PageRequest, PortResult, RecordRemoval, Store, TroubledInstances, UnacknowledgedCounts,
    UnacknowledgedFilter, UsageRecords, WaitingForPerson, WriteOutcome,
};
use recado_pipeline::records::configuration::{InstanceName, load_configuration, remove_configuration};
use std::collections::BTreeSet;
use std::sync::Arc;

impl<S: Store> FaultyPort<S> {
    fn saw(&self, messages: &[Message]) {
        for message in messages {
            self.injector.saw(&message.tenant);
        }
    }

    fn saw_conversation(&self, conversation: Option<&Conversation>) {
        if let Some(conversation) = conversation {
            self.injector.saw(&conversation.tenant);
        }
    }
}

#[async_trait]
impl<S: Store> Deliveries for FaultyPort<S> {
    async fn record_status(&self, update: &StatusUpdate, expires: Timestamp) -> PortResult<()> {
        self.around("record_status", self.inner.record_status(update, expires))
            .await
    }

    async fn record_charged_status(
        &self,
        update: &StatusUpdate,
        expires: Timestamp,
        charge: &UsageSum,
    ) -> PortResult<()> {
        self.around(
            "record_charged_status",
            self.inner.record_charged_status(update, expires, charge),
        )
        .await
    }

    async fn stop_awaiting(&self, key: &DeliveryKey) -> PortResult<()> {
        self.around("stop_awaiting", self.inner.stop_awaiting(key)).await
    }

    async fn find_delivery(&self, key: &DeliveryKey) -> PortResult<Option<Delivery>> {
        self.around("find_delivery", self.inner.find_delivery(key)).await
    }

    async fn find_deliveries(&self, keys: &[DeliveryKey]) -> PortResult<Vec<Option<Delivery>>> {
        self.around("find_deliveries", self.inner.find_deliveries(keys))
            .await
    }

    async fn is_sent_message(&self, key: &DeliveryKey) -> PortResult<bool> {
        let effect = async {
            if self.injector.lacks(Mutation::ErasedSendsForgotten) {
                let known = self.inner.find_delivery(key).await?;
                return Ok(known.is_some_and(|delivery| delivery.message.is_some()));
            }
            self.inner.is_sent_message(key).await
        };
        self.around("is_sent_message", effect).await
    }
}

/// A process asks for it once, so it is no step at which something may happen.
#[async_trait]
impl<S: Store> IdentityKeyStore for FaultyPort<S> {
    async fn find_identity_key(&self) -> PortResult<Option<IdentityKey>> {
        self.inner.find_identity_key().await
    }

    async fn put_identity_key_if_absent(&self, new: &IdentityKey) -> PortResult<IdentityKey> {
        self.inner.put_identity_key_if_absent(new).await
    }
}

#[async_trait]
impl<S: Store> UsageRecords for FaultyPort<S> {
    async fn list_usage(&self, tenant: &TenantId, from: Date, to: Date) -> PortResult<Vec<UsageSum>> {
        let mut sums = self
            .around("list_usage", self.inner.list_usage(tenant, from, to))
            .await?;
        if self.injector.lacks(Mutation::SpentTokensIgnored) {
            sums.clear();
        }
        Ok(sums)
    }
}

#[async_trait]
impl<S: Store> ConfigurationStore for FaultyPort<S> {
    async fn read_instance_config(&self, name: InstanceName) -> PortResult<Option<Arc<InstanceConfig>>> {
        let (is_by_external, call) = match name {
            InstanceName::External(..) => (true, "find_instance_config"),
            InstanceName::Id(_) => (false, "bound_by_id"),
        };
        let found = self.inner.read_instance_config(name);
        let mut bound = self.around(call, found).await?;
        if let Some(bound) = &mut bound {
            let bound = Arc::make_mut(bound);
            if is_by_external {
                self.change_config_of_external(bound);
            } else {
                self.change_config_of_id(bound);
            }
        }
        Ok(bound)
    }
}

impl<S: Store> FaultyPort<S> {
    fn change_config_of_external(&self, bound: &mut InstanceConfig) {
        if self.injector.lacks(Mutation::AccessNotJudged) {
            bound.instance.access = AccessList::default();
        }
    }

    fn change_config_of_id(&self, bound: &mut InstanceConfig) {
        let often = self.injector.lacks(Mutation::OftenPerTurn);
        bound
            .tools
            .iter_mut()
            .for_each(|tool| tool.once_per_turn &= !often);
        if self.injector.lacks(Mutation::NumbersCountApart) {
            bound.instance.portfolio = None;
        }
        if self.injector.function == "sender" && self.injector.lacks(Mutation::DeliveryRulesUnasked) {
            bound.tenant.deliveries = DeliveryRules::default();
        }
        self.injector.saw(&bound.tenant.id);
    }
}

#[async_trait]
impl<S: Store> RecordRemoval for FaultyPort<S> {
    async fn erase_deliveries(&self, keys: &[DeliveryKey], expires: Timestamp) -> PortResult<()> {
        self.around("erase_deliveries", self.inner.erase_deliveries(keys, expires))
            .await
    }

    async fn overwrite_deleted(&self) -> PortResult<()> {
        self.around("overwrite_deleted", self.inner.overwrite_deleted())
            .await
    }

    async fn list_unlisted_conversations(
        &self,
        tenant: &TenantId,
        limit: usize,
    ) -> PortResult<Vec<Conversation>> {
        self.around(
            "list_unlisted_conversations",
            self.inner.list_unlisted_conversations(tenant, limit),
        )
        .await
    }

    async fn list_kept_since(
        &self,
        tenant: &TenantId,
        before: Timestamp,
        limit: usize,
    ) -> PortResult<Vec<ConversationId>> {
        self.around(
            "list_kept_since",
            self.inner.list_kept_since(tenant, before, limit),
        )
        .await
    }

    async fn delete_messages(
        &self,
        conversation: &Conversation,
        messages: &[Message],
    ) -> PortResult<WriteOutcome> {
        self.around(
            "delete_messages",
            self.inner.delete_messages(conversation, messages),
        )
        .await
    }

    async fn delete_conversation(&self, conversation: &Conversation) -> PortResult<WriteOutcome> {
        self.around(
            "delete_conversation",
            self.inner.delete_conversation(conversation),
        )
        .await
    }

    async fn replace_message(&self, message: &Message, used: Option<&UsageSum>) -> PortResult<WriteOutcome> {
        self.around("replace_message", self.inner.replace_message(message, used))
            .await
    }

    async fn list_pending_events(&self, groups: &BTreeSet<String>) -> PortResult<Vec<EventRecord>> {
        let listed = self.inner.list_pending_events(groups);
        let mut pending = self.around("list_pending_events", listed).await?;
        if self.injector.lacks(Mutation::PendingEventsSpared) {
            pending.clear();
        }
        Ok(pending)
    }

    async fn replace_in_flight(&self, instance: &InstanceId, erased: &InFlightSend) -> PortResult<()> {
        let mut erased = erased.clone();
        if self.injector.lacks(Mutation::ErasedNotesForgotten) {
            erased.text_hash.clear();
        }
        let effect = self.inner.replace_in_flight(instance, &erased);
        self.around("replace_in_flight", effect).await
    }

    async fn list_pending_events_of(
        &self,
        instances: &[Instance],
        limit: usize,
    ) -> PortResult<Vec<EventRecord>> {
        let effect = async {
            if self.injector.lacks(Mutation::ConfigurationGoesFirst)
                && let Some(instance) = instances.first()
            {
                let known = load_configuration(&self.inner, Some(&instance.tenant)).await?;
                let removal: ConfigRemoval = known.list_entry_names().into_iter().collect();
                remove_configuration(&self.inner, &removal).await?;
            }
            self.inner.list_pending_events_of(instances, limit).await
        };
        self.around("list_pending_events_of", effect).await
    }

    async fn delete_tenant_records(
        &self,
        tenant: &TenantId,
        instances: &[Instance],
        limit: usize,
    ) -> PortResult<usize> {
        let effect = self.inner.delete_tenant_records(tenant, instances, limit);
        self.around("delete_tenant_records", effect).await
    }
}

#[async_trait]
impl<S: Store> Gauges for FaultyPort<S> {
    async fn read_open_work(&self, of: Option<&[Instance]>, limit: usize) -> PortResult<OpenWork> {
        self.around("read_open_work", self.inner.read_open_work(of, limit))
            .await
    }

    async fn read_disk_space(&self) -> PortResult<Option<DiskSpace>> {
        self.around("read_disk_space", self.inner.read_disk_space()).await
    }

    async fn read_oldest_intake(&self) -> PortResult<Option<Timestamp>> {
        self.around("read_oldest_intake", self.inner.read_oldest_intake())
            .await
    }

    async fn list_troubled_instances(&self, limit: usize) -> PortResult<TroubledInstances> {
        self.around(
            "list_troubled_instances",
            self.inner.list_troubled_instances(limit),
        )
        .await
    }

    async fn list_waiting_for_person(&self, before: Timestamp, limit: usize) -> PortResult<WaitingForPerson> {
        self.around(
            "list_waiting_for_person",
            self.inner.list_waiting_for_person(before, limit),
        )
        .await
    }

    async fn list_waiting_conversations(
        &self,
        filter: &ConversationFilter,
        page: &PageRequest,
    ) -> PortResult<Page<Conversation>> {
        self.around(
            "list_waiting_conversations",
            self.inner.list_waiting_conversations(filter, page),
        )
        .await
    }

    async fn count_unacknowledged(
        &self,
        range: (Timestamp, Timestamp),
        limit: usize,
    ) -> PortResult<UnacknowledgedCounts> {
        self.around(
            "count_unacknowledged",
            self.inner.count_unacknowledged(range, limit),
        )
        .await
    }

    async fn list_unacknowledged(
        &self,
        filter: &UnacknowledgedFilter,
        now: Timestamp,
        page: &PageRequest,
    ) -> PortResult<Page<UnacknowledgedMessage>> {
        self.around(
            "list_unacknowledged",
            self.inner.list_unacknowledged(filter, now, page),
        )
        .await
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests;
