mod claims;
mod conversations;
mod effects;
mod inbox;
mod instances;
mod overviews;
mod spoiled_invitations;
mod spoiled_records;
mod spoiled_writes;
mod table;
mod webhooks;

use super::FaultyPort;
use crate::mutation::Mutation;
use async_trait::async_trait;
use jiff::Timestamp;
use recado_domain::access_list::AccessList;
use recado_domain::config::{ConfigRemoval, Instance, InstanceConfig};
use recado_domain::conversation::Conversation;
use recado_domain::delivery_rules::DeliveryRules;
use recado_domain::event::EventRecord;
use recado_domain::ids::{ConversationId, TenantId};
use recado_domain::message::Message;
use recado_pipeline::ports::{DeletedPart, EventOwners, PortResult, RecordRemoval, Store, WriteOutcome};
use recado_pipeline::records::configuration::{load_configuration, remove_configuration};
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
    async fn overwrite_deleted(&self) -> PortResult<()> {
        self.around("overwrite_deleted", self.inner.overwrite_deleted())
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

    async fn delete_part_of(
        &self,
        conversation: &Conversation,
        part: DeletedPart<'_>,
    ) -> PortResult<WriteOutcome> {
        let call = match part {
            DeletedPart::Messages(_) => "delete_messages",
            DeletedPart::Record => "delete_conversation",
        };
        self.around(call, self.inner.delete_part_of(conversation, part))
            .await
    }

    async fn list_pending_events(&self, owners: EventOwners<'_>) -> PortResult<Vec<EventRecord>> {
        let EventOwners::Instances(instances, _) = owners else {
            let listed = self.inner.list_pending_events(owners);
            let mut pending = self.around("list_pending_events", listed).await?;
            if self.injector.lacks(Mutation::PendingEventsSpared) {
                pending.clear();
            }
            return Ok(pending);
        };
        let effect = async {
            if self.injector.lacks(Mutation::ConfigurationGoesFirst)
                && let Some(instance) = instances.first()
            {
                let known = load_configuration(&self.inner, Some(&instance.tenant)).await?;
                let removal: ConfigRemoval = known.list_entry_names().into_iter().collect();
                remove_configuration(&self.inner, &removal).await?;
            }
            self.inner.list_pending_events(owners).await
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

#[cfg(all(test, feature = "embedded"))]
mod tests;
