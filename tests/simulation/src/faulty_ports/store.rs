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
use recado_testkit::delegate_calls;
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

impl<S: Store> Deliveries for FaultyPort<S> {
    delegate_calls! {
        record_status(update: &StatusUpdate, expires: Timestamp) -> ();
        record_charged_status(update: &StatusUpdate, expires: Timestamp, charge: &UsageSum) -> ();
        stop_awaiting(key: &DeliveryKey) -> ();
        find_delivery(key: &DeliveryKey) -> Option<Delivery>;
        find_deliveries(keys: &[DeliveryKey]) -> Vec<Option<Delivery>>;
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
impl<S: Store> IdentityKeyStore for FaultyPort<S> {
    delegate_calls! { directly:
        find_identity_key() -> Option<IdentityKey>;
        put_identity_key_if_absent(new: &IdentityKey) -> IdentityKey;
    }
}

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

impl<S: Store> RecordRemoval for FaultyPort<S> {
    delegate_calls! {
        erase_deliveries(keys: &[DeliveryKey], expires: Timestamp) -> ();
        overwrite_deleted() -> ();
        list_unlisted_conversations(tenant: &TenantId, limit: usize) -> Vec<Conversation>;
        list_kept_since(tenant: &TenantId, before: Timestamp, limit: usize) -> Vec<ConversationId>;
        delete_messages(conversation: &Conversation, messages: &[Message]) -> WriteOutcome;
        delete_conversation(conversation: &Conversation) -> WriteOutcome;
        replace_message(message: &Message, used: Option<&UsageSum>) -> WriteOutcome;
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

impl<S: Store> Gauges for FaultyPort<S> {
    delegate_calls! {
        read_open_work(of: Option<&[Instance]>, limit: usize) -> OpenWork;
        read_disk_space() -> Option<DiskSpace>;
        read_oldest_intake() -> Option<Timestamp>;
        list_troubled_instances(limit: usize) -> TroubledInstances;
        list_waiting_for_person(before: Timestamp, limit: usize) -> WaitingForPerson;
        list_waiting_conversations(filter: &ConversationFilter, page: &PageRequest) -> Page<Conversation>;
        count_unacknowledged(range: (Timestamp, Timestamp), limit: usize) -> UnacknowledgedCounts;
        list_unacknowledged(filter: &UnacknowledgedFilter, now: Timestamp, page: &PageRequest) -> Page<UnacknowledgedMessage>;
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests;
